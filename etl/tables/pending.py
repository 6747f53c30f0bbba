"""Computes the pending tables from pending rows of the lake. Nothing here enters a final table."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.roles import ADDRESS
from etl.tables.frames import TREASURY_OUTPUT, TableFrame, conform, output_kind, tagged, transaction_outputs
from etl.tables.partition_columns import hex_text


def pending_messages(lake_pending: DataFrame) -> TableFrame:
    """Pending messages."""
    return conform(lake_pending, schema.pending_messages)


def pending(lake_pending: DataFrame, est_milestone_index: int) -> TableFrame:
    """Lookup rows of pending messages: children, tags, outputs by address."""
    kind = output_kind(F.col("output.kind"))
    key = F.concat_ws(":", hex_text(F.col("output.address")), kind, F.lit(ADDRESS), F.lit("false"))
    rows = (
        lake_pending.select("message_id", F.explode("parents").alias("parent"))
        .select(
            F.lit(schema.parents.name).alias("lookup"),
            hex_text(F.col("parent")).alias("key"),
            F.col("message_id").alias("row_id"),
            "message_id",
        )
        .unionByName(
            tagged(lake_pending).select(
                F.lit(schema.tags.name).alias("lookup"),
                hex_text(F.col("tag")).alias("key"),
                F.col("message_id").alias("row_id"),
                "message_id",
            )
        )
        .unionByName(
            transaction_outputs(lake_pending)
            .where(F.col("output.kind") != TREASURY_OUTPUT)
            .select(
                F.lit(schema.outputs_by_address.name).alias("lookup"),
                key.alias("key"),
                F.concat("output.output_id", "message_id").alias("row_id"),
                "message_id",
            )
        )
        .withColumn("ms_range_id", F.lit(schema.PENDING_RANGE))
        .withColumn("bucket", F.lit(est_milestone_index // schema.PENDING_BUCKET))
        .withColumn("est_milestone_index", F.lit(est_milestone_index))
    )
    return conform(rows, schema.pending)


def pending_hints(lake_pending: DataFrame, est_milestone_index: int) -> TableFrame:
    """The ranges with pending rows."""
    rows = pending(lake_pending, est_milestone_index).frame
    return conform(rows.select("lookup", "key", "bucket").distinct(), schema.pending_hints)
