"""Totals and rejects of a run, read from the lake for its report: a small number of rows."""

from dataclasses import dataclass

from pyspark.sql import functions as F

from db.intervals import Intervals
from etl.lake.delta import Lake, either
from etl.report import Report

KINDS = {"transactions": "transaction", "tagged_data": "indexation", "no_payload": "no payload"}
"""Counts in the lake's `milestones` by payload, and their names in a report."""

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


def count_messages(lake: Lake, run: Intervals, report: Report) -> None:
    """Sets the report's totals of milestones and messages from the lake's milestones of that run."""
    if not run:
        return
    counts = (
        lake.milestones(run)
        .agg(
            F.count("*"),
            F.count("verified"),
            *(F.coalesce(F.sum(name), F.lit(0)) for name in ("message_count", *KINDS)),
        )
        .first()
    )
    assert counts is not None
    report.milestones, report.complete, report.messages, *kinds = counts
    rest = {"milestone": report.messages - sum(kinds)}
    report.messages_by_kind = dict(zip(KINDS.values(), kinds, strict=True)) | rest


def reject_lines(lake: Lake, run: Intervals) -> list[str]:
    """Returns the first REJECTS_SHOWN rejects of those milestones, and of lines without a milestone, as text."""
    shown = lake.read("rejects").where(f"{either(run)} OR milestone_index < 0").orderBy("file", "line", "item")
    text = F.concat_ws(": ", F.concat_ws(":", "file", "line"), F.when(F.col("item") != "", F.col("item")), "reason")
    row = shown.limit(REJECTS_SHOWN).agg(F.collect_list(text)).first()
    return list(row[0]) if row else []
