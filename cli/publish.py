"""The `permanode publish` command: writes and checks static archives; and `permanode archive get`, which reads them."""

import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cli.bars import shown
from cli.options import Json, etl_settings
from cli.progress import printable
from etl.report import WITH_REJECTS


def publish(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The archive; created if it does not exist.")],
    check: Annotated[
        bool, typer.Option("--check", help="Verify the archive in the folder instead. Needs no store and no lake.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Finally delete files that the new manifest does not name.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Writes the complete milestones of the lake as a static archive: a folder for any file host or object store.

    Writes only what the folder does not have. A run that was killed continues when you run it again. The ids in the
    archive can be found with at most three range requests (docs/static-archive.md).

    Exit code 3: the archive has faults (--check), or the lake has complete milestones after a gap, which are not in the
    archive.

    Example: permanode publish public/mainnet
    """
    if check:
        _check(folder, as_json=as_json)
    from db.connect import open_store
    from etl.runs import lake_path
    from etl.static_archive.publish import publish as run
    from etl.store_reads import StoreReads

    settings, etl = etl_settings(context)
    with (
        closing(open_store(settings)) as store,
        closing(StoreReads(store, settings.network)) as reads,
        shown() as notify,
    ):
        done = run(lake_path(settings, etl), reads, folder, prune=prune, notify=notify)
    if as_json:
        typer.echo(json.dumps(asdict(done), indent=2))
    else:
        typer.echo(
            f"milestones {done.first} to {done.last}, {done.keys:,} keys; {len(done.written)} files written with "
            f"{done.bytes_written:,} bytes, {done.deleted} deleted"
        )
        if done.missing:
            typer.echo(f"not in the archive, because they follow a gap: milestones {done.missing}")
    raise typer.Exit(WITH_REJECTS if done.missing else 0)


def _check(folder: Path, *, as_json: bool) -> None:
    from etl.static_archive.check import check

    with shown() as notify:
        faults = []
        for each in check(folder, notify):
            faults.append(each)
            if not as_json:
                typer.echo(printable(f"{each.file}: {each.cause}"))
    typer.echo(json.dumps([asdict(each) for each in faults], indent=2) if as_json else f"{len(faults):,} faults")
    raise typer.Exit(WITH_REJECTS if faults else 0)


def get_from_archive(
    identity: Annotated[
        str, typer.Argument(metavar="ID", help="The id of a message, block, transaction, output or milestone.")
    ],
    archive: Annotated[str, typer.Option("--archive", metavar="FOLDER|URL", help="The static archive.")],
) -> None:
    """Finds an id in a static archive, in a folder or over HTTP, and prints the message that contains it as JSON.

    Exit code 1: the archive does not have it.

    Example: permanode archive get 049b456b… --archive https://example.org/mainnet
    """
    from etl.static_archive.rendered import found_json
    from etl.static_client import open_archive

    try:
        key = bytes.fromhex(identity.removeprefix("0x"))
    except ValueError:
        key = b""
    if len(key) not in (32, 34):
        raise typer.BadParameter("an id of 64 or 68 hex digits expected", param_hint="ID")
    found = open_archive(archive).find(key)
    if found is None:
        raise LookupError(f"{identity}: not in the archive {archive}")
    typer.echo(json.dumps(found_json(found), indent=2))
