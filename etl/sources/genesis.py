"""The initial ledger state of an era: genesis.json, a full Hornet 1.x (Chrysalis) or 2.x (Stardust) snapshot, or the
genesis of a static archive. The content determines which.

genesis.json is a JSON object {networkId, ledgerIndex, treasury: {milestoneId, amount}, coordinatorPublicKeys, outputs:
[{outputId, output}]}. Its outputs have the form of the node's REST API: v1, or v2 with 0x before ids and amounts as
text. All files may be compressed.

A file is read and checked completely before any output is returned, so an invalid file is rejected before anything is
written. The outputs are then read again one by one, because a snapshot may not fit into memory.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from etl.sources.checksum_files import reject_changed
from etl.sources.fields import read_milestone_index
from etl.sources.genesis_table import MAGIC, read_head, read_outputs
from etl.sources.limits import TooLarge
from etl.sources.lines import UTF8_BOM
from etl.sources.unpacking import open_stream
from ledger.chrysalis import snapshot as hornet_snapshot
from ledger.chrysalis import values as chrysalis_values
from ledger.chrysalis.codec import SigLockedDustAllowance
from ledger.chrysalis.dust import DUST_THRESHOLD
from ledger.chrysalis.json_parse import parse_transfer_output_json
from ledger.chrysalis.milestone import MAX_KEYS
from ledger.chrysalis.snapshot import DELTA, FULL
from ledger.eras import CHRYSALIS, STARDUST, Codec
from ledger.ids import network_id
from ledger.json_reader import (
    U64,
    JsonError,
    hex_bytes,
    hex_member,
    listed,
    member,
    nested,
    optional,
    prefixed_hash,
    prefixed_hex,
    prefixed_id,
    uint,
    uint_text,
)
from ledger.networks import TOKEN_SUPPLY
from ledger.reader import CodecError
from ledger.stardust import snapshot as stardust_snapshot
from ledger.stardust import values as stardust_values
from ledger.stardust.json_parse import parse_output_json
from ledger.stardust.protocol_parameters import decode_parameters

MAX_AMOUNT = (1 << 63) - 1
"""The largest value that the tables can store."""

_MAX_OUTPUTS = 1_000_000
"""Maximum of outputs of a genesis.json, which is read into memory."""

_MAX_JSON_BYTES = 512 << 20
"""Maximum bytes of a genesis.json."""

_CHUNK_BYTES = 1 << 20

_HEAD_BYTES = 64


class GenesisError(ValueError):
    """A genesis file cannot be loaded. The message contains the file, the position and what was expected."""


@dataclass(frozen=True, slots=True)
class GenesisOutput:
    """An output with its 34-byte id and the 32-byte id of the message that created it (zeros without one).

    `booked` is the milestone that booked it, and the time of that milestone in seconds. Only Stardust snapshots and
    static archives contain it.
    """

    output_id: bytes
    message_id: bytes
    output: chrysalis_values.TransferOutput | stardust_values.TransferOutput
    booked: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Genesis:
    """The ledger after milestone `ledger_index`; 0 for the genesis.

    `codec` belongs to its era. `treasury` is (milestone id, amount), or None if the file contains none. Only a snapshot
    has a timestamp (in seconds); only a genesis.json contains the coordinator's keys. `token_supply` is the sum of
    outputs and treasury, or None if the file does not contain it (genesis.json with Stardust outputs). `parameters` are
    the serialized protocol parameters of a Stardust snapshot.
    """

    codec: Codec
    ledger_index: int
    treasury: tuple[bytes, int] | None
    outputs: Iterator[GenesisOutput]
    network_id: int | None
    timestamp: int | None
    coordinator_public_keys: tuple[bytes, ...]
    token_supply: int | None
    parameters: bytes | None = None


@contextmanager
def open_genesis(path: Path, stardust_supply: int | None = None) -> Iterator[Genesis]:
    """Opens and checks a file. Its outputs can be read once, inside the context.

    `stardust_supply` is the token supply for a genesis.json with Stardust outputs, which does not contain it. Raises
    GenesisError for an invalid file, or if outputs and treasury do not add up to the token supply. Raises
    FileNotFoundError for a missing file, and ValueError for one that differs from the checksum beside it.
    """
    reject_changed(path)
    with _unchecked(path, stardust_supply) as genesis:
        _check(path, genesis)
    with _unchecked(path, stardust_supply) as genesis:
        yield genesis


@contextmanager
def _unchecked(path: Path, stardust_supply: int | None) -> Iterator[Genesis]:
    with open_stream(str(path)) as file:
        with _naming(path):
            if _head(path).startswith(MAGIC):
                genesis = _read_table(path, stardust_supply)
            else:
                genesis = _read_json(file, stardust_supply) if _is_json(path) else _read_snapshot(path, file)
        yield genesis


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except (CodecError, JsonError, orjson.JSONDecodeError, EOFError, OSError, TooLarge) as error:
        raise GenesisError(f"{path}: {error}") from error


def _check(path: Path, genesis: Genesis) -> None:
    """Reads all outputs. Raises GenesisError."""
    total = 0 if genesis.treasury is None else genesis.treasury[1]
    supply = genesis.token_supply
    most = MAX_AMOUNT if supply is None else supply
    for each in genesis.outputs:
        amount = each.output.amount
        least = DUST_THRESHOLD if isinstance(each.output, SigLockedDustAllowance) else 1
        if not least <= amount <= most:
            place = f"{path}: output {each.output_id.hex()}"
            raise GenesisError(f"{place}: expected an amount from {least} to {most}, found {amount}")
        total += amount
    if total > most if supply is None else total != supply:
        expected = f"of at most {most}" if supply is None else f"of {supply}"
        raise GenesisError(f"{path}: expected outputs and treasury {expected} in all, found {total}")


def _is_json(path: Path) -> bool:
    return _head(path).removeprefix(UTF8_BOM).lstrip().startswith(b"{")


def _head(path: Path) -> bytes:
    with open_stream(str(path)) as file:
        return file.read(_HEAD_BYTES)


def _read_snapshot(path: Path, file: BinaryIO) -> Genesis:
    """Reads a snapshot of either era. Its first byte is the version of its format."""
    if _head(path)[:1] == bytes([stardust_snapshot.VERSION]):
        return _read_stardust_snapshot(path, file)
    header, parts = hornet_snapshot.decode_snapshot(file)
    if header.treasury is None:
        raise _no_ledger()
    index = read_milestone_index(header.ledger_milestone_index, "ledger milestone index")
    treasury = (header.treasury.milestone_id, header.treasury.amount)
    outputs = (
        GenesisOutput(each.output_id, each.message_id, each.output)
        for each in _parts(path, parts)
        if isinstance(each, hornet_snapshot.SnapshotOutput)
    )
    return Genesis(CHRYSALIS, index, treasury, outputs, header.network_id, header.timestamp, (), TOKEN_SUPPLY)


def _read_stardust_snapshot(path: Path, file: BinaryIO) -> Genesis:
    header, parts = stardust_snapshot.decode_snapshot(file)
    if isinstance(header, stardust_snapshot.DeltaHeader):
        raise _no_ledger()
    params = header.parameters.params
    parameters = decode_parameters(params)
    index = read_milestone_index(header.ledger_milestone_index, "ledger milestone index")
    treasury = (header.treasury.milestone_id, header.treasury.amount)
    outputs = (
        GenesisOutput(each.output_id, each.block_id, each.output, (each.milestone_index, each.timestamp))
        for each in _parts(path, parts)
        if isinstance(each, stardust_snapshot.BookedOutput)
    )
    # The header contains the timestamp of the milestone at which the diffs end.
    timestamp = header.target_timestamp if header.target_milestone_index == index else None
    named = network_id(parameters.network_name)
    return Genesis(STARDUST, index, treasury, outputs, named, timestamp, (), parameters.token_supply, params)


def _read_table(path: Path, stardust_supply: int | None) -> Genesis:
    head = read_head(path)
    supply = stardust_supply if head.is_stardust else TOKEN_SUPPLY
    if head.parameters is not None:
        supply = decode_parameters(head.parameters).token_supply
    return Genesis(
        STARDUST if head.is_stardust else CHRYSALIS,
        read_milestone_index(head.ledger_index, "milestone_index"),
        head.treasury,
        (GenesisOutput(*each) for each in _parts(path, read_outputs(path))),
        None,
        None if head.ms_timestamp is None else head.ms_timestamp // 1_000,
        head.coordinator_public_keys,
        supply,
        head.parameters,
    )


def _no_ledger() -> CodecError:
    return CodecError(1, f"snapshot type {FULL} (full), found {DELTA} (delta), which holds changes and no ledger")


def _parts(path: Path, parts: Iterator[Any]) -> Iterator[Any]:
    """Yields the parts of a snapshot up to its end."""
    with _naming(path):
        yield from parts


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of an era's genesis.json: its outputs, treasury and keys."""

    output: Callable[[Any], GenesisOutput]
    treasury: Callable[[Any], tuple[bytes, int]]
    key: Callable[[Any], bytes]


def _read_json(file: BinaryIO, stardust_supply: int | None) -> Genesis:
    document = orjson.loads(_read_document(file))
    is_stardust = _is_stardust(document)
    form = STARDUST_FORM if is_stardust else CHRYSALIS_FORM
    outputs = listed(document, "outputs", form.output, 1, _MAX_OUTPUTS)
    _check_unique(outputs)
    return Genesis(
        STARDUST if is_stardust else CHRYSALIS,
        read_milestone_index(member(document, "ledgerIndex"), "ledgerIndex"),
        optional(document, "treasury", form.treasury),
        iter(outputs),
        uint_text(document, "networkId", U64) if "networkId" in document else None,
        None,
        listed(document, "coordinatorPublicKeys", form.key, 0, MAX_KEYS),
        stardust_supply if is_stardust else TOKEN_SUPPLY,
    )


def _read_document(file: BinaryIO) -> bytes:
    parts, length = list[bytes](), 0
    while chunk := file.read(_CHUNK_BYTES):
        parts.append(chunk)
        length += len(chunk)
        if length > _MAX_JSON_BYTES:
            raise JsonError("genesis.json", f"at most {_MAX_JSON_BYTES} bytes, found more; pass a snapshot instead")
    return b"".join(parts).removeprefix(UTF8_BOM)


def _is_stardust(document: Any) -> bool:
    """Detects the era from the first output's id, which begins with 0x in Stardust."""
    outputs = document.get("outputs")
    first = outputs[0] if isinstance(outputs, list) and outputs else None
    return isinstance(first, dict) and str(first.get("outputId")).startswith("0x")


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


def _parse_stardust_output(value: Any) -> GenesisOutput:
    output = nested(value, "output", parse_output_json)
    if isinstance(output, chrysalis_values.TreasuryOutput):
        raise JsonError("output.type", "an output of somebody's, found the treasury's")
    return GenesisOutput(prefixed_hex(value, "outputId", 34), bytes(32), output)


def _parse_stardust_treasury(value: Any) -> tuple[bytes, int]:
    return prefixed_hash(value, "milestoneId"), uint_text(value, "amount", U64)


CHRYSALIS_FORM = _Form(_parse_output, _parse_treasury, _parse_key)
STARDUST_FORM = _Form(_parse_stardust_output, _parse_stardust_treasury, prefixed_id)
