"""Computes the lake's milestones from its messages: their values and the sums of their cones."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from etl.lake.message_rows import LAKE_RANGE
from ledger.eras import CHRYSALIS
from ledger.levels import LEVELS

COUNTS = ("message_count", "included", "conflicting", "no_transaction", "transactions", "tagged_data", "no_payload")


def milestone_rows(messages: DataFrame, rejects: DataFrame | None) -> DataFrame:
    """MILESTONE_DDL from the messages just committed, and from the rejects if there are any."""
    place = F.coalesce("white_flag_index", F.lit(2**31 - 1))
    in_message = f"version = {CHRYSALIS.protocol_version} AND milestone.milestone_index = milestone_index"
    own = messages.where(f"message_id IS NULL OR ({in_message})").groupBy("milestone_index")
    own_rows = own.agg(F.min_by(F.struct("message_id", "milestone"), F.struct(place, "message_id")).alias("own"))
    levels = F.array(*map(F.lit, LEVELS))
    # Numbers only: to aggregate text or structs, Spark would first sort all messages.
    proved = F.array_position(levels, F.col("verified"))
    counted = messages.groupBy("milestone_index").agg(
        F.max("timestamp").alias("timestamp"),
        F.max(proved).cast("int").alias("proved"),
        F.count("message_id").cast("int").alias("message_count"),
        *(
            F.count_if(F.col("inclusion_state") == state).cast("int").alias(name)
            for state, name in enumerate(("no_transaction", "included", "conflicting"))
        ),
        F.count("transaction").cast("int").alias("transactions"),
        F.count("tagged_data").cast("int").alias("tagged_data"),
        F.count_if(F.col("payload_kind").isNull()).cast("int").alias("no_payload"),
    )
    counted = counted.join(own_rows, "milestone_index", "left")
    if rejects is not None:
        reject_counts = rejects.groupBy("milestone_index").agg(F.count("*").cast("int").alias("rejects"))
        counted = counted.join(reject_counts, "milestone_index", "full")
        for name in COUNTS:
            counted = counted.withColumn(name, F.coalesce(name, F.lit(0)))
    else:
        counted = counted.withColumn("rejects", F.lit(0))
    return counted.select(
        "milestone_index",
        F.expr(f"milestone_index DIV {LAKE_RANGE}").cast("int").alias("lake_range"),
        "timestamp",
        F.get(levels, F.col("proved") - 1).alias("verified"),
        F.coalesce("rejects", F.lit(0)).alias("rejects"),
        F.col("own.milestone.milestone_id").alias("milestone_id"),
        F.coalesce("own.message_id", "own.milestone.block_id").alias("message_id"),
        F.col("own.milestone.timestamp").alias("seconds"),
        F.col("own.milestone.payload").alias("payload"),
        F.col("own.milestone.receipt").alias("receipt"),
        F.col("own.milestone.parameters").alias("parameters"),
        *COUNTS,
    )
