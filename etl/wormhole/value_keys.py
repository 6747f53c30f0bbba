"""Keys by which a message is looked up by the value of a column: of the written cells, and of what its payload says.
Also those of its transaction.

Values that depend on facts about a token have no key, because such facts can change and no lookup row is ever deleted.
Values that every message has (nonce, sequence, guardian set, payload) have none either, because they would double the
rows of a store.
"""

from collections.abc import Iterable, Mapping

from db.schema.event_columns import FAMILY_COLUMNS, SIGNATURES, STATE
from db.schema.event_values import COLUMN_OF, value_key, value_text
from etl.wormhole.cells import Cell
from etl.wormhole.values import read_value
from ledger.wormhole.keys import ID_DIGITS, transaction_key

ELSEWHERE = frozenset(
    {
        "emitter",
        "emitter_chain_name",
        "initiating_tx_id",
        "transfer_origin_address",
        "transfer_target_address",
        "asset_token_address",
        "nft_origin_address",
        "nft_target_address",
        "chain_receiver_address",
    }
)
"""Columns whose computed values have a kind of lookup of their own."""


def written_keys(cells: Iterable[Cell]) -> set[str]:
    """The keys of all values that were ever written."""
    keys = set()
    for cell in cells:
        known = FAMILY_COLUMNS.get((cell.family, cell.qualifier))
        if known is not None:
            keys.add(value_key(cell.family, cell.qualifier, value_text(known, read_value(known.form, cell.value))))
        elif cell.family in (SIGNATURES, STATE):
            keys.add(value_key(cell.family, cell.qualifier, cell.value.hex()))
    return keys


def body_keys(columns: Mapping[str, object]) -> set[str]:
    """The keys of the columns that follow from a payload."""
    keys = set()
    for name, value in columns.items():
        spec = COLUMN_OF.get(name)
        if spec is not None and name not in ELSEWHERE and value is not None:
            keys.add(value_key(spec.family, spec.qualifier, value_text(spec, value)))
    return keys


def transaction_keys(text: str) -> set[tuple[str, str]]:
    """The kinds and keys of a transaction: its id, and the beginning of its id."""
    key = transaction_key(text)
    return {("transaction", key)} | ({("id", key[:ID_DIGITS])} if len(key) >= ID_DIGITS else set())
