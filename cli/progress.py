"""Formats progress and reports: progress bars and text on a terminal, JSON lines otherwise.

Progress goes to stderr, the final report to stdout. Jobs report to a callable and do not know this module.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from db.admin.sizing import PARTITION_BYTES, Demand, Plan, format_size
from db.admin.status import Status
from db.admin.wormhole_status import Holdings
from db.intervals import Intervals, add, in_words, intersect, size
from db.queries.head import Lag
from db.queries.reconciliation import Reconciliation
from etl.report import ENGINE_START, Notify, Progress, Report

if TYPE_CHECKING:
    from etl.archive.validate import Fault
    from etl.archive.written import Written
    from etl.fetch.fill import Fetched
    from etl.pipeline import Job, Step
    from etl.verification.audit import Proved

BAR = 60
"""Maximum width of the coverage bar, in cells."""

DAYS_SHOWN = EMITTERS_SHOWN = 10
"""Maximum of day ranges, and of emitters with missing sequences, in the text status. JSON contains all."""

WIDE = 120
"""Maximum width of a text table, in columns."""


@contextmanager
def shown() -> Iterator[Notify]:
    """Yields the callable to which a job reports its progress."""
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
    """Formats the final report for stdout."""
    if sys.stdout.isatty():
        return "\n".join(report_lines(report))
    return json.dumps({"event": "report"} | report.as_json())


def report_lines(report: Report) -> list[str]:
    """Formats the final report as text: what was loaded, what was rejected and why, and the time of each stage."""
    skipped = f", {report.skipped:,} were already complete" if report.skipped else ""
    reopened = f", {report.reopened:,} again from the lake" if report.reopened else ""
    pending = f", {report.pending:,} pending" if report.pending else ""
    stages = {stage: seconds for stage, seconds in report.seconds.items() if stage != ENGINE_START}
    start = report.seconds.get(ENGINE_START, 0.0)
    lines = [
        f"{report.milestones:,} milestones loaded, {report.complete:,} complete{skipped}{reopened}",
        f"{report.messages:,} messages{pending}: {_counts(report.messages_by_kind)}",
        f"rows: {_counts(report.rows_by_table)}",
        f"{report.messages_per_second:,.0f} messages/s; seconds: {_counts(stages)}; "
        f"start of {report.engine} (extra): {start:.1f}",
    ]
    if report.ledger_index is not None:
        lines.append(f"ledger state after milestone {report.ledger_index:,}")
    if report.held:
        lines.append(f"the ledger state cannot advance: {report.held}")
    if report.unreconciled:
        lines.append(f"the ledger state does not add up: {report.unreconciled}")
    if report.differing:
        lines.append(f"{report.differing:,} conflict reasons differ from the source; the source's reason is stored")
        lines += [f"  {line}" for line in report.differences]
    if report.faulty:
        lines.append(f"{report.faulty:,} faults found by the ledger state")
        lines += [f"  {line}" for line in report.faults]
    if report.rejects:
        lines.append(f"{report.rejects:,} rejects; `permanode status` lists all")
        lines += [f"  {line}" for line in report.rejected]
    return lines


def job_lines(pipelines: "Mapping[str, Sequence[Step[Any]]]", jobs: Sequence["Job"]) -> list[str]:
    """The steps of each pipeline in order, then the jobs, each with the tables that it fills."""
    lines = []
    for protocol, steps in pipelines.items():
        lines += [
            f"steps of `permanode load`, protocol {protocol}",
            *(f"  {step.name:<22}{step.meaning}" for step in steps),
            "",
        ]
    lines.append("jobs that run a part again")
    for job in jobs:
        lines += [f"  {job.name:<22}{job.meaning}", f"{'':<24}{', '.join(job.tables)}"]
    return lines


def step_lines(report: Report) -> list[str]:
    """Formats a run by steps: rows and seconds of each, then the rows per table."""
    lines = [f"{'step':<32}{'rows':>14}{'seconds':>12}"]
    for step, seconds in report.seconds.items():
        rows = report.rows_by_stage[step]
        lines.append(f"{step:<32}{sum(rows.values()):>14,}{seconds:>12.1f}")
        lines += [f"  {table:<30}{count:>14,}" for table, count in rows.items()]
    return lines


def status_lines(status: Status, short: Intervals | None = None) -> list[str]:
    """Formats the status of a store.

    Args:
        status: The status.
        short: Milestones with missing rows; None if they were not counted.
    """
    lines = [
        *(milestone_lines(status, short) if status.vaas is None else vaa_lines(status.network, status.vaas)),
        "versions    " + ", ".join(f"{name} {value}" for name, value in status.versions.items()),
        "migrations  " + ", ".join(status.migrations),
        f"engine      {status.engine or 'unknown'}",
        f"writer      {status.writer.owner if status.writer else 'none'}",
        "",
        f"{'table':<24}{'rows':>14}{'bytes':>16}",
    ]
    lines += [f"{table.table:<24}{_number(table.rows):>14}{_number(table.bytes):>16}" for table in status.tables]
    if status.rejects:
        lines += ["", "rejects"]
        lines += [f"  {row['file']}:{row['line']}: {row['item'] or 'line'}: {row['reason']}" for row in status.rejects]
    return lines


def milestone_lines(status: Status, short: Intervals | None) -> list[str]:
    """Formats the stored milestones and their proof levels."""
    return [
        f"network {status.network}: {size(status.complete):,} milestones complete, {status.messages:,} messages",
        *([f"coverage    {coverage_bar(status)}"] if status.complete or status.incomplete else []),
        f"complete    {in_words(status.complete)}",
        f"incomplete  {in_words(status.incomplete)}",
        f"missing     {in_words(status.missing)}",
        *(f"{level:<12}{in_words(held)}" for level, held in reversed(status.proved.items()) if held),
        f"unlogged    {in_words(status.unlogged)}",
        *([] if status.reconciliation is None else [f"supply      {supply_text(status.reconciliation)}"]),
        *([] if short is None else [f"short       {in_words(short)}"]),
        *([] if status.lag is None else [lag_line(status.lag)]),
    ]


def supply_text(found: Reconciliation) -> str:
    """Formats up to which ledger index balances and treasury add up to the token supply."""
    holds = [(found.first, found.holds_to)] if found.holds_to >= found.first else []
    text = f"{found.supply:,} base tokens in balances and treasury after milestones {in_words(holds)}"
    if found.wrong_at is None:
        return text
    return f"{text}; {found.wrong_sum:,} after milestone {found.wrong_at}"


def lag_line(lag: Lag) -> str:
    """Formats how far the store is behind its network."""
    seen = datetime.fromtimestamp(lag.seen_at, UTC).isoformat(" ", "seconds")
    return (
        f"lag         milestone {lag.newest:,} is {lag.seconds:,.1f} s old; {lag.behind:,} behind the node at {seen}; "
        f"{lag.days_due:,} not yet counted in their days{_eta_text(lag)}"
    )


def _eta_text(lag: Lag) -> str:
    if not lag.behind or not lag.eta_s:
        return ""
    due = datetime.fromtimestamp(lag.seen_at + lag.eta_s, UTC).isoformat(" ", "seconds")
    return f"; reaches the node at about {due}"


def vaa_lines(network: str, vaas: Holdings) -> list[str]:
    """Formats the stored messages, their verification results and the missing sequences."""
    days = [first if first == last else f"{first}–{last}" for first, last in vaas.days]
    more = f" and {len(days) - DAYS_SHOWN:,} more ranges" if len(days) > DAYS_SHOWN else ""
    part = "" if vaas.is_whole else f", in the first {vaas.examined:,} rows"
    return [
        f"network {network}: {vaas.verified:,} verified messages of {vaas.emitters:,} emitters",
        f"days        {', '.join(days[:DAYS_SHOWN]) or 'none'}{more}; without a timestamp {vaas.undated:,}",
        f"verdicts    {_counts(vaas.verdicts)}; without a VAA {vaas.written_alone:,}{part}",
        f"duplicates  {vaas.duplicates:,}{part}",
        f"missing     {vaas.missing:,} sequences{part}",
        *(
            f"  {each.emitter_chain}/{each.emitter_address}: {each.missing:,} in {each.gaps:,} gaps"
            f" of {each.first}–{each.last}"
            for each in vaas.gaps[:EMITTERS_SHOWN]
        ),
    ]


def coverage_bar(status: Status) -> str:
    """Draws the milestones from the lowest or first missing one to the highest: █ all complete, ▒ some, · none."""
    known = add(add(status.complete, status.incomplete), status.missing)
    first, last = known[0][0], known[-1][1]
    width = min(BAR, last - first + 1)
    cells = ""
    for cell in range(width):
        low = first + (last - first + 1) * cell // width
        high = first + (last - first + 1) * (cell + 1) // width - 1
        here = size(intersect(status.complete, [(low, high)]))
        cells += "█" if here == high - low + 1 else "▒" if here else "·"
    share = size(status.complete) / (last - first + 1)
    # Rounds down: never 100 % while one is missing.
    return f"{first:,} {cells} {last:,}  {int(1000 * share) / 10:.1f} %"


def proved_lines(found: Sequence["Proved"]) -> list[str]:
    """Formats the proof levels of milestones, one line per interval."""
    lines = [f"{in_words([(each.first, each.last)]):<24}{each.level:<12}{each.reason}".rstrip() for each in found]
    return lines or ["no milestones in the lake"]


def fault_line(fault: "Fault") -> str:
    """Formats a fault of an archive file."""
    place = f"{fault.file}:{fault.line}" if fault.line else fault.file
    return f"{place}: {fault.kind}: {fault.detail}".removeprefix(": ")


def written_lines(done: "Written") -> list[str]:
    """Formats the result of a merge or an export."""
    counts = f"{done.milestones:,} milestones written, {done.held:,} already there"
    lines = [*map(fault_line, done.faults), counts, f"files: {', '.join(done.files) or 'none'}"]
    if done.lacking:
        lines.append(f"incomplete, not written: {in_words(done.lacking)}")
    return lines


def fetched_lines(done: "Fetched") -> list[str]:
    """Formats the result of a fetch: what was fetched, the faults, what is missing and why."""
    lines = [
        f"{done.count:,} {done.unit} fetched, {done.held:,} already there",
        f"files: {', '.join(done.files) or 'none'}",
        f"faults: {_counts(dict(sorted(done.faults.items())))}",
    ]
    if done.lacking:
        lines += [f"missing: {in_words(done.lacking)}", *(f"  {line}" for line in done.failures)]
    if done.left:
        lines.append(f"{done.left:,} {done.unit} not started")
    return lines


def plan_text(demand: Demand, plan: Plan) -> str:
    """Formats the disk space of a network: a row per table, then the sums."""
    table = Table(box=None, header_style="", pad_edge=False)
    table.add_column("table")
    for heading in ("rows", "SQLite", "cluster replica", "partitions", "largest: rows", "bytes"):
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
        f"SQLite   {format_size(plan.sqlite_bytes)}; twice as much while a large load builds the next generation",
        f"cluster  {format_size(plan.cassandra_bytes)} per replica, {format_size(plan.cluster_bytes)} with "
        f"rf {demand.rf}: {plan.nodes:,} nodes of {format_size(demand.node_disk)}, {demand.headroom:.0%} of each free",
        f"lake     {format_size(plan.lake_bytes)}",
    ]
    if large := [each.table for each in plan.tables if not each.fits]:
        lines.append(f"! partitions of {', '.join(large)} may exceed {format_size(PARTITION_BYTES)}")
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
