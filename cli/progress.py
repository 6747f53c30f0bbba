"""Formats results of commands for stdout: text on a terminal, JSON otherwise."""

import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from db.admin.sizing import PARTITION_BYTES, Demand, Plan, TablePlan, format_size
from db.intervals import in_width, in_words, size, word
from etl.report import ENGINE_START, Report, Stored

if TYPE_CHECKING:
    from cli.settings import Setting
    from etl.archive.validate import Fault
    from etl.archive.written import Written
    from etl.fetch.fill import Fetched
    from etl.pipeline import Job, Step
    from etl.verification.audit import Audit

COLUMNS = 80
"""Maximum width of text, in cells."""

LABEL = 12
"""Cells of a line's label."""


def present(report: Report, *, as_json: bool = False) -> str:
    """Formats the final report for stdout."""
    if sys.stdout.isatty() and not as_json:
        return "\n".join(report_lines(report))
    return json.dumps({"event": "report"} | report.as_json())


def report_lines(report: Report) -> list[str]:
    """Formats the final report as text: what was loaded, what the store has and misses, rejects, the time of each
    stage, and the next command.
    """
    lines = [
        line("loaded", _loaded_text(report)),
        *([line("not found", in_width(report.missing, COLUMNS - LABEL))] if report.missing else []),
        line("messages", f"{report.messages:,}: {counts(report.messages_by_kind)}; {report.pending:,} pending"),
        line("rows", f"{sum(report.rows_by_table.values()):,} of {len(report.rows_by_table)} tables"),
        *([] if report.stored is None else stored_lines(report.stored)),
        *([] if report.ledger_index is None else [line("ledger", f"{report.ledger_index:,}")]),
    ]
    if report.held:
        lines.append(f"the ledger state cannot advance: {report.held}")
    if report.unreconciled:
        lines.append(f"the ledger state does not add up: {report.unreconciled}")
    if report.differing:
        lines.append(f"{report.differing:,} conflict reasons differ from the source; the source's reason is stored")
        lines += [f"  {each}" for each in report.differences]
    if report.faulty:
        lines.append(f"{report.faulty:,} faults found by the ledger state")
        lines += [f"  {each}" for each in report.faults]
    lines += [line("rejects", f"{report.rejects:,}" if report.rejects else "none")]
    lines += [f"  {printable(each)}" for each in report.rejected]
    stages = {stage: seconds for stage, seconds in report.seconds.items() if stage != ENGINE_START}
    start = report.seconds.get(ENGINE_START, 0.0)
    lines += [
        line("seconds", f"{counts(stages)}; start of {report.engine} {start:,.1f}"),
        line("speed", f"{report.messages_per_second:,.0f} messages/s"),
        line("next", next_command(report)),
    ]
    return lines


def _loaded_text(report: Report) -> str:
    skipped = f"; {report.skipped:,} were already complete" if report.skipped else ""
    reopened = f"; {report.reopened:,} again from the lake" if report.reopened else ""
    incomplete = report.milestones - report.complete
    return (
        f"{report.milestones:,} milestones: {report.complete:,} complete, {incomplete:,} incomplete{skipped}{reopened}"
    )


def stored_lines(stored: Stored) -> list[str]:
    """Formats what a store has and misses."""
    counted = milestones_line(stored.complete, stored.incomplete, size(stored.missing))
    return [counted, *([line("missing", in_width(stored.missing, COLUMNS - LABEL))] if stored.missing else [])]


def milestones_line(complete: int, incomplete: int, missing: int) -> str:
    """Formats the numbers of milestones of a store."""
    return line("milestones", f"{complete:,} complete, {incomplete:,} incomplete, {missing:,} missing")


def next_command(report: Report) -> str:
    """The command that most users need after this run."""
    if report.rejects:
        return "permanode rejects list"
    if missing := report.missing or (report.stored.missing if report.stored else []):
        return f"permanode fetch --node URL --range {word(missing[0])} --into FOLDER"
    return "permanode serve"


def line(label: str, text: str) -> str:
    """A labelled line of at most COLUMNS cells, continued in further lines."""
    parts = textwrap.wrap(text, COLUMNS - LABEL, break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(f"{name:<{LABEL}}{part}" for name, part in zip([label, *[""] * len(parts)], parts, strict=False))


def wrapped(head: str, text: str) -> str:
    """A text after a head, in lines of at most COLUMNS cells. Longer words stay whole."""
    indent = " " * len(head)
    lines = textwrap.wrap(
        text, COLUMNS, initial_indent=head, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines) or head.rstrip()


def printable(text: str) -> str:
    """Text of a hostile file without the characters that control a terminal."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def job_lines(pipelines: "Mapping[str, Sequence[Step[Any]]]", jobs: Sequence["Job"]) -> list[str]:
    """The steps of each pipeline in order, then the jobs, each with the tables that it fills."""
    lines = []
    for protocol, steps in pipelines.items():
        lines += [
            f"steps of `permanode load`, protocol {protocol}",
            *(wrapped(f"  {step.name:<22}", step.meaning) for step in steps),
            "",
        ]
    lines.append("jobs that run a part again")
    for job in jobs:
        lines += [wrapped(f"  {job.name:<22}", job.meaning), wrapped(f"{'':<24}", ", ".join(job.tables))]
    return lines


def step_lines(report: Report) -> list[str]:
    """Formats a run by steps: rows and seconds of each, then the rows per table."""
    lines = [f"{'step':<32}{'rows':>14}{'seconds':>12}"]
    for step, seconds in report.seconds.items():
        rows = report.rows_by_stage[step]
        lines.append(f"{step:<32}{sum(rows.values()):>14,}{seconds:>12.1f}")
        lines += [f"  {table:<30}{count:>14,}" for table, count in rows.items()]
    return lines


def proved_lines(found: "Audit", wanted: str | None) -> list[str]:
    """Formats the proof levels of milestones, one line per interval. `wanted`: the range that was requested."""
    if not found.proved:
        held = f"none of the milestones {wanted}; it has {in_words(found.held)}" if wanted else "no milestones"
        return [wrapped("", f"the lake has {held}")]
    lines = [wrapped(f"{word((each.first, each.last)):<24}{each.level:<12}", each.reason) for each in found.proved]
    if found.may_have_more:
        lines.append(wrapped("", f"there may be more; {found.below:,} milestones are below {found.level}"))
    return lines


def fault_line(fault: "Fault") -> str:
    """Formats a fault of an archive file."""
    place = f"{fault.file}:{fault.line}" if fault.line else fault.file
    return f"{place}: {fault.kind}: {fault.detail}".removeprefix(": ")


def written_lines(done: "Written") -> list[str]:
    """Formats the result of a merge or an export."""
    counts = f"{done.milestones:,} milestones written, {done.held:,} already there"
    lines = [*map(fault_line, done.faults), counts, wrapped("files: ", ", ".join(done.files) or "none")]
    if done.missing:
        lines.append(wrapped("incomplete, not written: ", in_words(done.missing)))
    return lines


def fetched_lines(done: "Fetched") -> list[str]:
    """Formats the result of a fetch: what was fetched, the faults, what is missing and why."""
    lines = [
        f"{done.count:,} {done.unit} fetched, {done.held:,} already there",
        wrapped("files: ", ", ".join(done.files) or "none"),
        f"faults: {counts(dict(sorted(done.faults.items())))}",
    ]
    if done.missing:
        lines += [wrapped("missing: ", in_words(done.missing)), *(f"  {line}" for line in done.failures)]
    if done.left:
        lines.append(f"{done.left:,} {done.unit} not started")
    return lines


def plan_text(demand: Demand, plan: Plan) -> str:
    """Formats the disk space of a network: a row per table, those of proofs apart, then the sums."""
    of_proofs = [sum(each.sqlite_bytes for each in plan.proofs), sum(each.cassandra_bytes for each in plan.proofs)]
    lines = [
        wrapped(
            f"{demand.rate:,g} messages/s for {demand.days:g} days: ",
            f"{plan.messages:,} messages, {plan.milestones:,} milestones",
        ),
        "",
        *_plan_table("table", plan.tables),
        "",
        *_plan_table("table of proofs", plan.proofs),
        "",
        line(
            "SQLite", f"{format_size(plan.sqlite_bytes)}; twice as much while a large load builds the next generation"
        ),
        line(
            "cluster",
            f"{format_size(plan.cassandra_bytes)} per replica, {format_size(plan.cluster_bytes)} with rf {demand.rf}: "
            f"{plan.nodes:,} nodes of {format_size(demand.node_disk)}, {demand.headroom:.0%} of each free",
        ),
        line(
            "proofs",
            "{} of SQLite and {} of each replica: trees of listings and transparency log, with a ledger "
            "state. A selective store has instead {} and {} for each message that it keeps".format(
                *map(format_size, (*of_proofs, *plan.message_proof))
            ),
        ),
        line("lake", format_size(plan.lake_bytes)),
    ]
    if large := [each.table for each in (*plan.tables, *plan.proofs) if not each.fits]:
        lines.append(line("!", f"partitions of {', '.join(large)} may exceed {format_size(PARTITION_BYTES)}"))
    return "\n".join(lines)


def _plan_table(heading: str, tables: Sequence[TablePlan]) -> list[str]:
    table = Table(box=None, header_style="", pad_edge=False)
    table.add_column(heading)
    for name in ("rows", "SQLite", "replica", "partitions", "largest"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in tables:
        if each.rows:
            sizes = (each.sqlite_bytes, each.cassandra_bytes)
            rows, partitions = format_count(each.rows), format_count(each.partitions)
            largest = format_size(each.largest_bytes) + ("" if each.fits else " !")
            table.add_row(each.table, rows, *map(format_size, sizes), partitions, largest)
    return _rendered(table)


def format_count(count: int) -> str:
    """Formats a number exactly, or from ten million on in millions."""
    return f"{count:,}" if count < 10_000_000 else f"{count / 1_000_000:,.0f} M"


def setting_lines(rows: Sequence["Setting"]) -> list[str]:
    """Formats settings: key, value and origin."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, overflow="ignore")
    for _ in ("value", "origin"):
        table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*map(escape, (row.key, str(row.shown), row.origin)))
    return _rendered(table)


def _rendered(table: Table) -> list[str]:
    console = Console(width=COLUMNS)
    with console.capture() as captured:
        console.print(table, highlight=False)
    return [each.rstrip() for each in captured.get().splitlines()]


def counts(numbers: dict[str, int] | dict[str, float]) -> str:
    """Formats numbers by name."""
    shown = (
        f"{name} {count:,.1f}" if isinstance(count, float) else f"{name} {count:,}" for name, count in numbers.items()
    )
    return ", ".join(shown) or "none"
