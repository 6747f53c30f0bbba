"""Computes metrics_cache and daily_analytics: who sent and received on a UTC day, and which indexes were used.

The day of a milestone follows from its timestamp; only complete milestones count. A sender is an address that signed.
Outputs of aliases and NFTs are spent without a signature of their own, so they have no sender.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from etl.engine.columns import inline
from etl.sources.cone import INCLUDED
from etl.tables.frames import DUST_ALLOWANCE_OUTPUT, FACT, TREASURY_OUTPUT, TableFrame, conform

ADDRESS, INDEX = "address", "index"

SUMMED = {"named": "bigint", "received": "bigint", "sent": "bigint", "used": "bigint", "moved": "decimal(30, 0)"}
"""The sums per value and their types: outputs of all transactions that name an address; outputs of included
transactions that pay the address, and the signatures that it gave; messages with an index; base tokens in outputs of
included transactions, which can exceed 64 bits per day if a faucet passes nearly all tokens on repeatedly.
"""

COUNTED_DDL = ", ".join(
    ("date DATE", "variant STRING", "value BINARY", *(f"{name} {kind}" for name, kind in SUMMED.items()))
)
"""The columns of `counts`."""


def counts(lake: DataFrame) -> DataFrame:
    """SUMMED of each UTC day and value, an address or an index (`variant`)."""
    rows = (
        lake.where("verified IS NOT NULL")
        .select(
            F.to_date("timestamp").alias("date"),
            (F.col("inclusion_state") == INCLUDED).alias("is_included"),
            F.coalesce("tagged_data.tag", "transaction.tagged_data.tag").alias("tag"),
            # Recipients and signers of a message side by side: one scan, and as many rows as the longer list has.
            F.posexplode_outer(
                F.arrays_zip(
                    F.col("transaction.outputs.kind").alias("kind"),
                    F.col("transaction.outputs.address").alias("address"),
                    F.col("transaction.outputs.amount").alias("amount"),
                    F.col("transaction.unlocks.address").alias("signer"),
                )
            ).alias("position", "each"),
        )
        .select("date", "is_included", "tag", "position", "each.*")
    )
    is_included, kind = F.col("is_included"), F.col("kind")
    pays = is_included & ~kind.isin(DUST_ALLOWANCE_OUTPUT, TREASURY_OUTPUT)
    paid = {"named": F.lit(1), "received": pays.cast("int"), "moved": F.when(is_included, F.col("amount"))}
    entries = F.array(
        _entry(kind.isNotNull(), ADDRESS, F.col("address"), paid),
        _entry(is_included & F.col("signer").isNotNull(), ADDRESS, F.col("signer"), {"sent": F.lit(1)}),
        _entry(
            F.col("tag").isNotNull() & (F.coalesce("position", F.lit(0)) == 0), INDEX, F.col("tag"), {"used": F.lit(1)}
        ),
    )
    return (
        inline(rows, ("date",), entries)
        .where("is_there")
        .groupBy("date", "variant", "value")
        .agg(*(F.coalesce(F.sum(name), F.lit(0)).cast(kind).alias(name) for name, kind in SUMMED.items()))
    )


def _entry(is_there: Column, variant: str, value: Column, summed: dict[str, Column]) -> Column:
    """A value of a message and its contributions to SUMMED."""
    nothing = F.lit(None)
    return F.struct(
        is_there.alias("is_there"),
        F.lit(variant).alias("variant"),
        value.alias("value"),
        *(
            summed.get(name, nothing).cast("decimal(20, 0)" if name == "moved" else "int").alias(name)
            for name in SUMMED
        ),
    )


def metrics_cache(counted: DataFrame, fact: int) -> TableFrame:
    """A row per metric of a value that is not 0. `fact` orders it after the row that it replaces."""
    metrics = {
        "sent": F.col("sent"),
        "received": F.col("received"),
        "sent_or_received": _either(),
        "used": F.col("used"),
    }
    rows = [F.struct(F.lit(name).alias("metric"), count.alias("metric_value")) for name, count in metrics.items()]
    kept = inline(counted, ("date", "variant", "value"), F.array(*rows)).where("metric_value > 0")
    return conform(kept.withColumn(FACT, F.lit(fact).cast("bigint")), schema.metrics_cache, has_fact=True)


def daily_analytics(counted: DataFrame, milestones: DataFrame) -> TableFrame:
    """A row per day from the lake's complete milestones and `counts` of these days. A token sum beyond 64 bits is
    null.
    """
    days = counted.groupBy("date").agg(
        F.count_if(_either() > 0).alias("total_addresses"),
        F.count_if(F.col("sent") > 0).alias("send_addresses"),
        F.count_if(F.col("received") > 0).alias("recv_addresses"),
        F.count_if(F.col("used") > 0).alias("used_indexes"),
        F.count_if(F.col("named") > 0).alias("output_addresses"),
        F.sum("named").alias("output_count"),
        F.max("named").alias("max_outputs"),
        F.sum("moved").alias("moved"),
    )
    whole = milestones.groupBy(F.to_date("timestamp").alias("date")).agg(
        F.count("*").alias("milestone_count"),
        F.sum("message_count").alias("message_count"),
        F.sum("included").alias("transaction_count"),
        F.sum("conflicting").alias("conflicting_count"),
        F.sum("transactions").alias("transaction_payload_count"),
    )
    rows = whole.join(days, "date", "left").na.fill(0)
    made = {"year": F.year("date"), "transferred_tokens": F.col("moved").try_cast("bigint")}
    return conform(rows.withColumns(made), schema.daily_analytics)


def _either() -> Column:
    return F.col("sent") + F.col("received")
