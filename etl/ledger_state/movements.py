"""Computes address_movements: what each transaction, migration or genesis output changed for each address.

An output belongs to the address that it names as its owner, also after its expiration. So the movements of an address
add up to its row of address_balances after each milestone.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.intervals import Intervals
from db.partitions import movement_window
from db.roles import ADDRESS
from etl.tables.partition_columns import range_of
from etl.tables.row_frames import RowFrame
from etl.writers.publish import Publication

MOVEMENT_KIND = "movement"
"""addresses_hints.output_kind of address_movements."""

GENESIS, MIGRATION, TRANSACTION = "genesis", "migration", "transaction"
"""Values of address_movements.kind."""

AFTER_CONE = 2**31 - 1
"""The white-flag index of what is in no cone: genesis outputs."""

EFFECT = ["milestone_index", "transaction_id"]


def receipt_ids(publication: Publication, run: Intervals) -> DataFrame | None:
    """The ids of the milestones of a run with a receipt, for a state of selected addresses. None: the changes contain
    all that transactions spend, from which migrations follow.
    """
    if publication.owners is None:
        return None
    receipts = publication.lake.milestones(run).where("receipt IS NOT NULL")
    return receipts.select(F.col("milestone_id").alias("transaction_id"), F.lit(1).alias("migrated"))


def movements(changes: DataFrame, genesis: int, receipts: DataFrame | None = None) -> DataFrame:
    """The rows of address_movements, without those that follow from the milestone, of these changes. `receipts`: of
    `receipt_ids`.
    """
    signed = F.expr("CASE WHEN is_spent THEN -amount ELSE amount END")
    by_address = changes.groupBy(*EFFECT, "address").agg(
        F.min(F.coalesce("white_flag_index", F.lit(AFTER_CONE))).alias("white_flag_index"),
        F.max("ms_timestamp").alias("ms_timestamp"),
        F.sum(signed).alias("amount"),
        F.max(F.expr("CASE WHEN is_spent THEN hex(address) END")).alias("sender"),
        F.max(F.expr("CASE WHEN NOT is_spent THEN hex(address) END")).alias("recipient"),
    )
    by_effect = by_address.groupBy(*EFFECT).agg(
        F.min("white_flag_index").alias("white_flag_index"),
        F.max("ms_timestamp").alias("ms_timestamp"),
        F.sort_array(F.collect_list("sender")).alias("senders"),
        F.sort_array(F.collect_list("recipient")).alias("recipients"),
        F.collect_list(F.struct("address", "amount")).alias("parts"),
    )
    rows = by_effect.select(
        *EFFECT, "white_flag_index", "ms_timestamp", "senders", "recipients", F.inline("parts")
    ).where("amount <> 0")
    migration = "size(senders) = 0"
    if receipts is not None:
        rows, migration = rows.join(receipts, "transaction_id", "left"), "migrated = 1"
    kinds = f"CASE WHEN milestone_index = {genesis} AND size(senders) = 0 THEN '{GENESIS}' "
    kinds += f"WHEN {migration} THEN '{MIGRATION}' ELSE '{TRANSACTION}' END"
    others = "array_remove(CASE WHEN amount > 0 THEN senders ELSE recipients END, hex(address))"
    return rows.select(
        "address",
        *EFFECT,
        "white_flag_index",
        "ms_timestamp",
        F.expr(kinds).alias("kind"),
        "amount",
        F.expr(f"unhex(array_join({others}, ''))").alias("counterparties"),
    )


def movement_frames(chunk_size: int) -> tuple[RowFrame, RowFrame]:
    """The frames of address_movements and its hints, of `movements`."""
    size = movement_window(chunk_size)
    first = F.expr(f"CAST(milestone_index - (milestone_index % {chunk_size}) % {size} AS INT)")
    placed = {"ms_range_id": range_of("milestone_index", chunk_size), "partition_id": first}
    hint = {"output_kind": F.lit(MOVEMENT_KIND), "variant": F.lit(ADDRESS), "included": F.expr("true")}
    return (
        RowFrame(schema.address_movements, computed=placed),
        RowFrame(schema.addresses_hints, computed=placed | hint, distinct=True),
    )
