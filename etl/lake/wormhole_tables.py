"""The lake's tables of a Wormhole network: cells of the event tables, and prices.

Rules of this file: schemas only. A cell is a fact, there once for ever; all tables follow from the set of them.
"""

import pyarrow as pa

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
"""A row a cell of the event tables, each once (etl/wormhole/cells.py); from `day` on of signed VAAs alone. `day`:
that it may count for; names_set: the guardian set that it names."""

PRICES_DDL = "token_key STRING, day INT, price_usd STRING"
