"""Python workers for VAAs: one converts lines to cells, one the cells of a message to its rows.

Invalid lines become rejects, not errors. The results have the form of the tables, so frames only select from them.
Worker processes and Spark's executors import this module, so it imports neither PySpark nor delta-rs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from db.model import Table, Type
from db.schema.event_columns import QUORUM
from db.schema.wormhole_tables import symbol_key, vaa_lookups, vaa_payloads, vaa_signatures, vaa_states, vaas
from db.utc_days import DAY_S
from etl.engine.garbage import collect_rarely
from etl.engine.task_sets import TaskSet
from etl.expectations.cells import ID, cell_sums, row_sums
from etl.lake.wormhole_tables import VAAS, id_of_cell
from etl.sources.lines import LineReader
from etl.sources.plan import UNKNOWN_MILESTONE
from etl.wormhole.bodies import Body, find_bodies
from etl.wormhole.cells import Cell, LineError, read_line
from etl.wormhole.messages import Counted, assemble
from etl.wormhole.transfers import Token, kind_of, token_of
from ledger.wormhole.guardians import find_update
from ledger.wormhole.payloads import AssetMeta, decode_payload
from ledger.wormhole.vaa import decode_vaa
from ledger.wormhole.verify import History

Emitters: TypeAlias = frozenset[tuple[int, bytes]]
"""Chain and address of each."""

BATCH_ROWS = 500

ASSEMBLED = (vaas, vaa_signatures, vaa_states, vaa_payloads, vaa_lookups)
"""Tables whose rows follow from a single message."""

LOOKUP_KEY = ("kind", "key")
"""The columns of a lookup row that etl.wormhole.messages.LookupRows.keys contains."""

NOT_YET = frozenset({"day_range", "partition_id"})
"""Columns of a lookup row that locate it; they are added later."""

KINDS: dict[Type, pa.DataType] = {
    Type.HEX: pa.binary(),
    Type.TEXT: pa.string(),
    Type.BLOB: pa.binary(),
    Type.BOOLEAN: pa.bool_(),
    Type.SMALLINT: pa.int16(),
    Type.INT: pa.int32(),
    Type.BIGINT: pa.int64(),
    Type.TIMESTAMP: pa.int64(),
}
"""The column types of ASSEMBLED in the output of the workers."""

COUNTED = pa.struct(
    {
        "day": pa.int32(),
        "emitter_chain": pa.int32(),
        "emitter_address": pa.binary(),
        "kind": pa.string(),
        "target_chain": pa.int32(),
        "token_key": pa.string(),
        "recipient": pa.binary(),
        "amount": pa.string(),
        "notional_usd": pa.string(),
    }
)
"""etl.wormhole.messages.Counted."""

_COUNTED = tuple(each.name for each in fields(Counted))

REJECT = pa.struct(
    {
        "milestone_index": pa.int32(),
        "file": pa.string(),
        "line": pa.int32(),
        "item": pa.string(),
        "reason": pa.string(),
    }
)


def _rows_of(table: Table) -> pa.DataType:
    return pa.list_(pa.struct({each.name: KINDS[each.type] for each in table.columns if each.name not in NOT_YET}))


CELLS = pa.schema([*VAAS, pa.field("reject", REJECT)])
ROWS = pa.schema(
    {"is_requested": pa.bool_(), **{table.name: _rows_of(table) for table in ASSEMBLED}, "counted": COUNTED}
)
METAS = pa.schema(
    {
        "token_key": pa.string(),
        "timestamp": pa.int64(),
        "digest": pa.binary(),
        "decimals": pa.int16(),
        "symbol": pa.string(),
        "name": pa.string(),
        "symbol_key": pa.string(),
    }
)


def _batches(
    rows: Iterable[dict[str, Any]],
    schema: pa.Schema,
    add_sums: Callable[[list[dict[str, Any]], pa.RecordBatch], None] = lambda *_: None,
    columns: Callable[[list[dict[str, Any]]], Mapping[str, pa.Array]] = lambda _: {},
) -> Iterator[pa.RecordBatch]:
    """Rows as batches. `add_sums` sees each batch with its rows, which may have values without a column. `columns`
    returns those columns of a batch that are not made from its rows as they are.
    """
    waiting: list[dict[str, Any]] = []

    def made() -> pa.RecordBatch:
        beside = columns(waiting)
        plain = pa.schema([each for each in schema if each.name not in beside])
        batch = pa.RecordBatch.from_pylist(waiting, schema=plain)
        if beside:
            every = [beside[name] if name in beside else batch.column(name) for name in schema.names]
            batch = pa.RecordBatch.from_arrays(every, schema=schema)
        add_sums(waiting, batch)
        return batch

    for row in rows:
        waiting.append(row)
        if len(waiting) >= BATCH_ROWS:
            yield made()
            waiting = []
    if waiting:
        yield made()


def read_cells(
    batches: Iterable[pa.RecordBatch], *, network: str, sums: TaskSet, emitters: Emitters | None
) -> Iterator[pa.RecordBatch]:
    """CELLS of (file, line, offset, length); the arguments of etl.wormhole.decode.to_cells."""
    collect_rarely()
    reader = LineReader()

    def rows() -> Iterator[dict[str, Any]]:
        for batch in batches:
            for place in batch.to_pylist():
                try:
                    data = reader.read(place["file"], place["offset"], place["length"])
                    found = [_cell_row(cell, network) for cell in read_line(data) if _is_kept(cell, emitters)]
                except (LineError, OSError, EOFError) as error:
                    at = {"file": place["file"], "line": place["line"], "item": "", "reason": str(error)}
                    found = [{"reject": {"milestone_index": UNKNOWN_MILESTONE} | at}]
                # The first row of a line has its place.
                yield from [row | {"place": (place["file"], place["line"])} for row in found[:1]]
                yield from found[1:]

    def add_sums(rows: list[dict[str, Any]], batch: pa.RecordBatch) -> None:
        sums.add({cell_sums([row["place"] for row in rows if "place" in row], batch)})

    yield from _batches(rows(), CELLS, add_sums)
    reader.close()


def _is_kept(cell: Cell, emitters: Emitters | None) -> bool:
    return emitters is None or (cell.chain, cell.emitter) in emitters


def _cell_row(cell: Cell, network: str) -> dict[str, Any]:
    chain, emitter, sequence = cell.key
    row = {
        "emitter_chain": chain,
        "emitter_address": emitter,
        "sequence_key": sequence,
        "family": cell.family,
        "qualifier": cell.qualifier,
        "time_ms": cell.time_ms,
        "value": cell.value,
        "cell_id": cell_id(cell),
    }
    if cell.family != QUORUM:
        return row
    vaa = decode_vaa(cell.value)
    payload, named = decode_payload(network, vaa), find_update(vaa)
    body_day = vaa.timestamp // DAY_S
    return row | {
        "day": body_day if cell.time_ms is None else cell.time_ms // 1000 // DAY_S,
        "body_day": body_day,
        "guardian_set_index": vaa.guardian_set_index,
        "payload_kind": kind_of(payload),
        "token_key": token_of(payload),
        "names_set": None if named is None else named.index,
    }


def cell_id(cell: Cell) -> bytes:
    """An id that is equal only for equal cells."""
    return id_of_cell(cell.chain, cell.emitter, cell.sequence, (cell.family, cell.qualifier, cell.time_ms), cell.value)


def assemble_rows(
    batches: Iterable[pa.RecordBatch], *, network: str, history: History, sums: TaskSet
) -> Iterator[pa.RecordBatch]:
    """ROWS of messages with their cells; the arguments of etl.wormhole.decode.to_rows."""
    collect_rarely()

    def rows() -> Iterator[dict[str, Any]]:
        for batch in batches:
            for group in batch.to_pylist():
                cells = _cells(group)
                made = assemble(network, cells, history, _token(group["cells"]))
                counted = made.counted
                yield {table.name: getattr(made, table.name) for table in ASSEMBLED} | {
                    "is_requested": group["is_requested"],
                    "counted": None if counted is None else {each: getattr(counted, each) for each in _COUNTED},
                    "key": tuple(group[name] for name in ID),
                    "cell_ids": [cell_id(cell) for cell in cells] if group["is_requested"] else (),
                }

    def add_sums(rows: list[dict[str, Any]], batch: pa.RecordBatch) -> None:
        requested = [row for row in rows if row["is_requested"]]
        if requested:
            cell_ids = [each for row in requested for each in row["cell_ids"]]
            sums.add(
                {row_sums([row["key"] for row in requested], cell_ids, batch.filter(batch.column("is_requested")))}
            )

    yield from _batches(rows(), ROWS, add_sums, _lookup_column)


def _lookup_column(rows: list[dict[str, Any]]) -> dict[str, pa.Array]:
    """The column of lookup rows. The values that several of them share are converted once and repeated."""
    of_row = [row[vaa_lookups.name] for row in rows]
    lookups = [each for every in of_row for each in every]
    counts = np.array([len(each.keys) for each in lookups], np.int64)
    repeated = pa.array(np.repeat(np.arange(len(lookups)), counts))
    kind = ROWS.field(vaa_lookups.name).type
    columns = []
    for field in kind.value_type:
        if field.name in LOOKUP_KEY:
            at = LOOKUP_KEY.index(field.name)
            columns.append(pa.array([key[at] for each in lookups for key in each.keys], field.type))
        else:
            columns.append(pa.array([each.row.get(field.name) for each in lookups], field.type).take(repeated))
    ends = np.concatenate([[0], np.cumsum(counts)])[np.cumsum([0, *map(len, of_row)])]
    structs = pa.StructArray.from_arrays(columns, fields=[*kind.value_type])
    return {vaa_lookups.name: pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs, type=kind)}


def _token(cells: Iterable[Mapping[str, Any]]) -> Token:
    """The facts about the token that a message moves. If its bodies name several, those of the last one by key."""
    moving = [each for each in cells if each["moved_key"] is not None]
    if not moving:
        return Token()
    key = max([each["moved_key"] for each in moving])
    named = [each for each in moving if each["moved_key"] == key]
    meta = named[0]["meta"]
    return Token(
        key,
        None if meta is None else (meta["decimals"], meta["symbol"], meta["name"]),
        sorted({(each["day"], each["price_usd"]) for each in named if each["price_usd"] is not None}),
        None if meta is None else meta["coin_gecko_id"],
    )


def read_metas(batches: Iterable[pa.RecordBatch], *, network: str, history: History) -> Iterator[pa.RecordBatch]:
    """METAS of the verified bodies of messages; the arguments of etl.wormhole.decode.to_metas."""

    def rows() -> Iterator[dict[str, Any]]:
        for batch in batches:
            for group in batch.to_pylist():
                for body in find_bodies(network, _cells(group), history):
                    if isinstance(body.payload, AssetMeta) and body.verdict.verified:
                        yield _meta(body, body.payload)

    yield from _batches(rows(), METAS)


def _cells(group: Mapping[str, Any]) -> list[Cell]:
    """The cells of a message in a row of ID and `cells`."""
    key = group["emitter_chain"], group["emitter_address"], int(group["sequence_key"])
    return [Cell(*key, each["family"], each["qualifier"], each["time_ms"], each["value"]) for each in group["cells"]]


def _meta(body: Body, payload: AssetMeta) -> dict[str, Any]:
    symbol = payload.symbol.replace("\0", "")
    return {
        "token_key": token_of(payload),
        "timestamp": body.vaa.timestamp,
        "digest": body.digest,
        "decimals": payload.decimals,
        "symbol": symbol,
        "name": payload.name.replace("\0", ""),
        "symbol_key": symbol_key(symbol),
    }
