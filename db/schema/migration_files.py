"""Migration files: rendered from the schema, committed, applied in order, never changed afterwards.

Invariants:
1. Migration N creates the tables whose `layout` is N, and adds the columns whose `layout` is N to existing tables.
2. A statement ends at a line that ends with ';'.
3. Each applied file is recorded with its checksum. Every difference (file and schema, file and record, schema and
   store)
   is rejected by name before anything runs.
4. If the store cannot apply a migration atomically, each statement is recorded too, so that the next run completes an
   interrupted migration. Statements that cannot be repeated are checked for first.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

from db import schema
from db.damage import Checked, Damage
from db.measures import MEASURES
from db.measures.measure import FIRST_LAYOUT, Kind
from db.model import Table
from db.schema.dialects import CQL_REASONS, add_columns_cql, add_columns_sqlite, create_table_cql, create_table_sqlite
from db.schema.protocols import IOTA, TABLES_OF, WORMHOLE
from db.store import Row, StoreMismatch, WritableStore

DIRECTORY = Path(__file__).resolve().parents[2] / "migrations"
NAMES_OF: Mapping[str, dict[int, str]] = {
    IOTA: dict(
        sorted(
            {
                **{measure.layout: name for name, measure in MEASURES.items()},
                1: "chrysalis",
                2: "ledger",
                3: "unspent",
                4: "stardust",
                5: "lookups",
                6: "proofs",
                FIRST_LAYOUT: "analytics",
                9: "logged",
                12: "native_tokens",
                13: "movements",
                14: "search",
                15: "listing_trees",
                16: "log",
                17: "selection",
                19: "booked_outputs",
            }.items()
        )
    ),
    WORMHOLE: {8: "wormhole", 11: "token_list", 18: "days"},
}
"""Protocol → layout → name. The first layout of a protocol also creates the tables that it shares with others. A
measure that is added to ms_analytics defines its own layout.
"""

OF_LEDGER = frozenset({3, 12, 13})
"""Layouts whose tables the ledger state fills. Migrating a store that has a ledger state resets it."""

OF_MESSAGES = frozenset(
    measure.layout for measure in MEASURES.values() if measure.kind is Kind.MESSAGE and measure.layout != FIRST_LAYOUT
)
"""Layouts that add a measure of messages, after which analysed milestones must be analysed again. Measures of the
ledger state need no mark: the load finds their columns null at the ledger index.
"""

SUFFIXES = {"sqlite": ".sqlite.sql", "cql": ".cql"}
ADDED = re.compile(r"ALTER TABLE (?:\S+\.)?(?P<table>\w+) ADD (?:COLUMN |\(\s*)(?P<column>\w+)")
"""A statement that adds columns: the table and the first column."""

KEYSPACE = "${keyspace}"
"""Placeholder in CQL files for the network's keyspace."""


class Migratable(WritableStore, Protocol):
    """What an adapter provides beyond the port to be created and checked."""

    @property
    def dialect(self) -> str:
        """A key of SUFFIXES."""

    @property
    def protocol(self) -> str:
        """A key of `db.schema.protocols.TABLES_OF`."""

    @property
    def atomic(self) -> bool:
        """Whether `execute` runs all statements or none."""

    def tables(self) -> frozenset[str]:
        """Names of the tables that exist; empty if the store does not exist."""

    def read_all(self, table: Table) -> list[Row]:
        """All rows of a table that is known to be small."""

    def native_rows(self, table: Table, names: Sequence[str], at_once: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yields all rows of a table with these columns, `at_once` at most each time, in the store's own values. Omits
        expired rows.
        """

    def has_column(self, table: str, column: str) -> bool:
        """Whether an existing table has this column."""

    def execute(self, statements: Iterable[str]) -> None:
        """Runs the statements of a migration. Creates the store if it does not exist."""

    def is_outdated(self) -> bool:
        """Whether files of the store have an earlier form, which `convert` replaces."""

    def convert(self) -> None:
        """Brings the files of the store into the current form, and serves readers meanwhile. If it is interrupted, the
        next call continues or begins again.
        """

    def check(self, chunk_size: int, checked: Checked) -> Iterator[Damage]:
        """Reads every row, and yields what is damaged. `chunk_size`: milestones per range."""

    def drift(self) -> list[str]:
        """How the store's tables differ from the schema, one sentence each."""


@dataclass(frozen=True)
class Migration:
    """One migration file."""

    name: str
    text: str
    of_ledger: bool = False
    of_messages: bool = False

    @cached_property
    def steps(self) -> "list[Migration]":
        """Its statements, each as its own migration: NAME.01, NAME.02, …"""
        return [Migration(f"{self.name}.{at:02}", f"{text};\n") for at, text in enumerate(self.statements, 1)]

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the text, hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def statements(self) -> list[str]:
        """The statements, without comments and final semicolons."""
        code = "\n".join(line for line in self.text.splitlines() if not line.startswith("--"))
        return [part.strip() for part in f"{code}\n".split(";\n") if part.strip()]


def is_done(store: Migratable, statement: str) -> bool:
    """Whether a statement that adds columns was executed, possibly without being recorded. It cannot be repeated."""
    added = ADDED.match(statement)
    return added is not None and added["table"] in store.tables() and store.has_column(added["table"], added["column"])


def render(layout: int, dialect: str, protocol: str = IOTA) -> Migration:
    """Renders the migration of a layout, as its file must be."""
    name, first = NAMES_OF[protocol][layout], min(NAMES_OF[protocol])
    # The names are those of the first migrations: stores recorded checksums of files that begin with this line.
    title = f"-- Layout {layout}: {name}. Rendered from db/schema.py by `python -m db.migrations --write`.\n"
    # `migrations` comes first: a migration is applied completely if it is recorded there.
    tables = [table for table in TABLES_OF[protocol] if max(table.layout, first) == layout]
    tables.sort(key=lambda table: table is not schema.migrations)
    older = [table for table in TABLES_OF[protocol] if table not in tables]
    grown = {table: [column for column in table.columns if column.layout == layout] for table in older}
    if dialect == "cql":
        title += CQL_REASONS
        bodies = [create_table_cql(table.at(layout), KEYSPACE) for table in tables]
        bodies += [add_columns_cql(table, added, KEYSPACE) for table, added in grown.items() if added]
    else:
        # The lease outlives generations and has its own file.
        bodies = [
            create_table_sqlite(table.at(layout)).replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1)
            for table in tables
            if table is not schema.lease
        ]
        bodies += [each for table, added in grown.items() for each in add_columns_sqlite(table, added)]
    text = title + "".join(f"\n{body};\n" for body in bodies)
    return Migration(f"{layout:04}_{name}", text, layout in OF_LEDGER, layout in OF_MESSAGES)


def migrations(dialect: str, protocol: str = IOTA) -> list[Migration]:
    """The committed files of a dialect and a protocol, in order, which a process reads once.

    Raises:
        StoreMismatch: A file is missing or differs from the schema.
    """
    return [_migration(DIRECTORY, layout, dialect, protocol) for layout in NAMES_OF[protocol]]


@cache
def _migration(directory: Path, layout: int, dialect: str, protocol: str) -> Migration:
    wanted = render(layout, dialect, protocol)
    file = directory / f"{wanted.name}{SUFFIXES[dialect]}"
    text = file.read_text(encoding="utf-8") if file.is_file() else None
    if text != wanted.text:
        state = "is missing" if text is None else "differs from db/schema"
        raise StoreMismatch(
            f"migration file {file.name} {state}; `python -m db.schema.migration_files --write` renders it"
        )
    return wanted


def unapplied(store: Migratable, network: str) -> list[Migration]:
    """Migrations that the store needs, in order. Raises StoreMismatch if its record contradicts the files."""
    files = migrations(store.dialect, store.protocol)
    recorded = list_recorded(store, network)
    known = {each.name: each for migration in files for each in (migration, *migration.steps)}
    for name, checksum in recorded.items():
        if name not in known:
            raise StoreMismatch(
                f"the store has migration {name}, which this version does not know; use a newer version"
            )
        if known[name].checksum != checksum:
            raise StoreMismatch(f"migration {name} was changed after the store applied it")
    return [migration for migration in files if migration.name not in recorded]


def list_recorded(store: Migratable, network: str) -> dict[str, str]:
    """Names of the applied migrations and steps, with their checksums."""
    if schema.migrations.name not in store.tables():
        return {}
    return {row["name"]: row["checksum"] for row in store.read_all(schema.migrations) if row["network"] == network}


def check(store: Migratable, expected: dict[str, str]) -> None:
    """Raises StoreMismatch unless the store exists, is up to date, and was created for `expected` (keyspace_info)."""
    tables = store.tables()
    if not tables:
        raise StoreMismatch("the store does not exist; create it with `permanode migrate`")
    check_info(store, expected)
    missing = unapplied(store, expected["network"])
    if missing:
        raise StoreMismatch(f"migration {missing[0].name} is missing; run `permanode migrate`")
    drift = store.drift()
    if drift:
        raise StoreMismatch(f"the store differs from the schema: {'; '.join(drift)}")


def check_info(store: Migratable, expected: dict[str, str]) -> None:
    """Raises StoreMismatch if keyspace_info contradicts `expected`. Keys that it does not have are not compared."""
    if schema.keyspace_info.name not in store.tables():
        return
    held = {row["name"]: row["value"] for row in store.read_all(schema.keyspace_info)}
    for name, value in expected.items():
        if name != "layout" and held.get(name, value) != value:
            raise StoreMismatch(f"the store was created with {name} {held[name]}, but the settings have {value}")


def write_files() -> list[Path]:
    """Renders every file. Called by `python -m db.schema.migration_files --write`."""
    written: list[Path] = []
    for dialect, suffix in SUFFIXES.items():
        for protocol, layout in [(each, layout) for each, names in NAMES_OF.items() for layout in names]:
            migration = render(layout, dialect, protocol)
            file = DIRECTORY / f"{migration.name}{suffix}"
            file.write_text(migration.text, encoding="utf-8")
            written.append(file)
    return written


if __name__ == "__main__":
    import sys

    if sys.argv[1:] != ["--write"]:
        raise SystemExit("usage: python -m db.schema.migration_files --write")
    for path in write_files():
        sys.stdout.write(f"{path.name}\n")
