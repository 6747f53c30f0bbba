"""The roots of milestones: of the messages in their cones, and of their changes of the ledger."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.partitions import ms_range_id
from db.store import Value
from etl.engine.arrow_frames import collected
from ledger.crypto.log_tree import packed_root
from ledger.stardust.values import Milestone

FLAGS = (b"\0", b"\1")
"""The byte behind the id of an output that was created, and of one that was spent."""

CHANGE = ("milestone_index", "white_flag_index", "idx", "is_spent", "output_id", "owner")
"""The columns of CHANGES that a Change consists of, in the order in which changes take effect."""

Change: TypeAlias = tuple[int, int, int, bool, bytes, bytes]
"""An output that a milestone created or spent: a result of `StoreReads.changes`."""


def milestone_rows(
    messages: DataFrame, milestones: DataFrame, changes: dict[int, list[Change]], chunk_size: int
) -> Iterator[tuple[Value, ...]]:
    """Yields rows of `milestone_roots`, ascending.

    Args:
        messages: all of the milestones, few enough for this process.
        milestones: of the lake.
        changes: those of each milestone, sorted. Milestones without changes may be missing.
        chunk_size: milestones per range.
    """
    ids = collected(
        messages.where("message_id IS NOT NULL").select("milestone_index", "white_flag_index", "message_id")
    ).sort_by([("milestone_index", "ascending"), ("white_flag_index", "ascending")])
    by_milestone = _by_milestone(ids)
    facts = collected(
        milestones.select("milestone_index", "message_id", "milestone_id", "seconds", F.col("payload").alias("payload"))
    ).sort_by("milestone_index")
    for row in facts.to_pylist():
        index = row["milestone_index"]
        found = by_milestone.get(index, [])
        yield (
            ms_range_id(index, chunk_size),
            index,
            _log_id(row),
            row["seconds"],
            len(found),
            _root_of(found),
            changes_root(changes.get(index, ())),
        )


def changes_root(changes: Sequence[Change]) -> bytes:
    """The root of the changes of a milestone: a leaf for each is the output id, and 1 if it was spent, else 0."""
    return _root_of([output_id + FLAGS[is_spent] for _, _, _, is_spent, output_id, _ in changes])


def _root_of(leaves: Sequence[bytes]) -> bytes:
    return packed_root(b"".join([sha256(b"\0" + each).digest() for each in leaves]))


def _by_milestone(ids: pa.Table) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for index, message_id in zip(ids["milestone_index"].to_pylist(), ids["message_id"].to_pylist(), strict=True):
        found.setdefault(index, []).append(message_id)
    return found


def _log_id(row: dict[str, Any]) -> bytes:
    is_stardust = int.from_bytes(row["payload"][:4], "little") == Milestone.KIND
    found: bytes = row["milestone_id"] if is_stardust else row["message_id"]
    return found
