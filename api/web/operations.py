"""Wormhole messages as pages show them: names of chains, kinds of payloads, amounts and times as text."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from ledger.wormhole.chains import find_chain
from ledger.wormhole.vaa import decode_vaa

NFT_APP = "PORTAL_NFT_BRIDGE"

CENT = Decimal("0.01")

DIGITS_MAX = 80
"""Most digits before or behind the point of a number that a page writes. An amount of 256 bits has 78."""

KINDS: Mapping[int, str] = {1: "transfer", 2: "token metadata", 3: "transfer with payload"}
"""Payload types of the token bridge."""


def chain_name(chain: int) -> str:
    """Returns the name of a chain with its number."""
    return f"{find_chain(chain).name} ({chain})"


def seconds(text: str) -> float:
    """Returns the seconds since 1970 of a time as the API writes it."""
    return datetime.fromisoformat(text).timestamp()


def number_in(text: str) -> Decimal | None:
    """Returns the number in a cell, or None: an archive keeps cells as they were written, with any text."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < DIGITS_MAX else None


def usd(text: str) -> str:
    """Writes an amount of US dollars with two decimals, and other text unchanged."""
    amount = number_in(text)
    if amount is None:
        return text
    return "< 0.01 USD" if 0 < amount < CENT else f"{amount:,.2f} USD"


def kind_of(payload: Mapping[str, Any] | None, apps: list[str]) -> str:
    """Returns what a message does, as text. `payload`: decoded, or None if the emitter is unknown."""
    if payload is None:
        return "message"
    if payload.get("type") == "governance":
        return f"governance of {payload['module']}: {words(payload['actionName'] or str(payload['action']))}"
    if "type" in payload:
        return words(payload["type"])
    return "NFT transfer" if NFT_APP in apps else KINDS.get(payload["payloadType"], "message")


def words(name: str) -> str:
    """Writes a name with underscores as words."""
    return name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Operation:
    """A message of a list. `to` and `amount` are empty if its payload has none, `worth` if no price is known."""

    id: str
    time_s: float
    kind: str
    source: str
    target: str
    amount: str
    worth: str


def operation_of(found: Mapping[str, Any]) -> Operation:
    """Returns an item of the operation `operations` as a row of a list."""
    properties, moved = found["content"]["standarizedProperties"], found.get("data") or {}
    target = properties["toChain"]
    return Operation(
        id=found["id"],
        time_s=decode_vaa(base64.b64decode(found["vaa"]["raw"])).timestamp,
        kind=kind_of(found["content"].get("payload"), properties["appIds"]),
        source=find_chain(found["emitterChain"]).name,
        target=find_chain(target).name if target else "",
        amount=amount_of(moved),
        worth=usd(moved["usdAmount"]) if moved.get("usdAmount") else "",
    )


def amount_of(moved: Mapping[str, Any]) -> str:
    """Writes what a transfer moved, with the symbol of its token if that is known."""
    if not moved.get("tokenAmount"):
        return ""
    number = number_in(moved["tokenAmount"])
    amount = moved["tokenAmount"] if number is None else f"{number:,f}"
    return f"{amount} {(moved['symbol'] or 'tokens').upper()}"
