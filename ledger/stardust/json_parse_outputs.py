"""Packs the JSON of Stardust outputs and addresses (REST API v2, TIP-25).

Decoding checks which conditions and features an output may have.
"""

from binascii import unhexlify
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ledger.json_reader import U32 as MAX_U32
from ledger.json_reader import U64 as MAX_U64
from ledger.json_reader import (
    JsonError,
    choose_each,
    choose_in,
    listed,
    nested,
    prefixed_hash,
    prefixed_hex,
    prefixed_hex_up_to,
    prefixed_uint,
    uint,
    uint_text,
)
from ledger.stardust.conditions import MAX_METADATA_BYTES
from ledger.stardust.json import ADDRESS_KEYS
from ledger.stardust.layouts import (
    ALIAS_HEAD,
    DEPOSIT_RETURN,
    EXPIRATION,
    METADATA_HEAD,
    NATIVE_TOKEN,
    OUTPUT_HEAD,
    PLAIN,
    PLAIN_OUTPUT,
    TAG_HEAD,
    TIMELOCK,
    TOKEN_SCHEME,
    TREASURY_OUTPUT,
    U8,
    U32,
)

Packers: TypeAlias = Mapping[int, Callable[[Any], bytes]]

_MAX_U8 = 0xFF
_NONE = b"\0"  # a count of 0


def parse_address_json(value: Any) -> bytes:
    """Parses an address to its 33 serialized bytes. Raises JsonError."""
    tag = uint(value, "type", MAX_U32)
    if tag not in ADDRESS_KEYS:
        raise JsonError("type", " or ".join(map(str, ADDRESS_KEYS)))
    return U8.pack(tag) + prefixed_hash(value, ADDRESS_KEYS[tag])


def _treasury_output(value: Any) -> bytes:
    return TREASURY_OUTPUT.pack(2, uint_text(value, "amount", MAX_U64))


def _basic(value: Any) -> bytes:
    return (_plain(value) or _head(value) + pack_set(value, "unlockConditions", CONDITIONS)) + pack_set(
        value, "features", FEATURES
    )


def _plain(value: Any) -> bytes | None:
    """Packs a basic output up to its features if it is just an amount for an Ed25519 address, as nearly all are; else
    None.
    """
    try:
        conditions = value["unlockConditions"]
        if len(conditions) == 1 and "nativeTokens" not in value:
            condition = conditions[0]
            address = condition["address"]
            if type(condition["type"]) is type(address["type"]) is int and condition["type"] == address["type"] == 0:
                key_hash = prefixed_hash(address, "pubKeyHash")
                return PLAIN_OUTPUT.pack(3, uint_text(value, "amount", MAX_U64), PLAIN, b"\0" + key_hash)
    except (JsonError, KeyError, TypeError):
        pass  # the general parser reports what is wrong
    return None


def _alias(value: Any) -> bytes:
    metadata = prefixed_hex_up_to(value, "stateMetadata", MAX_METADATA_BYTES)
    return b"".join(
        (
            _head(value),
            ALIAS_HEAD.pack(prefixed_hash(value, "aliasId"), uint(value, "stateIndex", MAX_U32), len(metadata)),
            metadata,
            U32.pack(uint(value, "foundryCounter", MAX_U32, absent=0)),
            pack_set(value, "unlockConditions", CONDITIONS),
            pack_set(value, "features", FEATURES),
            pack_set(value, "immutableFeatures", FEATURES),
        )
    )


def _foundry(value: Any) -> bytes:
    return b"".join(
        (
            _head(value),
            U32.pack(uint(value, "serialNumber", MAX_U32)),
            choose_in(value, "tokenScheme", TOKEN_SCHEMES),
            pack_set(value, "unlockConditions", CONDITIONS),
            pack_set(value, "features", FEATURES),
            pack_set(value, "immutableFeatures", FEATURES),
        )
    )


def _nft(value: Any) -> bytes:
    return b"".join(
        (
            _head(value),
            prefixed_hash(value, "nftId"),
            pack_set(value, "unlockConditions", CONDITIONS),
            pack_set(value, "features", FEATURES),
            pack_set(value, "immutableFeatures", FEATURES),
        )
    )


def _head(value: Any) -> bytes:
    amount = uint_text(value, "amount", MAX_U64)
    if value.get("nativeTokens") is None:
        return OUTPUT_HEAD.pack(value["type"], amount, 0)
    tokens = listed(value, "nativeTokens", _native_token, 0, _MAX_U8)
    return b"".join((OUTPUT_HEAD.pack(value["type"], amount, len(tokens)), *tokens))


def _native_token(value: Any) -> bytes:
    return NATIVE_TOKEN.pack(prefixed_hex(value, "id", 38), _u256(value, "amount"))


def _u256(value: Any, key: str) -> bytes:
    return prefixed_uint(value, key, 32).to_bytes(32, "little")


def pack_set(value: Any, key: str, packers: Packers) -> bytes:
    """Packs a list that may be missing, null or empty. Decoding checks its length, apart from the one-byte count."""
    if value.get(key) is None:
        return _NONE
    items = choose_each(value, key, packers, 0, _MAX_U8)
    return U8.pack(len(items)) + b"".join(items)


def _simple_scheme(value: Any) -> bytes:
    return TOKEN_SCHEME.pack(
        0, _u256(value, "mintedTokens"), _u256(value, "meltedTokens"), _u256(value, "maximumSupply")
    )


def pack_address(value: Any, key: str) -> bytes:
    """Packs the 33-byte address under a key. Nearly all are Ed25519."""
    try:
        address = value[key]
        text = address["pubKeyHash"]
        tag = address["type"]
        if tag == 0 and type(tag) is int and len(text) == 66 and text[0] == "0" and text[1] == "x":
            return b"\0" + unhexlify(text[2:])
    except (KeyError, TypeError, IndexError, ValueError):
        pass
    return nested(value, key, parse_address_json)


def _address_item(tag: int) -> Callable[[Any], bytes]:
    """Creates the packer of an unlock condition or feature that consists of an address."""
    first = U8.pack(tag)
    return lambda value: first + pack_address(value, "address")


def _deposit_return(value: Any) -> bytes:
    return DEPOSIT_RETURN.pack(1, pack_address(value, "returnAddress"), uint_text(value, "amount", MAX_U64))


def _timelock(value: Any) -> bytes:
    return TIMELOCK.pack(2, uint(value, "unixTime", MAX_U32))


def _expiration(value: Any) -> bytes:
    return EXPIRATION.pack(3, pack_address(value, "returnAddress"), uint(value, "unixTime", MAX_U32))


def _metadata(value: Any) -> bytes:
    data = prefixed_hex_up_to(value, "data", MAX_METADATA_BYTES)
    return METADATA_HEAD.pack(2, len(data)) + data


def _tag(value: Any) -> bytes:
    tag = prefixed_hex_up_to(value, "tag", _MAX_U8)
    return TAG_HEAD.pack(3, len(tag)) + tag


OUTPUTS: Packers = {2: _treasury_output, 3: _basic, 4: _alias, 5: _foundry, 6: _nft}
CONDITIONS: Packers = {
    0: _address_item(0),
    1: _deposit_return,
    2: _timelock,
    3: _expiration,
    4: _address_item(4),
    5: _address_item(5),
    6: _address_item(6),
}
FEATURES: Packers = {0: _address_item(0), 1: _address_item(1), 2: _metadata, 3: _tag}
TOKEN_SCHEMES: Packers = {0: _simple_scheme}
