"""Computes address_movements: what each transaction, migration or genesis output changed for each address.

An output belongs to the address that it names as its owner, also after its expiration. So the movements of an address
add up to its row of address_balances after each milestone.
"""

from pyspark.sql import Column, DataFrame
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

BETWEEN = ","
"""What separates addresses, which hex does not contain."""

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
        # Sail aggregates numbers in a third of the time of text or booleans.
        F.max(F.expr("CAST(is_spent AS INT)")).alias("sends"),
        F.max(F.expr("CAST(NOT is_spent AS INT)")).alias("receives"),
    )
    by_effect = by_address.groupBy(*EFFECT).agg(
        F.min("white_flag_index").alias("white_flag_index"),
        F.max("ms_timestamp").alias("ms_timestamp"),
        F.max("sends").alias("sends"),
        _joined("sends").alias("senders"),
        _joined("receives").alias("recipients"),
        F.collect_list(F.struct("address", "amount")).alias("parts"),
    )
    migration = "sends = 0"
    if receipts is not None:
        by_effect, migration = by_effect.join(receipts, "transaction_id", "left"), "migrated = 1"
    kinds = f"CASE WHEN milestone_index = {genesis} AND sends = 0 THEN '{GENESIS}' "
    kinds += f"WHEN {migration} THEN '{MIGRATION}' ELSE '{TRANSACTION}' END"
    rows = by_effect.select(
        *EFFECT,
        "white_flag_index",
        "ms_timestamp",
        F.expr(kinds).alias("kind"),
        "senders",
        "recipients",
        F.inline("parts"),
    ).where("amount <> 0")
    whole = f"concat('{BETWEEN}', CASE WHEN amount > 0 THEN senders ELSE recipients END, '{BETWEEN}')"
    others = f"replace({whole}, concat('{BETWEEN}', hex(address), '{BETWEEN}'), '{BETWEEN}')"
    return rows.select(
        "address",
        *EFFECT,
        "white_flag_index",
        "ms_timestamp",
        "kind",
        "amount",
        F.expr(f"unhex(replace({others}, '{BETWEEN}', ''))").alias("counterparties"),
    )


def _joined(flag: str) -> Column:
    """The addresses with a flag, as hex in order, with BETWEEN between them. Rows of text are copied faster than rows
    of arrays.
    """
    return F.array_join(F.sort_array(F.collect_list(F.expr(f"CASE WHEN {flag} = 1 THEN hex(address) END"))), BETWEEN)


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
