"""Decoded payloads in the columns of the Wormhole event plans, details of transfers, and lookup keys of messages.

These are pure functions of a payload and the facts about its token. Amounts have at most 8 decimals in a message,
whatever the token has. Money is decimal, never float.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import Any, TypeAlias

from db.utc_days import format_time
from etl.wormhole.values import plain
from ledger.wormhole.addresses import format_address, format_token
from ledger.wormhole.chains import find_chain
from ledger.wormhole.governance import Governance
from ledger.wormhole.payloads import (
    AssetMeta,
    NftTransfer,
    Payload,
    Raw,
    Recognised,
    TokenTransfer,
    TokenTransferWithPayload,
)
from ledger.wormhole.wrapped import find_wrapped

Row: TypeAlias = dict[str, Any]

MAX_DECIMALS = 8
"""Maximum decimals of an amount in a message."""

WRAPPED_SUFFIX = " (Wormhole)"
"""What the names of wrapped tokens end with on EVM chains (TokenImplementation.sol of wormhole-foundation/wormhole)."""

USD_STEP = Decimal("0.00000001")
"""Step to which notional values are rounded, half to even."""


@dataclass(frozen=True, slots=True)
class Token:
    """The facts about a transfer's token: its home metadata (None if unknown), its prices by ascending day, and its
    CoinGecko id (None if no list has it).
    """

    key: str = ""
    meta: tuple[int, str, str] | None = None  # decimals, symbol, name
    prices: Sequence[tuple[int, str]] = ()
    coin_gecko_id: str | None = None

    def price_on(self, day: int) -> Decimal | None:
        """The price of the last day up to `day`; the first price if all are later."""
        held = [price for since, price in self.prices if since <= day]
        known = held[-1:] or [price for _, price in self.prices[:1]]
        return Decimal(known[0]) if known else None


def token_of(payload: Payload) -> str | None:
    """The token_key of a transfer or an AssetMeta; None for other payloads."""
    if isinstance(payload, TokenTransfer | TokenTransferWithPayload | AssetMeta):
        return f"{payload.token_chain}/{payload.token_address.hex()}"
    return None


def kind_of(payload: Payload) -> str:
    """The payload_kind of a payload."""
    if isinstance(payload, Recognised):
        return payload.kind
    return _KINDS[type(payload)]


_KINDS: Mapping[type, str] = {
    TokenTransfer: "token_transfer",
    TokenTransferWithPayload: "token_transfer_with_payload",
    AssetMeta: "asset_meta",
    NftTransfer: "nft_transfer",
    Governance: "governance",
    Raw: "raw",
}


def payload_columns(network: str, payload: Payload) -> Row:
    """The column families that the bytes of the payload determine. `network` selects the contracts."""
    if isinstance(payload, TokenTransfer | TokenTransferWithPayload):
        columns: Row = {
            "transfer_payload_id": payload.ID,
            "transfer_amount": str(payload.amount),
            "transfer_origin_address": payload.token_address,
            "transfer_origin_chain": payload.token_chain,
            "transfer_target_address": payload.to_address,
            "transfer_target_chain": payload.to_chain,
            "chain_receiver_address": format_address(payload.to_chain, payload.to_address),
            "chain_resulting_token_address": _resulting_address(network, payload),
        }
        if isinstance(payload, TokenTransfer):
            return columns | {"transfer_fee": str(payload.fee)}
        return columns | {"transfer_from_address": payload.from_address, "transfer_payload": payload.payload}
    if isinstance(payload, AssetMeta):
        return {
            "asset_payload_id": payload.ID,
            "asset_token_address": payload.token_address,
            "asset_token_chain": payload.token_chain,
            "asset_decimals": payload.decimals,
            "asset_symbol": _storable(payload.symbol),
            "asset_name": _storable(payload.name),
            "asset_native_address": format_token(payload.token_chain, payload.token_address),
        }
    if isinstance(payload, NftTransfer):
        return {
            "nft_payload_id": payload.ID,
            "nft_origin_address": payload.token_address,
            "nft_origin_chain": payload.token_chain,
            "nft_symbol": _storable(payload.symbol),
            "nft_name": _storable(payload.name),
            "nft_token_id": str(payload.token_id),
            "nft_uri": _storable(payload.uri),
            "nft_target_address": payload.to_address,
            "nft_target_chain": payload.to_chain,
            "chain_receiver_address": format_address(payload.to_chain, payload.to_address),
        }
    return {}


def _resulting_address(network: str, payload: TokenTransfer | TokenTransferWithPayload) -> str | None:
    """The token that the receiver gets: the token itself on its home chain, elsewhere a wrapped one. None if the
    address of the wrapped token does not follow from the message.
    """
    if payload.to_chain == payload.token_chain:
        return format_token(payload.token_chain, payload.token_address)
    wrapped = find_wrapped(network, payload.to_chain, payload.token_chain, payload.token_address)
    return None if wrapped is None else format_token(payload.to_chain, wrapped)


def _resulting_name(payload: TokenTransfer | TokenTransferWithPayload, name: str) -> str | None:
    """The name of that token: its own at home, with the bridge's suffix on EVM chains; None on other chains."""
    if payload.to_chain == payload.token_chain:
        return name
    return f"{name}{WRAPPED_SUFFIX}" if find_chain(payload.to_chain).form == "evm" and name else None


def _storable(text: str) -> str:
    return text.replace("\0", "")


def details(payload: Payload, token: Token, timestamp: int, day: int) -> Row:
    """TokenTransferDetails of a transfer, as far as the token is known. `timestamp` is the body's, in seconds since
    1970; `day` is the day of the price.
    """
    if not isinstance(payload, TokenTransfer | TokenTransferWithPayload):
        return {}
    columns: Row = {
        "details_origin_token_address": format_token(payload.token_chain, payload.token_address),
        "details_transfer_timestamp": format_time(timestamp * 1000),
    }
    if token.meta is None or token.key != token_of(payload):
        return columns
    decimals, symbol, name = token.meta
    with localcontext(prec=100):
        amount = Decimal(payload.amount).scaleb(-min(decimals, MAX_DECIMALS))
        columns |= {
            "details_amount": plain(amount),
            "details_decimals": decimals,
            "details_origin_symbol": symbol,
            "details_origin_name": name,
        }
        columns |= {
            "chain_resulting_token_symbol": symbol,
            "chain_resulting_token_name": _resulting_name(payload, name),
        }
        if token.coin_gecko_id is not None:
            columns["details_coin_gecko_coin_id"] = token.coin_gecko_id
        price = token.price_on(day)
        if price is not None:
            notional = (amount * price).quantize(USD_STEP, ROUND_HALF_EVEN)
            columns |= {"details_token_price_usd": plain(price), "details_notional_usd": plain(notional)}
    return columns
