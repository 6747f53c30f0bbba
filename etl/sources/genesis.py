"""The state that a ledger starts from: genesis.json, or a full snapshot of Hornet 1.x, told apart by content.

genesis.json is one JSON object {networkId, ledgerIndex, treasury: {milestoneId, amount}, coordinatorPublicKeys,
outputs: [{outputId, output}]} with outputs as the node's REST API v1 writes them. Either file may be compressed.

Rules of this file: a file is read and checked to its end before anything is given out, so a bad one is refused while
nothing has been written; outputs are then read again one by one, since a snapshot need not fit into memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import orjson

from etl.sources.fields import read_milestone_index
from etl.sources.files import open_stream
from ledger.chrysalis import SigLockedDustAllowance
from ledger.chrysalis_milestone import MAX_KEYS
from ledger.dust import DUST_THRESHOLD
from ledger.hornet_snapshot import DELTA, FULL, SnapshotOutput, SnapshotPart, decode_snapshot
from ledger.json_reader import U64, JsonError, hex_bytes, hex_member, listed, member, nested, optional, uint, uint_text
from ledger.networks import TOKEN_SUPPLY
from ledger.reader import CodecError
from ledger.rest_parse import parse_transfer_output_json

GenesisOutput: TypeAlias = SnapshotOutput
"""output_id (34 bytes), message_id (32; zeros where no message created it) and output."""

_MAX_OUTPUTS = 1_000_000
"""Of a genesis.json, which is read whole."""

_HEAD_BYTES = 64


class GenesisError(ValueError):
    """A genesis file that cannot be loaded; the text names the file, the place in it and what was expected."""


@dataclass(frozen=True, slots=True)
class Genesis:
    """The ledger as the milestone `ledger_index` left it, 0 for a true genesis.

    `treasury` is (milestone id, amount), None where the file names none. Only a snapshot has a timestamp (in seconds),
    only a genesis.json names the coordinator's keys.
    """

    ledger_index: int
    treasury: tuple[bytes, int] | None
    outputs: Iterator[GenesisOutput]
    network_id: int | None
    timestamp: int | None
    coordinator_public_keys: tuple[bytes, ...]


@contextmanager
def open_genesis(path: Path) -> Iterator[Genesis]:
    """The checked state of a file; its outputs can be gone through once, inside the context.

    Raises GenesisError for a file of another form, and for outputs and treasury that do not add up to the token supply;
    FileNotFoundError as it is.
    """
    with _unchecked(path) as genesis:
        _check(path, genesis)
    with _unchecked(path) as genesis:
        yield genesis


@contextmanager
def _unchecked(path: Path) -> Iterator[Genesis]:
    with open_stream(str(path)) as file:
        with _naming(path):
            genesis = _read_json(file) if _is_json(path) else _read_snapshot(path, file)
        yield genesis


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except (CodecError, JsonError, orjson.JSONDecodeError, EOFError, OSError) as error:
        raise GenesisError(f"{path}: {error}") from error


def _check(path: Path, genesis: Genesis) -> None:
    """Goes through all outputs. Raises GenesisError."""
    total = 0 if genesis.treasury is None else genesis.treasury[1]
    for each in genesis.outputs:
        amount = each.output.amount
        least = DUST_THRESHOLD if isinstance(each.output, SigLockedDustAllowance) else 1
        if not least <= amount <= TOKEN_SUPPLY:
            place = f"{path}: output {each.output_id.hex()}"
            raise GenesisError(f"{place}: expected an amount from {least} to {TOKEN_SUPPLY}, found {amount}")
        total += amount
    if total != TOKEN_SUPPLY:
        raise GenesisError(f"{path}: expected outputs and treasury of {TOKEN_SUPPLY} in all, found {total}")


def _is_json(path: Path) -> bool:
    with open_stream(str(path)) as file:
        return file.read(_HEAD_BYTES).lstrip().startswith(b"{")


def _read_snapshot(path: Path, file: BinaryIO) -> Genesis:
    header, parts = decode_snapshot(file)
    if header.treasury is None:
        raise CodecError(1, f"snapshot type {FULL} (full), found {DELTA} (delta), which holds changes and no ledger")
    index = read_milestone_index(header.ledger_milestone_index, "ledger milestone index")
    treasury = (header.treasury.milestone_id, header.treasury.amount)
    return Genesis(index, treasury, _outputs(path, parts), header.network_id, header.timestamp, ())


def _outputs(path: Path, parts: Iterator[SnapshotPart]) -> Iterator[GenesisOutput]:
    """Of a snapshot's parts, which are gone through to their very end."""
    with _naming(path):
        for part in parts:
            if isinstance(part, SnapshotOutput):
                yield part


def _read_json(file: BinaryIO) -> Genesis:
    document = orjson.loads(file.read())
    outputs = listed(document, "outputs", _parse_output, 1, _MAX_OUTPUTS)
    _check_unique(outputs)
    return Genesis(
        read_milestone_index(member(document, "ledgerIndex"), "ledgerIndex"),
        optional(document, "treasury", _parse_treasury),
        iter(outputs),
        uint_text(document, "networkId", U64) if "networkId" in document else None,
        None,
        listed(document, "coordinatorPublicKeys", _parse_key, 0, MAX_KEYS),
    )


def _check_unique(outputs: tuple[GenesisOutput, ...]) -> None:
    seen: set[bytes] = set()
    for position, each in enumerate(outputs):
        if each.output_id in seen:
            raise JsonError(f"outputs[{position}].outputId", f"each output once, found {each.output_id.hex()} again")
        seen.add(each.output_id)


def _parse_output(value: Any) -> GenesisOutput:
    output = nested(value, "output", parse_transfer_output_json)
    return GenesisOutput(hex_member(value, "outputId", 34), bytes(32), output)


def _parse_treasury(value: Any) -> tuple[bytes, int]:
    return hex_member(value, "milestoneId", 32), uint(value, "amount", U64)


def _parse_key(value: Any) -> bytes:
    return hex_bytes(value, 32)
