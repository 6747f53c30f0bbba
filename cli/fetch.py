"""The `permanode fetch` command."""

import asyncio
import dataclasses
import json
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import following
from cli.bars import shown
from cli.options import Into, Json, MaxSize, parse_range
from cli.progress import fetched_lines
from db.connect import StoreSettings
from db.intervals import Intervals, subtract
from etl.archive import MAX_FILE_BYTES
from etl.report import WITH_REJECTS, Notify

if TYPE_CHECKING:
    from etl.fetch.fill import Fetched, FetchSettings

END = 2**64
"""Exclusive upper bound of sequences."""


def fetch_archive(
    context: typer.Context,
    into: Into,
    node: Annotated[
        list[str] | None,
        typer.Option(help="URL of a node or a permanode, e.g. http://HOST:14265. Repeat it to use several in turn."),
    ] = None,
    guardian: Annotated[
        list[str] | None,
        typer.Option(help="URL of a guardian or a permanode, e.g. http://HOST:7071. Repeat it to use several in turn."),
    ] = None,
    emitter: Annotated[
        str | None,
        typer.Option(
            metavar="CHAIN/ADDRESS",
            help="Emitter whose VAAs to fetch, e.g. solana/Gv1K…7qAk or 2/00…a585. Required with --guardian.",
        ),
    ] = None,
    numbers: Annotated[
        str | None,
        typer.Option(
            "--range", metavar="FIRST:LAST", help="Milestones or sequences to fetch: FIRST included, LAST excluded."
        ),
    ] = None,
    missing: Annotated[bool, typer.Option("--missing", help="Fetch only what is missing in the store.")] = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Fetch new milestones until SIGTERM or SIGINT, from FIRST or from the end of the folder's files.",
        ),
    ] = False,
    load: Annotated[bool, typer.Option("--load", help="With --follow: load the files of each run.")] = False,
    requests: Annotated[int, typer.Option(min=1, help="Concurrent requests per node or guardian.")] = 16,
    tries: Annotated[int, typer.Option(min=1, help="Failed attempts after which a milestone or VAA is given up.")] = 6,
    timeout: Annotated[float, typer.Option(min=0.1, help="Timeout of a request, in seconds.")] = 10,
    backoff: Annotated[
        float, typer.Option(min=0, help="Seconds before the first retry. Doubles with each further retry.")
    ] = 0.5,
    max_size: MaxSize = MAX_FILE_BYTES,
    as_json: Json = False,
) -> None:
    """Fetches milestones from nodes, or VAAs from guardians, and writes them into archive files after verification.

    You can interrupt and repeat it: it skips what files in the folder already contain. Exit code 3: some milestones or
    VAAs are missing; the report lists them.

    Example: permanode --network mainnet fetch --node http://127.0.0.1:14265 --range 1:1001 --into archive/
    """
    first, last = parse_range(numbers)
    if bool(node) == bool(guardian):
        raise typer.BadParameter("use either --node or --guardian", param_hint="--node")
    if bool(guardian) != bool(emitter):
        raise typer.BadParameter("use --guardian and --emitter together", param_hint="--emitter")
    if guardian and follow:
        raise typer.BadParameter("works only with --node", param_hint="--follow")
    if not follow and (first is None or last is None):
        raise typer.BadParameter("both ends are required (FIRST:LAST) without --follow", param_hint="--range")
    if follow and (last is not None or missing):
        raise typer.BadParameter("with --follow use FIRST: and no --missing", param_hint="--range")
    if emitter and last is not None and last > END:
        raise typer.BadParameter("sequences must be below 2^64", param_hint="--range")
    if load and not follow:
        raise typer.BadParameter("works only with --follow", param_hint="--load")
    from etl.fetch.fill import FetchSettings
    from etl.fetch.follow import AT_HEAD, Pace
    from etl.fetch.follow import follow as keep_following
    from etl.fetch.http import base_url
    from etl.fetch.run import fetch

    for url in [*(node or []), *(guardian or [])]:
        try:
            base_url(url)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--node" if node else "--guardian") from None
    settings = context.obj.settings()
    fetch_settings = FetchSettings(
        requests=requests, tries=tries, timeout_s=timeout, backoff_s=backoff, max_bytes=max_size
    )
    network = settings.store() if missing or load else settings.network_alone()
    with shown() as notify:
        if follow:
            pace = AT_HEAD if load else Pace()
            with following.loading(settings, network, into) if load else nullcontext(following.log_run) as hand_on:
                done = keep_following(
                    network, node or [], into, hand_on, first=first, settings=fetch_settings, pace=pace, notify=notify
                )
        else:
            assert first is not None
            assert last is not None
            wanted = (first, last - 1)
            if emitter is not None:
                done = _fetch_vaas(
                    network, guardian or [], emitter, into, wanted, fetch_settings, notify, missing=missing
                )
            else:
                intervals = _incomplete(network, wanted) if missing else [wanted]
                done = fetch(network, node or [], into, intervals, fetch_settings, notify)
    # dataclasses.asdict does not copy a Counter correctly in Python 3.11.
    values = dataclasses.asdict(done) | {"faults": done.faults}
    typer.echo(json.dumps(values, indent=2) if as_json else "\n".join(fetched_lines(done)))
    raise typer.Exit(WITH_REJECTS if done.missing or done.left else 0)


def _incomplete(network: StoreSettings, wanted: tuple[int, int]) -> Intervals:
    """The milestones of the interval that are not complete in the store."""
    from db.connect import open_store
    from db.sync import complete

    with closing(open_store(network)) as store:
        return subtract([wanted], asyncio.run(complete(store, network.network)))


def _fetch_vaas(
    network: StoreSettings,
    urls: list[str],
    emitter: str,
    into: Path,
    wanted: tuple[int, int],
    fetch_settings: "FetchSettings",
    notify: Notify,
    *,
    missing: bool,
) -> "Fetched":
    from db.connect import open_store
    from db.queries.wormhole.gaps import list_missing
    from etl.fetch.guardian import Emitter
    from etl.fetch.vaas import fetch_vaas

    try:
        sent = Emitter.parse(emitter)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--emitter") from None
    intervals = [wanted]
    if missing:
        with closing(open_store(network)) as store:
            intervals = asyncio.run(list_missing(store, sent.chain, sent.address.hex(), *wanted))
    return fetch_vaas(network, urls, sent, into, intervals, fetch_settings, notify)
