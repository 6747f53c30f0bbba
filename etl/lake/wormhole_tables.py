"""Schemas of the lake's tables of a Wormhole network: cells of the event tables, prices, and token lists.

A cell is a fact that never changes. All tables are computed from the set of cells, prices and tokens.
"""

from hashlib import blake2b

import pyarrow as pa

from ledger.wormhole.ids import row_key

VAAS = pa.schema(
    {
        "emitter_chain": pa.int32(),
        "emitter_address": pa.binary(),
        "sequence_key": pa.string(),
        "family": pa.string(),
        "qualifier": pa.string(),
        "time_ms": pa.int64(),
        "value": pa.binary(),
        "cell_id": pa.binary(),
        "day": pa.int32(),
        "body_day": pa.int32(),
        "guardian_set_index": pa.int64(),
        "payload_kind": pa.string(),
        "token_key": pa.string(),
        "names_set": pa.int64(),
    }
)
VAAS_DDL = """
emitter_chain INT, emitter_address BINARY, sequence_key STRING, family STRING, qualifier STRING, time_ms BIGINT,
value BINARY, cell_id BINARY, day INT, body_day INT, guardian_set_index BIGINT, payload_kind STRING, token_key STRING,
names_set BIGINT
"""
"""A row per cell of the event tables, without duplicates (etl/wormhole/cells.py). The columns from `day` on are set
only for signed VAAs. `day` is the day for which it may count, names_set the guardian set that it names.
"""


def id_of_cell(chain: int, emitter: bytes, sequence: int, column: tuple[str, str, int | None], value: bytes) -> bytes:
    """The cell_id of a cell, equal only for equal cells. `column`: family, qualifier and time_ms."""
    text = "\0".join(map(str, (row_key(chain, emitter, sequence), *column)))
    return blake2b(f"{text}\0".encode() + value, digest_size=16).digest()


PRICES_DDL = "token_key STRING, day INT, price_usd STRING"

TOKEN_LIST = pa.schema(
    {
        "token_key": pa.string(),
        "decimals": pa.int16(),
        "symbol": pa.string(),
        "name": pa.string(),
        "coin_gecko_id": pa.string(),
        "symbol_key": pa.string(),
    }
)
LISTED_DDL = """
token_key STRING, decimals SMALLINT, symbol STRING, name STRING, coin_gecko_id STRING, symbol_key STRING
"""
"""A row per token of the loaded token lists. A later list replaces the tokens that it names."""
