"""Whom and what a Stardust output names beside its owner and its amount: what it can be looked up and filtered by.

Rules of this file: names only, read off the value; whose the output is at which time is owner_at's to say.
"""

from dataclasses import dataclass

from ledger.stardust.outputs import chain_id
from ledger.stardust.values import (
    AliasOutput,
    Expiration,
    FoundryOutput,
    Governor,
    Issuer,
    NftOutput,
    Sender,
    StateController,
    StorageDepositReturn,
    Tag,
    Timelock,
    TransferOutput,
)


@dataclass(frozen=True, slots=True)
class Named:
    """None where an output has no such thing; addresses with their type byte, times in unix seconds."""

    chain_id: bytes | None = None
    sender: bytes | None = None
    issuer: bytes | None = None
    state_controller: bytes | None = None
    governor: bytes | None = None
    storage_deposit_return: bytes | None = None
    storage_deposit_return_amount: int | None = None
    timelock: int | None = None
    expiration: int | None = None
    expiration_return: bytes | None = None
    tag: bytes | None = None
    native_tokens: int = 0


def named(output: TransferOutput, output_id: bytes) -> Named:
    """What the output of that id names; `native_tokens` is how many different ones it holds."""
    found: dict[str, bytes | int | None] = {"chain_id": chain_id(output, output_id)}
    immutable = output.immutable_features if isinstance(output, AliasOutput | FoundryOutput | NftOutput) else ()
    for each in (*output.unlock_conditions, *output.features, *immutable):
        match each:
            case StorageDepositReturn(address, amount):
                found |= {"storage_deposit_return": address, "storage_deposit_return_amount": amount}
            case Timelock(unix_time):
                found["timelock"] = unix_time
            case Expiration(address, unix_time):
                found |= {"expiration": unix_time, "expiration_return": address}
            case StateController(address):
                found["state_controller"] = address
            case Governor(address):
                found["governor"] = address
            case Sender(address):
                found["sender"] = address
            case Issuer(address):
                found["issuer"] = address
            case Tag(tag):
                found["tag"] = tag
    return Named(native_tokens=len(output.native_tokens), **found)  # type: ignore[arg-type]
