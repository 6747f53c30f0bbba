"""`permanode fsck --deep`: compares all rows of a store with those that its lake leads to, table by table.

Invariants:
1. Nothing of store or lake is changed.
2. A table counts as compared after its last row. A check that was interrupted continues with the next table, if the
   files that it began with still exist.
3. Loads may run meanwhile. A row is a fault only if it differs in the same way a second time, from the lake as it was
   at a moment without a load after the first comparison. A row that a load wrote in between is the recomputed one by
   then.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from db import schema
from db.connect import StoreSettings
from db.leases import is_dead
from db.model import Table
from db.schema.protocols import IOTA, WORMHOLE
from db.store import Lease
from etl.deep_check import iota, wormhole
from etl.deep_check.compare import Compared, Fault, compare_table
from etl.deep_check.engine import Database, Files, define_lake, files_of
from etl.deep_check.queries import compared, queries
from etl.deep_check.stored import CheckedStore
from etl.deep_check.supply import SUPPLY, check_supply

MEMORY = "2GB"

RETRY_S = 0.02
"""Seconds between two looks whether a load runs. A follower pauses longer between its loads."""

_DEFINE = {IOTA: iota.define, WORMHOLE: wormhole.define}
_READ_STORE = {IOTA: iota.read_store, WORMHOLE: wormhole.read_store}

_OWN_LOG = "all_owned() OR EXISTS (FROM log_texts)"
"""A selective store may have a log of another archive, which its lake does not have."""

WHERE = {
    # Those of a selective store are copies: nothing in its lake leads to them.
    **{table.name: "all_owned()" for table in (schema.interval_roots, schema.listing_tiles, schema.listing_parts)},
    **{table.name: _OWN_LOG for table in (schema.log_tiles, schema.log_heads)},
    schema.metrics_cache.name: "date NOT IN (FROM due_days)",
    schema.daily_analytics.name: "date NOT IN (FROM due_days)",
}
"""Rows of the store that are compared. Days that the next load computes again are not."""


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
    """A store, and the files of its lake that it is compared with. `names` are the results, in order."""

    def __init__(self, setup: Setup, store: CheckedStore, database: Database, files: Files) -> None:
        self._store = store
        self._database = database
        self._protocol = setup.settings.protocol
        self._tables = {table.name: table for table in compared(self._protocol)}
        self.names = (*self._tables, SUPPLY) if self._protocol == IOTA else (*self._tables,)
        database.run("CREATE TABLE IF NOT EXISTS computed (files VARCHAR)")
        held = json.dumps(files)
        is_computed = bool(database.run("SELECT 1 FROM computed WHERE files = ?", [held]))
        if not is_computed:
            database.run("DELETE FROM computed")
        define_lake(database, files)
        _DEFINE[self._protocol](database, setup.settings, setup.lake, store, is_continued=is_computed)
        for query in queries(self._protocol):
            if not (query.is_kept and is_computed):
                kind = "TABLE" if query.is_kept else "VIEW"
                database.run(f"CREATE OR REPLACE {kind} {query.view} AS {query.text}")
        if not is_computed:
            database.run("INSERT INTO computed VALUES (?)", [held])
        self._columns = database.columns()

    def read_store(self) -> None:
        """Reads the facts of the store again, after its rows have changed."""
        _READ_STORE[self._protocol](self._database, self._store)

    def compare(self, name: str, read: Callable[[int], None] = lambda _: None) -> Compared:
        """Compares a table, or the token supply. `read` receives the number of rows read so far."""
        if name == SUPPLY:
            return check_supply(self._database)
        return self._compared(self._tables[name], read)

    def confirm(self, found: Compared, read: Callable[[int], None] = lambda _: None) -> Compared:
        """Compares a table again, after `compare` has found differences: keeps those that are still the same."""
        if found.table == SUPPLY:
            again = check_supply(self._database)
            again.faults = [each for each in again.faults if each in found.faults]
            return again if again.faults else Compared(SUPPLY, again.rows)
        return self._compared(self._tables[found.table], read, is_repeated=True)

    def _compared(self, table: Table, read: Callable[[int], None], *, is_repeated: bool = False) -> Compared:
        offered = self._columns[f"expected_{table.name}"]
        where = WHERE.get(table.name, "true")
        return compare_table(self._database, self._store, table, offered, read, where=where, is_repeated=is_repeated)


class _Progress:
    """What a check keeps, so that it can be continued: the files that it began with, and finished tables."""

    def __init__(self, setup: Setup, database: Database) -> None:
        self._database = database
        self._what = json.dumps([setup.settings.url, setup.settings.network, schema.LAYOUT, setup.lake])
        database.run("CREATE TABLE IF NOT EXISTS begun (what VARCHAR, files VARCHAR)")
        database.run("CREATE TABLE IF NOT EXISTS finished (name VARCHAR, compared VARCHAR)")

    def files(self, now: Files) -> Files:
        """The files to compare with: those of an interrupted check as long as all of them exist, else those of now."""
        for (text,) in self._database.run("SELECT files FROM begun WHERE what = ?", [self._what]):
            files: Files = json.loads(text)
            if files == now or all(Path(path).exists() for paths in files.values() for path in paths):
                return files
        for table in ("begun", "finished"):
            self._database.run(f"DELETE FROM {table}")
        self._database.run("INSERT INTO begun VALUES (?, ?)", [self._what, json.dumps(now)])
        return now

    def finished(self) -> dict[str, Compared]:
        """The results so far."""
        return {name: _parsed(text) for name, text in self._database.run("FROM finished")}

    def note(self, found: Compared) -> None:
        """Keeps a result."""
        self._database.run("INSERT INTO finished VALUES (?, ?)", [found.table, json.dumps(asdict(found))])


def check_rows(
    setup: Setup,
    store: CheckedStore,
    read: Callable[[str, int], None] = lambda *_: None,
    waits: Callable[[Lease], None] = lambda _: None,
) -> Iterator[Compared]:
    """Compares each table and yields the results: first those of tables without faults, then the others in order, last
    that of the token supply. `read` receives the table and the number of its rows read so far, `waits` the holder of
    the lease for whose end the check waits before it compares a table again.

    Raises OSError for a lake that cannot be read.
    """
    with TemporaryDirectory(prefix="permanode-fsck-") as folder:
        file = ":memory:" if setup.work is None else str(setup.work)
        with closing(Database(file, setup.memory, setup.threads, folder)) as database:
            progress = _Progress(setup, database)
            check = DeepCheck(setup, store, database, progress.files(files_of(setup.lake)))
            finished = progress.finished()
            differing = []
            for name in check.names:
                if name not in finished:
                    read(name, 0)
                    finished[name] = check.compare(name, _reader(name, read))
                    progress.note(finished[name])
                if finished[name].differing:
                    differing.append(finished[name])
                else:
                    yield finished[name]
            if differing:
                check = DeepCheck(setup, store, database, _settled_files(setup.lake, store, waits))
                for each in differing:
                    read(each.table, 0)
                    yield check.confirm(each, _reader(each.table, read))
    if setup.work is not None:
        setup.work.unlink(missing_ok=True)


def _settled_files(lake: str, store: CheckedStore, waits: Callable[[Lease], None]) -> Files:
    """The files of the lake at a moment when no load runs, so that the store has all rows that follow from them."""
    while True:
        lease = _load(store)
        files = files_of(lake)
        if lease is None and _load(store) is None and files_of(lake) == files:
            return files
        if lease is not None:
            waits(lease)
        time.sleep(RETRY_S)


def _load(store: CheckedStore) -> Lease | None:
    """The lease of a load that runs."""
    held = store.holder()
    return None if held is None or held.expires_at < 1_000 * time.time() or is_dead(held) else held


def _reader(name: str, read: Callable[[str, int], None]) -> Callable[[int], None]:
    return lambda rows: read(name, rows)


def _parsed(text: str) -> Compared:
    values = json.loads(text)
    faults = [
        Fault(**each | {"columns": {name: (one, other) for name, (one, other) in each["columns"].items()}})
        for each in values["faults"]
    ]
    return Compared(**values | {"faults": faults})
