"""Whether milestones and copies of a log agree with what was logged. What differs is a fork, which nothing may write.

A milestone is compared by its id, timestamp and number of messages. The id commits to the parents and the Merkle root
of the milestone, so a verified cone with the same id and number has the same messages in the same order.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from pyspark.sql import DataFrame

from db.intervals import Intervals, add, intersect, of_indices
from db.store import StoreMismatch
from etl.engine.arrow_frames import collected
from etl.lake.delta import either
from etl.lake.milestone_rows import milestone_rows
from ledger.transparency.checkpoint import Checkpoint, parse_origin
from ledger.transparency.errors import LogError
from ledger.transparency.logged_records import LoggedRecords
from ledger.transparency.positions import milestone_at
from ledger.transparency.records import MilestoneRecord
from ledger.transparency.tiled_tree import first_difference, proved_root
from ledger.transparency.tiles import TileReader

AT_ONCE = 100_000
"""Milestones that this process compares at once."""

NAMES = ("milestone_index", "milestone_id", "message_id", "seconds", "message_count")


class LogForked(StoreMismatch):
    """What a run would write, or what is stored, contradicts the log. The log was not changed."""


class LoggedMilestones(LoggedRecords):
    """The records of milestones in a log, compared with milestones that were loaded."""

    def inside(self, milestones: Intervals) -> Intervals:
        """Those of the milestones that are in the log."""
        return intersect(milestones, [(self.first, self.last)]) if self.last >= self.first else []

    def check_messages(self, messages: DataFrame, milestones: Intervals, *, in_part: bool = False) -> None:
        """Compares milestones, given as all their messages (MESSAGE_DDL), or `in_part` as some, which are not counted.
        Raises LogForked for the first that differs or, if they are not given in part, is missing.
        """
        read = partial(_read_messages, messages)
        for index in self._missing(milestones, read, in_part=in_part):
            if not in_part:
                raise self._forked(index, "no milestone")

    def check_milestones(self, read: Callable[[Intervals], DataFrame], milestones: Intervals) -> Intervals:
        """Compares milestones of a lake (MILESTONE_DDL), and returns those that it does not have. Raises LogForked for
        the first that differs.
        """
        missing = Intervals()
        for part in _parts(self.inside(milestones)):
            missing = add(missing, of_indices(self._missing([part], read)))
        return missing

    def _missing(
        self, milestones: Intervals, read: Callable[[Intervals], DataFrame], *, in_part: bool = False
    ) -> Iterator[int]:
        """Compares milestones, and yields those without a row."""
        for part in _parts(self.inside(milestones)):
            rows = {each["milestone_index"]: each for each in _rows(read([part]))}
            for index in range(part[0], part[1] + 1):
                logged, row = self.record(index), rows.get(index)
                if row is None:
                    yield index
                    continue
                if in_part:
                    row["message_count"] = logged.message_count
                if found := _difference(logged, row):
                    raise self._forked(index, found)

    def _forked(self, index: int, found: str) -> LogForked:
        logged = self.record(index)
        return LogForked(
            f"fork of the log of {self.network} at milestone {index}: milestone {logged.milestone_id.hex()} with "
            f"{logged.message_count} messages is logged, found {found}. Nothing was changed"
        )


def check_same(
    head: Checkpoint,
    tiles: TileReader,
    other: Checkpoint,
    other_tiles: TileReader,
    names: tuple[str, str],
    outcome: str = "Nothing was changed",
) -> None:
    """Compares two copies of a log up to the end of the shorter one.

    `names`: of the copies. `outcome`: what a fork leads to, for the message.

    Raises:
        LogForked: they differ. The message names the first milestone that does.
        LogError: tiles of a copy do not lead to its root.
    """
    if head.origin != other.origin:
        raise LogForked(f"the log of {names[0]} is {head.origin}, that of {names[1]} {other.origin}. {outcome}")
    size = min(head.size, other.size)
    roots = [
        each.root if each.size == size else proved_root(size, each.size, each.root, read)
        for each, read in ((head, tiles), (other, other_tiles))
    ]
    if roots[0] == roots[1]:
        return
    index = first_difference(size, tiles, other_tiles)
    if index is None:
        raise LogError(f"the tiles of the log of size {size} do not lead to its root")
    milestone = milestone_at(parse_origin(head.origin)[1], index)
    raise LogForked(
        f"fork of the log {head.origin} at milestone {milestone}: {names[0]} and {names[1]} have different records "
        f"with the index {index}. {outcome}"
    )


def _difference(logged: MilestoneRecord, row: dict[str, object]) -> str | None:
    """What a row has in place of what is logged; None if it is the same."""
    # In Chrysalis the record has the id of the milestone's message, in Stardust that of the milestone.
    is_same = logged.milestone_id in (row["milestone_id"], row["message_id"])
    if is_same and (logged.unix_time, logged.message_count) == (row["seconds"], row["message_count"]):
        return None
    found = row["milestone_id"]
    named = f"milestone {found.hex()}" if isinstance(found, bytes) and not is_same else "it"
    return f"{named} with {row['message_count']} messages"


def _read_messages(messages: DataFrame, milestones: Intervals) -> DataFrame:
    return milestone_rows(messages.where(either(milestones)), None)


def _rows(frame: DataFrame) -> Iterable[dict[str, object]]:
    rows: Iterable[dict[str, object]] = collected(frame.select(*NAMES)).to_pylist()
    return rows


def _parts(milestones: Intervals) -> Iterator[tuple[int, int]]:
    for first, last in milestones:
        for start in range(first, last + 1, AT_ONCE):
            yield start, min(start + AT_ONCE - 1, last)
