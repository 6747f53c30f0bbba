"""How a job and a store look: bars and words for people, JSON lines for logs.

Rules of this file: a job tells a callable and knows nothing of this module; progress goes to stderr, the final report
to stdout, each as JSON where it is not a terminal.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from db.intervals import Intervals, in_words, size
from db.sizing import PARTITION_BYTES, Demand, Plan, format_size
from db.status import Status
from etl.report import Notify, Progress, Report

WIDE = 120
"""Columns that a table of text may have."""


@contextmanager
def shown() -> Iterator[Notify]:
    """What a job tells its progress to, for the time it runs."""
    if not sys.stderr.isatty():
        yield _write_line
        return
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
    )
    with Bars(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def draw(step: Progress) -> None:
            if step.stage not in tasks:
                tasks[step.stage] = bars.add_task(step.stage, total=step.total, unit=step.unit)
            bars.update(tasks[step.stage], completed=step.done, total=step.total, unit=step.unit)

        yield draw


def present(report: Report) -> str:
    """The final report, for stdout."""
    if sys.stdout.isatty():
        return "\n".join(report_lines(report))
    return json.dumps({"event": "report"} | report.as_json())


def report_lines(report: Report) -> list[str]:
    """The final report in words: what was loaded, what was refused and why, where the time went."""
    skipped = f", {report.skipped:,} were complete already" if report.skipped else ""
    reopened = f", {report.reopened:,} again from the lake" if report.reopened else ""
    pending = f", {report.pending:,} pending" if report.pending else ""
    stages = {stage: seconds for stage, seconds in report.seconds.items() if stage != "spark_start"}
    start = report.seconds.get("spark_start", 0.0)
    lines = [
        f"{report.milestones:,} milestones loaded, {report.complete:,} complete{skipped}{reopened}",
        f"{report.messages:,} messages{pending}: {_counts(report.messages_by_kind)}",
        f"rows: {_counts(report.rows_by_table)}",
        f"{report.messages_per_second:,.0f} messages/s; seconds: {_counts(stages)}; Spark's start apart: {start:.1f}",
    ]
    if report.ledger_index is not None:
        lines.append(f"ledger state after milestone {report.ledger_index:,}")
    if report.held:
        lines.append(f"it cannot go on: {report.held}")
    if report.differing:
        lines.append(f"{report.differing:,} conflicts have another reason than the source tells; the source's stays")
        lines += [f"  {line}" for line in report.differences]
    if report.rejects:
        lines.append(f"{report.rejects:,} rejects; `permanode status` lists all of them")
        lines += [f"  {line}" for line in report.rejected]
    return lines


def status_lines(status: Status, short: Intervals | None = None) -> list[str]:
    """What a store holds, in words; `short`: what was found short, None where nothing was counted."""
    lines = [
        f"network {status.network}: {size(status.complete):,} milestones complete, {status.messages:,} messages",
        f"complete    {in_words(status.complete)}",
        f"incomplete  {in_words(status.incomplete)}",
        f"missing     {in_words(status.missing)}",
        *([] if short is None else [f"short       {in_words(short)}"]),
        "versions    " + ", ".join(f"{name} {value}" for name, value in status.versions.items()),
        "migrations  " + ", ".join(status.migrations),
        f"writer      {status.writer.owner if status.writer else 'none'}",
        "",
        f"{'table':<24}{'rows':>14}{'bytes':>16}",
    ]
    lines += [f"{table.table:<24}{_number(table.rows):>14}{_number(table.bytes):>16}" for table in status.tables]
    if status.rejects:
        lines += ["", "rejects"]
        lines += [f"  {row['file']}:{row['line']}: {row['item'] or 'line'}: {row['reason']}" for row in status.rejects]
    return lines


def plan_text(demand: Demand, plan: Plan) -> str:
    """How much room a network takes: a table, and what it comes to."""
    table = Table(box=None, header_style="", pad_edge=False)
    table.add_column("table")
    for heading in ("rows", "SQLite", "cluster, a copy", "partitions", "largest: rows", "bytes"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in plan.tables:
        if each.rows:
            sizes = (each.sqlite_bytes, each.cassandra_bytes)
            numbers = (f"{each.partitions:,}", f"{each.largest_rows:,}")
            largest = format_size(each.largest_bytes) + ("" if each.fits else " !")
            table.add_row(each.table, f"{each.rows:,}", *map(format_size, sizes), *numbers, largest)
    console = Console(width=WIDE)
    with console.capture() as captured:
        console.print(table)
    lines = [
        f"{demand.rate:,g} messages/s for {demand.days:g} days: "
        f"{plan.messages:,} messages, {plan.milestones:,} milestones",
        "",
        *(line.rstrip() for line in captured.get().splitlines()),
        "",
        f"SQLite   {format_size(plan.sqlite_bytes)}, and as much again while a big load builds the next generation",
        f"cluster  {format_size(plan.cassandra_bytes)} a copy, {format_size(plan.cluster_bytes)} with rf {demand.rf}: "
        f"{plan.nodes:,} nodes of {format_size(demand.node_disk)}, {demand.headroom:.0%} of each left free",
        f"lake     {format_size(plan.lake_bytes)}",
    ]
    if large := [each.table for each in plan.tables if not each.fits]:
        lines.append(f"! partitions of {', '.join(large)} may grow beyond {format_size(PARTITION_BYTES)}")
    return "\n".join(lines)


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _counts(counts: dict[str, int] | dict[str, float]) -> str:
    shown = (
        f"{name} {count:,.1f}" if isinstance(count, float) else f"{name} {count:,}" for name, count in counts.items()
    )
    return ", ".join(shown) or "none"


def _write_line(step: Progress) -> None:
    event = {"event": "progress", "stage": step.stage, "done": step.done, "total": step.total, "unit": step.unit}
    sys.stderr.write(json.dumps(event) + "\n")
    sys.stderr.flush()
