"""Expected: the fingerprints of all rows that decoded milestones lead to, one set per milestone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from db.intervals import Intervals
from etl.expectations.derived import derive, no_messages
from etl.expectations.fingerprints import BY_MILESTONE, POSITION, Fingerprint
from etl.expectations.message_batch import COLUMNS, NOTHING, Derived, Numbers, numbers
from etl.expectations.words import Words, row_hashes
from ledger.selection import Selection

_AMOUNTS = {each.name: each.amount for each in BY_MILESTONE}


@dataclass(frozen=True)
class Expected:
    """Fingerprints by milestone: for each of BY_MILESTONE the rows, the amount and the hash as u64, in this order."""

    milestones: Mapping[int, bytes] = field(default_factory=dict)

    def over(self, intervals: Intervals) -> dict[str, Fingerprint]:
        """Returns the fingerprint of each of BY_MILESTONE for these milestones."""
        chosen = [sums for index, sums in self.milestones.items() if any(a <= index <= b for a, b in intervals)]
        sums = np.frombuffer(b"".join(chosen), np.uint64).reshape(-1, len(BY_MILESTONE), 3).sum(axis=0, dtype=np.uint64)
        return {each.name: Fingerprint(*map(int, row)) for each, row in zip(BY_MILESTONE, sums, strict=True)}

    def of(self, intervals: Intervals) -> "Expected":
        """Returns those of the milestones that are in the intervals."""
        inside = {index for first, last in intervals for index in range(first, last + 1)}
        return Expected({index: sums for index, sums in self.milestones.items() if index in inside})

    def with_empty(self, intervals: Intervals) -> "Expected":
        """Returns these milestones, and those of the intervals that are missing, as ones without correct messages."""
        indexes = (index for first, last in intervals for index in range(first, last + 1))
        missing = [index for index in indexes if index not in self.milestones]
        return Expected({**self.milestones, **dict(sums_without_messages(missing))})

    def replaced_by(self, other: "Expected") -> "Expected":
        """Returns these milestones with those of `other` in their place."""
        return Expected({**self.milestones, **other.milestones})


def sums_by_milestone(batch: pa.RecordBatch | pa.Table, selection: Selection | None = None) -> list[tuple[int, bytes]]:
    """Returns the milestones of a batch of whole milestones (DECODED_DDL or MESSAGE_DDL) with their sums, as members of
    Expected. `selection`: that of a selective store, whose lookups have fewer rows of these messages.
    """
    indexes = numbers(batch.column("milestone_index"))
    if "reject" in batch.schema.names and batch.column("reject").null_count < batch.num_rows:
        batch = batch.filter(pc.is_null(batch.column("reject")))
    present = numbers(batch.column("milestone_index"))
    if len(present) > 1 and np.diff(present).min() < 0:
        order = np.argsort(present, kind="stable")
        batch, present = batch.take(pa.array(order)), present[order]
    is_first = np.diff(present, prepend=-2) != 0
    found, groups = present[is_first], np.cumsum(is_first) - 1
    sums = np.zeros((len(found), len(BY_MILESTONE), 3), np.uint64)
    for each in derive(batch, selection) if batch.num_rows else ():
        if len(each.messages):
            _add(sums[:, POSITION[each.frame]], each, groups[each.messages])
    without = np.setdiff1d(indexes, found) if len(indexes) > len(present) else indexes[:0]
    return _members(found, sums) + sums_without_messages(without.tolist())


def sums_without_messages(milestones: Sequence[int]) -> list[tuple[int, bytes]]:
    """Returns the members of Expected for milestones without a correct message, which only `sync` contains."""
    indexes = np.array(milestones, np.int64)
    sums = np.zeros((len(indexes), len(BY_MILESTONE), 3), np.uint64)
    if len(indexes):
        _add(sums[:, POSITION["sync"]], no_messages(indexes), np.arange(len(indexes)))
    return _members(indexes, sums)


def _members(milestones: Numbers, sums: Words) -> list[tuple[int, bytes]]:
    return [(int(index), row.tobytes()) for index, row in zip(milestones, sums, strict=True)]


def _add(sums: Words, rows: Derived, groups: Numbers) -> None:
    """Adds rows, in the order of their groups, to (group, [rows, amount, hash])."""
    bounds = np.searchsorted(groups, np.arange(len(sums) + 1))
    sums[:, 0] += np.diff(bounds).astype(np.uint64)
    if (name := _AMOUNTS[rows.frame]) is not None:
        amounts = np.asarray(rows.columns[name])
        sums[:, 1] += _summed(np.where(amounts == NOTHING, np.uint64(0), amounts), bounds)
    names = [name for name in COLUMNS[rows.frame] if name not in rows.in_shared]
    sums[:, 2] += _summed(row_hashes(rows.columns, names, len(groups), rows.shared), bounds)


def _summed(values: Words, bounds: Numbers) -> Words:
    """The sums between consecutive bounds, modulo 2^64."""
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    return np.diff(running[bounds])
