"""What the steps of the IOTA pipeline do with the log: check it before anything is written, append to it at the end."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from db.connect import StoreSettings
from db.intervals import Intervals, in_words
from db.queries.log import LogHead
from db.store import StoreDamaged
from etl.run_lease import AT_HEAD
from etl.store_reads import StoreReads
from etl.transparency.append import LogAppender, SignedLog
from etl.transparency.history import LogForked, LoggedMilestones
from etl.transparency.log_files import LogFiles
from etl.transparency.signing_key import read_key
from etl.transparency.stored_log import StoredLog
from etl.verification.decode import WholeCheck
from etl.writers.publish import Publication
from ledger.transparency.checkpoint import parse_origin
from ledger.transparency.keys import Kind, SigningKey
from ledger.transparency.positions import last_milestone

log = logging.getLogger("permanode")


def log_of(publication: Publication) -> StoredLog:
    """Both copies of the log of a run's network."""
    files = LogFiles(publication.lake.root, publication.store_settings.network)
    return StoredLog(files, publication.store, publication.reads)


def check_log(publication: Publication, *, whole: bool = False) -> None:
    """Compares both copies of the log, and the milestones of a lake that has no log or a shorter one than the store.
    Reads the key.

    Args:
        publication: the run.
        whole: compare all milestones of the lake, and complete its copy of the log: the run will delete that of the
            store. Reports milestones that are logged and not in the lake.

    Raises:
        LogForked: they differ; with `whole` also if the lake has none of the logged milestones.
        LogError: tiles are damaged, or the key is invalid.
    """
    key_of(publication.store_settings)
    if _is_copied(publication):
        return
    stored = log_of(publication)
    is_damaged = False
    try:
        head = stored.find()
    except StoreDamaged:
        if not whole:
            raise
        log.warning("the store's copy of the log is damaged: only that of the lake is compared")
        head, is_damaged = stored.files.head(), True
    if head is not None and head.newest.size and (whole or not stored.is_in_lake(head)):
        logged = LoggedMilestones(head.newest, stored.read_bundle)
        all_logged = [(logged.first, logged.last)]
        missing = logged.check_milestones(publication.lake.milestones, all_logged)
        if whole and missing == all_logged:
            raise LogForked(f"{publication.lake.root} has none of the milestones in the log. Nothing was changed")
        if whole and not is_damaged:
            stored.open()
        if whole and missing:
            log.warning("the lake does not have milestones %s, which are logged: load them again", in_words(missing))


def fork_check(publication: Publication, others: Sequence[LoggedMilestones] = ()) -> WholeCheck:
    """Returns the check of decoded milestones. It raises LogForked for a milestone that is logged otherwise. In a
    selective store messages are not counted. Its log, if it is a copy, has no records to compare.

    `others`: further logs that the milestones must agree with.
    """
    if _is_copied(publication):
        return lambda *_: None
    stored, in_part = log_of(publication), publication.lake.has("selection")

    def check(messages: Callable[[], DataFrame], milestones: Intervals) -> None:
        head = stored.find()
        logs = [*others]
        if head is not None and head.newest.size:
            logs.append(LoggedMilestones(head.newest, stored.read_bundle))
        for logged in logs:
            if logged.inside(milestones):
                logged.check_messages(messages(), milestones, in_part=in_part)

    return check


def append_log(publication: Publication, others: Sequence[SignedLog] = (), *, again: bool = False) -> None:
    """Appends the milestones that have records, and signs the checkpoint. A selective store has no new records: if its
    log, which `purge --keep` left, ends before its milestones, this is reported, but not by each load of a follower.

    Args:
        publication: the run.
        others: logs that the new records must agree with, if they begin with the same milestone.
        again: compare all records of the log with those of the ledger state, and write all its rows to the store.

    Raises:
        LogForked: the copies of the log or its records differ, or the log would differ from one of `others`.
    """
    if _is_copied(publication):
        return
    stored, reads, settings = log_of(publication), publication.reads, publication.store_settings
    stored.open(again=again)
    if publication.lake.has("selection"):
        if not publication.report.run.startswith(AT_HEAD):
            _report_end(stored.head, reads)
        return
    proved = reads.proved()
    if proved:
        key, notify = key_of(settings), publication.notify
        appender = LogAppender(stored, settings.network, reads.closed_records, key, notify, others)
        if again:
            appender.check(proved.stop - 1)
        appender.append(proved.start, proved.stop - 1)


def _report_end(head: LogHead | None, reads: StoreReads) -> None:
    """Reports that the log of a reduced permanode ends before its newest milestones."""
    complete = reads.held().complete
    if head is None or not complete:
        return
    last = last_milestone(parse_origin(head.newest.origin)[1], head.newest.size)
    if last < complete[-1][1]:
        log.warning(
            "the transparency log ends with milestone %d, because a selection has no records of later ones: `permanode "
            "proof keep ARCHIVE` continues it with those of a full permanode",
            last,
        )


def _is_copied(publication: Publication) -> bool:
    """Whether the log of a selective store, if it has one, is that of the archive that proves its listings."""
    return publication.lake.has("selection") and log_of(publication).files.head() is None


def key_of(settings: StoreSettings) -> SigningKey | None:
    """The key of the setting `log_key`. Raises what `read_key` raises."""
    return read_key(Path(settings.log_key).expanduser(), Kind.SIGNATURE) if settings.log_key else None
