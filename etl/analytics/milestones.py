"""The rows of ms_analytics, computed from the measures: one pass over messages, one over ledger changes.

A measure fills columns of its own (`db.measures`). This module does not depend on their meaning, and reads and writes
nothing. Measures of the ledger state take changes (etl.ledger_state.changes.CHANGES), which end at the ledger index.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from db import schema
from db.measures import MEASURES, columns_of
from db.measures.measure import Kind, Measure
from db.schema import CALENDAR
from etl.analytics.calendar import ACTIVE, newly_active, so_far
from etl.analytics.entries import entries
from etl.ledger_state.changes import CHANGES, COUNTED
from etl.tables.frames import TableFrame, conform
from etl.tables.partition_columns import range_of

MESSAGE_COLUMNS = ("ms_timestamp", *columns_of(Kind.MESSAGE))
"""What the messages of a milestone determine."""

TOTAL_COLUMNS = columns_of(Kind.STATE)
"""Totals after the milestone: a load continues them from those of the milestone before."""

FLOW_COLUMNS = columns_of(Kind.FLOW)
"""Results of the milestone's changes. Null in the row of genesis."""

STATE_COLUMNS = (*TOTAL_COLUMNS, *CALENDAR)
"""Columns that every row up to the ledger index has, including that of genesis."""

_BALANCES_READ = ("milestone_index", "ms_timestamp", "is_spent", "amount", *COUNTED.names)
_WORDS = {
    word
    for measure in MEASURES.values()
    for text in (measure.rows, *(each.expression for each in measure.columns))
    for word in re.findall(r"\w+", text)
}

READ = tuple(name for name in CHANGES.names if name in _BALANCES_READ or name in _WORDS)
"""The columns of CHANGES that measures, balances and the calendar read."""


Part: TypeAlias = tuple[DataFrame, Sequence[str]]
"""Rows with a milestone_index, and the names of the measures in them."""


@dataclass(frozen=True)
class Begun:
    """The row of ms_analytics at the milestone before `first`, from which the ledger's measures continue.

    Attributes:
        first: the first milestone to compute.
        genesis: the milestone of genesis.
        state: totals after the milestone before `first`. None: `first` is genesis, and its changes are included.
        counted: column → first second of an interval → addresses active in it before `first`.
        active: addresses of the changes that were active in these intervals before (etl.analytics.calendar).
    """

    first: int
    genesis: int
    state: Mapping[str, int] | None = None
    counted: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    active: DataFrame | None = None


def of_messages(lake: DataFrame, chunk_size: int) -> TableFrame:
    """Rows of the complete milestones, from the lake's messages."""
    measures = [measure for measure in MEASURES.values() if measure.kind is Kind.MESSAGE]
    rows = (
        entries(lake).groupBy("milestone_index").agg(F.max("ms_timestamp").alias("ms_timestamp"), *aggregates(measures))
    )
    return conform(
        rows.withColumn("ms_range_id", range_of("milestone_index", chunk_size)),
        schema.ms_analytics,
        only=MESSAGE_COLUMNS,
    )


def of_changes(
    changes: DataFrame, balances: DataFrame, times: DataFrame, begun: Begun, last: int, chunk_size: int
) -> TableFrame:
    """Rows of the milestones [begun.first, last], from their changes, the balances after them
    (etl.ledger_state.balances) and their `ms_timestamp`.
    """
    later = changes.where(F.col("milestone_index") > begun.genesis)
    milestones = changes.sparkSession.range(begun.first, last + 1, numPartitions=1).select(
        F.col("id").cast("int").alias("milestone_index")
    )
    active = later.select(ACTIVE.names)
    if begun.active is not None:
        active = active.unionByName(begun.active)
    news = newly_active(active).where(F.col("milestone_index") >= begun.first)
    parts: list[Part] = [
        (milestones, ()),
        *by_milestone(Kind.STATE, {"changes": changes, "balances": balances}, begun.genesis),
        (_summed(news, CALENDAR), tuple(CALENDAR)),
        *by_milestone(Kind.FLOW, {"changes": later, "balances": balances}, begun.genesis),
    ]
    summed = _side_by_side(parts).join(F.broadcast(times), "milestone_index", "left")
    in_order = Window.orderBy("milestone_index").rowsBetween(Window.unboundedPreceding, 0)
    before = begun.state or dict.fromkeys(TOTAL_COLUMNS, 0)
    rows = summed.select(
        "milestone_index",
        "ms_timestamp",
        *(F.when(F.col("milestone_index") > begun.genesis, F.col(name)).alias(name) for name in FLOW_COLUMNS),
        *((F.sum(name).over(in_order) + before[name]).alias(name) for name in TOTAL_COLUMNS),
        *(so_far(name, begun.counted.get(name, {})).alias(name) for name in CALENDAR),
        range_of("milestone_index", chunk_size).alias("ms_range_id"),
    )
    return conform(rows, schema.ms_analytics, only=["ms_timestamp", *FLOW_COLUMNS, *STATE_COLUMNS])


def _side_by_side(parts: Sequence[Part]) -> DataFrame:
    """A row per milestone with the sums of all measures. A measure that no row has is 0.

    The union has an array of numbers, because a column per measure in each part takes long to plan.
    """
    rows = []
    for number, (part, names) in enumerate(parts):
        numbers = ", ".join(f"CAST({name} AS BIGINT)" for name in names)
        rows.append(
            part.selectExpr(
                "milestone_index", f"{number} AS part", f"CAST(array({numbers}) AS ARRAY<BIGINT>) AS numbers"
            )
        )
    sums = (
        F.expr(f"coalesce(sum(CASE WHEN part = {number} THEN get(numbers, {at}) END), 0)").alias(name)
        for number, (_, names) in enumerate(parts)
        for at, name in enumerate(names)
    )
    return reduce(DataFrame.unionAll, rows).groupBy("milestone_index").agg(*sums)


def by_milestone(kind: Kind, frames: Mapping[str, DataFrame], genesis: int) -> list[Part]:
    """The measures of a kind for each milestone. Measures that aggregate the same rows share a frame.

    Each frame has only the columns of its measures. With all of them, a row would have a hundred columns.
    """
    measures = [measure for measure in MEASURES.values() if measure.kind is kind]
    groups = groupby(sorted(measures, key=lambda measure: measure.rows), key=lambda measure: measure.rows)
    return [_aggregated(rows_of(rows, frames), tuple(group), genesis) for rows, group in groups]


def _aggregated(rows: DataFrame, measures: Sequence[Measure], genesis: int) -> Part:
    names = tuple(column.name for measure in measures for column in measure.columns)
    return rows.groupBy("milestone_index").agg(*aggregates(measures, genesis)), names


def rows_of(rows: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The rows that a measure aggregates: one of the frames by its name, or a query from them."""
    if rows in frames:
        return frames[rows]
    return next(iter(frames.values())).sparkSession.sql(rows, None, **frames)


def aggregates(measures: Iterable[Measure], genesis: int = 0) -> list[Column]:
    """The columns of some measures, as aggregates over their rows."""
    return [
        F.expr(column.expression.format(genesis=genesis)).alias(column.name)
        for measure in measures
        for column in measure.columns
    ]


def _summed(rows: DataFrame, names: Iterable[str]) -> DataFrame:
    """Sums these columns per milestone."""
    return rows.groupBy("milestone_index").agg(*(F.sum(name).alias(name) for name in names))
