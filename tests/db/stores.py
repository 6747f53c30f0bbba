"""The stores of the contract suite: a fixture NAME_settings for each, and what they share."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from db.connect import StoreSettings, open_store
from db.schema.dialects import create_table_sqlite
from db.schema.protocols import TABLES
from db.sqlite.checksums import connect
from db.store import WritableStore

NETWORK = "permatest-1"
CHUNK_SIZE = 7
PARTITION_SIZE = 3

MIGRATIONS = [
    "0001_chrysalis",
    "0002_ledger",
    "0003_unspent",
    "0004_stardust",
    "0005_lookups",
    "0006_proofs",
    "0007_analytics",
    "0009_logged",
    "0010_calendar",
    "0012_native_tokens",
    "0013_movements",
    "0014_search",
    "0015_listing_trees",
    "0016_log",
    "0017_selection",
    "0019_booked_outputs",
]
"""The file names of an IOTA store's tables, repeated here independently of the schema."""

STORES = [
    pytest.param("sqlite"),
    pytest.param("cassandra", marks=pytest.mark.cassandra),
    pytest.param("acsylla", marks=pytest.mark.cassandra),
]
"""A further adapter, or a further reader of one, is one more line."""

WRITERS = [*STORES[:2], pytest.param("acsylla", marks=[pytest.mark.cassandra, pytest.mark.slow])]
"""For tests of what an adapter writes. acsylla only reads: both readers of a cluster have one writer."""


def settings_of(url: str) -> StoreSettings:
    """A store in which every lookup is cut at every possible place."""
    return StoreSettings(url, NETWORK, chunk_size=CHUNK_SIZE, partition_size=PARTITION_SIZE)


def reopened(settings: StoreSettings) -> WritableStore:
    """One more writing client of the same store."""
    return open_store(settings, writable=True)


def generation_of(folder: Path) -> Path:
    """The served file of a SQLite store."""
    return folder / (folder / "CURRENT").read_text().strip()


@contextmanager
def changing(generation: Path) -> Iterator[apsw.Connection]:
    """Changes a generation as SQLite does with checksums, in one transaction."""
    with closing(connect(generation, apsw.SQLITE_OPEN_READWRITE)) as connection, connection:
        yield connection


def first_form(generation: Path) -> None:
    """Writes a generation again as the first versions wrote it: without checksums, and with every table as declared."""
    old = generation.with_name("old.sqlite")
    with closing(sqlite3.connect(generation)) as source, closing(sqlite3.connect(old)) as target:
        target.execute("PRAGMA page_size = 16384")
        target.execute("PRAGMA journal_mode = WAL")
        found = source.execute("SELECT name FROM sqlite_master").fetchall()
        for table in (each for each in TABLES if (each.name,) in found):
            target.execute(create_table_sqlite(table))
            rows = source.execute(f"SELECT * FROM {table.name}")
            names = [name for name, *_ in rows.description]
            places = ", ".join("?" * len(names))
            target.executemany(f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({places})", rows)
        target.commit()
    old.replace(generation)


def flip(file: Path, position: int) -> None:
    """Inverts one bit of a file. `position`: in bits."""
    with file.open("r+b") as stream:
        stream.seek(position // 8)
        (byte,) = stream.read(1)
        stream.seek(position // 8)
        stream.write(bytes([byte ^ 1 << position % 8]))
