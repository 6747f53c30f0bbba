"""What a check cannot notice, because it depends on how milestones were loaded and nothing that is served needs it."""

from collections.abc import Sequence

from db import schema
from db.model import Table
from db.store import Row


def may_be_missing(table: Table, row: Row, rows: Sequence[Row]) -> bool:
    """Whether a store without this row is right, too."""
    if table is schema.ledger_frontier:
        return bool(row["ledger_index"] < max(each["ledger_index"] for each in rows))
    if table is schema.splits:
        return True
    if table is schema.messages:
        # Reasons of the ledger's rules need signatures, unless an input was spent or did not exist.
        return row["inclusion_state"] == 2 and row["conflict_reason"] not in (1, 3)
    if table is schema.rich_list:
        return bool(row["rank"] == max(each["rank"] for each in rows if each["ledger_index"] == row["ledger_index"]))
    return False


def no_effect(table: Table, column: str) -> bool:
    """Whether the column is derived from other rows of the store."""
    return table is schema.pending and column in ("est_milestone_index", "bucket")
