"""Computes the balance of each address after each milestone that changed it.

A balance contains all outputs that name the address as their owner, including expired ones.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from db import schema
from db.roles import ADDRESS
from etl.ledger_state.changes import BALANCES
from etl.ledger_state.conflict_reasons import dust_change
from etl.tables.partition_columns import range_of
from etl.tables.row_frames import RowFrame

SUMS = BALANCES.names[2:]

BALANCE_KIND = "balance"
"""addresses_hints.output_kind of address_balances."""


def balances(changes: DataFrame, before: DataFrame | None, frontier: int) -> DataFrame:
    """BALANCES of each address after each milestone above `frontier` that changed it, and `balance_before`.

    `before` (BALANCES) contains the balances at the frontier. None means that the changes start at genesis.
    """
    sign = F.when(F.col("is_spent"), -1).otherwise(1)
    dust_allowance, dust_outputs = dust_change()
    # What precedes the frontier is one step, so that memory does not grow with the ledger.
    step = F.greatest("milestone_index", F.lit(frontier)).alias("milestone_index")
    steps = changes.groupBy("address", step).agg(
        F.sum(sign * F.col("amount")).alias("balance"),
        F.sum(sign).alias("unspent_count"),
        F.sum(dust_allowance).alias("dust_allowance"),
        F.sum(dust_outputs).alias("dust_outputs"),
    )
    if before is not None:
        steps = steps.unionByName(before)
    so_far = Window.partitionBy("address").orderBy("milestone_index").rowsBetween(Window.unboundedPreceding, 0)
    summed = steps.select("address", "milestone_index", *(F.sum(name).over(so_far).alias(name) for name in SUMS))
    in_order = Window.partitionBy("address").orderBy("milestone_index")
    summed = summed.withColumn("balance_before", F.lag("balance").over(in_order))
    return summed.where(F.col("milestone_index") > frontier)


def balance_frames(chunk_size: int) -> tuple[RowFrame, RowFrame]:
    """The frames of address_balances and its hints, of `balances`."""
    ranged = {"ms_range_id": range_of("milestone_index", chunk_size)}
    hint = {
        "output_kind": F.lit(BALANCE_KIND),
        "variant": F.lit(ADDRESS),
        "included": F.expr("true"),
        "partition_id": F.lit(0),
    }
    return (
        RowFrame(schema.address_balances, computed=ranged),
        RowFrame(schema.addresses_hints, computed=ranged | hint, distinct=True),
    )
