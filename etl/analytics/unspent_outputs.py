"""What is unspent after a milestone: outputs by kind, what they take of a node's room, what they are bound by.

Rules of this file: what one change adds, of etl.changes.CHANGES: +1 or its amount where it creates, less where it
spends; the sum of all changes up to a milestone is the state after it. What is spent only in time counts until it is.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from db.schema import OUTPUT_KINDS
from etl.analytics.created_outputs import is_kind

KEY_BYTES = 34
"""Of an output's key, its id."""

KEPT_BESIDE = 40
"""Bytes that a node keeps beside an output: block id, index and time of the milestone that booked it (TIP-19)."""

CONDITIONS = {
    "expiration": "expiration",
    "timelock": "timelock",
    "storage_deposit_return": "storage_deposit_return",
}
"""Unlock condition → what tells of it."""


def unspent_outputs() -> dict[str, Column]:
    """Outputs and base tokens by kind."""
    return {name: column for kind in OUTPUT_KINDS for name, column in _counted(kind, is_kind(kind)).items()}


def ledger_size() -> dict[str, Column]:
    """Bytes that storage deposits are reckoned from; what they cost, the protocol's parameters say."""
    is_stardust = F.col("stardust").isNotNull()
    return {
        "key_bytes": _when(is_stardust, F.lit(KEY_BYTES)),
        "data_bytes": _when(is_stardust, F.length("data") + KEPT_BESIDE),
    }


def unclaimed(genesis: int) -> dict[str, Column]:
    """What stood in genesis and was never touched."""
    return _counted("unclaimed", F.col("created_milestone_index") == genesis)


def unlock_conditions() -> dict[str, Column]:
    """Outputs that have one of CONDITIONS."""
    found = {
        name: column
        for condition, field in CONDITIONS.items()
        for name, column in _counted(condition, F.col(f"stardust.{field}").isNotNull()).items()
    }
    owed = F.col("stardust.storage_deposit_return_amount").try_cast("bigint")
    return found | {"storage_deposit_owed": _when(owed.isNotNull(), owed)}


def _counted(name: str, condition: Column) -> dict[str, Column]:
    return {f"{name}_count": _when(condition, F.lit(1)), f"{name}_amount": _when(condition, F.col("amount"))}


def _when(condition: Column, value: Column) -> Column:
    signed = F.when(F.col("is_spent"), -value).otherwise(value)
    return F.sum(F.when(condition, signed).otherwise(0).cast("bigint"))
