"""The `permanode proof check` command: verifies proofs of inclusion and of complete listings without a store."""

import dataclasses
from pathlib import Path
from typing import Annotated, NoReturn

import typer

proof = typer.Typer(
    help="Verifies proofs without a store.\n\nExample: permanode proof check proof.json --key-ranges KEY",
    no_args_is_help=True,
)


@proof.command("check")
def check_proof(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="A proof of inclusion that /api/poi/v1 created, or a proof of a listing (JSON).",
            exists=True,
            dir_okay=False,
        ),
    ],
    key_ranges: Annotated[
        str | None,
        typer.Option(
            "--key-ranges",
            metavar="KEY[:FIRST[:LAST]],…",
            help="Hex keys that sign milestones. Default: the keys of the selected network.",
        ),
    ] = None,
    threshold: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Signatures that a milestone needs. Default: as many as the milestone with the fewest keys has keys.",
        ),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(
            "--keys",
            metavar="NAME+ID+KEY,…",
            help="Keys of a log, one of which must have signed the proof of a listing, and of witnesses, all of "
            "which must have cosigned it.",
        ),
    ] = None,
) -> None:
    """Verifies a proof. Needs only the file and the keys that sign milestones or the log.

    Prints each check. Exit code 0: the proof is valid; 1: it is invalid, or nobody knows who may sign (signers
    unknown).

    Example: permanode proof check proof.json --key-ranges a9b4…:1:5000,d65c…:4000 --threshold 2
    """
    from cli.listing_text import is_listing_proof, read_document
    from cli.proof_text import check, read_proof
    from ledger.milestone_proof import parse_coordinator

    document = read_document(file)
    if is_listing_proof(document):
        _check_listing(context, file, document, keys)
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


@proof.command("keep")
def keep(
    context: typer.Context,
    archive: Annotated[str, typer.Argument(help="Folder or URL of a static archive with listings.")],
    keys: Annotated[
        list[str] | None,
        typer.Option(
            "--log-key",
            metavar="NAME+ID+KEY",
            help="Key of the log of the archive. Can be repeated. Default: the key that the archive states. If proofs "
            "of an archive with another key are stored already, it is required.",
        ),
    ] = None,
) -> None:
    """Stores the proofs of the listings that a selective permanode keeps, from a static archive of a full one.

    It reads the tiles around each selected tag and address, and compares each root with the rows of this store. So it
    also shows that no row is missing here. Then this permanode serves these proofs. Run it again for a newer archive
    and for added filters. It continues the log that this permanode had before `purge --keep`.

    Example: permanode proof keep https://archive.example/ --log-key permanode/mainnet/1+33d9dfe5+Aa4Gn7nRzMqg…
    """
    from cli.options import etl_settings
    from etl.kept_proofs import keep_proofs
    from etl.runs import lake_path
    from ledger.transparency.keys import VerifierKey

    store, etl = etl_settings(context)
    found = keep_proofs(store, lake_path(store, etl), archive, [VerifierKey.parse(each) for each in keys or ()])
    typer.echo(f"{found.listings:,} listings with {found.rows:,} rows are proved up to milestone {found.complete_to:,}")
    for each in found.left_out:
        typer.echo(f"not proved: {each} does not cover all milestones of the proofs")


def _check_listing(context: typer.Context, file: Path, document: bytes, keys: str | None) -> NoReturn:
    from cli.listing_text import check_listing, parse_keys

    network = context.obj.settings().network
    try:
        known = parse_keys(keys.split(",") if keys else [])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--keys") from error
    try:
        verdict = check_listing(document, network, known)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    typer.echo("\n".join(verdict.lines))
    raise typer.Exit(0 if verdict.is_valid else 1)
