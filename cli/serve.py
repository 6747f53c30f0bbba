"""Commands for operating a store and its server: migrate, serve, status, plan, purge, config."""

import asyncio
import dataclasses
import json
from contextlib import closing
from typing import Annotated

import typer

from cli.options import Json, Keep, etl_settings, read_filters
from cli.progress import plan_text, setting_lines
from cli.status_text import status_lines, table_lines
from db.connect import StoreSettings

SHORT = 4
"""Exit code of `status --check` if rows of milestones are missing."""


def migrate(context: typer.Context) -> None:
    """Creates the tables of the store, or updates them to the current schema.

    Example: permanode --store sqlite:///data --network mainnet migrate
    """
    from db.admin.migrate import migrate as apply

    applied = apply(context.obj.settings().store())
    typer.echo("\n".join(f"applied {name}" for name in applied) or "no migrations to apply")


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on [PERMANODE_API_HOST].")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to listen on [PERMANODE_API_PORT].")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of server processes [PERMANODE_API_WORKERS].")] = None,
    server: Annotated[
        str | None, typer.Option(metavar="NAME", help="HTTP server: uvicorn or granian [PERMANODE_API_SERVER].")
    ] = None,
) -> None:
    """Serves the HTTP API of every network in the settings.

    Example: permanode serve --port 8000 --workers 2
    """
    from cli import serving

    own = {
        "api_host": ("--host", host),
        "api_port": ("--port", port),
        "api_workers": ("--workers", workers),
        "api_server": ("--server", server),
    }
    serving.serve(context.obj.settings(**own), announce=typer.echo)


def status(
    context: typer.Context,
    as_json: Json = False,
    tables: Annotated[
        bool, typer.Option("--tables", help="Also show the size of each table and the migrations.")
    ] = False,
    check: Annotated[
        int | None,
        typer.Option("--check", min=1, metavar="N", help="Also count the rows of the N newest complete milestones."),
    ] = None,
) -> None:
    """Shows which milestones are stored and missing, and how far they are proved; the newest milestone, rejects, size.

    For a Wormhole network it shows messages by day and by verification result, duplicates and missing sequences.

    --check compares the row counts in `sync` with the stored rows. Exit code 4: rows are missing. The store marks these
    milestones as incomplete, and the next load writes them again from the lake.

    Example: permanode status --check 1000
    """
    from db.admin.status import get_status
    from db.connect import open_store

    settings = context.obj.settings().store()
    short = None
    if check is not None:
        from etl.verification.completeness_check import check_newest

        short = check_newest(settings, check)
    with closing(open_store(settings)) as store:
        found = asyncio.run(get_status(store, settings.network))
    values = dataclasses.asdict(found) | ({} if short is None else {"short": short})
    lines = [*status_lines(found, short), *(["", *table_lines(found)] if tables else [])]
    typer.echo(json.dumps(values, indent=2) if as_json else "\n".join(lines))
    raise typer.Exit(SHORT if short else 0)


def plan_room(
    rate: Annotated[float, typer.Option(help="Messages per second.")] = 1_000,
    days: Annotated[float, typer.Option(help="Days of history.")] = 365,
    interval: Annotated[float, typer.Option(help="Seconds between milestones.")] = 10,
    rf: Annotated[int, typer.Option(help="Replication factor of the cluster.")] = 3,
    chunk_size: Annotated[int, typer.Option(help="Milestones per range.")] = StoreSettings.chunk_size,
    partition_size: Annotated[
        int, typer.Option(help="Target rows per lookup partition.")
    ] = StoreSettings.partition_size,
    node_disk: Annotated[str, typer.Option(metavar="SIZE", help="Disk of a node, e.g. 500GB or 2TB.")] = "2TB",
    headroom: Annotated[float, typer.Option(help="Share of the disk that stays free for compaction.")] = 0.5,
    as_json: Json = False,
) -> None:
    """Estimates the disk space of an IOTA network: rows, bytes and partitions of each table, and the number of nodes.

    The estimate scales the measured size of the shipped sample in each store, and of the proofs of a generated ledger.
    The largest partition is an upper bound: it assumes that one key has all rows. Wormhole tables are not included.

    Example: permanode plan --rate 10000 --days 30 --rf 3 --node-disk 4TB
    """
    from db.admin.sizing import Demand, load_sizes, parse_size, plan

    try:
        demand = Demand(rate, days, interval, rf, chunk_size, partition_size, parse_size(node_disk), headroom)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    found = plan(demand, load_sizes())
    if as_json:
        typer.echo(json.dumps({"demand": dataclasses.asdict(demand)} | dataclasses.asdict(found), indent=2))
    else:
        typer.echo(plan_text(demand, found))


def purge(context: typer.Context, keep: Keep = None, as_json: Json = False) -> None:
    """Deletes expired pending rows. Queries ignore expired rows before that.

    With --keep it deletes all messages that no filter selects, from store and lake. The others get proofs, and later
    loads keep the same selection (docs/operations.md#selective-permanodes). `permanode lake compact` then frees the
    space of the lake.

    Example: permanode purge
    """
    if keep:
        from cli.bars import shown
        from cli.load import finish
        from etl import runs

        filters = read_filters(keep)
        store_settings, etl = etl_settings(context)
        with shown() as notify:
            done = runs.reduce(store_settings, etl, filters, notify=notify)
        finish(done, as_json=as_json)
    from db.connect import open_store

    with closing(open_store(context.obj.settings().store(), writable=True)) as store:
        typer.echo(f"{store.purge()} rows deleted")


def config(context: typer.Context, as_json: Json = False) -> None:
    """Prints every setting, its effective value and its origin.

    Example: PERMANODE_API_PORT=9000 permanode config
    """
    rows = context.obj.settings().table()
    if as_json:
        values = [{"key": row.key, "value": row.shown, "origin": row.origin, "help": row.help} for row in rows]
        typer.echo(json.dumps(values, indent=2))
        return
    typer.echo("\n".join(setting_lines(rows)))
