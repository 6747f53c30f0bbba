"""The command that fetches archive files from nodes or guardians, and what becomes of runs that follow the head."""

import asyncio
import dataclasses
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import HOME, Into, Json, MaxSize, parse_range
from cli.progress import fetched_lines, shown
from cli.settings import Settings
from db.connect import StoreSettings
from db.intervals import Intervals, subtract
from etl.archive import MAX_FILE_BYTES, PENDING_FILE
from etl.report import WITH_REJECTS, Notify

if TYPE_CHECKING:
    from etl.fetch.fill import Fetched, FetchSettings
    from etl.fetch.follow import Run

END = 2**64
"""Sequences end before."""

FILES_MOST = 1_000
"""That a command line names; of more the folder is loaded, where a load takes what the store lacks."""

log = logging.getLogger("permanode")


def fetch_archive(
    context: typer.Context,
    into: Into,
    node: Annotated[
        list[str] | None,
        typer.Option(help="REST API of a node or a permanode, as http://HOST:14265; several take turns."),
    ] = None,
    guardian: Annotated[
        list[str] | None,
        typer.Option(help="REST API of a guardian or a permanode, as http://HOST:7071; several take turns."),
    ] = None,
    emitter: Annotated[
        str | None,
        typer.Option(
            metavar="CHAIN/ADDRESS", help="With --guardian: whose messages, as solana/Gv1K…7qAk or 2/00…a585."
        ),
    ] = None,
    numbers: Annotated[
        str | None,
        typer.Option("--range", metavar="FIRST:LAST", help="Milestones, or sequences, from FIRST, before LAST."),
    ] = None,
    missing: Annotated[bool, typer.Option("--missing", help="Only what the store lacks.")] = False,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Keep at the head until a signal comes, from FIRST or where the folder ends."),
    ] = False,
    load: Annotated[bool, typer.Option("--load", help="With --follow: load what each run brought.")] = False,
    requests: Annotated[int, typer.Option(min=1, help="Questions that one is asked at once.")] = 16,
    tries: Annotated[int, typer.Option(min=1, help="Tries in vain after which one is given up.")] = 6,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until a question has failed.")] = 10,
    backoff: Annotated[float, typer.Option(min=0, help="Seconds between tries, doubled each time.")] = 0.5,
    max_size: MaxSize = MAX_FILE_BYTES,
    as_json: Json = False,
) -> None:
    """Fetches milestones from nodes, or VAAs from guardians, into archive files; what is fetched is verified first.

    Run again, it goes on where it ended; what the folder's files hold is not asked for again. Exit code 3: some could
    not be had, and are named.

    Example: permanode --network mainnet fetch --node http://127.0.0.1:14265 --range 1:1001 --into archive/
    """
    first, last = parse_range(numbers)
    if bool(node) == bool(guardian):
        raise typer.BadParameter("either --node or --guardian expected", param_hint="--node")
    if bool(guardian) != bool(emitter):
        raise typer.BadParameter("--guardian and --emitter expected together", param_hint="--emitter")
    if guardian and follow:
        raise typer.BadParameter("--node expected with it", param_hint="--follow")
    if not follow and (first is None or last is None):
        raise typer.BadParameter("both ends expected, unless with --follow", param_hint="--range")
    if follow and (last is not None or missing):
        raise typer.BadParameter("with --follow FIRST: alone expected, and no --missing", param_hint="--range")
    if emitter and last is not None and last > END:
        raise typer.BadParameter("sequences below 2^64 expected", param_hint="--range")
    if load and not follow:
        raise typer.BadParameter("--follow expected with it", param_hint="--load")
    from etl.fetch.fill import FetchSettings
    from etl.fetch.follow import follow as keep_following
    from etl.fetch.http import base_url
    from etl.fetch.run import fetch

    for url in [*(node or []), *(guardian or [])]:
        try:
            base_url(url)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--node" if node else "--guardian") from None
    settings = context.obj.settings()
    asking = FetchSettings(requests=requests, tries=tries, timeout_s=timeout, backoff_s=backoff, max_bytes=max_size)
    network = settings.store() if missing or load else settings.network_alone()
    with shown() as notify:
        if follow:
            hand_on = _loader(settings, into, _not_loaded(network, into)) if load else _tell
            done = keep_following(network, node or [], into, hand_on, first=first, settings=asking, notify=notify)
        else:
            assert first is not None
            assert last is not None
            wanted = (first, last - 1)
            if emitter is not None:
                done = _fetch_vaas(network, guardian or [], emitter, into, wanted, asking, notify, missing=missing)
            else:
                lacking = _incomplete(network, wanted) if missing else [wanted]
                done = fetch(network, node or [], into, lacking, asking, notify)
    # Python 3.11 makes something else of a Counter.
    values = dataclasses.asdict(done) | {"faults": done.faults}
    typer.echo(json.dumps(values, indent=2) if as_json else "\n".join(fetched_lines(done)))
    raise typer.Exit(WITH_REJECTS if done.lacking or done.left else 0)


def _incomplete(network: StoreSettings, wanted: tuple[int, int]) -> Intervals:
    """Those of the milestones that the store has not complete."""
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
    asking: "FetchSettings",
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
    lacking = [wanted]
    if missing:
        with closing(open_store(network)) as store:
            lacking = asyncio.run(list_missing(store, sent.chain, sent.address.hex(), *wanted))
    return fetch_vaas(network, urls, sent, into, lacking, asking, notify)


async def _tell(run: "Run") -> None:
    """Says what a run brought."""
    names = ", ".join(path.name for path in run.files)
    log.info("%s milestones, %s pending: %s", run.fetched.count, run.pending, names or "no file")


def _not_loaded(network: StoreSettings, into: Path) -> list[Path]:
    """The folder's files with milestones above the store's newest: a run that was killed brought them."""
    from db.connect import open_store
    from db.sync import find_newest_milestone
    from etl.archive.writer import sealed_span

    if not into.is_dir():
        return []
    with closing(open_store(network)) as store:
        newest = asyncio.run(find_newest_milestone(store, network.network))
    spans = ((sealed_span(path), path) for path in into.iterdir())
    return [path for _, path in sorted((span, path) for span, path in spans if span and span[1] > (newest or 0))]


def _loader(settings: Settings, into: Path, earlier: Sequence[Path]) -> "Callable[[Run], Awaitable[None]]":
    """Loads what a run brought into the folder, in a process of its own, which leaves nothing behind in this one. What
    a load that failed did not take is given to the next; the first has the `earlier` files too.
    """
    waiting = [*earlier]

    async def load_run(run: "Run") -> None:
        await _tell(run)
        waiting.extend(run.files)
        if not waiting:
            return
        if len(waiting) > FILES_MOST:
            waiting[:] = [into]
        pending = [into / PENDING_FILE] if run.pending else []
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "from cli.main import main; main()",
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
