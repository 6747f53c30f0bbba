"""SSTables written to a server: values of every type, rejected settings, reported errors. The tests of the ledger, of
compaction and of a cluster that goes away run whole loads with `--bulk`.
"""

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from db import schema
from db.connect import StoreSettings, open_store
from db.model import Table, Type
from db.schema.dialects import spark_type
from db.store import StoreError, StoreUnavailable, WritableStore
from etl import runs
from etl.engine.settings import EtlSettings
from etl.tables.frames import TableFrame
from etl.writers.bulk import BulkWriter, read_back
from etl.writers.choice import frame_writer
from etl.writers.staging import Staging
from tests.cassandra_keyspace import Keyspaces
from tests.cassandra_server import Ports
from tests.conftest import SAMPLE
from tests.etl.conftest import SETTINGS
from tests.etl.store_rows import by_key

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")]

WRITTEN = (schema.messages, schema.outputs_by_address, schema.date_cache)
ROWS = 300


@pytest.fixture(scope="module")
def settings(keyspaces: Keyspaces) -> Iterator[StoreSettings]:
    found = keyspaces.lend(StoreSettings("", "permatest-1"))
    yield found
    keyspaces.give_back(found)


@pytest.fixture(scope="module")
def store(settings: StoreSettings) -> Iterator[WritableStore]:
    with closing(open_store(settings, writable=True)) as opened:
        yield opened


def writer(spark: SparkSession, store: WritableStore, settings: StoreSettings, folder: Path) -> BulkWriter:
    found = frame_writer(spark, store, Staging(folder / "staging"), settings, SETTINGS, bulk=True)
    assert isinstance(found, BulkWriter)
    return found


def value(chance: random.Random, kind: Type) -> Any:
    """Any value of the type, including its limits, in the form that Spark takes."""
    bits = {Type.TINYINT: 7, Type.SMALLINT: 15, Type.INT: 31, Type.BIGINT: 63, Type.TIMESTAMP: 40}
    if kind in bits:
        most = 1 << bits[kind]
        return chance.choice((0, -1, most - 1, -most, chance.randrange(-most, most)))
    if kind is Type.BOOLEAN:
        return chance.random() < 0.5
    if kind is Type.DATE:
        return date(1970, 1, 1) + timedelta(days=chance.randrange(-30_000, 30_000))
    if kind is Type.TEXT:
        return chance.choice(("", "a", "žluť", "x" * 300))
    return chance.randbytes(chance.choice((1, 32, 33, 700)))


def rows_of(chance: random.Random, table: Table) -> list[dict[str, Any]]:
    """Rows with different keys; beside the key every third value is null."""
    by_id: dict[tuple[Any, ...], dict[str, Any]] = {}
    for _ in range(ROWS):
        row = {
            column.name: None if column.name not in table.key and chance.random() < 0.3 else value(chance, column.type)
            for column in table.columns
        }
        by_id[tuple(row[name] for name in table.key)] = row
    return list(by_id.values())


def reported(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    """The row as a store returns it."""

    def plain(kind: Type, given: Any) -> Any:
        if given is None:
            return None
        if kind is Type.HEX:
            return given.hex()
        return given.isoformat() if kind is Type.DATE else given

    return {column.name: plain(column.type, row[column.name]) for column in table.columns}


def test_all_types_are_written() -> None:
    written = {column.type for table in WRITTEN for column in table.columns}
    assert written == {column.type for table in schema.TABLES for column in table.columns}


@pytest.mark.parametrize("table", WRITTEN, ids=lambda table: table.name)
def test_values_and_nulls_come_back_as_given_and_nothing_is_left(
    spark: SparkSession, store: WritableStore, settings: StoreSettings, tmp_path: Path, table: Table
) -> None:
    rows = rows_of(random.Random(table.name), table)
    given = [tuple(row[name] for name in table.names) for row in rows]
    frame = spark.createDataFrame(
        given, ", ".join(f"{each.name} {spark_type(each.type)}" for each in table.columns)
    ).repartition(3)
    ready = writer(spark, store, settings, tmp_path).prepare(TableFrame(table, (frame,), table.names))
    with store.batch() as batch:
        assert ready.write(batch) == len(rows)
    ready.drop()
    assert by_key(table, store.read_all(table)) == by_key(table, [reported(table, row) for row in rows])
    assert not [path for path in (tmp_path / "staging").rglob("*") if path.is_file()]


def test_rows_that_were_streamed_and_are_not_there_are_noticed(
    spark: SparkSession, store: WritableStore, settings: StoreSettings, tmp_path: Path
) -> None:
    cluster = writer(spark, store, settings, tmp_path).beside.cluster
    never = [("ab" * 32,), ("cd" * 32,)]
    with pytest.raises(StoreError, match=r"2 of 2 rows of messages are not there.* storage_compatibility_mode"):
        read_back(cluster, schema.messages, never)


def test_a_cluster_that_takes_nothing_is_named(
    spark: SparkSession, store: WritableStore, settings: StoreSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etl.writers.bulk.TRIES", 2)
    nobody = f"127.0.0.1:{Ports.free().native}"
    elsewhere = replace(settings, url=f"cassandra://{nobody}/bulk")
    frame = spark.createDataFrame([(b"\1" * 32, 1, b"")], "message_id BINARY, version TINYINT, message BINARY")
    ready = writer(spark, store, elsewhere, tmp_path).prepare(TableFrame(schema.messages, (frame,), frame.columns))
    with (
        store.batch() as batch,
        pytest.raises(StoreUnavailable, match=f"{nobody}/bulk: rows of messages were not taken: "),
    ):
        ready.write(batch)
    assert not [path for path in (tmp_path / "staging").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("store_settings", "printed"),
    [
        (StoreSettings("sqlite:///nowhere", "permatest-1"), "expected a store cassandra://…, not sqlite"),
        (StoreSettings("scylla://127.0.0.1/any", "permatest-1"), "expected a store cassandra://…, not scylla"),
        (StoreSettings("cassandra://127.0.0.1/any", "permatest-1", tls_ca="ca.pem"), "tls_ca asks for TLS"),
    ],
    ids=["sqlite", "scylla", "tls"],
)
def test_a_store_that_takes_no_sstables_is_rejected(store_settings: StoreSettings, printed: str) -> None:
    for job in (lambda: runs.load(store_settings, EtlSettings(), [SAMPLE], bulk=True),
                lambda: runs.rebuild(store_settings, EtlSettings(), bulk=True)):  # fmt: skip
        with pytest.raises(ValueError, match=printed):
            job()
