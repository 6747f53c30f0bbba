"""Bytes that unspent Stardust outputs take in a node. The protocol parameters say what they cost."""

from db.measures.measure import Kind, Measure, MeasureColumn, added
from db.model import Type

KEY_BYTES = 34
"""Of the key of an output: its id."""

KEPT_BESIDE = 40
"""Bytes that a node stores with an output: block id, and index and time of the milestone that booked it (TIP-19)."""

IS_STARDUST = "stardust IS NOT NULL"

MEASURE = Measure(
    Kind.STATE,
    (
        MeasureColumn(
            "key_bytes",
            Type.BIGINT,
            "of unspent Stardust outputs: bytes of key, 34 each",
            added(IS_STARDUST, str(KEY_BYTES)),
        ),
        MeasureColumn(
            "data_bytes",
            Type.BIGINT,
            "bytes of data: their own and 40 that a node keeps beside them",
            added(IS_STARDUST, f"length(data) + {KEPT_BESIDE}"),
        ),
    ),
)
