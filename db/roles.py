"""The keys that each kind of output is listed under. The load, the ledger state and all queries use this list.

Each role is a view of the Stardust schema plan, or one that is missing there. A key is a column of an output in the
lake. An output without that column is not listed under the role.
"""

from collections.abc import Iterable
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
"""Variants that are not a single address role: the owner's address, and keys that are not addresses."""

ALL = ""
"""unspent_outputs.lookup for all outputs, and the key in it. Genesis outputs have the first byte of the output id as
key.
"""


NATIVE_TOKEN = "native_token"  # noqa: S105
"""unspent_outputs.lookup for outputs with native tokens. An output has a row for each of its tokens."""


@dataclass(frozen=True, slots=True)
class Role:
    """Outputs of one kind, listed in `table` by the value of `column`.

    `variant` distinguishes the roles of a kind. It is outputs_by_address.variant and unspent_outputs.lookup.
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
    """The roles with this variant, one for each kind that has it."""
    return tuple(role for role in ROLES if role.variant == variant)


def in_table(table: Table) -> tuple[Role, ...]:
    """The roles whose outputs are in this table."""
    return tuple(role for role in ROLES if role.table is table)


def of_era(roles: Iterable[Role], *, has_stardust: bool) -> tuple[Role, ...]:
    """These roles, without those of Stardust outputs if there are none."""
    return tuple(role for role in roles if has_stardust or role.output_kind == LEGACY)


def by_column(roles: Iterable[Role]) -> list[tuple[Role, ...]]:
    """These roles in groups: those of several kinds with the same variant and column."""
    groups: dict[tuple[str, str], list[Role]] = {}
    for role in roles:
        groups.setdefault((role.variant, role.column), []).append(role)
    return [tuple(group) for group in groups.values()]


def listing_key(role: Role, key: str, *, included: bool) -> Key:
    """The key of a listing in the role's table. Tables of chain objects contain only included outputs."""
    values: dict[str, str | bool] = {
        "address": key,
        "tag": key,
        "chain_id": key,
        "output_kind": role.output_kind,
        "variant": role.variant,
        "included": included,
    }
    return tuple(values[name] for name in LOOKUP_OF_TABLE[role.table].query_columns)
