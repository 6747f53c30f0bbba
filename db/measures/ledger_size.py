"""Bytes that unspent Stardust outputs take in a node. The protocol parameters say what they cost."""

from db.measures.measure import Kind, Measure, MeasureColumn, added
from db.model import Type

KEY_BYTES = 34
"""Bytes of an output's key: its id."""

KEPT_BESIDE = 40
"""Bytes that a node stores with an output: block id, and index and time of the milestone that booked it (TIP-19)."""

IS_STARDUST = "stardust IS NOT NULL"

MEASURE = Measure(
    Kind.STATE,
    (
        MeasureColumn(
            "key_bytes",
            Type.BIGINT,
            "key bytes of unspent Stardust outputs: 34 each",
            added(IS_STARDUST, str(KEY_BYTES)),
        ),
        MeasureColumn(
            "data_bytes",
            Type.BIGINT,
            "data bytes of unspent Stardust outputs: their own and 40 of metadata each",
            added(IS_STARDUST, f"length(data) + {KEPT_BESIDE}"),
        ),
    ),
)
