"""Computes transactions_by_address and ledger_updates_by_address from the lake and from the ledger's changes.

The transaction itself contains its signers and recipients. The amount that a signer spent is known when the inputs are
resolved, and is written to the same rows later.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from etl.engine.columns import present
from etl.tables import frames as tables
from etl.tables.kept_keys import is_kept
from etl.tables.partition_columns import Placement
from etl.tables.row_frames import RowFrame
from ledger.selection import ADDRESS, Selection

AMOUNTS = "decimal(38,0)"
"""The type of sums of u64 amounts."""


def transactions_by_address(
    lake: DataFrame, placement: Placement, selection: Selection | None = None
) -> tables.TableFrame:
    """Attachments and migrations under each address that they concern. The ledger state writes `sent`. `selection` as
    in `concerned`.
    """
    rows = concerned(lake, selection)
    nothing = F.lit(0).cast(AMOUNTS)

    def add_mine(amounts: Column, output: Column) -> Column:
        is_mine = output["address"] == F.col("address")
        return F.when(is_mine, (amounts + output["amount"]).cast(AMOUNTS)).otherwise(amounts)

    received = F.aggregate("outputs", nothing, add_mine)
    is_signer = F.array_contains("signers", F.col("address"))
    is_paid = F.coalesce(F.array_contains("outputs.address", F.col("address")), F.expr("false"))
    # One number, so that Sail does not filter the arrays for each branch. Migrated funds have no signer.
    parts = 2 * is_signer.cast("int") + is_paid.cast("int")
    rows = rows.withColumns(
        {
            "direction": F.when(parts == 3, "both")
            .when(parts == 2, "sent")
            .otherwise(F.when(F.col("is_migration"), "migrated").otherwise("received")),
            "received": received.try_cast("bigint"),
            "inputs_count": F.when(F.col("is_migration"), 1).otherwise(F.col("inputs_count")),
            "outputs_count": F.size("outputs"),
        }
    )
    table = schema.transactions_by_address
    return tables.conform(placement.place(rows, table), table, without=["sent"])


def concerned(lake: DataFrame, selection: Selection | None = None) -> DataFrame:
    """Addresses of each attachment (paid and signing) and of migrated funds: a row per message and address, with its
    `outputs`, its `signers` and whether it changed the ledger (`included`). `selection`: only addresses that a
    selective store lists.
    """
    more = (
        F.col("transaction.inputs.kind").alias("inputs"),
        F.col("transaction.unlocks.address").alias("unlocks"),
        F.col("milestone.receipt.treasury_input").alias("treasury_input"),
    )
    rows = tables.paying(lake, ("address", "amount"), more).select(
        "milestone_index",
        "message_id",
        "ms_timestamp",
        F.coalesce("transaction_id", "treasury_input").alias("transaction_id"),
        F.col("transaction_id").isNull().alias("is_migration"),
        "included",
        F.size("inputs").alias("inputs_count"),
        F.arrays_zip("address", "amount").alias("outputs"),
        F.col("address").alias("paid"),
        present(F.coalesce("unlocks", F.expr("CAST(array() AS ARRAY<BINARY>)"))).alias("signers"),
    )
    found = rows.select("*", F.explode(F.array_distinct(present(F.concat("paid", "signers")))).alias("address"))
    return found if selection is None else found.where(is_kept(selection, ADDRESS, F.col("address")))


def spent_from(changes: DataFrame, placement: Placement, selection: Selection | None = None) -> tables.TableFrame:
    """The amounts that included transactions spent of their signers' outputs. The load has already written these
    rows. `selection` as in `concerned`.
    """
    if selection is not None:
        # Of selected addresses that get an output back, the signer may be another one.
        changes = changes.where(is_kept(selection, ADDRESS, F.col("owner")))
    rows = (
        changes.where(F.col("is_spent") & (F.col("signer") == F.col("owner")))
        .withColumn("address", F.col("owner"))
        .groupBy("address", "milestone_index", "transaction_id", "message_id")
        .agg(F.sum("amount").alias("sent"))
        .withColumn("included", F.expr("true"))
    )
    table = schema.transactions_by_address
    return tables.conform(
        placement.place(rows, table), table, only=["transaction_id", "message_id", "included", "sent"]
    )


def ledger_updates() -> RowFrame:
    """Every change under the address that owns the output at that time."""
    return RowFrame(schema.ledger_updates_by_address, computed={"address": F.col("owner")})
