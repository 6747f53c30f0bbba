"""Inputs of the Wormhole tests: the shipped VAAs, all VAAs of the full data set if present, signing keys, and messages
laid out here.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from coincurve import PrivateKey
from Crypto.Hash import keccak

from ledger.wormhole.emitters import GOVERNANCE_EMITTER
from ledger.wormhole.guardians import PUBLISHED, GuardianSet
from ledger.wormhole.payloads import AssetMeta, NftTransfer, TokenTransfer, TokenTransferWithPayload
from ledger.wormhole.vaa import Signature, Vaa, decode_vaa, digest
from tests.conftest import ROOT, SHARED, needs_shared

VECTORS = ROOT / "tests" / "vectors" / "wormhole"
WORMHOLE = SHARED / "wormhole"


def lines(path: Path) -> list[dict[str, Any]]:
    with path.open() as file:
        return [json.loads(line) for line in file]


@cache
def shipped() -> list[dict[str, Any]]:
    return lines(VECTORS / "vaas.jsonl")


@cache
def shared() -> list[dict[str, Any]]:
    """Every record of the full data set; empty if it is missing."""
    if not SHARED.is_dir():
        return []
    return [
        {"line": f"{name}:{number}", **record}
        for name in ("vaas.jsonl", "vaas_unverified.jsonl")
        for number, record in enumerate(lines(WORMHOLE / name), 1)
    ]


def records() -> list[Any]:
    """A parameter for every record, the shipped ones first, and a skipped one if the full data set is missing."""
    there = [pytest.param(record, id=f"shipped-{record['line']}") for record in shipped()]
    if not SHARED.is_dir():
        return [*there, pytest.param({}, marks=needs_shared, id="missing")]
    return [*there, *(pytest.param(record, id=record["line"]) for record in shared())]


def vaa_of(record: Mapping[str, Any]) -> Vaa:
    return decode_vaa(bytes.fromhex(record["hex"]))


@cache
def public_sets(network: str) -> dict[str, dict[str, Any]]:
    """A network's published guardian sets; for devnet also `all19`, all guardians that it can have."""
    sets: dict[str, dict[str, Any]] = json.loads((VECTORS / "guardian_sets.json").read_text())[network]
    return sets


def addresses(entry: Mapping[str, Any]) -> tuple[bytes, ...]:
    return tuple(bytes.fromhex(address[2:]) for address in entry["addresses"])


PRIVATE = [PrivateKey(number.to_bytes(32)) for number in range(1, 40)]
"""Keys 1 to 39, which no guardian uses."""


def address_of(key: PrivateKey) -> bytes:
    return keccak.new(digest_bits=256, data=key.public_key.format(compressed=False)[1:]).digest()[12:]


def signed(vaa: Vaa, keys: Mapping[int, PrivateKey] | Sequence[PrivateKey]) -> Vaa:
    """The VAA, signed again by keys at their indices."""
    places: Iterable[tuple[int, PrivateKey]] = keys.items() if isinstance(keys, Mapping) else enumerate(keys)
    message = digest(vaa)
    signatures = [Signature(index, key.sign_recoverable(message, hasher=None)) for index, key in places]
    return replace(vaa, signatures=tuple(signatures))


def guardian_set(index: int, keys: Sequence[PrivateKey], since: int = 0) -> GuardianSet:
    return GuardianSet(index, tuple(map(address_of, keys)), since)


def published(network: str) -> dict[int, GuardianSet]:
    return {each.index: each for each in PUBLISHED[network]}


def update(index: int, keys: Sequence[PrivateKey], target: int = 0, timestamp: int = 0, **body: Any) -> Vaa:
    """An unsigned message that names those keys as set `index`."""
    members = b"".join(map(address_of, keys))
    payload = bytes(28) + b"Core\x02" + target.to_bytes(2) + index.to_bytes(4) + bytes([len(keys)]) + members
    return replace(Vaa(index - 1, (), timestamp, 0, 1, GOVERNANCE_EMITTER, 5, 0, payload), **body)


def written(value: TokenTransfer | TokenTransferWithPayload | AssetMeta | NftTransfer) -> bytes:
    """A payload laid out as in the specification."""
    match value:
        case TokenTransfer():
            head = struct.pack(">B32s32sH32sH", 1, value.amount.to_bytes(32), *list(asdict(value).values())[1:5])
            return head + value.fee.to_bytes(32)
        case TokenTransferWithPayload():
            head = struct.pack(">B32s32sH32sH", 3, value.amount.to_bytes(32), *list(asdict(value).values())[1:5])
            return head + value.from_address + value.payload
        case AssetMeta():
            names = (value.symbol.encode(), value.name.encode())
            return struct.pack(">B32sHB32s32s", 2, value.token_address, value.token_chain, value.decimals, *names)
        case NftTransfer():
            names = (value.symbol.encode(), value.name.encode())
            uri = value.uri.encode()
            head = struct.pack(">B32sH32s32s32sB", 1, value.token_address, value.token_chain, *names,
                               value.token_id.to_bytes(32), len(uri))  # fmt: skip
            return head + uri + value.to_address + value.to_chain.to_bytes(2)
