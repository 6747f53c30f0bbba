"""Who was active in a milestone, and what changed hands in its transactions.

Rules of this file: etl.changes.CHANGES in; out come rows of a milestone and the columns of ms_analytics that they add
to, several a milestone.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def active_addresses(changes: DataFrame) -> DataFrame:
    """A row an address whose outputs were created or spent."""
    return (
        changes.select("milestone_index", "owner")
        .distinct()
        .select("milestone_index", F.lit(1).alias("active_addresses"))
    )


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
