"""The lake's messages as the measures of a milestone look at them: a row a message, and one for each output created.

Rules of this file: as in tables.py. One scan serves all measures of messages, so only what one of them reads is here.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from etl.sources.cone import INCLUDED
from etl.tables import ms_timestamp


def entries(lake: DataFrame) -> DataFrame:
    """Of complete milestones: each message with its size, payload, state, and inputs and outputs in number; beside it,
    or in a row of its own, each output that it created (`output_type`, `amount`), migrated ones (`is_migrated`) too.
    """
    funds = "milestone.receipt.funds"
    created = F.arrays_zip(
        F.coalesce("transaction.outputs.kind", f"{funds}.kind").alias("output_type"),
        F.coalesce("transaction.outputs.amount", f"{funds}.amount").alias("amount"),
    )
    is_migrated = F.col("transaction.transaction_id").isNull()
    return (
        lake.where("verified IS NOT NULL")
        .select(
            "milestone_index",
            ms_timestamp().alias("ms_timestamp"),
            F.col("message_id").isNotNull().alias("is_message"),
            F.length("message").alias("bytes"),
            "payload_kind",
            "inclusion_state",
            F.size("transaction.inputs.kind").alias("inputs"),
            F.size("transaction.outputs.kind").alias("outputs"),
            is_migrated.alias("is_migrated"),
            F.posexplode_outer(F.when(is_migrated | (F.col("inclusion_state") == INCLUDED), created)).alias(
                "idx", "created"
            ),
        )
        .select("*", F.col("created.output_type").alias("output_type"), F.col("created.amount").alias("amount"))
    )


def of_messages(condition: Column) -> Column:
    """That condition, once for each message."""
    return F.col("is_message") & (F.coalesce("idx", F.lit(0)) == 0) & condition
