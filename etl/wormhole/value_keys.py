"""Keys by which a message is looked up by the value of a column: of the written cells, and of what its bytes say.

Values that depend on facts about a token have no key, because such facts can change and no lookup row is ever deleted.
Messages of Pythnet, which outnumber all others, have keys of their written cells only.
"""

from collections.abc import Iterable, Mapping

from db.schema.event_columns import FAMILY_COLUMNS, PUBLICATION, SIGNATURES, STATE
from db.schema.event_values import COLUMN_OF, value_key, value_text
from etl.wormhole.cells import Cell
from etl.wormhole.values import read_value
from ledger.wormhole.vaa import Vaa

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


def body_keys(forms: Iterable[Vaa], columns: Mapping[str, object]) -> set[str]:
    """The keys of a body: of its VAAs, and of the columns that follow from its payload."""
    keys = set()
    for vaa in forms:
        published = {
            "guardian_set_index": vaa.guardian_set_index,
            "nonce": vaa.nonce,
            "sequence": vaa.sequence,
            "payload": vaa.payload,
        }
        keys |= {
            value_key(PUBLICATION, COLUMN_OF[name].qualifier, value_text(COLUMN_OF[name], value))
            for name, value in published.items()
        }
    for name, value in columns.items():
        spec = COLUMN_OF.get(name)
        if spec is not None and name not in ELSEWHERE and value is not None:
            keys.add(value_key(spec.family, spec.qualifier, value_text(spec, value)))
    return keys
