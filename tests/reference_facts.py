"""The contents of an oracle ledger's lines in one form for both eras. reference_rows.py turns these facts into rows.

Facts are values only. Ids and addresses are lowercase hex without 0x, an address with its type byte. reference.py
(Chrysalis) and reference_stardust.py read the lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference_lookups import ROLE_KEYS, chain_id


@dataclass(frozen=True)
class Output:
    """An output. `roles`: variant of outputs_by_address → address. `owner`: the address that it names. `expiration`:
    the time in unix seconds from which it belongs to another address, and that address. `told`: its filter columns.
    `chain`: the id of its alias, foundry or NFT, zeros where this output creates it. `tokens`: ids and amounts (32
    bytes, little-endian) of its native tokens.
    """

    output_type: int
    kind: str
    owner: str
    amount: int
    data: bytes
    roles: Mapping[str, str]
    expiration: tuple[int, str] | None = None
    filter_values: Mapping[str, Any] = field(default_factory=dict)
    chain: str | None = None
    tokens: Sequence[tuple[str, bytes]] = ()

    def keys(self, output_id: str) -> dict[str, str]:
        """Its lookup keys by the name of the lookup in unspent_outputs, without absent ones."""
        found = {**self.roles, "tag": self.filter_values.get("tag"), "chain": chain_id(self.chain, output_id)}
        return {name: key for name, key in found.items() if name in ROLE_KEYS[self.kind] and key is not None}


@dataclass(frozen=True)
class Spend:
    """An input (`data`) with the output that it spends, its unlock, and the signer if the unlock is a signature."""

    data: bytes
    output_id: str
    unlock: bytes
    signer: str | None


@dataclass(frozen=True)
class Transaction:
    """A transaction payload."""

    transaction_id: str
    spends: Sequence[Spend]
    outputs: Sequence[Output]


@dataclass(frozen=True)
class Message:
    """A message or block; `state` is null until a milestone references it."""

    message_id: str
    version: int
    data: bytes
    parents: Sequence[str]
    payload_kind: int | None
    tags: Sequence[str]
    transaction: Transaction | None
    state: int | None = None
    conflict_reason: int | None = None


@dataclass(frozen=True)
class Receipt:
    """Migrated funds: the milestone whose treasury they leave, the amount that stays there, and the message and
    position in the cone that their outputs name as their source.
    """

    migrated_at: int
    payload: bytes
    treasury_before: str
    treasury_amount: int
    funds: Sequence[Output]
    message_id: str
    position: int


@dataclass(frozen=True)
class Milestone:
    """A milestone with its cone in white-flag order. `parameters`: the protocol parameters that it announces (first
    milestone, version, bytes).
    """

    index: int
    timestamp: int
    milestone_id: str
    message_id: str
    payload: bytes
    messages: Sequence[Message]
    receipt: Receipt | None = None
    parameters: Sequence[tuple[int, int, bytes]] = ()


@dataclass(frozen=True)
class Genesis:
    """The unspent outputs by id and the treasury (milestone id, amount) after milestone `index`."""

    index: int
    outputs: Mapping[str, Output]
    treasury: tuple[str, int]
