"""Messages → metrics_cache and daily_analytics: who sent and received on a UTC day, and which indexes were used.

Rules of this file: as in tables.py; a day is that of its milestones' timestamps, and its complete milestones count.
Addresses that sent are those that signed; what was spent without a signature of its own, of an alias or an NFT, has
none.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from etl.sources.cone import INCLUDED
from etl.tables import DUST_ALLOWANCE_OUTPUT, TREASURY_OUTPUT, TableFrame, conform

ADDRESS, INDEX = "address", "index"

SUMMED = {"named": "bigint", "received": "bigint", "sent": "bigint", "used": "bigint", "moved": "decimal(30, 0)"}
"""What is counted of a value, and in what: outputs of any transaction that name an address, of included ones those that
pay it and the signatures that it gave; messages with an index; base tokens in outputs of included transactions, which a
faucet that passes nearly all of them on sums up to more than 64 bits a day."""


def counts(lake: DataFrame) -> DataFrame:
    """SUMMED of each UTC day and value, an address or an index (`variant`)."""
    rows = lake.where("verified IS NOT NULL").withColumn("date", F.to_date("timestamp"))
    is_included = F.col("inclusion_state") == INCLUDED
    outputs = rows.where("transaction.transaction_id IS NOT NULL").select(
        "date",
        is_included.alias("is_included"),
        F.inline(
            F.arrays_zip(
                F.col("transaction.outputs.kind").alias("kind"),
                F.col("transaction.outputs.address").alias("address"),
                F.col("transaction.outputs.amount").alias("amount"),
            )
        ),
    )
    pays = F.col("is_included") & ~F.col("kind").isin(DUST_ALLOWANCE_OUTPUT, TREASURY_OUTPUT)
    paid = outputs.select(
        "date",
        F.lit(ADDRESS).alias("variant"),
        F.col("address").alias("value"),
        F.lit(1).alias("named"),
        pays.cast("int").alias("received"),
        F.when(F.col("is_included"), F.col("amount")).alias("moved"),
    )
    signers = rows.where(is_included).select("date", F.explode("transaction.unlocks.address").alias("value"))
    signed = signers.where("value IS NOT NULL").withColumns({"variant": F.lit(ADDRESS), "sent": F.lit(1)})
    tagged = rows.withColumn("value", F.coalesce("tagged_data.tag", "transaction.tagged_data.tag"))
    used = tagged.where("value IS NOT NULL").select(
        "date", F.lit(INDEX).alias("variant"), "value", F.lit(1).alias("used")
    )
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), (paid, signed, used))
    return together.groupBy("date", "variant", "value").agg(
        *(F.coalesce(F.sum(name), F.lit(0)).cast(kind).alias(name) for name, kind in SUMMED.items())
    )


def metrics_cache(counted: DataFrame) -> TableFrame:
    """A row for each metric of a value that is not 0."""
    metrics = {
        "sent": F.col("sent"),
        "received": F.col("received"),
        "sent_or_received": _either(),
        "used": F.col("used"),
    }
    rows = [F.struct(F.lit(name).alias("metric"), count.alias("metric_value")) for name, count in metrics.items()]
    kept = counted.select("date", "variant", "value", F.inline(F.array(*rows))).where("metric_value > 0")
    return conform(kept, schema.metrics_cache)


def daily_analytics(counted: DataFrame, milestones: DataFrame) -> TableFrame:
    """A row a day of the lake's complete milestones, from `counts` of those days; a sum of tokens that no 64 bits hold
    is not known.
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
