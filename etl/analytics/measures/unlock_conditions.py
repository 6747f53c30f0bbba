"""What unspent outputs are bound by.

Rules of this file: as in standing.py.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from etl.analytics.standing import added, count_and_amount

CONDITIONS = ("expiration", "timelock", "storage_deposit_return")
"""Unlock conditions, by the field of `stardust` that tells of each."""


def unlock_conditions() -> dict[str, Column]:
    """Outputs that have one of CONDITIONS, and what they owe."""
    found = {
        name: column
        for condition in CONDITIONS
        for name, column in count_and_amount(condition, F.col(f"stardust.{condition}").isNotNull()).items()
    }
    owed = F.col("stardust.storage_deposit_return_amount").try_cast("bigint")
    return found | {"storage_deposit_owed": added(owed.isNotNull(), owed)}
