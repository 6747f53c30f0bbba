"""Computes the pending tables from pending rows of the lake. Nothing here enters a final table.

The lake's `timestamp` of a pending message is the time at which a load received it. Its rows expire a day later, no
matter how often they are written.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from db.partitions import lookup_key_text
from db.roles import ROLES, Role, listing_key
from etl.lake.output_rows import STARDUST_OUTPUT
from etl.tables.frames import EXPIRES_AT, TREASURY_OUTPUT, FrameMaker, TableFrame, conform, tagged
from etl.tables.lookups import listed, role_items
from etl.tables.partition_columns import hex_text

KEY = "{}"
"""Stands for the key of a role in the text of a lookup key."""


def pending_messages(lake_pending: DataFrame) -> TableFrame:
    """Pending messages."""
    return conform(expiring(lake_pending), schema.pending_messages, has_expiry=True)


def pending(lake_pending: DataFrame, est_milestone_index: int) -> TableFrame:
    """Lookup rows of pending messages: children, tags, transactions, and outputs in every role."""
    rows = (
        pending_keys(expiring(lake_pending))
        .withColumn("ms_range_id", F.lit(schema.PENDING_RANGE))
        .withColumn("bucket", F.lit(est_milestone_index // schema.PENDING_BUCKET))
        .withColumn("est_milestone_index", F.lit(est_milestone_index))
    )
    return conform(rows, schema.pending, has_expiry=True)


def pending_hints(lake_pending: DataFrame, est_milestone_index: int) -> TableFrame:
    """The ranges with pending rows."""
    rows = pending(lake_pending, est_milestone_index).frame
    ends = F.max(EXPIRES_AT).alias(EXPIRES_AT)
    return conform(rows.groupBy("lookup", "key", "bucket").agg(ends), schema.pending_hints, has_expiry=True)


def makers(lake_pending: DataFrame, est_milestone_index: int) -> list[FrameMaker]:
    """The makers of all pending tables."""
    return [
        lambda _: pending_messages(lake_pending),
        lambda _: pending(lake_pending, est_milestone_index),
        lambda _: pending_hints(lake_pending, est_milestone_index),
    ]


def expiring(lake_pending: DataFrame) -> DataFrame:
    """Pending messages with the time at which they expire, in seconds since 1970."""
    return lake_pending.withColumn(EXPIRES_AT, F.expr(f"unix_millis(timestamp) DIV 1000 + {schema.PENDING_TTL_S}"))


def pending_keys(messages: DataFrame) -> DataFrame:
    """The lookup keys of pending messages: lookup, key, row_id, message_id and expiry."""
    attached = messages.where("transaction IS NOT NULL")
    outputs = messages.select("message_id", EXPIRES_AT, F.explode("transaction.outputs").alias("output")).select(
        "message_id",
        EXPIRES_AT,
        F.col("output.output_id").alias("output_id"),
        F.col("output.kind").alias("output_type"),
        F.col("output.address").alias("address"),
        F.col("output.stardust").cast(STARDUST_OUTPUT).alias("stardust"),
    )
    in_roles = listed(outputs.where(F.col("output_type") != TREASURY_OUTPUT)).select(
        "message_id",
        EXPIRES_AT,
        "output_id",
        F.explode(role_items([(role,) for role in ROLES], _lookup_and_key)).alias("role"),
    )
    parts = [
        _rows(
            messages.select("message_id", EXPIRES_AT, F.explode("parents").alias("key")),
            schema.parents.name,
            hex_text(F.col("key")),
        ),
        _rows(tagged(messages, "message_id", EXPIRES_AT), schema.tags.name, hex_text(F.col("tag"))),
        _rows(attached, schema.transactions.name, hex_text(F.col("transaction.transaction_id"))),
        in_roles.select(
            "role.lookup", "role.key", F.concat("output_id", "message_id").alias("row_id"), "message_id", EXPIRES_AT
        ),
    ]
    keys = parts[0]
    for part in parts[1:]:
        keys = keys.unionByName(part)
    return keys


def _rows(messages: DataFrame, lookup: str, key: Column) -> DataFrame:
    return messages.select(
        F.lit(lookup).alias("lookup"),
        key.alias("key"),
        F.col("message_id").alias("row_id"),
        "message_id",
        EXPIRES_AT,
    )


def _lookup_and_key(role: Role) -> Column:
    """The table of a role, and the key of an output's row in it as text."""
    before, after = lookup_key_text(listing_key(role, KEY, included=False)).split(KEY)
    key = F.concat(F.lit(before), hex_text(F.col(role.column)), F.lit(after))
    return F.struct(F.lit(role.table.name).alias("lookup"), key.alias("key"))
