"""How many inputs and outputs the transactions have that took effect.

Rules of this file: as in activity.py.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from db.schema import SIZES_OF_TRANSACTIONS
from etl.analytics.entries import messages
from etl.sources.cone import INCLUDED

FIRST = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
"""What each of SIZES_OF_TRANSACTIONS begins with; it ends before the next."""


def transaction_sizes() -> dict[str, Column]:
    """Transactions by bucket of their inputs, and of their outputs."""
    is_included = F.col("inclusion_state") == INCLUDED
    return {
        f"{items}_{size}": messages(is_included & _between(F.col(items), first, end))
        for items in ("inputs", "outputs")
        for size, first, end in zip(SIZES_OF_TRANSACTIONS, FIRST, (*FIRST[1:], None), strict=True)
    }


def _between(count: Column, first: int, end: int | None) -> Column:
    return (count >= first) if end is None else (count >= first) & (count < end)
