"""Computes unspent_outputs and its hints from changes.

A row is stored at the milestone that created its output. The creating and the spending change each write a part of it.
An output has a row for each of its roles (db/roles.py), and one without a role.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from db.roles import ALL, ROLES
from etl.engine.columns import bytes_at
from etl.tables import frames as tables
from etl.tables.frames import FrameMaker
from etl.tables.lookups import filter_columns, inline_roles
from etl.tables.partition_columns import Placement, hex_text, rows_of_keys

TABLE = schema.unspent_outputs
SPENT = "spent_milestone_index"


def makers(changes: DataFrame, placement: Placement, genesis: int, frontier: int, dead_to: int) -> list[FrameMaker]:
    """The frames that changes above the frontier write, and the hints of created outputs.

    Outputs that were created above the frontier and spent by `dead_to` are not written, because compaction would delete
    them at once.
    """
    created, spent = changes.where("NOT is_spent"), changes.where("is_spent")
    if dead_to > frontier:
        dead = spent.where((F.col("created_milestone_index") > frontier) & (F.col("milestone_index") <= dead_to))
        created = created.join(dead.select("output_id"), "output_id", "left_anti")
        spent = spent.where((F.col("created_milestone_index") <= frontier) | (F.col("milestone_index") > dead_to))
    placed = placed_outputs(created, placement, genesis).withColumn(tables.FACT, F.col("milestone_index"))
    ended = placed_outputs(spent, placement, genesis).select(*TABLE.key, SPENT, F.col(SPENT).alias(tables.FACT))
    hints = placed.groupBy(*TABLE.partition).agg(F.max(tables.FACT).alias(tables.FACT))
    return [
        lambda _: tables.conform(placed, TABLE, without=[SPENT], has_fact=True),
        lambda _: tables.conform(ended, TABLE, only=[SPENT], has_fact=True),
        lambda _: tables.conform(hints, schema.unspent_hints, has_fact=True),
    ]


def placed_outputs(changes: DataFrame, placement: Placement, genesis: int) -> DataFrame:
    """The key of each changed output's rows, its own columns, and where it was spent if that is the change."""
    created = F.col("created_milestone_index")
    first_byte = hex_text(bytes_at("output_id", 1, 1))
    rows = _keyed(changes, F.when(created == genesis, first_byte).otherwise(ALL))
    rows = rows.withColumns({SPENT: F.when(F.col("is_spent"), F.col("milestone_index")), "milestone_index": created})
    return placement.place(rows, TABLE)


def counted_keys(counted: DataFrame, chunk_size: int) -> list[DataFrame]:
    """rows_of_keys of schema.LEDGER_LOOKUPS for etl.ledger_state.changes.COUNTED since genesis."""
    updates = counted.select("milestone_index", F.col("owner").alias("address"))
    rows = (updates, _keyed(counted.where("NOT is_spent"), F.lit(ALL)))
    return [rows_of_keys(each, lookup, chunk_size) for lookup, each in zip(schema.LEDGER_LOOKUPS, rows, strict=True)]


def _keyed(rows: DataFrame, key_of_all: Column) -> DataFrame:
    """The changes once for each lookup that contains them, with the output's columns for its rows."""
    filtered = rows.withColumns(filter_columns(F.col("stardust")))
    filtered = filtered.withColumn("output_kind", tables.output_kind(F.col("output_type")))
    among_all = _lookup_key(ALL, F.lit(None).cast("binary"))
    keyed = filtered.select(
        "*", inline_roles(ROLES, lambda role: _lookup_key(role.variant, F.col(role.column)), among_all)
    )
    return keyed.withColumn("key", F.coalesce(hex_text(F.col("key")), key_of_all))


def _lookup_key(lookup: str, key: Column) -> Column:
    return F.struct(F.lit(lookup).alias("lookup"), key.alias("key"))
