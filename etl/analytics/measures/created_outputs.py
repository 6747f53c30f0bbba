"""Outputs that a milestone created, by kind, and what transactions moved.

Rules of this file: as in activity.py. A migration creates outputs and moves nothing.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from db.roles import KIND_OF_TYPE
from db.schema import OUTPUT_KINDS


def is_kind(kind: str) -> Column:
    """Whether an output is of that one of OUTPUT_KINDS."""
    return F.col("output_type").isin([number for number, name in KIND_OF_TYPE.items() if name == kind])


def created_outputs() -> dict[str, Column]:
    """Outputs and base tokens created, and the sum over transactions alone."""
    amount = F.coalesce(F.try_sum(F.when(~F.col("is_migrated"), F.col("amount"))), F.lit(0))
    found = {"transferred_tokens": amount.try_cast("bigint")}
    for kind in OUTPUT_KINDS:
        found[f"{kind}_created_count"] = F.sum(F.when(is_kind(kind), F.col("created")).otherwise(0))
        amount = F.coalesce(F.try_sum(F.when(is_kind(kind), F.col("amount"))), F.lit(0))
        found[f"{kind}_created_amount"] = amount.try_cast("bigint")
    return found
