"""How many bytes a milestone's cone has, by payload.

Rules of this file: as in activity.py; bytes are those of whole messages, as inx-chronicle counts them.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from etl.analytics.measures.activity import PAYLOADS, has_payload


def message_sizes() -> dict[str, Column]:
    """Sums of bytes."""
    conditions = {"message_bytes": F.lit(True)}  # noqa: FBT003 (a column's value)
    conditions |= {f"{payload}_bytes": has_payload(payload) for payload in PAYLOADS}
    return {name: F.sum(F.when(condition, F.col("bytes")).otherwise(0)) for name, condition in conditions.items()}
