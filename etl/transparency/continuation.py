"""Continues the log of a permanode that `purge --keep` reduced, with the records of a full permanode.

A reduced permanode has no records of new milestones: those of intervals follow from the listings of all keys, and these
from the owners of all outputs that are spent (docs/decisions/0048-kept-proofs.md). Records depend on the ledger alone,
so if its log is the beginning of that of another archive, the records of that archive continue it.
"""

from collections.abc import Iterator
from dataclasses import replace

from db.queries.log import LogHead
from etl.static_archive.archived_log import ArchivedLog
from etl.transparency.append import LogAppender
from etl.transparency.history import check_same
from etl.transparency.stored_log import StoredLog
from ledger.transparency.tiles import TILE_WIDTH, Place, split_bundle, width_at

NAMES = "this permanode", "the archive"


def check_beginning(own: StoredLog, other: ArchivedLog) -> None:
    """Raises LogForked if an opened log is not the beginning of that of an archive, ValueError if it is longer."""
    assert own.head is not None, "a log of its own"
    newest = own.head.newest
    check_same(newest, own.files.tiles(newest.size), other.head, other.tile, NAMES, "Nothing was stored")
    if other.head.size < newest.size:
        raise ValueError(
            f"proof keep: this permanode was a full one, and its log has {newest.size:,} records, that of the archive "
            f"{other.head.size:,}. An archive that was published later has the proofs"
        )


def continue_log(own: StoredLog, other: ArchivedLog) -> None:
    """Appends the records that the archive has more, and takes its checkpoint. Call `check_beginning` before.

    The records are proved by the tiles of the archive, whose signature `other` has verified.

    Raises:
        LogError: a record or tile of the archive is wrong.
    """
    assert own.head is not None, "a log of its own"
    size = own.head.newest.size
    appender = LogAppender(own, other.network, lambda *_: _records(other, size), others=[(other.head, other.tile)])
    head = appender.append(other.first, other.last)
    assert head is not None, "a log of its own"
    if head.signed is None or head.signed.size < other.head.size:
        own.publish(_signed_by(head, other))


def _signed_by(head: LogHead, other: ArchivedLog) -> LogHead:
    return replace(head, verifier=other.verifier, checkpoint=other.checkpoint)


def _records(log: ArchivedLog, start: int) -> Iterator[bytes]:
    """The records from index `start` on."""
    for number in range(start // TILE_WIDTH, -(-log.head.size // TILE_WIDTH)):
        place = Place(None, number, width_at(log.head.size, 0, number))
        yield from split_bundle(log.bundle(place), place.width)[max(0, start - number * TILE_WIDTH) :]
