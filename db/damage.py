"""What a check of stored data finds: rows that cannot be read, or that differ from what was written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from db import schema
from db.intervals import Intervals, add, of_indices
from db.model import Table
from db.schema.wormhole_tables import vaas
from db.store import Unreadable, Value
from ledger.ids import message_id
from ledger.wormhole.vaa import decode_vaa, digest


@dataclass(frozen=True)
class Damage:
    """Damaged rows of one table in one place.

    Attributes:
        table: the table of the store or of the lake. Empty if the place belongs to no table.
        place: where the rows are: a file relative to the store or the lake, and its page if it has pages.
        rows: which rows are damaged: a key, or the keys around them.
        cause: what is wrong.
        milestones: the milestones of the rows. Empty if they are not all known.
    """

    table: str
    place: str
    rows: str
    cause: str
    milestones: Intervals = field(default_factory=list)


Checked: TypeAlias = Callable[[str, int, int | None], None]
"""Receives the progress of a check: the table or file, the bytes or rows read, and their total if it is known."""

HASHED: Mapping[Table, tuple[str, str]] = {
    schema.messages: ("message_id", "message"),
    schema.pending_messages: ("message_id", "message"),
    vaas: ("digest", "signed_vaa"),
}
"""Tables with rows that contain their own hash: the column of the hash and that of the bytes."""

OF_MILESTONES = ("milestone_index", "created_milestone_index", "spent_milestone_index", "ledger_index")
"""Columns with a milestone that a row depends on."""


def wrong_hash(table: Table, stored: bytes, data: bytes | None) -> str | None:
    """What is wrong with a row of a HASHED table, or None. A VAA may be unknown while its digest is known."""
    if table is vaas:
        if data is None:
            return None
        try:
            return None if digest(decode_vaa(data)) == stored else "its bytes have another digest"
        except ValueError as error:
            return f"its bytes are no VAA: {error}"
    return None if message_id(data or b"") == stored else "its bytes have another hash"


def damage_of(found: Unreadable, place: str, cause: str, chunk_size: int) -> Damage:
    """Describes rows that cannot be read. `chunk_size`: milestones per range."""
    keys = [key_text(found.table, [row[name] for name in found.table.key]) for row in found.rows]
    if not keys:
        rows = "unknown"
    elif len(keys) == 1:
        rows = keys[0]
    else:
        rows = f"{len(keys)} rows from {keys[0]} to {keys[-1]}"
    if not found.complete:
        rows += ", and unknown ones between them"
    milestones = milestones_of(found, chunk_size) if found.complete else []
    return Damage(found.table.name, place, rows, cause, milestones)


def milestones_of(found: Unreadable, chunk_size: int) -> Intervals:
    """The milestones that rows depend on, by their columns. Rows of a range depend on all its milestones."""
    milestones = Intervals()
    for row in found.rows:
        indices = [value for name in OF_MILESTONES if isinstance(value := row.get(name), int) and value >= 0]
        milestones = add(milestones, of_indices(indices))
        if not indices and isinstance(each := row.get("ms_range_id"), int):
            milestones = add(milestones, [(each * chunk_size, (each + 1) * chunk_size - 1)])
    return milestones


def key_text(table: Table, values: Sequence[Value]) -> str:
    """A key as text."""
    return ", ".join(f"{name} {_text(value)}" for name, value in zip(table.key, values, strict=True))


def _text(value: Value) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
