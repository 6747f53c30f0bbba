"""Packed tables of a SQLite store: they return what was written, and are found by their keys alone."""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_adapter, open_store
from db.model import Table, Type
from db.schema.protocols import TABLES
from db.sqlite import batch as batches
from db.sqlite import message_parts, partition_numbers
from db.sqlite.batch import SqliteBatch
from db.sqlite.message_parts import PLACE
from db.sqlite.stored_form import NUMBER, PACKINGS, create_statements, partitions_table, rows_table
from db.store import RowBatches, StoreError, StoreMismatch, WritableStore
from tests.db.stores import changing, generation_of, reopened

PACKED = [table for table in TABLES if table.name in PACKINGS]
DIVIDED = [table for table in PACKED if partitions_table(table)]


@pytest.fixture
def settings(sqlite_settings: StoreSettings) -> StoreSettings:
    return sqlite_settings


@pytest.fixture
def store(settings: StoreSettings) -> Iterator[WritableStore]:
    with closing(reopened(settings)) as opened:
        yield opened


@pytest.fixture
def folder(settings: StoreSettings) -> Path:
    return Path(settings.url.removeprefix("sqlite:///"))


def stored(folder: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(generation_of(folder))) as connection:
        return connection.execute(sql).fetchall()


def test_slices_of_packed_tables_are_found_by_keys_without_sorting() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in (each for table in schema.TABLES for each in create_statements(table).values()):
            connection.execute(statement)
        for table in PACKED:
            where = " AND ".join(f"{name} = 1" for name in table.partition)
            for order in ("ASC", "DESC") if table.clustering else ("",):
                by = ", ".join(f"{name} {order}" for name in table.clustering or table.partition)
                plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {table.name} WHERE {where} ORDER BY {by}")
                steps = [" ".join(row[3].split()[:4]) for row in plan if "SUBQUERY" not in row[3]]
                assert {step.split(maxsplit=2)[2] for step in steps} == {"USING PRIMARY"}, (table.name, steps)
                read = [step.split()[1] for step in steps]
                assert read[: 2 if table in DIVIDED else 1] == (["part", "stored"] if table in DIVIDED else ["stored"])


def balance(address: bytes, milestone_index: int) -> tuple[bytes, int, int, int]:
    return address, 0, milestone_index, 1


BALANCE = (*schema.address_balances.key, "balance")


def put(store: WritableStore, rows: Iterable[tuple[bytes, int, int, int]]) -> None:
    with store.batch() as batch:
        batch.upsert(schema.address_balances, BALANCE, rows)


def balances(store: WritableStore, address: bytes) -> list[int]:
    rows = asyncio.run(store.slice(schema.address_balances, (address.hex(), 0), limit=9))
    return [row["milestone_index"] for row in rows]


def test_a_number_is_never_the_number_of_another_partition(
    store: WritableStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_numbers, "NUMBERS_AT_ONCE", 2)
    monkeypatch.setattr(partition_numbers, "PARTITIONS_KEPT", 2)
    names = [bytes([each]) * 33 for each in range(7)]
    put(store, (balance(each, index) for index in (1, 2) for each in names[:4]))
    with pytest.raises(LookupError):
        put(store, (balance(names[at], 1) for at in (6, 7)))
    with store.batch() as batch:
        batch.delete(schema.address_balances, (names[3], 0))
        batch.delete(schema.address_balances, (names[2], 0, 2))
        batch.delete(schema.address_balances, (names[5], 0))
        batch.upsert(schema.address_balances, BALANCE, [balance(names[4], 3), balance(names[3], 4)])
    assert [balances(store, each) for each in names] == [[2, 1], [2, 1], [1], [4], [3], [], []]
    with store.batch() as batch:
        batch.clear(schema.address_balances)
        batch.upsert(schema.address_balances, BALANCE, [balance(names[0], 5)])
    with store.batch(publish=True) as batch:
        batch.upsert(schema.address_balances, BALANCE, [balance(names[1], 6)])
    assert [balances(store, each) for each in names] == [[5], [6], [], [], [], [], []]
    numbers = stored(folder, f"SELECT {NUMBER} FROM address_balances_partitions")
    assert len({*numbers}) == len(numbers) == 2


def test_a_generation_with_rows_of_no_partition_is_not_published(store: WritableStore, folder: Path) -> None:
    put(store, [balance(b"a" * 33, 1)])
    store.close()
    with changing(generation_of(folder)) as connection:
        connection.execute("DELETE FROM address_balances_partitions")
    with (
        pytest.raises(StoreError, match="1 rows of address_balances belong to no partition"),
        store.batch(publish=True),
    ):
        pass


OUTPUT = b"\x00\x01" + b"e" * 32 + (9).to_bytes(8, "little")
INPUT, UNLOCK = b"\x00" + b"i" * 34, b"\x00" + b"u" * 97
ONE, OTHER = b"\x07" * 32, b"\x08" * 32
"""Ids of a message at position 4 of milestone 1, and of one that is not stored."""

ENCODED: dict[str, list[dict[str, Any]]] = {
    "outputs": [
        {"output_kind": "legacy", "address": OUTPUT[1:34], "data": OUTPUT},
        {"output_kind": "legacy", "address": b"\x00" * 33, "data": OUTPUT},
        {"output_kind": "nft", "address": None, "data": OUTPUT},
        {"output_kind": "0", "address": b"", "data": None},
        {"output_kind": "", "address": OUTPUT[1:34], "data": b"\x00"},
        {"output_kind": None, "address": None, "data": b""},
        *(
            {f"{half}_milestone_index": 1, f"{half}_white_flag_index": position, f"{half}_message_id": value}
            for half in ("created", "spent")
            for position, value in ((4, ONE), (4, OTHER), (4, None), (5, ONE), (None, ONE))
        ),
    ],
    "transactions": [
        {"variant": variant, "message_id": message, "data": data}
        for variant in ("input", "output", "unlock", "other")
        for message in (ONE, OTHER)
        for data in (
            OUTPUT,
            INPUT + UNLOCK,
            INPUT,
            INPUT + b"missing",
            b"i",
            b"",
            b"t" * 34 + UNLOCK,
            b"\x00" * 34 + UNLOCK[:20],
            b"t" * 34 + b"\x01\x00\x00",
            None,
        )
    ],
    "ledger_updates_by_milestone": [
        {"output_id": ONE + b"\x00\x00", "address": OUTPUT[1:34]},
        {"output_id": ONE + b"\x00\x00", "address": b"\x00" * 33},
        {"output_id": OTHER + b"\x00\x00", "address": OUTPUT[1:34]},
        {"output_id": ONE + b"\x00\x00", "address": None},
    ],
    **{
        name: [
            {"milestone_index": index, "message_id": message, "transaction_id": value, "ms_timestamp": 1_000}
            for index in (1, 2)
            for message in (ONE, OTHER, b"", None)
            for value in (ONE, OTHER, b"", None)
        ]
        for name in ("ledger_updates_by_address", "native_token_updates")
    },
    "transactions_by_address": [
        {"direction": value} for value in ("received", "sent", "both", "migrated", "other", "", "1", None)
    ],
    "address_movements": [{"kind": value} for value in ("genesis", "migration", "transaction", "other", "2", None)],
}
TIMES = (0, 1_000, 1_600_000_000_000, 1_600_000_000_001, 999, -1_000, -1, None)
for _table in PACKED:
    if "ms_timestamp" in _table.names:
        ENCODED.setdefault(_table.name, []).extend({"ms_timestamp": value} for value in TIMES)
"""Values of the columns that are stored in another form, with values that are none of the expected ones."""


def test_encoded_columns_return_every_value_that_was_written(
    store: WritableStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = {name: {*packing.encodings} for name, packing in PACKINGS.items() if packing.encodings}
    covered = {name: {each for row in rows for each in row} for name, rows in ENCODED.items()}
    assert all(columns <= covered[name] for name, columns in encoded.items())
    at = ("milestone_index", "white_flag_index", "message_id")
    with store.batch() as batch:
        batch.upsert(schema.messages, (*at, "message"), [(1, 4, ONE, OUTPUT + b"-" + INPUT + b"-" + UNLOCK)])
        batch.upsert(schema.messages_by_milestone, at, [(1, 4, ONE)])
        batch.upsert(schema.outputs, ("output_id", "address", "data"), [(ONE + b"\x00\x00", OUTPUT[1:34], OUTPUT)])
    # The partitions have no hints.
    monkeypatch.setattr(batches, "DISAGREEMENTS", ())
    for step in ("small", "copied", "repeated"):
        # A batch without a table copies the others row by row.
        without = (schema.rejects,) if step == "copied" else ()
        with store.batch(publish=step != "small", without=without) as batch:
            for name, rows in ENCODED.items() if step != "copied" else ():
                table = schema.BY_NAME[name]
                for number, row in enumerate(rows):
                    values = _key(table, number + 1) | row
                    # The columns of a row come in any order, and some may come later.
                    some = [*values] if number % 2 else [*reversed(values)]
                    batch.upsert(table, some, [[values[each] for each in some]])
                    batch.upsert(table, table.key, [[values[each] for each in table.key]])
        for name, rows in ENCODED.items():
            table = schema.BY_NAME[name]
            for number, row in enumerate(rows):
                values = {each: _ported(table, each, value) for each, value in (_key(table, number + 1) | row).items()}
                read = asyncio.run(store.get(table, tuple(values[each] for each in table.key)))
                assert read is not None
                assert {each: read[each] for each in values} == values, (name, row)
    found = stored(folder, f"SELECT output_kind, address, typeof(data) FROM {rows_table(schema.outputs)} LIMIT 2")
    assert found[1] == (0, 0, "blob")
    placed = stored(
        folder, f"SELECT variant, count(*) FROM {rows_table(schema.transactions)} WHERE {PLACE} NOT NULL GROUP BY 1"
    )
    assert sorted(placed) == [("input", 2), ("output", 3), ("unlock", 4)]


def test_a_column_that_repeats_another_one_stays_when_that_is_written(store: WritableStore) -> None:
    table, other = schema.outputs, b"\0" + b"\7" * 41
    ids = [ONE + number.to_bytes(2, "little") for number in range(3)]
    written = [(ids[0], OUTPUT[1:34], OUTPUT), (ids[1], b"\5" * 33, OUTPUT), (ids[2], None, OUTPUT)]
    with store.batch() as batch:
        batch.upsert(table, ("output_id", "address", "data"), written)
    with store.batch() as batch:
        batch.upsert(table, ("output_id", "data"), [(each, data) for each in ids for data in (other, OUTPUT, other)])
    for output_id, address, _ in written:
        read = asyncio.run(store.get(table, (output_id.hex(),)))
        expected = {"output_id": output_id.hex(), "address": None if address is None else address.hex(), "data": other}
        assert read == dict.fromkeys(table.names) | expected


def _key(table: Table, number: int) -> dict[str, Any]:
    """A key that no other number has."""
    kinds = {"hex": ONE, "text": "a", "boolean": True}
    key = {name: kinds.get(table.column(name).type.value, number) for name in table.key}
    if "output_id" in key:
        key["output_id"] = ONE + number.to_bytes(2, "little")
    return key


def _ported(table: Table, name: str, value: Any) -> Any:
    return value.hex() if table.column(name).type is Type.HEX and value is not None else value


def test_a_migration_adds_columns_to_a_packed_table(settings: StoreSettings, store: WritableStore) -> None:
    with store.batch() as batch:
        batch.upsert(schema.tags, schema.tags.key, [(b"a", 0, 0, 1, b"b" * 32)])
    with closing(open_adapter(settings, writable=True)) as adapter:
        adapter.execute(["ALTER TABLE tags ADD COLUMN more INTEGER", "ALTER TABLE tags ADD COLUMN most BLOB"])
        assert adapter.has_column("tags", "more")
        assert adapter.has_column("tags", "most")
        assert len(adapter.read_all(schema.tags)) == 1
        assert adapter.drift() == ["table tags differs"]


def test_a_store_of_a_later_form_is_rejected_and_not_written_again(
    settings: StoreSettings, store: WritableStore, folder: Path
) -> None:
    store.close()
    with changing(generation_of(folder)) as connection:
        connection.execute("PRAGMA user_version = 2")
    for use in (open_store, migrate):
        with pytest.raises(StoreMismatch, match="later form, which this version does not know; use a newer version"):
            use(settings)


def test_parts_are_found_in_messages_that_come_with_the_rows(
    store: WritableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a message is not read from the store, unless it is another one than that of the row."""
    message = OUTPUT + b"-" + INPUT + b"-" + UNLOCK
    message_id = blake2b(message, digest_size=32).digest()
    columns = ("transaction_id", "idx", "variant", "message_id", "data")
    parts = [
        (0, "input", INPUT + UNLOCK),
        (0, "output", OUTPUT),
        (1, "output", OUTPUT[:-1]),
        (0, "unlock", b"t" * 34 + UNLOCK),
    ]
    with store.batch() as batch:
        batch.upsert(schema.messages, ("message_id", "message"), [(message_id, message)])
    for whole, statement, is_found in (
        (message, "SELECT NULL WHERE ?1 IS NULL", True),
        (OUTPUT, "SELECT NULL WHERE ?1 IS NULL", False),
        (OUTPUT, message_parts.STORED, True),
    ):
        monkeypatch.setattr(message_parts, "STORED", statement)
        with store.batch() as batch:
            assert isinstance(batch, SqliteBatch)
            batch.clear(schema.transactions)
            rows = [(ONE, index, variant, message_id, data) for index, variant, data in parts]
            # A batch of one row, and one of the others, to which the message does not come again.
            first, rest = ([list(column) for column in zip(*some, strict=True)] for some in (rows[:1], rows[1:]))
            found = RowBatches([[*first, [whole]], [*rest, [None] * 3]], has_messages=True)
            assert batch.upsert(schema.transactions, columns, found) == len(parts)
            assert [*RowBatches([[*first, [whole]]], has_messages=True)] == rows[:1]
            places = batch.connection.execute(f"SELECT {PLACE} IS NOT NULL FROM transactions_rows").fetchall()
            assert places == [(is_found,)] * len(parts)
        read = asyncio.run(store.slice(schema.transactions, (ONE.hex(),), limit=9))
        assert sorted((row["idx"], row["variant"], row["data"]) for row in read) == sorted(parts)
