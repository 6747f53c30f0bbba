"""`permanode fsck --deep`: compares all rows of a store with those that its lake leads to, table by table.

Invariants:
1. Nothing of store or lake is changed.
2. A table counts as compared after its last row. A check that was interrupted continues with the next table, if the
   lake is the same.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from db import schema
from db.connect import StoreSettings
from db.schema.protocols import IOTA, WORMHOLE
from etl.deep_check import iota, wormhole
from etl.deep_check.compare import Compared, Fault, compare_table
from etl.deep_check.engine import Database, Files, define_lake, files_of
from etl.deep_check.queries import compared, queries
from etl.deep_check.stored import CheckedStore
from etl.deep_check.supply import SUPPLY, check_supply

MEMORY = "2GB"

_DEFINE = {IOTA: iota.define, WORMHOLE: wormhole.define}
_READ_STORE = {IOTA: iota.read_store, WORMHOLE: wormhole.read_store}

WHERE = {
    schema.metrics_cache.name: "date NOT IN (FROM due_days)",
    schema.daily_analytics.name: "date NOT IN (FROM due_days)",
}
"""Rows of the store that are compared. Days that the next load computes again are not."""


class LakeChanged(Exception):
    """The lake changed while it was compared, so rows of both differ."""


@dataclass(frozen=True)
class Setup:
    """How to check.

    Attributes:
        settings: the store's settings.
        lake: path or URL of the lake.
        work: file that keeps the progress, so that the same check can be continued. None: nothing is kept.
        memory: the most memory of DuckDB.
        threads: its threads.
    """

    settings: StoreSettings
    lake: str
    work: Path | None = None
    memory: str = MEMORY
    threads: int = 2


class DeepCheck:
    """A store and its lake as they are when this is created. `names` are the results, in order."""

    def __init__(self, setup: Setup, store: CheckedStore, database: Database, files: Files) -> None:
        self._store = store
        self._database = database
        self._tables = {table.name: table for table in compared(setup.settings.protocol)}
        self._protocol = setup.settings.protocol
        self.names = (*self._tables, SUPPLY) if self._protocol == IOTA else (*self._tables,)
        what = json.dumps([setup.settings.url, setup.settings.network, schema.LAYOUT, files])
        is_continued = self._is_noted(what)
        define_lake(database, files)
        _DEFINE[self._protocol](database, setup.settings, store, is_continued=is_continued)
        for query in queries(self._protocol):
            database.run(f"CREATE OR REPLACE VIEW {query.view} AS {query.text}")
        if not is_continued:
            database.run("DELETE FROM done")
            database.run("DELETE FROM checked")
            database.run("INSERT INTO checked VALUES (?)", [what])

    def read_store(self) -> None:
        """Reads the facts of the store again, after its rows have changed."""
        _READ_STORE[self._protocol](self._database, self._store)

    def compare(self, name: str, read: Callable[[int], None] = lambda _: None) -> Compared:
        """Compares a table, or the token supply. `read` receives the number of rows read so far."""
        if name == SUPPLY:
            return check_supply(self._database)
        where = WHERE.get(name, "true")
        return compare_table(self._database, self._store, self._tables[name], read, where=where)

    def done(self) -> dict[str, Compared]:
        """What an interrupted check of the same lake has compared."""
        return {name: _parsed(text) for name, text in self._database.run("FROM done")}

    def note(self, found: Compared) -> None:
        """Keeps a result for a check that continues this one."""
        self._database.run("INSERT INTO done VALUES (?, ?)", [found.table, json.dumps(asdict(found))])

    def _is_noted(self, what: str) -> bool:
        self._database.run("CREATE TABLE IF NOT EXISTS done (name VARCHAR, compared VARCHAR)")
        self._database.run("CREATE TABLE IF NOT EXISTS checked (what VARCHAR)")
        found = self._database.run("SELECT 1 FROM checked WHERE what = ?", [what])
        return bool(found)


def check_rows(
    setup: Setup, store: CheckedStore, read: Callable[[str, int], None] = lambda *_: None
) -> Iterator[Compared]:
    """Compares each table and yields the result, last that of the token supply. `read` receives the table and the
    number of its rows read so far.

    Raises LakeChanged, and OSError for a lake that cannot be read.
    """
    files = files_of(setup.lake)
    with TemporaryDirectory(prefix="permanode-fsck-") as folder:
        file = ":memory:" if setup.work is None else str(setup.work)
        with closing(Database(file, setup.memory, setup.threads, folder)) as database:
            check = DeepCheck(setup, store, database, files)
            done = check.done()
            for name in check.names:
                if name in done:
                    yield done[name]
                    continue
                read(name, 0)
                found = check.compare(name, _reader(name, read))
                check.note(found)
                yield found
    if files_of(setup.lake) != files:
        raise LakeChanged("a load changed the lake during the check; run it again while no load runs")
    if setup.work is not None:
        setup.work.unlink(missing_ok=True)


def _reader(name: str, read: Callable[[str, int], None]) -> Callable[[int], None]:
    return lambda rows: read(name, rows)


def _parsed(text: str) -> Compared:
    values = json.loads(text)
    faults = [
        Fault(**each | {"columns": {name: (one, other) for name, (one, other) in each["columns"].items()}})
        for each in values["faults"]
    ]
    return Compared(**values | {"faults": faults})
