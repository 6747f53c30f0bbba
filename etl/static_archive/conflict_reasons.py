"""The reasons of conflicts in an archive: those of the ledger state, if the store has one, else those of the lake."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from db import schema
from etl.lake.reader import LakeReader
from etl.static_archive.records import stored_records
from etl.static_client import STARDUST_MILESTONE, Record
from etl.store_reads import StoreReads
from ledger.ids import message_id

CONFLICTING = 2

COLUMNS = ("message_id", "inclusion_state", "conflict_reason")


class ConflictReasons:
    """The reasons of conflicts that a run publishes.

    Attributes:
        of_ledger: whether they are those of the ledger state.
    """

    def __init__(self, lake: LakeReader, reads: StoreReads, *, of_ledger: bool) -> None:
        self._lake, self._reads = lake, reads
        self.of_ledger = of_ledger

    def in_records(self, records: list[Record]) -> list[Record]:
        """The records of the lake with these reasons. Raises ValueError if the store does not have a message."""
        conflicting = [at for at, each in enumerate(records) if each.inclusion_state == CONFLICTING]
        if not self.of_ledger or not conflicting:
            return records
        reasons = self._find([message_id(records[at].data) for at in conflicting])
        for at, reason in zip(conflicting, reasons, strict=True):
            records[at] = records[at]._replace(conflict_reason=reason)
        return records

    def in_rows(self, rows: pa.Table) -> pa.Table:
        """Rows of the lake with these reasons. They have COLUMNS. Raises ValueError if the store does not have a
        message.
        """
        if not self.of_ledger:
            return rows
        rows = rows.combine_chunks()
        is_conflict = _array(pc.fill_null(pc.equal(rows["inclusion_state"], CONFLICTING), fill_value=False))
        found = pa.array(self._find(rows["message_id"].filter(is_conflict).to_pylist()), pa.int16())
        replaced = pc.replace_with_mask(_array(rows["conflict_reason"]), is_conflict, found)
        return rows.set_column(rows.column_names.index("conflict_reason"), "conflict_reason", replaced)

    def are_in(self, path: Path, first: int, last: int) -> bool:
        """Whether a message file with these milestones has these reasons, and the inclusion states of the lake.

        Raises ArchiveError for a file that does not consist of blocks, and ValueError if the store does not have a
        message.
        """
        found = (
            (each.inclusion_state, each.conflict_reason)
            for _, each in stored_records(path)
            if each.kind != STARDUST_MILESTONE
        )
        return all(one == other for one, other in zip_longest(found, self._states(first, last)))

    def _states(self, first: int, last: int) -> Iterator[tuple[int | None, int | None]]:
        """Yields the inclusion state and the reason of each message of some milestones, in white-flag order."""
        for rows in self._lake.rows(first, last, COLUMNS):
            found = self.in_rows(rows.filter(rows["message_id"].is_valid()))
            yield from zip(found["inclusion_state"].to_pylist(), found["conflict_reason"].to_pylist(), strict=True)

    def _find(self, ids: Sequence[bytes]) -> list[int | None]:
        rows = self._reads.many(schema.messages, [(each.hex(),) for each in ids])
        found = []
        for each, row in zip(ids, rows, strict=True):
            if row is None:
                raise ValueError(f"message {each.hex()} of the lake expected in the store")
            found.append(row["conflict_reason"])
        return found


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
