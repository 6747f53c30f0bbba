"""The addresses, times and other properties of a Stardust output that lookups and filters use.

They are read from the value alone. Its owner at a given time is `outputs.owner_at`.
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
    """Properties of an output, None if it has no such property. Addresses include their type byte; times are unix
    seconds.
    """

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
    """The properties of an output. `native_tokens` is the number of different tokens."""
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
