"""The command line: reads the environment, builds each part's settings, picks parts and presents what they answer.

Rules of this file: parts are imported inside commands, so that help is quick and a missing extra is answered with its
install line; no command holds logic that a part could own. Exit codes: 0 good, 3 loaded with rejects or not proved so
far, 4 counted short, 1 failed. More than 350 lines, because all commands and their help texts in one place can be read
and compared.
"""

import asyncio
import dataclasses
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, TypeAlias

import typer

from db.connect import StoreSettings
from db.intervals import Intervals, subtract
from etl.archive import MAX_FILE_BYTES, PENDING_FILE
from etl.report import WITH_REJECTS, Report
from progress import fault_line, fetched_lines, plan_text, present, proved_lines, shown, status_lines, written_lines
from settings import FILE, Settings, read

if TYPE_CHECKING:
    from etl.archive.export import Exported
    from etl.archive.merge import Merged
    from etl.fetch.follow import Run
    from etl.session import EtlSettings

HOME = Path(__file__).parent
"""The tree that this command runs from."""

EXTRAS = {
    "pyspark": "spark",
    "pandas": "spark",
    "pyarrow": "spark",
    "zstandard": "spark",
    "cryptography": "spark",
    "httpx": "spark",
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
archive_app = typer.Typer(
    help="Archive files: are they whole, merge them, write them from a store.\n\n"
    "Example: permanode archive validate archive/",
    no_args_is_help=True,
)
app.add_typer(archive_app, name="archive")
proof_app = typer.Typer(
    help="Proofs of inclusion, without a store.\n\nExample: permanode proof check proof.json --key-ranges KEY",
    no_args_is_help=True,
)
app.add_typer(proof_app, name="proof")

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
Analytics: TypeAlias = Annotated[
    bool, typer.Option("--analytics/--no-analytics", help="End with the analytics of all that lags behind in them.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="As JSON.")]
Archives: TypeAlias = Annotated[list[Path], typer.Argument(help="Archive files, node JSON lines, or folders.")]
Into: TypeAlias = Annotated[Path, typer.Option("--into", metavar="FOLDER", help="Where the files go; made if need be.")]
MaxSize: TypeAlias = Annotated[int, typer.Option("--max-size", min=1, metavar="BYTES", help="Greatest size of a file.")]


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
        typer.Option(
            help="What the ledger begins with: genesis.json or a full Hornet snapshot, 1.x or 2.x.", exists=True
        ),
    ] = None,
    bulk: Bulk = False,
    prices: Annotated[
        Path | None,
        typer.Option(help="Of a Wormhole network: CSV of token_key, date and price_usd.", exists=True, dir_okay=False),
    ] = None,
    analytics: Analytics = True,
) -> None:
    """Loads archive files into the store, and the ledger state as far as they reach from its genesis on.

    Of a Wormhole network: VAAs, as JSON lines or files of their bytes, and cells of the event tables.

    Exit code 3: loaded, but some lines were rejected, or the ledger state cannot go on; the report says why.

    Example: permanode load archive/ --range 1:100001 --genesis genesis.json
    """
    if not sources and genesis is None and prices is None:
        raise typer.BadParameter("expected archive files or folders, --genesis or --prices", param_hint="SOURCES")
    first, last = parse_range(milestones)
    from etl import jobs

    store, etl = _etl(context)
    with shown() as notify:
        done = jobs.load(
            store,
            etl,
            sources or [],
            first=first,
            last=last,
            force=force,
            genesis=genesis,
            prices=prices,
            bulk=bulk,
            analytics=analytics,
            notify=notify,
        )
    _finish(done)


@app.command()
def rebuild(context: typer.Context, bulk: Bulk = False, analytics: Analytics = True) -> None:
    """Refills the store from the lake, without the archive files.

    Example: permanode --store sqlite:///new --network mainnet --lake data/lake rebuild
    """
    from etl import jobs

    store, etl = _etl(context)
    with shown() as notify:
        done = jobs.rebuild(store, etl, bulk=bulk, analytics=analytics, notify=notify)
    _finish(done)


@app.command("analytics")
def analyse(
    context: typer.Context,
    milestones: Annotated[
        str | None, typer.Argument(metavar="[RANGE]", help="Milestones as FIRST:LAST, before LAST.")
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="All milestones.")] = False,
) -> None:
    """Makes the analytics of milestones, and of the days that they touch, once more from the lake.

    Loads end with those of what they load. What depends on the ledger state reaches as far as that does.

    Example: permanode analytics 1:8641
    """
    if (milestones is None) is not whole:
        raise typer.BadParameter("expected FIRST:LAST or --all, one of both", param_hint="RANGE")
    first, last = parse_range(milestones, hint="RANGE")
    from etl import jobs

    store, etl = _etl(context)
    with shown() as notify:
        done = jobs.analytics(store, etl, first=first, last=last, notify=notify)
    _finish(done)


@app.command()
def verify(
    context: typer.Context,
    milestones: Annotated[
        str | None, typer.Argument(metavar="[RANGE]", help="Milestones as FIRST:LAST, before LAST; none: all.")
    ] = None,
    level: Annotated[
        Literal["believed", "merkle", "signed", "full"] | None,
        typer.Option(help="How far they are to be proved; without it signed, or merkle where no key is known."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Proves milestones once more, from the lake's bytes alone, and says how far and why not further.

    Exit code 3: some are not proved to that level.

    Example: permanode verify 1:1001 --level full
    """
    first, last = parse_range(milestones, hint="RANGE")
    from etl import jobs
    from etl.reprove import reaches

    store, etl = _etl(context)
    with shown() as notify:
        asked, found = jobs.verify(store, etl, first=first, last=last, level=level, notify=notify)
    values = {"level": asked, "milestones": [dataclasses.asdict(each) for each in found]}
    typer.echo(json.dumps(values, indent=2) if as_json else "\n".join(proved_lines(found)))
    raise typer.Exit(0 if all(reaches(each, asked) for each in found) else WITH_REJECTS)


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


@proof_app.command("check")
def check_proof(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A proof as /api/poi/v1 creates it, JSON.", exists=True, dir_okay=False)],
    key_ranges: Annotated[
        str | None,
        typer.Option(
            "--key-ranges",
            metavar="KEY[:FIRST[:LAST]],…",
            help="Keys that sign milestones, hex; else those of the network at hand.",
        ),
    ] = None,
    threshold: Annotated[
        int | None,
        typer.Option(min=1, help="Signatures that a milestone needs; else one of each key that may sign it."),
    ] = None,
) -> None:
    """Checks a proof of inclusion, with nothing but the file and the keys that sign milestones.

    Prints what was checked. Exit code 0: it is valid; 1: it is not, or nobody says which keys sign.

    Example: permanode proof check proof.json --key-ranges a9b4…:1:5000,d65c…:4000 --threshold 2
    """
    from ledger.proof import parse_coordinator
    from proofs import check, read_proof

    settings = context.obj.settings()
    network = settings.store() if key_ranges is None and settings.network is not None else None
    try:
        if network is None:
            coordinator = parse_coordinator(key_ranges.split(",") if key_ranges else [], threshold or 0)
        else:
            needed = threshold or network.coordinator_threshold
            coordinator = dataclasses.replace(network, coordinator_threshold=needed).coordinator()
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--key-ranges") from error
    verdict = check(read_proof(file), coordinator)
    typer.echo("\n".join(verdict.lines))
    raise typer.Exit(0 if verdict.is_valid else 1)


@archive_app.command("validate")
def validate_archive(
    context: typer.Context,
    sources: Archives,
    level: Annotated[
        Literal["basic", "light", "full"],
        typer.Option(help="basic: names and sizes; light: and every line; full: and ids, cones and what they prove."),
    ] = "full",
    milestones: Range = None,
    max_size: MaxSize = MAX_FILE_BYTES,
    as_json: Json = False,
) -> None:
    """Says what is wrong with archive files, and which milestones between them no file has.

    Nothing is changed and no store is asked; `full` wants to know the network. Exit code 3: something is wrong.

    Example: permanode --network mainnet archive validate archive/ --range 1:100001
    """
    first, last = parse_range(milestones)
    from etl.archive.checks import Checks
    from etl.archive.validate import Level, validate
    from etl.sources.era import codec_of
    from etl.sources.files import archive_files

    files, check = archive_files(sources), None
    if level == "full":
        check = Checks.of(context.obj.settings().network_alone(), codec_of(map(str, files))).refused
    wanted = None if first is None or last is None else [(first, last - 1)]
    found = validate(
        files,
        Level[level.upper()],
        check,
        max_bytes=max_size,
        wanted=wanted,
        notify=lambda fault: None if as_json else typer.echo(fault_line(fault)),
    )
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        typer.echo(f"{found.files:,} files, {found.milestones:,} milestones, {len(found.faults):,} faults")
    raise typer.Exit(WITH_REJECTS if found.faults else 0)


@archive_app.command("merge")
def merge_archive(
    context: typer.Context,
    sources: Archives,
    into: Into,
    level: Annotated[
        Literal["basic", "light", "full", "just-in-time"],
        typer.Option(help="What all files must pass before anything is written; just-in-time: each line in its turn."),
    ] = "just-in-time",
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Merge what is whole, though files did not pass.")
    ] = False,
    milestones: Range = None,
    max_size: MaxSize = MAX_FILE_BYTES,
    as_json: Json = False,
) -> None:
    """Writes what archive files of any format hold into files of one format, every milestone once.

    Milestones that no copy has whole are left out and named; the files that are read stay as they are. Exit code 3:
    something was wrong.

    Example: permanode --network mainnet archive merge old/ more/ --into archive/
    """
    first, last = parse_range(milestones)
    from etl.archive.merge import merge
    from etl.archive.validate import Level
    from etl.sources.files import archive_files

    before = None if level == "just-in-time" else Level[level.upper()]
    network = context.obj.settings().network_alone()
    with shown() as notify:
        done = merge(
            network,
            archive_files(sources),
            into,
            first=first,
            last=last,
            level=before,
            keep_going=keep_going,
            max_bytes=max_size,
            notify=notify,
        )
    _finish_files(done, bool(done.faults), as_json=as_json)


@archive_app.command("export")
def export_archive(
    context: typer.Context,
    into: Into,
    milestones: Range = None,
    mark: Annotated[
        bool, typer.Option("--mark/--no-mark", help="Tell the store which milestones the files hold (sync.logged_by).")
    ] = True,
    max_size: MaxSize = MAX_FILE_BYTES,
    as_json: Json = False,
) -> None:
    """Writes the store's complete milestones into archive files, which a load reads again.

    What the folder's files hold is not written again. Exit code 3: some were not to be had whole, and are named.

    Example: permanode archive export --into archive/ --range 1:100001
    """
    first, last = parse_range(milestones)
    from db.connect import open_store
    from etl.archive.export import export

    settings = context.obj.settings().store()
    with closing(open_store(settings, writable=mark)) as store, shown() as notify:
        done = export(settings, store, into, first=first, last=last, max_bytes=max_size, mark=mark, notify=notify)
    _finish_files(done, bool(done.faults or done.lacking), as_json=as_json)


@app.command("fetch")
def fetch_milestones(
    context: typer.Context,
    node: Annotated[
        list[str],
        typer.Option(help="REST API of a node or a permanode, as http://HOST:14265; several take turns."),
    ],
    into: Into,
    milestones: Range = None,
    missing: Annotated[bool, typer.Option("--missing", help="Only milestones that the store lacks.")] = False,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Keep at the head until a signal comes, from FIRST or where the folder ends."),
    ] = False,
    load: Annotated[bool, typer.Option("--load", help="With --follow: load what each run brought.")] = False,
    requests: Annotated[int, typer.Option(min=1, help="Questions that a node is asked at once.")] = 16,
    tries: Annotated[int, typer.Option(min=1, help="Tries in vain after which a milestone is given up.")] = 6,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until a question has failed.")] = 10,
    backoff: Annotated[float, typer.Option(min=0, help="Seconds between tries, doubled each time.")] = 0.5,
    max_size: MaxSize = MAX_FILE_BYTES,
    as_json: Json = False,
) -> None:
    """Fetches milestones from nodes, of either protocol, into archive files; what is fetched is verified first.

    Run again, it goes on where it ended; what the folder's files hold is not asked for again. Exit code 3: some could
    not be had, and are named.

    Example: permanode --network mainnet fetch --node http://127.0.0.1:14265 --range 1:1001 --into archive/
    """
    first, last = parse_range(milestones)
    if not follow and (first is None or last is None):
        raise typer.BadParameter("both ends expected, unless with --follow", param_hint="--range")
    if follow and (last is not None or missing):
        raise typer.BadParameter("with --follow FIRST: alone expected, and no --missing", param_hint="--range")
    if load and not follow:
        raise typer.BadParameter("--follow expected with it", param_hint="--load")
    from etl.fetch.follow import follow as keep_following
    from etl.fetch.run import FetchSettings, fetch

    settings = context.obj.settings()
    asking = FetchSettings(requests=requests, tries=tries, timeout_s=timeout, backoff_s=backoff, max_bytes=max_size)
    network = settings.store() if missing or load else settings.network_alone()
    with shown() as notify:
        if follow:
            hand_on = _loader(settings) if load else _tell
            done = keep_following(network, node, into, hand_on, first=first, settings=asking, notify=notify)
        else:
            assert first is not None
            assert last is not None
            done = fetch(network, node, into, _wanted(network, first, last, missing=missing), asking, notify)
    values = dataclasses.asdict(done)
    typer.echo(json.dumps(values, indent=2) if as_json else "\n".join(fetched_lines(done)))
    raise typer.Exit(WITH_REJECTS if done.lacking or done.left else 0)


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
    """Loads the shipped samples into .demo/, serves them and prints ten questions to ask.

    With --store they are loaded into that keyspace and one beside it, by way of lakes in .demo/; both are created.

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
    # Whoever names tests may want to stop in them, which needs one process.
    suite = ["pytest", *chosen, *(arguments or ["--numprocesses=2", "--dist=loadfile"])]
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
        Literal[
            "cluster-http", "cluster-load", "codec", "flat", "hot", "http", "indexer", "load", "sizes", "soak", "vaa"
        ],
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


def _finish_files(done: "Merged | Exported", wrong: bool, *, as_json: bool) -> NoReturn:
    typer.echo(json.dumps(dataclasses.asdict(done), indent=2) if as_json else "\n".join(written_lines(done)))
    raise typer.Exit(WITH_REJECTS if wrong else 0)


def _wanted(settings: StoreSettings, first: int, last: int, *, missing: bool) -> Intervals:
    """The milestones first ≤ m < last; `missing`: those of them that the store lacks."""
    wanted = [(first, last - 1)]
    if not missing:
        return wanted
    from db.connect import open_store
    from db.sync import complete

    with closing(open_store(settings)) as store:
        return subtract(wanted, asyncio.run(complete(store, settings.network)))


async def _tell(run: "Run") -> None:
    """Says what a run brought."""
    names = ", ".join(path.name for path in run.files)
    log.info("%s milestones, %s pending: %s", run.fetched.milestones, run.pending, names or "no file")


def _loader(settings: Settings) -> "Callable[[Run], Awaitable[None]]":
    """Loads what a run brought, in a process of its own, which leaves nothing behind in this one. What a load that
    failed did not take is given to the next.
    """
    waiting: list[Path] = []

    async def load_run(run: "Run") -> None:
        await _tell(run)
        waiting.extend(run.files)
        if not waiting:
            return
        pending = [waiting[-1].with_name(PENDING_FILE)] if run.pending else []
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "import cli; cli.main()",
            "load",
            *map(str, [*waiting, *pending]),
            env=os.environ | settings.environment() | {"PYTHONPATH": str(HOME)},
        )
        code = await process.wait()
        if code in (0, WITH_REJECTS):
            waiting.clear()
        else:
            log.warning("the load ended with %s: its files are given to the next", code)

    return load_run


def _finish(report: Report) -> NoReturn:
    typer.echo(present(report))
    raise typer.Exit(report.exit_code)


def parse_range(text: str | None, hint: str = "--range") -> tuple[int | None, int | None]:
    """`a:b` as the milestones a ≤ m < b, as in the names of archive files; None for an end that is left out."""
    if text is None:
        return None, None
    if found := re.fullmatch(r"(\d*):(\d*)", text, re.ASCII):
        first, last = (int(end) if end else None for end in found.groups())
        if first is None or last is None or first < last:
            return first, last
    raise typer.BadParameter("expected FIRST:LAST, as 1:100001; either end may be left out", param_hint=hint)
