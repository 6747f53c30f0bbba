"""Changes of the ledger in shares that the engine aggregates one after the other, because it holds what it aggregates.

A share is a condition on one column: reading the changes again for each share takes a tenth of the time of a sum.
"""

from itertools import pairwise

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from etl.writers.sorting import heads
from ledger.stardust.conditions import ED25519


def by_address(changes: DataFrame, shares: int) -> list[DataFrame]:
    """The changes (etl.ledger_state.changes.CHANGES) in shares, each with all of its addresses. All addresses that are
    not of Ed25519 are in the last one.
    """
    reached = (F.col("address") >= F.lit(bytes([ED25519]) + least) for least in heads(shares))
    bounds = pairwise([F.expr("true"), *reached, F.expr("false")])
    return [changes] if shares == 1 else [changes.where(first & ~following) for first, following in bounds]


def by_milestone(changes: DataFrame, shares: int) -> list[DataFrame]:
    """The changes (etl.ledger_state.changes.CHANGES) in shares, each with all of its milestones."""
    of_share = (F.col("milestone_index") % shares == number for number in range(shares))
    return [changes] if shares == 1 else [changes.where(each) for each in of_share]
