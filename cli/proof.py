"""The `permanode proof check` command: verifies a proof of inclusion without a store."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

proof = typer.Typer(
    help="Verifies proofs of inclusion without a store.\n\nExample: permanode proof check proof.json --key-ranges KEY",
    no_args_is_help=True,
)


@proof.command("check")
def check_proof(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A proof that /api/poi/v1 created (JSON).", exists=True, dir_okay=False)],
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
        typer.Option(min=1, help="Signatures that a milestone needs. Default: one per key that may sign it."),
    ] = None,
) -> None:
    """Verifies a proof of inclusion. Needs only the file and the keys that sign milestones.

    Prints each check. Exit code 0: the proof is valid; 1: it is invalid, or nobody knows who may sign (signers
    unknown).

    Example: permanode proof check proof.json --key-ranges a9b4…:1:5000,d65c…:4000 --threshold 2
    """
    from cli.proof_text import check, read_proof
    from ledger.milestone_proof import parse_coordinator

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
