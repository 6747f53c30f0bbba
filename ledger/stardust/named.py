"""The addresses, times and other properties of a Stardust output that lookups and filters use.

They are read from the value alone. Its owner at a given time is `outputs.owner_at`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ledger.stardust.outputs import chain_id
from ledger.stardust.values import (
    BasicOutput,
    Expiration,
    Governor,
    Issuer,
    Sender,
    StateController,
    StorageDepositReturn,
    Tag,
    Timelock,
    TransferOutput,
)


class Named(NamedTuple):
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


_PROPERTIES: Mapping[type, Sequence[tuple[str, str]]] = {
    StorageDepositReturn: (
        ("storage_deposit_return", "return_address"),
        ("storage_deposit_return_amount", "amount"),
    ),
    Timelock: (("timelock", "unix_time"),),
    Expiration: (("expiration", "unix_time"), ("expiration_return", "return_address")),
    StateController: (("state_controller", "address"),),
    Governor: (("governor", "address"),),
    Sender: (("sender", "address"),),
    Issuer: (("issuer", "address"),),
    Tag: (("tag", "tag"),),
}
"""Which fields of an unlock condition or feature are which properties."""


def named(output: TransferOutput, output_id: bytes) -> Named:
    """The properties of an output. `native_tokens` is the number of different tokens."""
    found: dict[str, bytes | int | None] = {"chain_id": chain_id(output, output_id)}
    immutable = () if isinstance(output, BasicOutput) else output.immutable_features
    for each in (*output.unlock_conditions, *output.features, *immutable):
        for name, value in _PROPERTIES.get(type(each), ()):
            found[name] = getattr(each, value)
    return Named(native_tokens=len(output.native_tokens), **found)  # type: ignore[arg-type]
