"""Commands for the transparency log: log key, log proof, log check, log accept, audit."""

import json
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cli.bars import shown
from cli.options import Json, etl_settings

log = typer.Typer(
    help="Keys, proofs and cosignatures of the transparency log.\n\nExample: permanode log proof 1000",
    no_args_is_help=True,
)

Keys: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="NAME+ID+KEY", help="Key that verifies a log's checkpoints. Can be repeated."),
]
Witnesses: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--witness", metavar="NAME+ID+KEY", help="Key of a witness. Can be repeated."),
]


@log.command("key")
def create_log_key(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The new file. Only its owner may read it; an existing one is kept.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the key. Default: the origin of the log, permanode/NETWORK/FIRST.")
    ] = None,
    witness: Annotated[bool, typer.Option("--witness", help="A key for cosignatures of other logs.")] = False,
) -> None:
    """Creates the key that signs the log's checkpoints. Prints the key that verifies them.

    The setting `log_key` of the network names the file. Loads then sign, the next one at once.

    Example: permanode log key /etc/permanode/log.key
    """
    from etl.transparency.signing_key import create_key
    from ledger.transparency.keys import Kind

    key = create_key(file, name or _origin(context), Kind.COSIGNATURE if witness else Kind.SIGNATURE)
    typer.echo(key.verifier.text)


@log.command("proof")
def write_log_proof(
    context: typer.Context,
    milestone: Annotated[int, typer.Argument(min=1, help="Index of the milestone.")],
    into: Annotated[Path | None, typer.Option("--into", metavar="FILE", help="Output file. Default: stdout.")] = None,
) -> None:
    """Writes the proof that a milestone is in the signed log (C2SP tlog-proof), for `permanode log check`.

    Example: permanode log proof 1000 --into 1000.tlog-proof
    """
    import asyncio
    from contextlib import closing

    from db.connect import open_store
    from db.queries.log import LogNotSigned, get_proof
    from db.store import StoreError

    settings = context.obj.settings().store()
    with closing(open_store(settings)) as store:
        try:
            data = bytes(asyncio.run(get_proof(store, settings.network, milestone)))
        except LogNotSigned as error:
            raise StoreError(
                f"the log of {settings.network} is not signed: create a key with `permanode log key FILE`, set "
                "`log_key`, and run a load"
            ) from error
    if into is None:
        sys.stdout.buffer.write(data)
    else:
        into.write_bytes(data)


@log.command("check")
def check_log_proof(
    file: Annotated[Path, typer.Argument(help="A proof of `log proof` or of /log/proof.", exists=True, dir_okay=False)],
    keys: Keys = None,
    witnesses: Witnesses = None,
) -> None:
    """Verifies the proof that a milestone is in a log, without a store. Prints what is proved.

    Exit code 0: the proof is valid; 1: it is invalid.

    Example: permanode log check 1000.tlog-proof --key permanode/mainnet/1+33d9dfe5+Aa4Gn7nRzMqg…
    """
    from cli.log_text import checked_lines
    from ledger.transparency.keys import VerifierKey

    if not keys:
        raise typer.BadParameter("expected the key that signs the log's checkpoints", param_hint="--key")
    parsed = [[VerifierKey.parse(each) for each in some or ()] for some in (keys, witnesses)]
    typer.echo("\n".join(checked_lines(file.read_bytes(), *parsed)))


@log.command("accept")
def accept_cosigned(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What a witness returned.", exists=True, dir_okay=False)],
) -> None:
    """Stores cosignatures of witnesses: a cosigned checkpoint, or only the lines for the newest one.

    The setting `log_witnesses` has the keys of the witnesses. Others are ignored.

    Example: permanode log accept cosigned-checkpoint
    """
    from cli.log_text import cosignature_text
    from etl.runs import lake_path
    from etl.transparency.cosignatures import accept_cosignatures

    store, etl = etl_settings(context)
    size, cosignatures = accept_cosignatures(store, lake_path(store, etl), file.read_bytes())
    typer.echo(f"checkpoint of {size:,} records, cosigned by {cosignature_text(cosignatures)}")


def audit(
    context: typer.Context,
    urls: Annotated[
        list[str],
        typer.Argument(
            metavar="URL...",
            help="Servers, e.g. https://HOST or https://HOST/api/NETWORK, or logs, e.g. https://HOST/api/NETWORK/log.",
        ),
    ],
    keys: Keys = None,
    witnesses: Witnesses = None,
    whole: Annotated[
        bool, typer.Option("--all", help="Read every record, tile and id, not only those that a comparison needs.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compares the transparency logs of several archives, and names the first milestone at which two of them differ.

    Verifies the signature of each checkpoint, and that the tiles lead to its root. Without --key, it takes the key that
    each archive states. Of selective permanodes it compares their part of the log and ids of milestones, and prints
    what was not compared.

    Exit code 0: all proofs are valid and no archives differ; 1: else.

    Example: permanode --network mainnet audit https://one.example https://other.example
    """
    from cli.log_text import audit_lines
    from etl.transparency.audit import as_json as audit_json
    from etl.transparency.audit import audit_logs
    from ledger.transparency.keys import VerifierKey

    prefixes = [_log_of(context, url) for url in urls]
    known = [[VerifierKey.parse(each) for each in some or ()] for some in (keys, witnesses)]
    with shown() as notify:
        result = audit_logs(prefixes, *known, whole=whole, notify=notify)
    typer.echo(json.dumps(audit_json(result), indent=2) if as_json else "\n".join(audit_lines(result)))
    raise typer.Exit(0 if result.is_good else 1)


def _log_of(context: typer.Context, url: str) -> str:
    """The prefix of a log: the URL itself, or that of the network that the URL or the settings name, at that server."""
    from db.connect import StoreSettings

    server, named, path = url.rstrip("/").partition("/api/")
    network, _, rest = path.partition("/")
    if rest not in ("", "log") or (not named and server.endswith("/log")):
        return url
    if not network:
        network = context.obj.settings().network
    if network is None:
        raise typer.BadParameter(
            f"{url}: expected https://HOST/api/NETWORK/log, or --network NAME before the command", param_hint="URL"
        )
    if StoreSettings("", network).wormhole_network is not None:
        raise typer.BadParameter(
            f"{network} has no transparency log: its guardians sign each message, and /gaps shows missing ones",
            param_hint="URL",
        )
    return f"{server}/api/{network}/log"


def _origin(context: typer.Context) -> str:
    """The origin of the network's log. Raises typer.BadParameter without a log."""
    import asyncio
    from contextlib import closing

    from db.connect import open_store
    from db.queries.log import find_head

    settings = context.obj.settings().store()
    with closing(open_store(settings)) as store:
        head = asyncio.run(find_head(store, settings.network))
    if head is None:
        raise typer.BadParameter(
            "the network has no log yet: load milestones first, or give a name", param_hint="--name"
        )
    return head.newest.origin
