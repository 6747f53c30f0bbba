"""What payloads say as the seeds' families have it, and the details of transfers; by what messages are looked up.

Rules of this file: pure functions of a payload and of what is known of its token. An amount has at most 8 decimals on
the way, whatever its token has; money is decimal, never a float.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import Any, TypeAlias

from db.utc_days import format_time
from etl.wormhole.values import plain
from ledger.wormhole.addresses import format_address
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

Row: TypeAlias = dict[str, Any]

MAX_DECIMALS = 8
"""An amount on the way has no more."""

USD_STEP = Decimal("0.00000001")
"""What a notional value is rounded to, half to even."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a transfer's token: its name at home, None: nobody told; prices by day, ascending."""

    key: str = ""
    meta: tuple[int, str, str] | None = None  # decimals, symbol, name
    prices: Sequence[tuple[int, str]] = ()

    def price_on(self, day: int) -> Decimal | None:
        """The price of the last day up to that one; of a time before all prices the first."""
        held = [price for since, price in self.prices if since <= day]
        known = held[-1:] or [price for _, price in self.prices[:1]]
        return Decimal(known[0]) if known else None


def token_of(payload: Payload) -> str | None:
    """The token_key that a transfer or an asset's description is about; None of anything else."""
    if isinstance(payload, TokenTransfer | TokenTransferWithPayload | AssetMeta):
        return f"{payload.token_chain}/{payload.token_address.hex()}"
    return None


def kind_of(payload: Payload) -> str:
    """What payload_kind says."""
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


def told_by(payload: Payload) -> Row:
    """The payload's families, of what the bytes say."""
    if isinstance(payload, TokenTransfer | TokenTransferWithPayload):
        told: Row = {
            "transfer_payload_id": payload.ID,
            "transfer_amount": str(payload.amount),
            "transfer_origin_address": payload.token_address,
            "transfer_origin_chain": payload.token_chain,
            "transfer_target_address": payload.to_address,
            "transfer_target_chain": payload.to_chain,
        }
        if isinstance(payload, TokenTransfer):
            return told | {"transfer_fee": str(payload.fee)}
        return told | {"transfer_from_address": payload.from_address, "transfer_payload": payload.payload}
    if isinstance(payload, AssetMeta):
        return {
            "asset_payload_id": payload.ID,
            "asset_token_address": payload.token_address,
            "asset_token_chain": payload.token_chain,
            "asset_decimals": payload.decimals,
            "asset_symbol": _storable(payload.symbol),
            "asset_name": _storable(payload.name),
            "asset_native_address": format_address(payload.token_chain, payload.token_address),
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
        }
    return {}


def _storable(text: str) -> str:
    return text.replace("\0", "")


def details(payload: Payload, token: Token, timestamp: int, day: int) -> Row:
    """TokenTransferDetails of a transfer, as far as the token is known: `timestamp` is the body's, in seconds since
    1970, `day` the one whose price counts.
    """
    if not isinstance(payload, TokenTransfer | TokenTransferWithPayload):
        return {}
    told: Row = {
        "details_origin_token_address": format_address(payload.token_chain, payload.token_address),
        "details_transfer_timestamp": format_time(timestamp * 1000),
    }
    if token.meta is None or token.key != token_of(payload):
        return told
    decimals, symbol, name = token.meta
    with localcontext(prec=100):
        amount = Decimal(payload.amount).scaleb(-min(decimals, MAX_DECIMALS))
        told |= {
            "details_amount": plain(amount),
            "details_decimals": decimals,
            "details_origin_symbol": symbol,
            "details_origin_name": name,
        }
        price = token.price_on(day)
        if price is not None:
            notional = (amount * price).quantize(USD_STEP, ROUND_HALF_EVEN)
            told |= {"details_token_price_usd": plain(price), "details_notional_usd": plain(notional)}
    return told
