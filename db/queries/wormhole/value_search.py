"""Where messages with a value of an event table column are looked up: for every column, a bounded number of keys.

Values that were written, or that follow from a payload, have keys. What depends on facts about a token, and what every
message has, is found in the listing of the chain or contract, or of all messages, whose pages drop other rows. A
contract or token on an unknown chain is looked up on every numbered chain, one hint each.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from db.queries.wormhole.vaas import Span
from db.schema.event_columns import (
    ASSET,
    CHAIN,
    DETAILS,
    FAMILY_COLUMNS,
    NFT,
    PUBLICATION,
    QUORUM,
    SIGNATURES,
    SIGNED_VAA,
    STATE,
    TRANSFER,
)
from db.schema.event_values import value_key
from ledger.reader import CodecError
from ledger.wormhole.addresses import NativeAddressError, parse_token
from ledger.wormhole.chains import CHAIN_IDS, find_chain_named
from ledger.wormhole.keys import address_keys, transaction_key
from ledger.wormhole.vaa import decode_vaa

Column: TypeAlias = tuple[str, str]
"""Family and qualifier."""

_ADDRESS = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)", re.ASCII)
_GUARDIAN = re.compile(r"(?:0x)?[0-9a-fA-F]{40}", re.ASCII)
_STATE = re.compile(r"Signatures(?::[0-9]{1,10})?", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC", re.ASCII)
_DECIMALS_MAX = 8


@dataclass(frozen=True, slots=True)
class Search:
    """How the messages with a value are found.

    Attributes:
        value: the value as text, in the form that is compared.
        keys: kinds and keys of vaa_lookups.
        of_chains: a kind and addresses that are keys together with each chain.
        walks: also the listing of all messages, or of a chain or contract, in `span` if it is not None.
        is_checked: rows under these keys may have another value, so each is compared.
        signed: the bytes of a VAA; the search is a read by its id.
    """

    value: str
    keys: tuple[tuple[str, str], ...] = ()
    of_chains: tuple[str, tuple[str, ...]] | None = None
    walks: bool = False
    span: Span | None = None
    is_checked: bool = True
    signed: bytes | None = None


class NoSuchColumn(ValueError):
    """No family has this column."""


class NoSuchValue(ValueError):
    """The column cannot have this value. The message says what was expected."""


def search_of(family: str, qualifier: str, value: str) -> Search:
    """The search for a value. Raises NoSuchColumn, or NoSuchValue."""
    column = family, qualifier
    if family == QUORUM and qualifier == SIGNED_VAA:
        data = _bytes(value, "a VAA in hex or base64")
        try:
            decode_vaa(data)
        except CodecError as error:
            raise NoSuchValue(f"a VAA in hex or base64 ({error})") from None
        return Search(value, signed=data, is_checked=False)
    if (family == SIGNATURES and _GUARDIAN.fullmatch(qualifier)) or (family == STATE and _STATE.fullmatch(qualifier)):
        named = qualifier.lower().removeprefix("0x") if family == SIGNATURES else qualifier
        text = _bytes(value, "signatures in hex or base64").hex()
        return Search(text, (("value", value_key(family, named, text)),))
    if column not in FAMILY_COLUMNS:
        raise NoSuchColumn(f"{family}:{qualifier}")
    if column == (PUBLICATION, "Payload"):
        value = base64.b64encode(_bytes(value, "bytes in base64 or hex")).decode()
    written = ("value", value_key(family, qualifier, value))
    found = SEARCHES[column](value) if column in SEARCHES else Search(value)
    return found if not found.is_checked else _with(found, written)


def _with(search: Search, key: tuple[str, str]) -> Search:
    return Search(search.value, (key, *search.keys), search.of_chains, search.walks, search.span)


def _bytes(value: str, expected: str) -> bytes:
    if match := _HEX.fullmatch(value):
        return bytes.fromhex(match[1])
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise NoSuchValue(expected) from None


def _hex_address(value: str) -> str:
    if _ADDRESS.fullmatch(value) is None:
        raise NoSuchValue("64 lower-case hex digits")
    return value


def _token(value: str) -> Search:
    return Search(value, of_chains=("token", (_hex_address(value),)))


def _recipient(value: str) -> Search:
    return Search(value, (("recipient", _hex_address(value)),))


def _emitter_chain(value: str) -> Search:
    named = find_chain_named(value)
    if named is None:
        raise NoSuchValue("the name of a chain")
    return Search(value, (("chain", str(named.id)),), is_checked=False)


def _emitter(value: str) -> Search:
    return Search(value, of_chains=("emitter", (_hex_address(value),)), is_checked=False)


def _transaction(value: str) -> Search:
    return Search(value, (("transaction", transaction_key(value)),), is_checked=False)


def _party(kind: str) -> Callable[[str], Search]:
    return lambda value: Search(value, tuple((kind, key) for key in address_keys(value)))


def _native_token(value: str) -> Search:
    found = []
    for chain in CHAIN_IDS:
        try:
            found.append(parse_token(chain, value).hex())
        except NativeAddressError:
            continue
    return Search(value, of_chains=("token", tuple(dict.fromkeys(found))))


def _amount(value: str) -> Search:
    """The amounts in messages that may be this amount, one for each number of decimals."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        return Search(value)
    if not number.is_finite() or not -40 < number.adjusted() < 80:
        return Search(value)
    scaled = [number.scaleb(places) for places in range(_DECIMALS_MAX + 1)]
    raw = [str(int(each)) for each in scaled if each == each.to_integral_value()]
    return Search(value, tuple(("value", value_key(TRANSFER, "Amount", each)) for each in dict.fromkeys(raw)))


def _at_time(value: str) -> Search:
    if _TIME.fullmatch(value) is None:
        return Search(value)
    try:
        at = int(datetime.strptime(value[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())
    except ValueError:
        return Search(value)
    return Search(value, walks=True, span=(at, at))


def _walk(value: str) -> Search:
    return Search(value, walks=True)


SEARCHES: Mapping[Column, Callable[[str], Search]] = {
    (PUBLICATION, "EmitterChain"): _emitter_chain,
    (PUBLICATION, "EmitterAddress"): _emitter,
    (PUBLICATION, "InitiatingTxID"): _transaction,
    **{(PUBLICATION, name): _walk for name in ("Version", "GuardianSetIndex", "Nonce", "Sequence", "Payload")},
    (TRANSFER, "OriginAddress"): _token,
    (TRANSFER, "TargetAddress"): _recipient,
    (TRANSFER, "TargetAdress"): _recipient,
    (ASSET, "TokenAddress"): _token,
    (NFT, "OriginAddress"): _token,
    (NFT, "TargetAddress"): _recipient,
    (NFT, "TargetAdress"): _recipient,
    (CHAIN, "SenderAddress"): _party("sender"),
    (CHAIN, "ReceiverAddress"): _party("recipient"),
    (CHAIN, "ResultingTokenSymbol"): _walk,
    (CHAIN, "ResultingTokenName"): _walk,
    (DETAILS, "Amount"): _amount,
    (DETAILS, "OriginTokenAddress"): _native_token,
    (DETAILS, "TransferTimestamp"): _at_time,
    **{
        (DETAILS, name): _walk
        for name in (
            "NotionalUSD",
            "NotionalUSDStr",
            "OriginSymbol",
            "OriginName",
            "Decimals",
            "TokenPriceUSD",
            "TokenPriceUSDStr",
            "CoinGeckoCoinId",
        )
    },
}
"""The columns that are found by more than the key of their value."""
