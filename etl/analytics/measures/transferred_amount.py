"""What changed hands in transactions.

Rules of this file: as in active_addresses.py.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transferred_amount(changes: DataFrame) -> DataFrame:
    """A row a transaction: what its owners gained. What was migrated spends nothing, and is no transfer."""
    sign = F.when(F.col("is_spent"), -1).otherwise(1)
    nets = changes.groupBy("milestone_index", "white_flag_index", "owner").agg(
        F.sum(sign * F.col("amount")).alias("net"), F.count_if("is_spent").alias("spent")
    )
    gained = nets.groupBy("milestone_index", "white_flag_index").agg(
        F.sum(F.greatest("net", F.lit(0))).alias("transferred_amount"), F.sum("spent").alias("spent")
    )
    return gained.where("spent > 0").select("milestone_index", "transferred_amount")
