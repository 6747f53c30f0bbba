"""Computes address_analytics: the amounts that an address sent and received in a milestone.

Sent is the sum of its spent outputs, received the sum of outputs created for it. Change that returns to the address is
in both.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from etl.tables.frames import TableFrame, conform
from etl.tables.partition_columns import range_of


def address_analytics(changes: DataFrame, chunk_size: int) -> TableFrame:
    """A row per address and milestone that changed it."""
    rows = changes.groupBy(F.col("owner").alias("address"), "milestone_index").agg(
        F.max("ms_timestamp").alias("ms_timestamp"),
        F.sum(F.when(F.col("is_spent"), F.col("amount")).otherwise(0)).alias("sent_tokens"),
        F.sum(F.when(F.col("is_spent"), 0).otherwise(F.col("amount"))).alias("recv_tokens"),
    )
    return conform(rows.withColumn("ms_range_id", range_of("milestone_index", chunk_size)), schema.address_analytics)
