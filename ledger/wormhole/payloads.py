"""Decodes VAA payloads, and defines which emitter may send which.

Invariants:
1. Anyone can publish bytes that look like a transfer. So the emitter's chain and address (`emitters`) decide first,
   then the payload id or module, and the length must be exact. Payloads of other emitters are not decoded.
2. Only messages that many projects send from their own contracts (NTT, Pyth) are recognized by their first bytes. They
   are `Recognised` and never count in sums.
3. Nothing is lost. A payload that is not understood is `Raw`, with a reason if its emitter is a known one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, TypeVar

from ledger.reader import CodecError, Reader
from ledger.wormhole.emitters import EmitterKind, find_emitter
from ledger.wormhole.fields import (
    ADDRESS,
    Layout,
    clean,
    decode_fields,
    listed,
    raw,
    rest,
    sized,
    text,
    u8,
    u16,
    u32,
    u64,
    u256,
)
from ledger.wormhole.governance import Governance, decode_governance
from ledger.wormhole.vaa import Vaa

MAX_URI_BYTES = 200

_Known = TypeVar("_Known")


@dataclass(frozen=True, slots=True)
class TokenTransfer:
    """Token bridge, id 1: a transfer. The amount has at most 8 decimals, even if the token has more."""

    ID: ClassVar[int] = 1
    amount: int
    token_address: bytes
    token_chain: int
    to_address: bytes
    to_chain: int
    fee: int


@dataclass(frozen=True, slots=True)
class AssetMeta:
    """Token bridge, id 2: a token's metadata on its home chain."""

    ID: ClassVar[int] = 2
    token_address: bytes
    token_chain: int
    decimals: int
    symbol: str
    name: str


@dataclass(frozen=True, slots=True)
class TokenTransferWithPayload:
    """Token bridge, id 3: a transfer to a contract, with a payload for it."""

    ID: ClassVar[int] = 3
    amount: int
    token_address: bytes
    token_chain: int
    to_address: bytes
    to_chain: int
    from_address: bytes
    payload: bytes


@dataclass(frozen=True, slots=True)
class NftTransfer:
    """NFT bridge, id 1: a transfer. On Solana `token_id` is the mint."""

    ID: ClassVar[int] = 1
    token_address: bytes
    token_chain: int
    symbol: str
    name: str
    token_id: int
    uri: str
    to_address: bytes
    to_chain: int


@dataclass(frozen=True, slots=True)
class Recognised:
    """A message of a recognized kind. `fields` are in wire order."""

    kind: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes that are not understood. `reason` is empty if the emitter is not a known one."""

    data: bytes
    reason: str


Payload: TypeAlias = TokenTransfer | AssetMeta | TokenTransferWithPayload | NftTransfer | Governance | Recognised | Raw

_MOVED: Layout = (
    ("amount", u256),
    ("token_address", ADDRESS),
    ("token_chain", u16),
    ("to_address", ADDRESS),
    ("to_chain", u16),
)

_TOKEN_BRIDGE: Mapping[int, tuple[type[TokenTransfer | AssetMeta | TokenTransferWithPayload], Layout]] = {
    TokenTransfer.ID: (TokenTransfer, (*_MOVED, ("fee", u256))),
    AssetMeta.ID: (
        AssetMeta,
        (("token_address", ADDRESS), ("token_chain", u16), ("decimals", u8), ("symbol", text(32)), ("name", text(32))),
    ),
    TokenTransferWithPayload.ID: (TokenTransferWithPayload, (*_MOVED, ("from_address", ADDRESS), ("payload", rest))),
}

_NFT: Layout = (
    ("token_address", ADDRESS),
    ("token_chain", u16),
    ("symbol", text(32)),
    ("name", text(32)),
    ("token_id", u256),
    ("uri", sized(u8)),
    ("to_address", ADDRESS),
    ("to_chain", u16),
)

VAA_KEY = 1
"""The type of a message key that is the id of a VAA."""


def _vaa_key_type(reader: Reader, name: str) -> int:
    start, found = reader.offset, u8(reader, name)
    if found != VAA_KEY:
        reader.fail(start, f"{name} {VAA_KEY}, found {found}")
    return found


def _message_key(reader: Reader, name: str) -> tuple[int, bytes]:
    """A type and a key. Only keys of VAAs have no length, because theirs is known."""
    key_type = u8(reader, f"{name} type")
    key = raw(2 + 32 + 8) if key_type == VAA_KEY else sized(u32)
    return key_type, key(reader, name)


_RELAYER: Mapping[int, tuple[str, Layout]] = {
    1: (
        "relayer_delivery",
        (
            ("target_chain", u16),
            ("target_address", ADDRESS),
            ("payload", sized(u32)),
            ("requested_receiver_value", u256),
            ("extra_receiver_value", u256),
            ("execution_info", sized(u32)),
            ("refund_chain", u16),
            ("refund_address", ADDRESS),
            ("refund_delivery_provider", ADDRESS),
            ("source_delivery_provider", ADDRESS),
            ("sender_address", ADDRESS),
            ("message_keys", listed(u8, _message_key)),
        ),
    ),
    2: (
        "relayer_redelivery",
        (
            ("key_type", _vaa_key_type),
            ("source_chain", u16),
            ("source_emitter", ADDRESS),
            ("source_sequence", u64),
            ("target_chain", u16),
            ("new_receiver_value", u256),
            ("new_execution_info", sized(u32)),
            ("new_source_delivery_provider", ADDRESS),
            ("new_sender_address", ADDRESS),
        ),
    ),
}
"""Source: WormholeRelayerSerde.sol of wormhole-foundation/wormhole."""

_BY_PREFIX: Mapping[bytes, tuple[str, Layout]] = {
    bytes.fromhex("9945ff10"): (
        "ntt_transfer",
        (
            ("source_manager", ADDRESS),
            ("recipient_manager", ADDRESS),
            ("manager_payload", sized(u16)),
            ("transceiver_payload", sized(u16)),
        ),
    ),
    bytes.fromhex("9c23bd3b"): ("ntt_info", (("rest", rest),)),
    b"P2WH": ("pyth_price_attestation", (("rest", rest),)),
    b"AUWV": ("pyth_accumulator_root", (("update_type", u8), ("slot", u64), ("ring_size", u32), ("root", raw(20)))),
    b"PTGM": ("pyth_governance", (("module", u8), ("action", u8), ("target_chain", u16), ("rest", rest))),
}


def decode_payload(network: str, vaa: Vaa) -> Payload:
    """Decodes the payload of a VAA of a network (mainnet, testnet, devnet). Never raises; see `Raw`."""
    kind = find_emitter(network, vaa.emitter_chain, vaa.emitter_address)
    data = vaa.payload
    try:
        if kind is not None:
            return DECODERS[kind](data)
        named = _BY_PREFIX.get(data[:4])
        return Raw(data, "") if named is None else _recognised(data, 4, *named)
    except CodecError as error:
        return Raw(data, str(error))


def decode_token_bridge(data: bytes) -> TokenTransfer | AssetMeta | TokenTransferWithPayload:
    """Decodes a token bridge payload. Raises CodecError."""
    reader = Reader(data)
    value, layout = _by_id(reader, _TOKEN_BRIDGE, "token bridge")
    fields = decode_fields(reader, layout)
    reader.finish()
    return value(**fields)


def decode_nft_bridge(data: bytes) -> NftTransfer:
    """Decodes an NFT bridge payload. Raises CodecError."""
    reader = Reader(data)
    layout = _by_id(reader, {NftTransfer.ID: _NFT}, "NFT bridge")
    fields = decode_fields(reader, layout)
    reader.finish()
    uri: bytes = fields["uri"]
    if len(uri) > MAX_URI_BYTES:
        raise CodecError(131, f"uri length of at most {MAX_URI_BYTES}, found {len(uri)}")
    return NftTransfer(**{**fields, "uri": clean(uri)})


def decode_relayer(data: bytes) -> Recognised:
    """Decodes a payload of an automatic relayer. Raises CodecError."""
    kind, layout = _by_id(Reader(data), _RELAYER, "relayer")
    return _recognised(data, 1, kind, layout)


DECODERS: Mapping[EmitterKind, Callable[[bytes], Payload]] = {
    "governance": decode_governance,
    "token_bridge": decode_token_bridge,
    "nft_bridge": decode_nft_bridge,
    "relayer": decode_relayer,
}


def _recognised(data: bytes, start: int, kind: str, layout: Layout) -> Recognised:
    reader = Reader(data)
    reader.offset = start
    fields = decode_fields(reader, layout)
    reader.finish()
    return Recognised(kind, fields)


def _by_id(reader: Reader, known: Mapping[int, _Known], family: str) -> _Known:
    number = u8(reader, "payload id")
    if number not in known:
        raise CodecError(0, f"{family} payload id {' or '.join(map(str, known))}, found {number}")
    return known[number]
