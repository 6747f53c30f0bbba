"""How measures of the ledger state are told: by what each change adds to it.

Rules of this file: what one change adds, of etl.ledger_state.changes.CHANGES: +1 or its amount where it creates, less
where it
spends; the sum of all changes up to a milestone is the state after it. What is spent only in time counts until it is.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F


def added(condition: Column, value: Column) -> Column:
    """The sum of a value over the outputs of which that is true."""
    signed = F.when(F.col("is_spent"), -value).otherwise(value)
    return F.sum(F.when(condition, signed).otherwise(0).cast("bigint"))


def count_and_amount(name: str, condition: Column) -> dict[str, Column]:
    """The outputs of which that is true, and their base tokens."""
    return {f"{name}_count": added(condition, F.lit(1)), f"{name}_amount": added(condition, F.col("amount"))}
