"""Under which keys an output stands: one list, which the frames of a load, the ledger state and all queries follow.

Rules of this file: data, and what is read off it. Each role is a view of seeds/003, or one that it lacked; a key is a
column of an output as the lake tells it, and an output that has none does not stand there.
"""

from dataclasses import dataclass
from functools import cache

from db import schema
from db.model import Lookup, Table
from db.output_kinds import ALIAS as ALIAS
from db.output_kinds import BASIC as BASIC
from db.output_kinds import FOUNDRY as FOUNDRY
from db.output_kinds import KIND_OF_TYPE as KIND_OF_TYPE
from db.output_kinds import KINDS as KINDS
from db.output_kinds import LEGACY as LEGACY
from db.output_kinds import NFT as NFT
from db.output_kinds import STARDUST_KINDS as STARDUST_KINDS
from db.store import Key

ADDRESS, TAG, CHAIN = "address", "tag", "chain"
"""Variants that are more than one address role each: the owner's, and the keys that are no address."""

ALL = ""
"""unspent_outputs.lookup of every output, and its key there; of genesis the key is the first byte of the output id."""


@dataclass(frozen=True, slots=True)
class Role:
    """Outputs of a kind stand in `table` by what they have in `column`.

    `variant` tells the roles of a kind apart: it is that of outputs_by_address, and unspent_outputs.lookup.
    """

    table: Table
    output_kind: str
    variant: str
    column: str


def _address_roles(output_kind: str, *variants: str) -> tuple[Role, ...]:
    return tuple(Role(schema.outputs_by_address, output_kind, variant, variant) for variant in variants)


ROLES: tuple[Role, ...] = (
    *_address_roles(LEGACY, ADDRESS),
    *_address_roles(BASIC, ADDRESS, "sender", "storage_deposit_return", "expiration_return"),
    *_address_roles(ALIAS, "sender", "issuer", "state_controller", "governor"),
    *_address_roles(FOUNDRY, ADDRESS),
    *_address_roles(NFT, ADDRESS, "storage_deposit_return", "sender", "issuer", "expiration_return"),
    Role(schema.outputs_by_tag, BASIC, TAG, TAG),
    Role(schema.outputs_by_tag, NFT, TAG, TAG),
    Role(schema.alias_outputs, ALIAS, CHAIN, "chain_id"),
    Role(schema.nft_outputs, NFT, CHAIN, "chain_id"),
    Role(schema.foundry_outputs, FOUNDRY, CHAIN, "chain_id"),
)

LOOKUP_OF_TABLE: dict[Table, Lookup] = {lookup.table: lookup for lookup in schema.ALL_LOOKUPS}


@cache
def roles_of(variant: str) -> tuple[Role, ...]:
    """The roles of that variant, one a kind that has it."""
    return tuple(role for role in ROLES if role.variant == variant)


def in_table(table: Table) -> tuple[Role, ...]:
    """The roles whose outputs stand in that table."""
    return tuple(role for role in ROLES if role.table is table)


def listing_key(role: Role, key: str, *, included: bool) -> Key:
    """The key that a listing names of the role's table. Only what took effect is a state of a chain object."""
    values: dict[str, str | bool] = {
        "address": key,
        "tag": key,
        "chain_id": key,
        "output_kind": role.output_kind,
        "variant": role.variant,
        "included": included,
    }
    return tuple(values[name] for name in LOOKUP_OF_TABLE[role.table].asked_by)
