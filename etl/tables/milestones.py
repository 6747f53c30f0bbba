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
from etl.tables.frames import TREASURY_OUTPUT, TableFrame, conform, ms_timestamp
from etl.tables.row_frames import RowFrame

ENDS = ["milestone_index", "timestamp", "verified"]
"""The columns of milestones that `date_cache` reads."""


def milestones() -> RowFrame:
    """Milestones whose own message is valid."""
    return RowFrame(schema.milestones, F.expr("milestone_id IS NOT NULL"), {"timestamp": F.col("seconds")})


def milestone_ids() -> RowFrame:
    """Milestone index by milestone id."""
    return RowFrame(schema.milestone_ids, F.expr("milestone_id IS NOT NULL"))


def receipts(network: str) -> RowFrame:
    """The receipts of milestones."""
    computed = {name: F.col(f"receipt.{name}") for name in ("migrated_at", "payload")}
    return RowFrame(schema.receipts, F.expr("receipt IS NOT NULL"), {"network": F.lit(network), **computed})


def treasury(network: str) -> RowFrame:
    """The treasury after each receipt."""
    amount = F.col("receipt.treasury_amount").try_cast("bigint")
    return RowFrame(schema.treasury, F.expr("receipt IS NOT NULL"), {"network": F.lit(network), "amount": amount})


def protocol_parameters(network: str) -> RowFrame:
    """The protocol parameters that milestones announce."""
    computed = {
        "network": F.lit(network),
        "milestone_index": F.col("parameters.target_milestone_index"),
        "announced_by": F.col("milestone_index"),
        "protocol_version": F.col("parameters.protocol_version"),
        "params": F.col("parameters.params"),
    }
    return RowFrame(schema.protocol_parameters, F.expr("parameters IS NOT NULL"), computed)


def sync(chunk_size: int) -> RowFrame:
    """A row per milestone. synced_by, verified and layout are set only for complete milestones."""
    complete = F.col("verified").isNotNull()
    computed = {
        "ms_range_id": F.expr(f"milestone_index DIV {chunk_size}"),
        "ms_timestamp": ms_timestamp(),
        "synced_by": F.when(complete, F.lit(0)),
        "layout": F.when(complete, F.lit(schema.LAYOUT)),
    }
    return RowFrame(schema.sync, computed=computed, without=["logged_by"])


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
