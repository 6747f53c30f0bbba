"""The roots of milestones: of the messages in their cones, and of their changes of the ledger."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.partitions import ms_range_id
from db.store import Value
from etl.engine.arrow_frames import collected
from ledger.crypto.log_tree import EMPTY, HASH_BYTES, packed_root
from ledger.stardust.values import Milestone

NOTHING = (0, EMPTY)
"""The number of leaves and the root of a milestone without messages or changes."""


def milestone_rows(
    messages: DataFrame, milestones: DataFrame, updates: pa.Table, chunk_size: int
) -> Iterator[tuple[Value, ...]]:
    """Yields rows of `milestone_roots`, ascending.

    Args:
        messages: all of the milestones, few enough for this process.
        milestones: of the lake.
        updates: UPDATES of the milestones, and perhaps of earlier ones.
        chunk_size: milestones per range.
    """
    ids = collected(
        messages.where("message_id IS NOT NULL").select("milestone_index", "white_flag_index", "message_id")
    ).sort_by([("milestone_index", "ascending"), ("white_flag_index", "ascending")])
    messages_of = _roots(ids["milestone_index"], ids["message_id"])
    updates_of = _roots(updates["milestone_index"], updates["leaf"])
    facts = collected(
        milestones.select("milestone_index", "message_id", "milestone_id", "seconds", F.col("payload").alias("payload"))
    ).sort_by("milestone_index")
    for row in facts.to_pylist():
        index = row["milestone_index"]
        count, root = messages_of.get(index, NOTHING)
        yield (
            ms_range_id(index, chunk_size),
            index,
            _log_id(row),
            row["seconds"],
            count,
            root,
            updates_of.get(index, NOTHING)[1],
        )


def _roots(milestones: pa.ChunkedArray, leaves: pa.ChunkedArray) -> dict[int, tuple[int, bytes]]:
    """The number of leaves of each milestone that has some, and their root. `milestones`: of each leaf, ascending."""
    hashes = b"".join([sha256(b"\0" + leaf).digest() for leaf in leaves.to_pylist()])
    found = {}
    start = 0
    for counted in pc.value_counts(milestones).to_pylist():
        stop = start + counted["counts"]
        root = packed_root(hashes[HASH_BYTES * start : HASH_BYTES * stop])
        found[counted["values"]] = counted["counts"], root
        start = stop
    return found


def _log_id(row: dict[str, Any]) -> bytes:
    is_stardust = int.from_bytes(row["payload"][:4], "little") == Milestone.KIND
    found: bytes = row["milestone_id"] if is_stardust else row["message_id"]
    return found
