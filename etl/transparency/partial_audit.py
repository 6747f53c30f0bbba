"""Compares archives of which at least one keeps a selection: what both have of the log, and the ids of milestones.

A selective permanode has no records for what it dropped, so a log that it has ends, or is a copy without all tiles. Its
milestones are whole. The id of a milestone commits to all milestones and messages before it, so few ids suffice to find
out whether two archives differ.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from db.intervals import Intervals, add, in_words, intersect, nth, size, subtract
from etl.transparency.remote_log import RemoteLog
from etl.transparency.remote_selection import RemoteSelection
from ledger.transparency.errors import LogError
from ledger.transparency.positions import index_of_milestone
from ledger.transparency.records import MilestoneRecord

SAMPLED = 16
"""Milestones whose ids are compared unless all are."""

NOT_COMPARED = "listings, changes of the ledger and numbers of messages of the other milestones"


@dataclass(frozen=True)
class Archive:
    """An archive of an audit. `log`: None without a signed log. `selection`: None for one with all messages."""

    url: str
    log: RemoteLog | None
    selection: RemoteSelection | None

    @property
    def logged(self) -> Intervals:
        """The milestones whose records it has."""
        log = self.log
        return [(log.first, log.last)] if log is not None and log.is_whole and log.last >= log.first else []

    @property
    def milestones(self) -> Intervals:
        """The milestones whose ids it has."""
        return add(self.logged, [] if self.selection is None else self.selection.milestones)

    def milestone_id(self, index: int) -> bytes:
        """The id of a milestone: of its proved record, or as the archive states it. Raises LogError, Fault."""
        if self.log is not None and intersect(self.logged, [(index, index)]):
            record = self.log.parsed(index_of_milestone(self.log.first, index))
            if not isinstance(record, MilestoneRecord):
                raise LogError(f"expected the record of milestone {index} at its place in the log")
            return record.milestone_id
        assert self.selection is not None, "a milestone of the archive"
        return self.selection.milestone_id(index)


@dataclass(frozen=True)
class PartialComparison:
    """What two archives, at least one of them selective, were compared by; empty: nothing."""

    urls: tuple[str, str]
    compared: tuple[str, ...]
    not_compared: str


@dataclass(frozen=True)
class Unlike:
    """Two values that differ. `is_first`: `milestone` is the first one that differs, else one at or after it."""

    milestone: int
    what: str
    values: tuple[bytes, bytes]
    is_first: bool


def compare_ids(one: Archive, other: Archive, *, whole: bool) -> tuple[str, Unlike | None]:
    """Compares ids of milestones that both archives have and not both logs: SAMPLED of them, all if `whole`.

    Returns what was compared, empty if there are no such milestones, and the first milestone that differs.
    """
    common = subtract(intersect(one.milestones, other.milestones), intersect(one.logged, other.logged))
    if not common:
        return "", None
    count = size(common)

    def ids_at(position: int) -> tuple[bytes, bytes]:
        index = nth(common, position)
        return one.milestone_id(index), other.milestone_id(index)

    equal_to = -1
    for position in range(count) if whole else _sample(count):
        ids = ids_at(position)
        if ids[0] != ids[1]:
            first, ids = _bisected(equal_to, position, ids, ids_at)
            return "", Unlike(nth(common, first), "milestone", ids, is_first=True)
        equal_to = position
    how = "all" if whole or count <= SAMPLED else f"{SAMPLED} of the"
    return f"{how} ids of the milestones {in_words(common)}", None


def compare_roots(one: RemoteLog, other: RemoteLog) -> tuple[str, Unlike | None]:
    """Compares signed roots of logs, at least one of which has not all its tiles. Returns what `compare_ids` does."""
    shorter, longer = sorted((one, other), key=lambda each: each.size)
    if one.origin != other.origin or not (longer.is_whole or shorter.size == longer.size):
        return "", None
    count = shorter.size
    roots = [each.signed.checkpoint.root if each.size == count else each.root_at(count) for each in (one, other)]
    if roots[0] != roots[1]:
        return "", Unlike(shorter.last, "roots of the logs", (roots[0], roots[1]), is_first=False)
    return f"the signed root of {count:,} records", None


def _sample(count: int) -> Iterator[int]:
    """Up to SAMPLED positions, evenly spaced, with both ends."""
    most = min(count, SAMPLED)
    yield from (position * (count - 1) // max(1, most - 1) for position in range(most))


def _bisected(
    equal: int, differing: int, ids: tuple[bytes, bytes], ids_at: Callable[[int], tuple[bytes, bytes]]
) -> tuple[int, tuple[bytes, bytes]]:
    """The first position that differs, and its ids: all milestones after one that differs do as well."""
    while differing - equal > 1:
        between = (equal + differing) // 2
        found = ids_at(between)
        if found[0] == found[1]:
            equal = between
        else:
            differing, ids = between, found
    return differing, ids
