"""What unspent outputs take of a node's room.

Rules of this file: as in standing.py.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from etl.analytics.standing import added

KEY_BYTES = 34
"""Of an output's key, its id."""

KEPT_BESIDE = 40
"""Bytes that a node keeps beside an output: block id, index and time of the milestone that booked it (TIP-19)."""


def ledger_size() -> dict[str, Column]:
    """Bytes that storage deposits are reckoned from; what they cost, the protocol's parameters say."""
    is_stardust = F.col("stardust").isNotNull()
    return {
        "key_bytes": added(is_stardust, F.lit(KEY_BYTES)),
        "data_bytes": added(is_stardust, F.length("data") + KEPT_BESIDE),
    }
