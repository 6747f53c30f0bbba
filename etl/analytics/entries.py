"""The lake's messages as the measures of a milestone look at them: how many are alike, and their outputs.

Rules of this file: as in tables.py. One scan serves all measures of messages, so only what one of them reads is here;
what is alike to all of them is one row, as there are many measures and few kinds of messages in a milestone.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from etl.sources.cone import INCLUDED
from etl.tables.frames import ms_timestamp


def entries(lake: DataFrame) -> DataFrame:
    """Of complete milestones: `messages` of the same payload, state, and inputs and outputs in number, with their
    `bytes`; in the same rows `created` outputs of a type, migrated or not (`is_migrated`), with their `amount`.
    """
    funds = "milestone.receipt.funds"
    created = F.arrays_zip(
        F.coalesce("transaction.outputs.kind", f"{funds}.kind").alias("output_type"),
        F.coalesce("transaction.outputs.amount", f"{funds}.amount").alias("amount"),
    )
    is_migrated = F.col("transaction.transaction_id").isNull()
    rows = (
        lake.where("verified IS NOT NULL")
        .select(
            "milestone_index",
            ms_timestamp().alias("ms_timestamp"),
            F.length("message").alias("bytes"),
            F.col("message_id").isNotNull().alias("is_message"),
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
    # A message is counted in the row of its first output.
    is_counted = F.col("is_message") & (F.coalesce("idx", F.lit(0)) == 0)
    return rows.groupBy(
        "milestone_index", "payload_kind", "inclusion_state", "inputs", "outputs", "output_type", "is_migrated"
    ).agg(
        F.max("ms_timestamp").alias("ms_timestamp"),
        F.count_if(is_counted).alias("messages"),
        F.sum(F.when(is_counted, F.col("bytes")).otherwise(0)).alias("bytes"),
        F.count("output_type").alias("created"),
        F.try_sum("amount").alias("amount"),
    )
