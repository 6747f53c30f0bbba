"""Unspent outputs by unlock condition, and the storage deposits that they owe."""

from db.measures.measure import Kind, Measure, MeasureColumn, added, count_and_amount
from db.model import Type

OWED = "try_cast(stardust.storage_deposit_return_amount AS BIGINT)"

MEASURE = Measure(
    Kind.STATE,
    (
        *count_and_amount(
            "expiration", "stardust.expiration IS NOT NULL", "unspent outputs with an expiration, even if it is over"
        ),
        *count_and_amount(
            "timelock", "stardust.timelock IS NOT NULL", "unspent outputs with a timelock, even if it is over"
        ),
        *count_and_amount(
            "storage_deposit_return",
            "stardust.storage_deposit_return IS NOT NULL",
            "unspent outputs with a storage deposit to return",
        ),
        MeasureColumn(
            "storage_deposit_owed",
            Type.BIGINT,
            "base tokens of the storage deposits to return",
            added(f"{OWED} IS NOT NULL", OWED),
        ),
    ),
)
