"""The command line: reads the environment, builds each part's settings, picks parts and presents what they answer.

Rules of this file: parts are imported inside commands, so that help is quick and a missing extra is answered with its
install line; no command holds logic that a part could own. Exit codes: 0 good, 3 loaded with rejects, 4 counted short,
1 failed. More than 350 lines, because all commands and their help texts in one place can be read and compared.
"""

import asyncio
import dataclasses
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, TypeAlias

import typer

from db.connect import StoreSettings
from etl.report import Report
from progress import plan_text, present, shown, status_lines
from settings import FILE, Settings, read

if TYPE_CHECKING:
    from etl.session import EtlSettings

HOME = Path(__file__).parent
"""The tree that this command runs from."""

EXTRAS = {
    "pyspark": "spark",
    "pandas": "spark",
    "pyarrow": "spark",
    "zstandard": "spark",
    "base58": "wormhole",
    "coincurve": "wormhole",
    "Crypto": "wormhole",
    "pytest": "dev",
    "datasette": "bench",
}
"""Package → the extra that brings it."""

SHORT = 4
"""Exit code of `status --check` that found milestones short."""

log = logging.getLogger("permanode")


class Failure(Exception):
    """A command could not do what it was asked; the message is the whole story."""


app = typer.Typer(
    name="permanode",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"terminal_width": 100, "max_content_width": 100},
)
lake_app = typer.Typer(help="Care for the lake.\n\nExample: permanode lake compact", no_args_is_help=True)
app.add_typer(lake_app, name="lake")

Range: TypeAlias = Annotated[
    str | None, typer.Option("--range", metavar="FIRST:LAST", help="Milestones from FIRST, before LAST.")
]
Bulk: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--bulk",
        help="Into a cluster of Cassandra as SSTables, streamed to every node; all must be up and reachable without "
        "TLS. For a first load or a rebuild: small loads are quicker without.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="As JSON.")]


@dataclass(frozen=True, slots=True)
class Given:
    """What came before the command: the settings file and the global flags, by setting."""

    file: Path | None
    flags: Mapping[str, tuple[str, object]]

    def settings(self, **more: tuple[str, object]) -> Settings:
        """The settings that hold; `more` are the command's own flags, as api_port=("--port", port)."""
        own = {name.replace("_", ".", 1): flag for name, flag in more.items()}
        return read(self.file, os.environ, {**self.flags, **own})


@app.callback()
def options(
    context: typer.Context,
    store: Annotated[str | None, typer.Option(help="Store, as sqlite:///FOLDER [PERMANODE_STORE].")] = None,
    network: Annotated[str | None, typer.Option(help="Network at hand [PERMANODE_NETWORK].")] = None,
    master: Annotated[str | None, typer.Option(help="Spark master [PERMANODE_ETL_MASTER].")] = None,
    lake: Annotated[str | None, typer.Option(help="Directory of the lake [PERMANODE_ETL_LAKE].")] = None,
    config: Annotated[
        Path | None, typer.Option(help=f"Settings file [PERMANODE_CONFIG]; else {FILE}, where it is.", exists=True)
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Keeps the whole history of a ledger and answers for it over HTTP.

    Example: permanode --store sqlite:///data --network permatest-1 load sample/chrysalis
    """
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    log.setLevel(logging.DEBUG if debug else logging.INFO)
    named = config or (Path(os.environ["PERMANODE_CONFIG"]) if "PERMANODE_CONFIG" in os.environ else None)
    context.obj = Given(
        named or (FILE if FILE.exists() else None),
        {
            "store.url": ("--store", store),
            "network": ("--network", network),
            "etl.master": ("--master", master),
            "etl.lake": ("--lake", lake),
        },
    )


@app.command()
def migrate(context: typer.Context) -> None:
    """Creates the store's tables, or brings them up to date.

    Example: permanode --store sqlite:///data --network mainnet migrate
    """
    from db.migrate import migrate as apply

    applied = apply(context.obj.settings().store())
    typer.echo("\n".join(f"applied {name}" for name in applied) or "nothing to apply")


@app.command()
def load(
    context: typer.Context,
    sources: Annotated[
        list[Path] | None, typer.Argument(help="Archive files, node JSON lines, or folders; none beside --genesis.")
    ] = None,
    milestones: Range = None,
    force: Annotated[bool, typer.Option("--force", help="Load milestones again that are complete.")] = False,
    genesis: Annotated[
        Path | None,
        typer.Option(help="What the ledger begins with: genesis.json or a full snapshot of Hornet 1.x.", exists=True),
    ] = None,
    bulk: Bulk = False,
) -> None:
    """Loads archive files into the store, and the ledger state as far as they reach from its genesis on.

    Exit code 3: loaded, but some lines were rejected, or the ledger state cannot go on; the report says why.

    Example: permanode load archive/ --range 1:100001 --genesis genesis.json
    """
    if not sources and genesis is None:
        raise typer.BadParameter("expected archive files or folders, or --genesis", param_hint="SOURCES")
    first, last = parse_range(milestones)
    from etl import jobs

    store, etl = _etl(context)
    with shown() as notify:
        done = jobs.load(
            store, etl, sources or [], first=first, last=last, force=force, genesis=genesis, bulk=bulk, notify=notify
        )
    _finish(done)


@app.command()
def rebuild(context: typer.Context, bulk: Bulk = False) -> None:
    """Refills the store from the lake, without the archive files.

    Example: permanode --store sqlite:///new --network mainnet --lake data/lake rebuild
    """
    from etl import jobs

    store, etl = _etl(context)
    with shown() as notify:
        done = jobs.rebuild(store, etl, bulk=bulk, notify=notify)
    _finish(done)


@app.command()
def compact(context: typer.Context) -> None:
    """Deletes from the list of unspent outputs what was spent long ago; loads do so too, as far as they go.

    Example: permanode compact
    """
    from etl import jobs

    store, etl = _etl(context)
    with shown() as notify:
        deleted = jobs.compact(store, etl, notify=notify)
    typer.echo(f"{deleted} rows deleted")


@lake_app.command("compact")
def compact_lake(context: typer.Context) -> None:
    """Merges the lake's small files and removes those that no longer count.

    Example: permanode lake compact
    """
    from etl import jobs

    store, etl = _etl(context)
    for table, files in jobs.compact_lake(etl, lake=jobs.lake_path(store, etl)).items():
        typer.echo(f"{table}: {files} files")


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on [PERMANODE_API_HOST].")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on [PERMANODE_API_PORT].")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that answer [PERMANODE_API_WORKERS].")] = None,
) -> None:
    """Serves the HTTP API of every network in the settings.

    Example: permanode serve --port 8000 --workers 2
    """
    import serving

    own = {"api_host": ("--host", host), "api_port": ("--port", port), "api_workers": ("--workers", workers)}
    serving.serve(context.obj.settings(**own))


@app.command()
def status(
    context: typer.Context,
    as_json: Json = False,
    check: Annotated[
        int | None, typer.Option("--check", min=1, metavar="N", help="Count the N newest complete milestones too.")
    ] = None,
) -> None:
    """What the store holds, what is missing, and what was refused.

    --check compares what `sync` says of milestones with the rows that they have. Exit code 4: some are short; they
    count as incomplete from now on, and the next load writes them again from the lake.

    Example: permanode status --check 1000
    """
    from db.connect import open_store
    from db.status import get_status

    settings = context.obj.settings().store()
    short = None
    if check is not None:
        from etl.recheck import check_newest

        short = check_newest(settings, check)
    with closing(open_store(settings)) as store:
        found = asyncio.run(get_status(store, settings.network))
    values = dataclasses.asdict(found) | ({} if short is None else {"short": short})
    typer.echo(json.dumps(values, indent=2) if as_json else "\n".join(status_lines(found, short)))
    raise typer.Exit(SHORT if short else 0)


@app.command("plan")
def plan_room(
    rate: Annotated[float, typer.Option(help="Messages a second.")] = 1_000,
    days: Annotated[float, typer.Option(help="Days that are kept.")] = 365,
    interval: Annotated[float, typer.Option(help="Seconds from one milestone to the next.")] = 10,
    rf: Annotated[int, typer.Option(help="Copies on a cluster.")] = 3,
    chunk_size: Annotated[int, typer.Option(help="Milestones of a range.")] = StoreSettings.chunk_size,
    partition_size: Annotated[
        int, typer.Option(help="Rows that a lookup partition is meant to hold.")
    ] = StoreSettings.partition_size,
    node_disk: Annotated[str, typer.Option(metavar="SIZE", help="Disk of a node, as 500GB or 2TB.")] = "2TB",
    headroom: Annotated[float, typer.Option(help="Share of it that stays free, for compaction.")] = 0.5,
    as_json: Json = False,
) -> None:
    """How much room a network takes: rows, disk and partitions of each table, and how many nodes.

    Reckoned from what the shipped ledger's tables take in each store. The largest partition is what it can come to when
    one key takes every row.

    Example: permanode plan --rate 10000 --days 30 --rf 3 --node-disk 4TB
    """
    from db.sizing import Demand, load_sizes, parse_size, plan

    try:
        demand = Demand(rate, days, interval, rf, chunk_size, partition_size, parse_size(node_disk), headroom)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    found = plan(demand, load_sizes())
    if as_json:
        typer.echo(json.dumps({"demand": dataclasses.asdict(demand)} | dataclasses.asdict(found), indent=2))
    else:
        typer.echo(plan_text(demand, found))


@app.command()
def purge(context: typer.Context) -> None:
    """Deletes pending rows whose time is over; until then they are only hidden.

    Example: permanode purge
    """
    from db.connect import open_store

    with closing(open_store(context.obj.settings().store(), writable=True)) as store:
        typer.echo(f"{store.purge()} rows deleted")


@app.command()
def config(context: typer.Context, as_json: Json = False) -> None:
    """Every setting, the value that holds and where it came from.

    Example: PERMANODE_API_PORT=9000 permanode config
    """
    rows = context.obj.settings().table()
    if as_json:
        values = [{"key": row.key, "value": row.shown, "origin": row.origin, "help": row.help} for row in rows]
        typer.echo(json.dumps(values, indent=2))
        return
    wide = max(len(row.key) for row in rows), max(len(str(row.shown)) for row in rows)
    for row in rows:
        typer.echo(f"{row.key:<{wide[0]}}  {row.shown!s:<{wide[1]}}  {row.origin}")


@app.command("demo")
def run_demo(
    context: typer.Context,
    port: Annotated[int, typer.Option(help="Port to serve on.")] = 8000,
    store: Annotated[str | None, typer.Option(help="Another store, as cassandra://HOST/KEYSPACE?rf=1.")] = None,
) -> None:
    """Loads the shipped sample into .demo/, serves it and prints five questions to ask.

    With --store it is loaded into that store, by way of a lake in .demo/, and the keyspace is created.

    Example: ./permanode demo
    """
    import demo

    demo.run(port, store=store or context.obj.flags["store.url"][1])


@app.command("test")
def run_tests(
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to pytest, after --.")] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Only the tests without Spark, Cassandra and foreign clients.")
    ] = False,
    slow: Annotated[bool, typer.Option("--slow", help="Also soaks and other tests of many minutes.")] = False,
) -> None:
    """Runs the linters, then the test suite; fails when any of them fails.

    Example: ./permanode test -- tests/ledger -k milestone
    """
    tools = Path(sys.executable).parent
    checks = [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["lint-imports", "--no-logo"]]
    chosen = ["-m", ""] if slow else ["-m", "not slow and not spark and not cassandra and not clients"] if fast else []
    suite = ["pytest", *chosen, *(arguments or [])]
    failed = [
        command[0]
        for command in [*checks, suite]
        if subprocess.run([tools / command[0], *command[1:]], cwd=HOME, check=False).returncode
    ]
    if failed:
        raise Failure(f"failed: {', '.join(failed)}")


@app.command()
def bench(
    name: Annotated[
        Literal["cluster-http", "cluster-load", "codec", "flat", "http", "load", "sizes", "soak", "vaa"],
        typer.Argument(help="What to measure."),
    ],
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to it, after --.")] = None,
) -> None:
    """Measures one part on this machine.

    Example: permanode bench codec
    """
    command = [sys.executable, "-m", f"bench.{name.replace('-', '_')}", *(arguments or [])]
    raise typer.Exit(subprocess.run(command, cwd=HOME, check=False).returncode)


@app.command()
def docs(check: Annotated[bool, typer.Option("--check", help="Fail where a page is behind.")] = False) -> None:
    """Writes the generated pages of docs/: settings, commands, schema.

    Example: permanode docs --check
    """
    import pages

    behind = pages.write(check=check)
    typer.echo("\n".join(f"{'behind' if check else 'wrote'} {page}" for page in behind) or "all pages are up to date")
    raise typer.Exit(1 if check and behind else 0)


def main() -> None:
    """Runs the command line; a failure is one line on stderr, with --debug also where it came from."""
    try:
        app()
    except Exception as error:
        log.debug("where it failed", exc_info=True)
        sys.stderr.write(f"permanode: {describe_error(error)}\n")
        sys.exit(1)


def describe_error(error: Exception) -> str:
    """One line that says what went wrong, and for a missing extra what to install."""
    if isinstance(error, ModuleNotFoundError) and error.name and (extra := EXTRAS.get(error.name.partition(".")[0])):
        return f"{error.name} is not installed; run: pip install -c constraints.txt -e '.[{extra}]'"
    first, *rest = str(error).strip().splitlines() or [type(error).__name__]
    return first + (" … (--debug shows all)" if rest else "")


def _etl(context: typer.Context) -> "tuple[StoreSettings, EtlSettings]":
    """What a job needs."""
    from etl.session import EtlSettings

    settings = context.obj.settings()
    return settings.store(), settings.build("etl", EtlSettings)


def _finish(report: Report) -> NoReturn:
    typer.echo(present(report))
    raise typer.Exit(report.exit_code)


def parse_range(text: str | None) -> tuple[int | None, int | None]:
    """`a:b` as the milestones a ≤ m < b, as in the names of archive files; None for an end that is left out."""
    if text is None:
        return None, None
    if found := re.fullmatch(r"(\d*):(\d*)", text, re.ASCII):
        first, last = (int(end) if end else None for end in found.groups())
        if first is None or last is None or first < last:
            return first, last
    raise typer.BadParameter("expected FIRST:LAST, as 1:100001; either end may be left out", param_hint="--range")
