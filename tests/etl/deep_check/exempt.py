"""What a check cannot notice, because it depends on how milestones were loaded and nothing that is served needs it, or
what it reports for another table.
"""

from collections.abc import Sequence

from db import schema
from db.model import Table
from db.store import Row

INPUT_REASONS = (1, 2, 3)
"""Reasons of conflicts that follow from spent and unknown inputs. Others need signatures."""


def may_be_missing(table: Table, row: Row, rows: Sequence[Row]) -> bool:
    """Whether a store with or without this row is right. A split that is missing moves rows of its lookup; of the
    ledger's frontier only the newest step is read.
    """
    if table is schema.ledger_frontier:
        return bool(row["ledger_index"] < max(each["ledger_index"] for each in rows))
    return table is schema.splits


def no_effect(table: Table, column: str, row: Row) -> bool:
    """Whether the column of this row is derived from other rows of the store."""
    if table is schema.messages and column == "conflict_reason":
        return row["inclusion_state"] == 2 and row["conflict_reason"] not in INPUT_REASONS
    return table is schema.pending and column in ("est_milestone_index", "bucket")
