"""Computes the tables with at most one row per milestone, from the lake's milestones and genesis."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.store import Row
from etl.engine.arrow_frames import arrow_frame
from etl.engine.session import Session
from etl.tables.frames import TREASURY_OUTPUT, TableFrame, conform

ENDS = ["milestone_index", "timestamp", "verified"]
"""The columns of milestones that `date_cache` reads."""


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


def with_ends(session: Session, few: pa.Table, ends: Iterable[Row | None]) -> DataFrame | None:
    """The columns of complete milestones that `date_cache` reads: of `few`, and of the first and last milestones of
    their days in rows of date_cache (`ends`). None if a day has no row yet.
    """
    rows = [
        (index, timestamp, "") for index, timestamp in zip(*(few[name].to_pylist() for name in ENDS[:2]), strict=True)
    ]
    for row in ends:
        if row is None:
            return None
        day = datetime.combine(date.fromisoformat(row["date"]), time(), UTC)
        rows += [(row["start_ms"], day, ""), (row["end_ms"], day, "")]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, few.schema.field(name).type) for name, column in zip(ENDS, columns, strict=True)]
    return arrow_frame(session, pa.table(arrays, names=ENDS))


def date_cache(lake_milestones: DataFrame) -> TableFrame:
    """The first and last complete milestone of each UTC day."""
    days = lake_milestones.where("verified IS NOT NULL").groupBy(F.to_date("timestamp").alias("date"))
    rows = days.agg(F.min("milestone_index").alias("start_ms"), F.max("milestone_index").alias("end_ms"))
    return conform(rows, schema.date_cache)
