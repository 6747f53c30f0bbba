"""The measures as data, and the rows of ms_analytics that they make: one pass over messages, one over changes.

Rules of this file: a measure fills columns of its own, and nothing here knows what one means; what looks at the ledger
state takes changes (etl.ledger_state.changes.CHANGES), which reach no further than that does. Nothing here reads or
writes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from db import schema
from db.schema import CALENDAR
from etl.analytics.entries import entries
from etl.analytics.measures.active_addresses import active_addresses
from etl.analytics.measures.activity import activity
from etl.analytics.measures.calendar import ACTIVE, newly_active, so_far
from etl.analytics.measures.chains import chains
from etl.analytics.measures.created_outputs import created_outputs
from etl.analytics.measures.holders import holders
from etl.analytics.measures.ledger_size import ledger_size
from etl.analytics.measures.message_sizes import message_sizes
from etl.analytics.measures.native_tokens import native_tokens
from etl.analytics.measures.transaction_sizes import transaction_sizes
from etl.analytics.measures.transferred_amount import transferred_amount
from etl.analytics.measures.unclaimed_outputs import unclaimed_outputs
from etl.analytics.measures.unlock_conditions import unlock_conditions
from etl.analytics.measures.unspent_outputs import unspent_outputs
from etl.tables.frames import TableFrame, conform
from etl.tables.partition_columns import range_of

Aggregates: TypeAlias = dict[str, Column]

OF_MESSAGES: Mapping[str, Callable[[], Aggregates]] = {
    "activity": activity,
    "message sizes": message_sizes,
    "transaction sizes": transaction_sizes,
    "created outputs": created_outputs,
}
"""Aggregates over etl.analytics.entries, of any complete milestone."""

OF_TRANSACTIONS: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    "active addresses": active_addresses,
    "transferred amount": transferred_amount,
    "chains": chains,
    "native tokens": native_tokens,
}
"""What the changes of a milestone did: rows to be summed."""

OF_STATE: Mapping[str, Callable[[int], Aggregates]] = {
    "unspent outputs": lambda _: unspent_outputs(),
    "ledger size": lambda _: ledger_size(),
    "unclaimed outputs": unclaimed_outputs,
    "unlock conditions": lambda _: unlock_conditions(),
}
"""What the changes of a milestone added to the ledger state, by the index of genesis; `holders` is one of them."""

STATE_COLUMNS = schema.ms_analytics.names[schema.ms_analytics.names.index("holders") :]
"""Those that tell of the state after the milestone; of its calendar intervals the last few."""

FLOW_COLUMNS = schema.ms_analytics.names[
    schema.ms_analytics.names.index("active_addresses") : schema.ms_analytics.names.index("holders")
]
"""Those that tell what its changes did."""

READ = (
    "milestone_index", "ms_timestamp", "white_flag_index", "is_spent", "output_type", "address", "owner", "amount",
    "created_milestone_index", "stardust", "data",
)  # fmt: skip
"""Of etl.ledger_state.changes.CHANGES what any measure looks at."""


@dataclass(frozen=True)
class Begun:
    """Where the ledger's measures go on: the row of ms_analytics at the milestone before `first`. `state` None: `first`
    is genesis, which the changes tell too.

    `counted`: column → first second of an interval → how many were active there before; `active`: who was, of those
    that the changes tell of (etl.analytics.calendar).
    """

    first: int
    genesis: int
    state: Mapping[str, int] | None = None
    counted: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    active: DataFrame | None = None


def of_messages(lake: DataFrame, chunk_size: int) -> TableFrame:
    """Rows of those of the lake's messages that stand in complete milestones."""
    found = {name: column for measure in OF_MESSAGES.values() for name, column in measure().items()}
    rows = (
        entries(lake)
        .groupBy("milestone_index")
        .agg(F.max("ms_timestamp").alias("ms_timestamp"), *(column.alias(name) for name, column in found.items()))
    )
    return conform(rows.withColumn("ms_range_id", range_of("milestone_index", chunk_size)), schema.ms_analytics)


def of_changes(
    changes: DataFrame, balances: DataFrame, times: DataFrame, begun: Begun, last: int, chunk_size: int
) -> TableFrame:
    """Rows of every milestone of [begun.first, last], from its changes, from the balances that they led to
    (etl.ledger_state.advance.balances), and from the `ms_timestamp` of each.
    """
    spark = changes.sparkSession
    states = {name: column for measure in OF_STATE.values() for name, column in measure(begun.genesis).items()}
    state = changes.groupBy("milestone_index").agg(*(column.alias(name) for name, column in states.items()))
    later = changes.where(F.col("milestone_index") > begun.genesis)
    milestones = spark.range(begun.first, last + 1, numPartitions=1).select(
        F.col("id").cast("int").alias("milestone_index")
    )
    active = later.select(ACTIVE.names)
    if begun.active is not None:
        active = active.unionByName(begun.active)
    news = newly_active(active).where(F.col("milestone_index") >= begun.first)
    several = [holders(balances), news, *(measure(later) for measure in OF_TRANSACTIONS.values())]
    parts = [milestones, state, *(_summed(rows) for rows in several)]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    summed = (
        together.groupBy("milestone_index")
        .agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in (*FLOW_COLUMNS, *STATE_COLUMNS)))
        .join(F.broadcast(times), "milestone_index", "left")
    )
    in_order = Window.orderBy("milestone_index").rowsBetween(Window.unboundedPreceding, 0)
    before = begun.state or dict.fromkeys(STATE_COLUMNS, 0)
    rows = summed.select(
        "milestone_index",
        "ms_timestamp",
        *(F.when(F.col("milestone_index") > begun.genesis, F.col(name)).alias(name) for name in FLOW_COLUMNS),
        *((F.sum(name).over(in_order) + before[name]).alias(name) for name in STATE_COLUMNS if name not in CALENDAR),
        *(so_far(name, begun.counted.get(name, {})).alias(name) for name in CALENDAR),
        range_of("milestone_index", chunk_size).alias("ms_range_id"),
    )
    return conform(rows, schema.ms_analytics)


def _summed(rows: DataFrame) -> DataFrame:
    """A row a milestone, of its own columns alone: side by side with all others each row would have a hundred."""
    columns = [name for name in rows.columns if name != "milestone_index"]
    return rows.groupBy("milestone_index").agg(*(F.sum(name).alias(name) for name in columns))
