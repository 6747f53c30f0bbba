"""Lookup tables and the hint tables that name their partitions."""

from db.model import Lookup, Table
from db.schema.ledger_state_tables import (
    address_movements,
    ledger_updates_by_address,
    native_token_updates,
    unspent_hints,
    unspent_outputs,
)
from db.schema.message_tables import tag_hints, tags, transactions_by_address
from db.schema.output_tables import (
    addresses_hints,
    alias_outputs,
    foundry_outputs,
    nft_outputs,
    outputs_by_address,
    outputs_by_tag,
)

LOOKUPS: tuple[Lookup, ...] = (
    Lookup(tags, tag_hints, ("tag",), (("table_kind", "message"),)),
    Lookup(outputs_by_address, addresses_hints, ("address", "output_kind", "variant", "included")),
    Lookup(
        transactions_by_address,
        addresses_hints,
        ("address", "included"),
        (("output_kind", "transaction"), ("variant", "address")),
    ),
)
"""Lookups that a load fills and whose rows it counts."""


def _chain_lookup(table: Table, output_kind: str) -> Lookup:
    constants = (("output_kind", "chain"), ("variant", output_kind), ("included", True))
    return Lookup(table, addresses_hints, ("chain_id",), constants, (("address", "chain_id"),))


STARDUST_LOOKUPS: tuple[Lookup, ...] = (
    Lookup(outputs_by_tag, tag_hints, ("tag", "output_kind"), hint_names=(("table_kind", "output_kind"),)),
    _chain_lookup(alias_outputs, "alias"),
    _chain_lookup(nft_outputs, "nft"),
    _chain_lookup(foundry_outputs, "foundry"),
)
"""The same for milestones that may contain Stardust outputs."""

LEDGER_LOOKUPS: tuple[Lookup, ...] = (
    Lookup(
        ledger_updates_by_address,
        addresses_hints,
        ("address",),
        (("output_kind", "ledger"), ("variant", "address"), ("included", True)),
    ),
    Lookup(unspent_outputs, unspent_hints, ("lookup", "output_kind", "key")),
    Lookup(
        native_token_updates,
        addresses_hints,
        ("token_id",),
        (("output_kind", "native_token"), ("variant", "ledger"), ("included", True)),
        (("address", "token_id"),),
    ),
)
"""Lookups that the ledger state fills and whose rows it counts."""

MOVEMENTS = Lookup(
    address_movements,
    addresses_hints,
    ("address",),
    (("output_kind", "movement"), ("variant", "address"), ("included", True)),
)
"""Rows of the ledger state whose partitions follow from the milestone (db.partitions.movement_window)."""

ALL_LOOKUPS: tuple[Lookup, ...] = (*LOOKUPS, *STARDUST_LOOKUPS, *LEDGER_LOOKUPS)
