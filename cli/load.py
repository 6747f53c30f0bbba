"""Commands that run the pipelines of etl/jobs.py or a part of them: load, rebuild, analytics, job, verify, compact."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Literal, NoReturn, TypeAlias

import typer

from cli.bars import shown
from cli.options import Json, Keep, Range, etl_settings, parse_range, read_filters
from cli.progress import job_lines, present, proved_lines, step_lines
from db.intervals import intervals
from etl.report import WITH_REJECTS, Report

Bulk: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--bulk",
        help="Write SSTables and stream them to every node of a Cassandra cluster. All nodes must be up and reachable "
        "without TLS. Use it for a first load or a rebuild; it makes small loads slower.",
    ),
]
Analytics: TypeAlias = Annotated[
    bool, typer.Option("--analytics/--no-analytics", help="Finally compute all analytics that are not up to date.")
]


def load(
    context: typer.Context,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Archive files, node JSON lines, folders, or the URL or folder of a static archive. Optional with "
            "--genesis, --prices or --tokens."
        ),
    ] = None,
    milestones: Range = None,
    force: Annotated[bool, typer.Option("--force", help="Also load milestones that are already complete.")] = False,
    genesis: Annotated[
        Path | None,
        typer.Option(help="Initial ledger state: a genesis.json or a full Hornet 1.x/2.x snapshot.", exists=True),
    ] = None,
    keep: Keep = None,
    bulk: Bulk = False,
    prices: Annotated[
        Path | None,
        typer.Option(
            help="Token prices of a Wormhole network: CSV with token_key, date and price_usd.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            help="Token list of a Wormhole network: CSV with chain, address, symbol, name, decimals and coingecko_id.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    log_keys: Annotated[
        list[str] | None,
        typer.Option(
            "--log-key",
            metavar="NAME+ID+KEY",
            help="Key of the log of a static archive. Milestones must be those that it signed. Can be repeated.",
        ),
    ] = None,
    analytics: Analytics = True,
    as_json: Json = False,
) -> None:
    """Loads archive files into the store.

    With --genesis (a genesis.json or a full Hornet 1.x/2.x snapshot) the load also tracks balances, unspent outputs and
    the treasury. Later loads continue the ledger state.

    For a Wormhole network it loads VAAs (JSON lines or binary files) and cells of the event tables.

    With --keep it stores only the messages that a filter selects, each with a proof, and all milestones
    (docs/operations.md#selective-permanodes). Later loads keep the same selection, and --keep adds filters to it.

    A static archive at an http:// or https:// URL is first copied to a folder beside the lake, which is deleted after
    the load (docs/static-archive.md). If it has a genesis, the load takes it, unless the lake has one already. With
    --log-key, a milestone that differs from the signed log of the archive is a fork, and the load changes nothing.

    Exit code 3: loaded, but lines were rejected, milestones of --range are neither in the files nor in the store, or
    the ledger state cannot advance. The report contains the reasons.

    Example: permanode load archive/ --range 1:100001 --genesis genesis.json
    """
    filters = read_filters(keep or [])
    if not sources and genesis is None and prices is None and tokens is None:
        raise typer.BadParameter("pass archive files or folders, --genesis, --prices or --tokens", param_hint="SOURCES")
    first, last = parse_range(milestones)
    from etl import runs
    from etl.lake.paths import downloads_of
    from etl.static_archive.download import local_sources
    from ledger.transparency.keys import VerifierKey

    store, etl = etl_settings(context)
    copies = downloads_of(etl.staging, store.network, runs.lake_path(store, etl))
    keys = [VerifierKey.parse(each) for each in log_keys or ()]
    wanted = genesis is None
    with (
        shown() as notify,
        local_sources(sources or [], copies, first, last, keys, notify, wants_genesis=wanted) as found,
    ):
        done = runs.load(
            store,
            etl,
            found.files,
            default_genesis=found.genesis,
            logs=found.logs,
            first=first,
            last=last,
            force=force,
            genesis=genesis,
            keep=filters,
            prices=prices,
            tokens=tokens,
            bulk=bulk,
            analytics=analytics,
            notify=notify,
        )
    finish(done, as_json=as_json)


def rebuild(
    context: typer.Context,
    milestones: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="FIRST:LAST",
            help="Only these milestones: FIRST included, LAST excluded. Can be given several times.",
        ),
    ] = None,
    bulk: Bulk = False,
    analytics: Analytics = True,
    as_json: Json = False,
) -> None:
    """Fills the store from the lake, without the archive files.

    With --range it writes only these milestones again, and all rows that cannot be read because their pages are
    damaged. `permanode fsck` prints the ranges that repair a store.

    Example: permanode --store sqlite:///new --network mainnet --lake data/lake rebuild
    """
    from etl import runs
    from etl.sources.fields import MAX_MILESTONE_INDEX

    ends = [parse_range(each) for each in milestones or []]
    wanted = [(first or 0, MAX_MILESTONE_INDEX if last is None else last - 1) for first, last in ends]
    store, etl = etl_settings(context)
    with shown() as notify:
        done = runs.rebuild(
            store,
            etl,
            milestones=intervals(wanted) if wanted else None,
            bulk=bulk,
            analytics=analytics,
            notify=notify,
        )
    finish(done, as_json=as_json)


def analyse(
    context: typer.Context,
    milestones: Annotated[
        str | None, typer.Argument(metavar="[RANGE]", help="Milestones as FIRST:LAST, LAST excluded.")
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="All milestones.")] = False,
    as_json: Json = False,
) -> None:
    """Recomputes the analytics of milestones, and of the days that contain them, from the lake.

    A load already computes the analytics of its milestones. Measures that depend on the ledger state end where the
    ledger state ends.

    Example: permanode analytics 1:8641
    """
    if (milestones is None) is not whole:
        raise typer.BadParameter("pass either FIRST:LAST or --all", param_hint="RANGE")
    first, last = parse_range(milestones, hint="RANGE")
    from etl import runs

    store, etl = etl_settings(context)
    with shown() as notify:
        done = runs.analytics(store, etl, first=first, last=last, notify=notify)
    finish(done, as_json=as_json)


def job(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The job to run. Default: list steps and jobs.")
    ] = None,
    milestones: Annotated[
        str | None, typer.Argument(metavar="[RANGE]", help="Milestones as FIRST:LAST, LAST excluded. Default: all.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Runs a part of the pipeline again, from the lake. Prints the rows and seconds of each step.

    Without NAME, lists the steps of each pipeline and the jobs that you can run.

    Example: permanode job analytics-days 1:8641
    """
    first, last = parse_range(milestones, hint="RANGE")
    from etl import runs
    from etl.jobs import JOBS, PIPELINES, find_job

    if name is None:
        steps = [
            {"pipeline": pipeline, "name": step.name, "meaning": step.meaning}
            for pipeline, each in PIPELINES.items()
            for step in each
        ]
        jobs = [{"name": each.name, "meaning": each.meaning, "tables": each.tables} for each in JOBS]
        listed = {"steps": steps, "jobs": jobs}
        typer.echo(json.dumps(listed, indent=2) if as_json else "\n".join(job_lines(PIPELINES, JOBS)))
        return
    chosen = find_job(name)
    store, etl = etl_settings(context)
    with shown() as notify:
        done = runs.analytics(store, etl, first=first, last=last, only=chosen.only, notify=notify)
    typer.echo(json.dumps(done.as_json()) if as_json else "\n".join(step_lines(done)))
    raise typer.Exit(done.exit_code)


def verify(
    context: typer.Context,
    milestones: Annotated[
        str | None,
        typer.Argument(metavar="[RANGE]", help="Milestones as FIRST:LAST, LAST excluded. Default: all in the lake."),
    ] = None,
    level: Annotated[
        Literal["believed", "merkle", "signed", "full"] | None,
        typer.Option(help="Required proof level. Default: signed, or merkle if no coordinator key is known."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Verifies milestones again from the bytes in the lake, and prints the proof level that each reaches and why.

    Exit code 3: some milestones do not reach the required level, or the lake does not have them.

    Example: permanode verify 1:1001 --level full
    """
    first, last = parse_range(milestones, hint="RANGE")
    from etl import runs

    store, etl = etl_settings(context)
    with shown() as notify:
        done = runs.verify(store, etl, first=first, last=last, level=level, notify=notify)
    proved = [dataclasses.asdict(each) for each in done.proved]
    values = {"level": done.level, "milestones": proved, "below": done.below, "lake": done.held}
    typer.echo(json.dumps(values, indent=2) if as_json else "\n".join(proved_lines(done, milestones)))
    raise typer.Exit(0 if done.is_reached else WITH_REJECTS)


def compact(context: typer.Context) -> None:
    """Deletes outputs from the list of unspent outputs that were spent long ago. Loads also do this.

    Example: permanode compact
    """
    from etl import runs

    store, etl = etl_settings(context)
    with shown() as notify:
        deleted = runs.compact(store, etl, notify=notify)
    typer.echo(f"{deleted} rows deleted")


def finish(report: Report, *, as_json: bool) -> NoReturn:
    """Prints the report of a run and ends with its exit code."""
    typer.echo(present(report, as_json=as_json))
    raise typer.Exit(report.exit_code)
