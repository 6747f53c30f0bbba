"""What a milestone's cone holds: messages by payload and by what became of them.

Rules of this file: aggregates over etl.analytics.entries, by the column of ms_analytics that they fill.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from etl.analytics.entries import messages
from etl.sources.cone import CONFLICTING, INCLUDED, NO_TRANSACTION

PAYLOADS = {
    "transaction": (0, 6),
    "treasury_transaction": (4,),
    "milestone": (1, 7),
    "tagged_data": (2, 5),
}
"""Payload → its type numbers in both eras."""


def has_payload(payload: str) -> Column:
    """Whether a message carries that one of PAYLOADS."""
    return F.col("payload_kind").isin(*PAYLOADS[payload])


def activity() -> dict[str, Column]:
    """Counts of messages."""
    conditions = {
        "message_count": F.lit(True),  # noqa: FBT003 (a column's value)
        "transaction_count": F.col("inclusion_state") == INCLUDED,
        "conflicting_count": F.col("inclusion_state") == CONFLICTING,
        "no_transaction_count": F.col("inclusion_state") == NO_TRANSACTION,
        "no_payload_count": F.col("payload_kind").isNull(),
    }
    conditions |= {f"{payload}_payload_count": has_payload(payload) for payload in PAYLOADS}
    return {name: messages(condition) for name, condition in conditions.items()}
