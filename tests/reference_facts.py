"""What the lines of an oracle ledger say, in one form for both eras: the facts that reference_rows.py makes rows of.

Rules of this file: values only; ids and addresses are lowercase hex without 0x, an address with its type byte. Reading
a line is reference.py's work (Chrysalis) or reference_stardust.py's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference_lookups import STANDS_UNDER, chain_id


@dataclass(frozen=True)
class Output:
    """An output; `roles` gives the address in each variant of outputs_by_address, `owner` the one that it names;
    `expiration` the time, in unix seconds, from which on it is another's, and who that is; `told` its filter columns,
    `chain` the id that it carries of an alias, foundry or NFT, zeros where that is only made.
    """

    output_type: int
    kind: str
    owner: str
    amount: int
    data: bytes
    roles: Mapping[str, str]
    expiration: tuple[int, str] | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    chain: str | None = None

    def keys(self, output_id: str) -> dict[str, str]:
        """What it is looked up by, by the name of the lookup in unspent_outputs: those that it has."""
        found = {**self.roles, "tag": self.told.get("tag"), "chain": chain_id(self.chain, output_id)}
        return {name: key for name, key in found.items() if name in STANDS_UNDER[self.kind] and key is not None}


@dataclass(frozen=True)
class Spend:
    """An input (`data`) with the output that it spends, its unlock and who signed that, if it is a signature."""

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
    """A message or block; `state` is null while no milestone references it."""

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
    """Migrated funds: which milestone's treasury they leave, what stays there, and the message and the position in
    the cone that their outputs are said to come from.
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
    """A milestone with its cone in white-flag order; `parameters` are those it announces: first milestone, version
    and bytes.
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
    """Outputs by id and the treasury, milestone id and amount, as the milestone `index` left them."""

    index: int
    outputs: Mapping[str, Output]
    treasury: tuple[str, int]
