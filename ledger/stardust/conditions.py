"""Encodes and decodes Stardust addresses, unlock conditions and features (TIP-18).

Conditions and features form sets: ascending by type, each type once. `outputs` defines which types an output may have
and which it must have.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ledger.layout import Kind, Kinds, reject_tag
from ledger.reader import CodecError, Reader
from ledger.stardust.layouts import ADDRESS_ITEM, DEPOSIT_RETURN, EXPIRATION, METADATA_HEAD, TAG_HEAD, TIMELOCK, U8
from ledger.stardust.values import (
    AddressCondition,
    Expiration,
    Feature,
    Governor,
    ImmutableAlias,
    Issuer,
    Metadata,
    MilestoneOption,
    Sender,
    StateController,
    StorageDepositReturn,
    Tag,
    Timelock,
    UnlockCondition,
)

ED25519, ALIAS, NFT = 0, 8, 16
"""Address types: public key hash, alias id, NFT id."""

MAX_METADATA_BYTES = 8192
MAX_TAG_BYTES = 64

_ADDRESS_TYPES = frozenset((ED25519, ALIAS, NFT))
_EMPTY = b"\0"  # a set without values


def decode_set(reader: Reader, kinds: Kinds, family: str, required: Sequence[int] = ()) -> tuple[Any, ...]:
    """Decodes values after their one-byte count, in ascending order of type. The types in `required` must be
    present.
    """
    start = reader.offset
    (count,) = reader.unpack(U8, family)
    if not count and not required:
        return ()
    values = []
    last = -1
    found = []
    for _ in range(count):
        tag = reader.peek(family)
        kind = kinds.get(tag)
        if kind is None:
            reject_tag(reader, kinds, family, tag)
        if tag <= last:
            raise CodecError(reader.offset, f"{family}s in ascending order of their types, each once")
        last = tag
        found.append(tag)
        values.append(kind.decode(reader))
    for tag in required:
        if tag not in found:
            raise CodecError(start, f"{family} {tag} ({kinds[tag].name}), found none")
    return tuple(values)


def encode_set(values: Sequence[UnlockCondition | Feature | MilestoneOption], kinds: Kinds) -> bytes:
    """Encodes a set for `decode_set`."""
    if not values:
        return _EMPTY
    return U8.pack(len(values)) + b"".join([kinds[each.KIND].encode(each) for each in values])


def check_address(offset: int, address: bytes) -> None:
    """Rejects an address of unknown type."""
    if address[0] not in _ADDRESS_TYPES:
        raise CodecError(
            offset, f"address type {ED25519} (Ed25519) or {ALIAS} (alias) or {NFT} (NFT), found {address[0]}"
        )


def _address_item(value: type) -> Callable[[Reader], Any]:
    """Creates the decoder of an unlock condition or feature that consists of an address."""

    def decode(reader: Reader) -> Any:
        start = reader.offset
        _, address = reader.unpack(ADDRESS_ITEM, "address")
        check_address(start + 1, address)
        return value(address)

    return decode


def _decode_immutable_alias(reader: Reader) -> ImmutableAlias:
    start = reader.offset
    _, address = reader.unpack(ADDRESS_ITEM, "address")
    if address[0] != ALIAS:
        raise CodecError(start + 1, f"address type {ALIAS} (alias), found {address[0]}")
    return ImmutableAlias(address)


def _decode_deposit_return(reader: Reader) -> StorageDepositReturn:
    start = reader.offset
    _, address, amount = reader.unpack(DEPOSIT_RETURN, "storage deposit return: address and amount")
    check_address(start + 1, address)
    return StorageDepositReturn(address, amount)


def _decode_timelock(reader: Reader) -> Timelock:
    start = reader.offset
    _, unix_time = reader.unpack(TIMELOCK, "timelock: unix time")
    if unix_time == 0:
        raise CodecError(start + 1, "a timelock's unix time above 0, found 0")
    return Timelock(unix_time)


def _decode_expiration(reader: Reader) -> Expiration:
    start = reader.offset
    _, address, unix_time = reader.unpack(EXPIRATION, "expiration: return address and unix time")
    check_address(start + 1, address)
    if unix_time == 0:
        raise CodecError(start + 34, "an expiration's unix time above 0, found 0")
    return Expiration(address, unix_time)


def _decode_metadata(reader: Reader) -> Metadata:
    start = reader.offset
    _, length = reader.unpack(METADATA_HEAD, "metadata length")
    if not 1 <= length <= MAX_METADATA_BYTES:
        raise CodecError(start + 1, f"metadata of 1 to {MAX_METADATA_BYTES} bytes, found {length}")
    return Metadata(reader.take(length, "metadata"))


def _decode_tag(reader: Reader) -> Tag:
    start = reader.offset
    _, length = reader.unpack(TAG_HEAD, "tag length")
    if not 1 <= length <= MAX_TAG_BYTES:
        raise CodecError(start + 1, f"a tag of 1 to {MAX_TAG_BYTES} bytes, found {length}")
    return Tag(reader.take(length, "tag"))


def _encode_address_item(value: Any) -> bytes:
    return ADDRESS_ITEM.pack(value.KIND, value.address)


def _encode_deposit_return(value: StorageDepositReturn) -> bytes:
    return DEPOSIT_RETURN.pack(StorageDepositReturn.KIND, value.return_address, value.amount)


def _encode_timelock(value: Timelock) -> bytes:
    return TIMELOCK.pack(Timelock.KIND, value.unix_time)


def _encode_expiration(value: Expiration) -> bytes:
    return EXPIRATION.pack(Expiration.KIND, value.return_address, value.unix_time)


def _encode_metadata(value: Metadata) -> bytes:
    return METADATA_HEAD.pack(Metadata.KIND, len(value.data)) + value.data


def _encode_tag(value: Tag) -> bytes:
    return TAG_HEAD.pack(Tag.KIND, len(value.tag)) + value.tag


def _address_kind(name: str, value: type) -> Kind:
    return Kind(name, value, _address_item(value), _encode_address_item)


CONDITIONS: Kinds = {
    0: _address_kind("address", AddressCondition),
    1: Kind("storage deposit return", StorageDepositReturn, _decode_deposit_return, _encode_deposit_return),
    2: Kind("timelock", Timelock, _decode_timelock, _encode_timelock),
    3: Kind("expiration", Expiration, _decode_expiration, _encode_expiration),
    4: _address_kind("state controller", StateController),
    5: _address_kind("governor", Governor),
    6: Kind("immutable alias", ImmutableAlias, _decode_immutable_alias, _encode_address_item),
}
FEATURES: Kinds = {
    0: _address_kind("sender", Sender),
    1: _address_kind("issuer", Issuer),
    2: Kind("metadata", Metadata, _decode_metadata, _encode_metadata),
    3: Kind("tag", Tag, _decode_tag, _encode_tag),
}
