"""Unspent outputs by unlock condition, and the storage deposits that they owe."""

from db.measures.measure import Kind, Measure, MeasureColumn, added, count_and_amount
from db.model import Type

OWED = "try_cast(stardust.storage_deposit_return_amount AS BIGINT)"

MEASURE = Measure(
    Kind.STATE,
    (
        *count_and_amount("expiration", "stardust.expiration IS NOT NULL", "unspent outputs that expire, or have"),
        *count_and_amount("timelock", "stardust.timelock IS NOT NULL", "unspent outputs with a timelock, be it over"),
        *count_and_amount(
            "storage_deposit_return",
            "stardust.storage_deposit_return IS NOT NULL",
            "unspent outputs that owe a storage deposit",
        ),
        MeasureColumn(
            "storage_deposit_owed", Type.BIGINT, "base tokens that they owe", added(f"{OWED} IS NOT NULL", OWED)
        ),
    ),
)
