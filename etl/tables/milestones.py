"""Computes the tables with at most one row per milestone, from the lake's milestones and genesis."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from etl.tables.frames import TREASURY_OUTPUT, TableFrame, conform


def milestones(lake_milestones: DataFrame) -> TableFrame:
    """Milestones whose own message is valid."""
    rows = lake_milestones.where("milestone_id IS NOT NULL").withColumn("timestamp", F.col("seconds"))
    return conform(rows, schema.milestones)


def milestone_ids(lake_milestones: DataFrame) -> TableFrame:
    """Milestone index by milestone id."""
    return conform(lake_milestones.where("milestone_id IS NOT NULL"), schema.milestone_ids)


def receipts(lake_milestones: DataFrame, network: str) -> TableFrame:
    """The receipts of milestones."""
    rows = lake_milestones.where("receipt IS NOT NULL").select(
        F.lit(network).alias("network"), F.col("receipt.migrated_at"), "milestone_index", F.col("receipt.payload")
    )
    return conform(rows, schema.receipts)


def treasury(lake_milestones: DataFrame, network: str) -> TableFrame:
    """The treasury after each receipt."""
    rows = lake_milestones.where("receipt IS NOT NULL").select(
        F.lit(network).alias("network"),
        "milestone_index",
        "milestone_id",
        F.col("receipt.treasury_amount").try_cast("bigint").alias("amount"),
    )
    return conform(rows, schema.treasury)


def protocol_parameters(lake_milestones: DataFrame, network: str) -> TableFrame:
    """The protocol parameters that milestones announce."""
    rows = lake_milestones.where("parameters IS NOT NULL").select(
        F.lit(network).alias("network"),
        F.col("parameters.target_milestone_index").alias("milestone_index"),
        F.col("milestone_index").alias("announced_by"),
        F.col("parameters.protocol_version"),
        F.col("parameters.params"),
    )
    return conform(rows, schema.protocol_parameters)


def genesis_treasury(lake_genesis: DataFrame, network: str) -> TableFrame:
    """The treasury of the genesis."""
    rows = lake_genesis.where(F.col("kind") == TREASURY_OUTPUT).select(
        F.lit(network).alias("network"), "milestone_index", F.col("output_id").alias("milestone_id"), "amount"
    )
    return conform(rows, schema.treasury)


def date_cache(lake_milestones: DataFrame) -> TableFrame:
    """The first and last complete milestone of each UTC day."""
    days = lake_milestones.where("verified IS NOT NULL").groupBy(F.to_date("timestamp").alias("date"))
    rows = days.agg(F.min("milestone_index").alias("start_ms"), F.max("milestone_index").alias("end_ms"))
    return conform(rows, schema.date_cache)
