"""The `permanode publish` command: writes and checks static archives; and `permanode archive get` and `archive
history`, which read them.
"""

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
    log_keys: Annotated[
        list[str] | None,
        typer.Option(
            "--log-key",
            metavar="NAME+ID+KEY",
            help="With --check: key that must have signed the log. Default: the key that the archive states.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Writes the complete milestones of the lake as a static archive: a folder for any file host or object store.

    Writes only what the folder does not have. A run that was killed continues when you run it again. The ids in the
    archive can be found with at most three range requests (docs/static-archive.md). If the log of the network is
    signed, the archive has the log, and listings whose completeness clients can prove.

    Exit code 3: the archive has faults (--check), or the lake has complete milestones after a gap, which are not in the
    archive.

    Example: permanode publish public/mainnet
    """
    if check:
        _check(folder, log_keys or [], as_json=as_json)
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
            f"{done.bytes_written:,} bytes, {done.log_files} files of the log, {done.deleted} deleted"
        )
        if done.missing:
            typer.echo(f"not in the archive, because they follow a gap: milestones {done.missing}")
    raise typer.Exit(WITH_REJECTS if done.missing else 0)


def _check(folder: Path, log_keys: list[str], *, as_json: bool) -> None:
    from etl.static_archive.check import check
    from ledger.transparency.keys import VerifierKey

    keys = [VerifierKey.parse(each) for each in log_keys]
    with shown() as notify:
        faults = []
        for each in check(folder, notify, keys):
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


def prove_from_archive(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="What the listing is about: hex, for addresses also bech32.")
    ],
    family: Annotated[
        str, typer.Option("--family", help="The kind of listing, e.g. ledger_updates_by_address (docs/proofs.md).")
    ],
    archive: Annotated[str, typer.Option("--archive", metavar="FOLDER|URL", help="The static archive.")],
    offset: Annotated[int, typer.Option(min=0, help="Place of the first row, oldest first, from 0.")] = 0,
    page_size: Annotated[int, typer.Option("--page-size", min=1, max=10_000, help="Maximum number of rows.")] = 100,
) -> None:
    """Prints the rows of a listing with the proof that it is complete, from the files of a static archive.

    The document is that of /proofs/listing. `permanode proof check` verifies it with the key of the log.

    Example: permanode archive history 00… --family ledger_updates_by_address --archive https://example.org/mainnet
    """
    from etl.static_archive.listings.history import ArchivedListings
    from etl.static_client import open_archive
    from ledger.completeness.families import BY_NAME
    from ledger.completeness.key_text import parse_key

    if family not in BY_NAME:
        raise typer.BadParameter(f"one of {', '.join(BY_NAME)} expected", param_hint="--family")
    try:
        place = parse_key(BY_NAME[family], key)
    except ValueError as error:
        why = f" ({error.__cause__})" if error.__cause__ else ""
        raise typer.BadParameter(f"expected {error}{why}", param_hint="KEY") from error
    typer.echo(ArchivedListings(open_archive(archive)).prove(BY_NAME[family], place, offset, page_size), nl=False)
