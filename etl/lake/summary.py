"""Totals and rejects of a run, read from the lake for its report: a small number of rows."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from db.intervals import Intervals
from etl.lake.delta import Lake, either
from etl.report import Report

KINDS = {"transactions": "transaction", "tagged_data": "indexation", "no_payload": "no payload"}
"""Counts in the lake's `milestones` by payload, and their names in a report."""

COUNTED = ("message_count", *KINDS)
"""The counts in the lake's `milestones` that a report contains."""

DAY_S = 86_400

REJECTS_SHOWN = 20
"""Rejects that a report contains. The `rejects` table contains all of them."""


@dataclass(frozen=True)
class Totals:
    """Sums of milestones.

    Attributes:
        messages: the number of their messages.
        conflicting: the number of conflicting transactions.
        days: their UTC days since 1970.
    """

    messages: int
    conflicting: int
    days: frozenset[int]


def totals_of(lake: Lake, milestones: Intervals) -> Totals:
    """Returns the sums of those milestones, in one query."""
    day = F.unix_date(F.to_date("timestamp"))
    row = lake.milestones(milestones).agg(F.sum("message_count"), F.sum("conflicting"), F.collect_set(day)).first()
    assert row is not None
    return Totals(row[0] or 0, row[1] or 0, frozenset(row[2]))


def totals_of_rows(milestones: pa.Table) -> Totals:
    """Returns the sums of few milestones in this process."""
    days = {each.timestamp() // DAY_S for each in milestones["timestamp"].to_pylist() if each is not None}
    messages, conflicting = (pc.sum(milestones[name]).as_py() or 0 for name in ("message_count", "conflicting"))
    return Totals(messages, conflicting, frozenset(map(int, days)))


def count_messages(lake: Lake, run: Intervals, report: Report) -> None:
    """Sets the report's totals of milestones and messages from the lake's milestones of that run."""
    if not run:
        return
    counts = (
        lake.milestones(run)
        .agg(F.count("*"), F.count("verified"), *(F.coalesce(F.sum(name), F.lit(0)) for name in COUNTED))
        .first()
    )
    assert counts is not None
    _set_counts(report, *counts)


def count_rows(milestones: pa.Table, report: Report) -> None:
    """Sets the same totals from the rows of few milestones in this process."""
    complete = milestones.num_rows - milestones["verified"].null_count
    _set_counts(report, milestones.num_rows, complete, *(pc.sum(milestones[name]).as_py() or 0 for name in COUNTED))


def _set_counts(report: Report, milestones: int, complete: int, messages: int, *kinds: int) -> None:
    report.milestones, report.complete, report.messages = milestones, complete, messages
    rest = {"milestone": messages - sum(kinds)}
    report.messages_by_kind = dict(zip(KINDS.values(), kinds, strict=True)) | rest


def reject_lines(lake: Lake, run: Intervals) -> list[str]:
    """Returns the first REJECTS_SHOWN rejects of those milestones, and of lines without a milestone, as text."""
    shown = lake.read("rejects").where(f"{either(run)} OR milestone_index < 0").orderBy("file", "line", "item")
    line = F.when(F.col("line") > 0, F.col("line"))
    text = F.concat_ws(": ", F.concat_ws(":", "file", line), F.when(F.col("item") != "", F.col("item")), "reason")
    row = shown.limit(REJECTS_SHOWN).agg(F.collect_list(text)).first()
    return list(row[0]) if row else []
