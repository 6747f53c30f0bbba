"""The Parquet tables of a static archive, for DuckDB and others.

Each file is sorted by the column that most queries know, so row-group statistics exclude nearly all groups. Other ids
have Bloom filters.
"""

import io
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.lake.reader import LakeReader
from etl.static_archive.conflict_reasons import ConflictReasons
from etl.static_archive.names import HashingFile

ROWS_A_GROUP = 20_000

FALSE_POSITIVES = 0.01


class Table(NamedTuple):
    """A table: its columns, the order of its rows, and the columns with Bloom filters."""

    schema: pa.Schema
    order: tuple[str, ...]
    filtered: tuple[str, ...]


ID, AMOUNT, TIME = pa.binary(), pa.decimal128(20, 0), pa.timestamp("us", tz="UTC")

PLACE = [("milestone_index", pa.int32()), ("timestamp", TIME), ("message_id", ID), ("transaction_id", ID)]

TABLES = {
    "messages": Table(
        pa.schema(
            [
                ("message_id", ID),
                ("milestone_index", pa.int32()),
                ("white_flag_index", pa.int32()),
                ("timestamp", TIME),
                ("inclusion_state", pa.int8()),
                ("conflict_reason", pa.int16()),
                ("payload_kind", pa.int8()),
                ("tag", ID),
                ("transaction_id", ID),
                ("message_bytes", pa.int32()),
            ]
        ),
        ("message_id",),
        ("message_id", "transaction_id", "tag"),
    ),
    "outputs": Table(
        pa.schema([("output_id", ID), ("address", ID), ("amount", AMOUNT), ("kind", pa.int8()), *PLACE]),
        ("address", "milestone_index", "output_id"),
        ("address", "output_id", "transaction_id"),
    ),
    "spends": Table(pa.schema([("output_id", ID), *PLACE]), ("output_id",), ("output_id", "transaction_id")),
}
"""`outputs` and `spends` are of included transactions; `outputs` also of migrated funds, without transaction_id."""

COLUMNS = (
    "message_id",
    "timestamp",
    "inclusion_state",
    "conflict_reason",
    "payload_kind",
    "tagged_data.tag",
    "message",
    "transaction.transaction_id",
    "transaction.tagged_data.tag",
    "transaction.inputs",
    "transaction.outputs",
    "milestone.receipt.funds",
)

Write: TypeAlias = Callable[[HashingFile], int]


def write_tables(lake: LakeReader, first: int, last: int, reasons: ConflictReasons) -> Iterator[tuple[str, Write]]:
    """Yields the name of each table and a function that writes its file of these milestones and returns the number of
    rows. Memory grows with the rows of these milestones, by about 150 bytes for each.
    """
    parts: dict[str, list[pa.Table]] = {name: [table.schema.empty_table()] for name, table in TABLES.items()}
    for rows in lake.rows(first, last, COLUMNS):
        rows = rows.combine_chunks()
        parts["messages"].append(_messages(reasons.in_rows(rows)))
        parts["outputs"] += _outputs(rows)
        parts["spends"].append(_spends(rows))
    for name in TABLES:
        whole = pa.concat_tables(parts.pop(name))

        def write(file: HashingFile, name: str = name, whole: pa.Table = whole) -> int:
            return write_table(file, whole, TABLES[name])

        yield name, write


def write_table(file: HashingFile, rows: pa.Table, table: Table) -> int:
    """Writes the rows of a table to a Parquet file and returns their number."""
    ordered = rows.sort_by([(name, "ascending") for name in table.order])
    filters = {name: {"ndv": ROWS_A_GROUP, "fpp": FALSE_POSITIVES} for name in table.filtered}
    with pq.ParquetWriter(
        pa.PythonFile(Sink(file), "w"),
        table.schema,
        compression="zstd",
        use_dictionary=False,
        write_statistics=True,
        bloom_filter_options=filters,
        store_schema=False,
        sorting_columns=pq.SortingColumn.from_ordering(table.schema, [(name, "ascending") for name in table.order]),
    ) as writer:
        writer.write_table(ordered, row_group_size=ROWS_A_GROUP)
    return int(ordered.num_rows)


class Sink(io.RawIOBase):
    """A stream that pyarrow writes to. Its position is that of the file."""

    def __init__(self, file: HashingFile) -> None:
        self._file = file

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: Any) -> int:
        """Appends bytes."""
        return self._file.write(bytes(data))

    def seek(self, *_: int) -> int:
        """Returns the position, which is always the end."""
        return self._file.size


def _messages(rows: pa.Table) -> pa.Table:
    transaction = rows["transaction"]
    tags = pc.coalesce(
        pc.struct_field(rows["tagged_data"], "tag"), pc.struct_field(transaction, ["tagged_data", "tag"])
    )
    values = {
        **{name: rows[name] for name in ("message_id", "milestone_index", "white_flag_index", "timestamp")},
        **{name: rows[name] for name in ("inclusion_state", "conflict_reason", "payload_kind")},
        "tag": tags,
        "transaction_id": pc.struct_field(transaction, "transaction_id"),
        "message_bytes": pc.binary_length(rows["message"]),
    }
    return _table("messages", values).filter(rows["message_id"].is_valid())


def _outputs(rows: pa.Table) -> Iterator[pa.Table]:
    for path, chosen, column in (
        (["outputs"], pc.equal(rows["inclusion_state"], 1), "transaction"),
        (["receipt", "funds"], rows["milestone"].is_valid(), "milestone"),
    ):
        own = rows.filter(chosen).combine_chunks()
        lists = _array(pc.struct_field(own[column], path))
        items, parents = pc.list_flatten(lists), pc.list_parent_indices(lists)
        values = _place(own, parents)
        if column == "milestone":
            values["transaction_id"] = pa.nulls(len(parents), ID)
        for name in ("output_id", "address", "amount", "kind"):
            values[name] = pc.struct_field(items, name)
        yield _table("outputs", values)


def _spends(rows: pa.Table) -> pa.Table:
    own = rows.filter(pc.equal(rows["inclusion_state"], 1)).combine_chunks()
    lists = _array(pc.struct_field(own["transaction"], "inputs"))
    values = _place(own, pc.list_parent_indices(lists))
    values["output_id"] = pc.struct_field(pc.list_flatten(lists), "output_id")
    return _table("spends", values).filter(pc.equal(pc.binary_length(values["output_id"]), 34))


def _place(rows: pa.Table, parents: pa.Array) -> dict[str, Any]:
    values = {name: rows[name].take(parents) for name in ("milestone_index", "timestamp", "message_id")}
    return values | {"transaction_id": pc.struct_field(rows["transaction"], "transaction_id").take(parents)}


def _table(name: str, values: dict[str, Any]) -> pa.Table:
    schema = TABLES[name].schema
    return pa.table({field.name: pc.cast(values[field.name], field.type) for field in schema}, schema=schema)


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
