"""Appends the records of complete milestones to the log, and signs its checkpoint."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from typing import TypeAlias

from db.queries.log import LogHead
from etl.report import Notify, Progress, quiet
from etl.transparency.history import LogForked, check_same
from etl.transparency.stored_log import AT_ONCE, StoredLog
from ledger.completeness.intervals import Interval
from ledger.crypto.log_tree import EMPTY
from ledger.transparency.checkpoint import Checkpoint, make_origin, parse_origin, sign_checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.growth import LogBuilder
from ledger.transparency.keys import SigningKey
from ledger.transparency.positions import Cover, closed_by, last_milestone, milestone_at, size_after
from ledger.transparency.records import CoverRecord, IntervalRecord, MilestoneRecord, Record, parse_record
from ledger.transparency.tiles import Place, TileReader

ClosedRecords: TypeAlias = Callable[[int, int, int], Iterable[bytes]]
"""`(first, after, to)` → the records of the milestones (after, to] of a log from `first`, in the order of the log."""

SignedLog: TypeAlias = tuple[Checkpoint, TileReader]
"""Size and root of a log, and its tiles, which need not be proved."""


class LogAppender:
    """Appends to a log that `StoredLog.open` has opened.

    Args:
        log: both copies of the log.
        network: its name.
        records: the source of records.
        key: signs checkpoints. None: they stay unsigned.
        notify: receives the progress.
        others: logs of the same ledger, which this one must agree with.
    """

    def __init__(
        self,
        log: StoredLog,
        network: str,
        records: ClosedRecords,
        key: SigningKey | None = None,
        notify: Notify = quiet,
        others: Sequence[SignedLog] = (),
    ) -> None:
        self._log = log
        self._network = network
        self._records = records
        self._key = key
        self._notify = notify
        self._others = others

    def append(self, first: int, to: int) -> LogHead | None:
        """Appends all milestones up to `to`, and returns the new head; None if there is no milestone yet.

        Args:
            first: the first milestone of a new log. One that exists keeps its own.
            to: the last milestone that has a record.

        Raises:
            LogError: a record is not the one that follows, or the stored tiles do not lead to the root.
            LogForked: the grown log differs from one of `others`.
        """
        before = self._log.head
        newest = Checkpoint(make_origin(self._network, first), 0, EMPTY) if before is None else before.newest
        first = parse_origin(newest.origin)[1]
        after = last_milestone(first, newest.size)
        head = before
        if to > after:
            builder = self._grow(newest, ordered(self._records(first, after, to), first, after), first, to)
            if builder.size > newest.size:
                grown = replace(newest, size=builder.size, root=builder.root())
                self._compare(grown)
                head = LogHead(grown) if before is None else replace(before, newest=grown)
        if head is None:
            return None
        head = self._signed(head)
        self._log.publish(head)
        return head

    def check(self, to: int) -> None:
        """Compares the records of the log up to milestone `to` with those of the ledger state.

        Raises:
            LogForked: they differ. The message names the first milestone that does.
        """
        head = self._log.head
        if head is None:
            return
        origin, size = head.newest.origin, head.newest.size
        first = parse_origin(origin)[1]
        last = min(to, last_milestone(first, size))
        records = islice(self._log.records(), size_after(first, last))
        for index, (logged, record) in enumerate(zip_longest(records, self._records(first, first - 1, last))):
            if logged != record:
                milestone = milestone_at(first, index)
                raise LogForked(
                    f"fork of the log {origin} at milestone {milestone}: the ledger state has another record than the "
                    f"log with the index {index}. The log was not continued"
                )

    def _compare(self, grown: Checkpoint) -> None:
        tiles = self._log.files.tiles(grown.size)
        for head, other_tiles in self._others:
            if head.origin == grown.origin:
                names = "this store", "the archive"
                check_same(grown, tiles, head, other_tiles, names, "The log was not continued")

    def _grow(self, newest: Checkpoint, records: Iterable[bytes], first: int, to: int) -> LogBuilder:
        builder = LogBuilder.resume(newest.size, newest.root, self._log.files.read_place)
        total = size_after(first, to) - newest.size

        def written() -> Iterator[tuple[Place, bytes]]:
            for number, (place, data) in enumerate(_full_and_edge(builder, records)):
                self._log.files.write_place(place, data)
                if number % AT_ONCE == 0:
                    self._notify(Progress("log", builder.size - newest.size, total, "records"))
                yield place, data

        self._log.write_rows(written())
        self._notify(Progress("log", builder.size - newest.size, total, "records"))
        return builder

    def _signed(self, head: LogHead) -> LogHead:
        """Signs the newest size, unless this key has."""
        key = self._key
        if key is None or (head.signed == head.newest and head.verifier == key.verifier.text):
            return head
        return replace(head, verifier=key.verifier.text, checkpoint=bytes(sign_checkpoint(head.newest, key)))


def ordered(records: Iterable[bytes], first: int, after: int) -> Iterator[bytes]:
    """Yields records as long as all those of a milestone are there.

    Raises:
        LogError: a record is not the one that follows in a log from `first`.
    """
    milestone, waiting, expected = after, list[bytes](), list[int | Interval | Cover]()
    for record in records:
        if not expected:
            milestone += 1
            expected = [milestone, *closed_by(first, milestone)]
        place = expected.pop(0)
        if _place_of(parse_record(record)) != place:
            raise LogError(f"expected the record of {place} in the log, found {record[:5].hex()}")
        waiting.append(record)
        if not expected:
            yield from waiting
            waiting = []


def _place_of(record: Record) -> int | Interval | Cover:
    match record:
        case MilestoneRecord():
            return record.index
        case IntervalRecord():
            return record.interval
        case CoverRecord():
            return record.cover


def _full_and_edge(builder: LogBuilder, records: Iterable[bytes]) -> Iterator[tuple[Place, bytes]]:
    before = builder.size
    yield from builder.extend(records)
    if builder.size > before:
        yield from builder.edge()
