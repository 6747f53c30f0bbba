"""SQLite as a store: one directory, one file per generation, reads that never wait for the writer.

Invariants:
1. Each thread reads through its own connection.
2. A large load builds the next generation beside the served one and switches to it. A small one is a transaction in WAL
   mode.
3. A point read allocates only what it returns. SQL is rendered once (`plans`).
"""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias, TypeVar

import apsw

from db import schema
from db.listing.deadline import remaining_s
from db.listing.turns import AT_ONCE, give_way, must_give_way
from db.model import Table
from db.schema.dialects import EXPIRES_AT
from db.schema.protocols import IOTA, TABLES_OF
from db.sqlite import files
from db.sqlite.batch import SqliteBatch, check_built
from db.sqlite.errors import store_error, translated
from db.sqlite.lease import LeaseFile
from db.sqlite.plans import ReadPlan, SqlScan
from db.sqlite.readers import BUSY_MS, STATEMENTS_KEPT, Readers
from db.sqlite.schema_check import disk_space, find_drift, has_column, list_tables, measure
from db.store import Bound, DeadlinePassed, DiskSpace, Key, Lease, Row, Scan, StoreError, TableSize, Where

PAGE_BYTES = 16_384
"""Page size of a new generation: messages of up to 4 kB fit into leaf pages without overflow pages."""

READ_THREADS = 4

T = TypeVar("T")

Connect: TypeAlias = Callable[[], apsw.Connection]
"""Returns the calling thread's connection, for one call or for a turn of the event loop."""


class SqliteStore:
    """A WritableStore in a directory. CURRENT names the served gen-NNNNNN.sqlite; lease.sqlite records the writer."""

    dialect = "sqlite"
    atomic = True

    def __init__(
        self, path: Path, *, writable: bool = True, clock: Callable[[], float] = time.time, protocol: str = IOTA
    ) -> None:
        self.path = path
        self.protocol = protocol
        # Tables of a generation. The lease outlives generations and has its own file.
        self._tables = [table for table in TABLES_OF[protocol] if table is not schema.lease]
        self._writable = writable
        self._clock = clock
        self._lease_file = LeaseFile(path / "lease.sqlite", clock)
        self._lease: Lease | None = None
        self._plans: dict[tuple[str, tuple[str, ...] | None], ReadPlan] = {}
        self._readers = Readers(path)
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._writing = threading.Lock()
        self._writer: tuple[str, apsw.Connection] | None = None

    # Reads

    async def get(self, table: Table, key: Key) -> Row | None:
        """The row with this whole primary key, or None. Expired rows do not exist."""
        if self._readers.inline:
            if must_give_way():
                await give_way()
            return self._get(self._readers.connection_of_turn, table, key)
        return await self._in_thread(lambda: self._get(self._readers.connection, table, key))

    async def get_many(self, table: Table, keys: Sequence[Key]) -> list[Row | None]:
        """One result per key, in the order of `keys`."""
        if self._readers.inline:
            rows: list[Row | None] = []
            for start in range(0, len(keys), AT_ONCE):
                if must_give_way():
                    await give_way()
                rows += [self._get(self._readers.connection_of_turn, table, key) for key in keys[start:][:AT_ONCE]]
            return rows
        return await self._in_thread(lambda: [self._get(self._readers.connection, table, key) for key in keys])

    async def slice(
        self,
        table: Table,
        partition: Key,
        *,
        lower: Bound | None = None,
        upper: Bound | None = None,
        reverse: bool = False,
        limit: int,
        columns: tuple[str, ...] | None = None,
    ) -> list[Row]:
        """Up to `limit` rows of one partition in clustering order (`reverse`: exactly backwards)."""
        plan = self._plans.get((table.name, columns)) or self._plan(table, columns)
        sql, parameters = plan.slice(partition, lower, upper, reverse=reverse)
        if plan.expires:
            parameters.append(int(self._clock()))
        parameters.append(limit)
        if self._readers.inline:
            if must_give_way():
                await give_way()
            return self._slice(self._readers.connection_of_turn, plan, sql, parameters)
        return await self._in_thread(lambda: self._slice(self._readers.connection, plan, sql, parameters))

    async def scan(
        self,
        table: Table,
        partition: Key,
        where: Where,
        *,
        lower: Bound | None = None,
        upper: Bound | None = None,
        reverse: bool = False,
        limit: int,
        columns: tuple[str, ...],
    ) -> Scan:
        """The rows of a slice that satisfy `where`, and the last row read."""
        plan = self._plans.get((table.name, columns)) or self._plan(table, columns)
        scan = plan.scan(partition, lower, upper, where, reverse=reverse, limit=limit, now_s=int(self._clock()))
        if self._readers.inline:
            if must_give_way():
                await give_way()
            return self._scan(self._readers.connection_of_turn, scan)
        return await self._in_thread(lambda: self._scan(self._readers.connection, scan))

    async def ping(self) -> None:
        """Returns when the served generation responds."""
        with translated(self.path):
            self._readers.connection().execute("SELECT 1").fetchone()

    async def describe(self) -> list[TableSize]:
        """Rows and bytes of every table, by reading it. Bytes are those of the values, including keys."""
        return await self._in_thread(lambda: measure(self._readers, self._tables))

    async def disk_space(self) -> DiskSpace:
        """Bytes of the served generation and its log, and those free on its file system."""
        return disk_space(self.path)

    def _get(self, connect: Connect, table: Table, key: Key) -> Row | None:
        plan = self._plans.get((table.name, None)) or self._plan(table)
        parameters = plan.key(key)
        if plan.expires:
            parameters.append(int(self._clock()))
        try:
            native = connect().execute(plan.get, parameters).fetchone()
        except apsw.Error as error:
            raise store_error(error, self.path) from error
        return None if native is None else plan.rows([native])[0]

    def _slice(self, connect: Connect, plan: ReadPlan, sql: str, parameters: Sequence[object]) -> list[Row]:
        try:
            return plan.rows(connect().execute(sql, parameters).fetchall())
        except apsw.Error as error:
            raise store_error(error, self.path) from error

    def _scan(self, connect: Connect, scan: SqlScan) -> Scan:
        try:
            return scan.run(connect())
        except apsw.Error as error:
            raise store_error(error, self.path) from error

    def _plan(self, table: Table, columns: tuple[str, ...] | None = None) -> ReadPlan:
        return self._plans.setdefault((table.name, columns), ReadPlan(table, columns))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(READ_THREADS, thread_name_prefix="sqlite-read")
        context = contextvars.copy_context()
        running = asyncio.get_running_loop().run_in_executor(self._pool, context.run, work)
        try:
            # The thread ends by itself when its statement reaches the deadline.
            return await asyncio.wait_for(running, remaining_s())
        except TimeoutError as error:
            raise DeadlinePassed("waiting for a thread") from error

    # Writes

    @contextmanager
    def batch(self, *, publish: bool = False) -> Iterator[SqliteBatch]:
        """A batch, committed when the block ends. Nothing of it is visible if the block raises."""
        self._check_writable()
        if self._lease is None:
            self._lease_file.check_free()
        self._readers.end_turn()  # a checkpoint would wait for it
        with self._writing, translated(self.path), self._building() if publish else self._appending() as batch:
            yield batch

    def nodes(self) -> int:
        """0: this process holds the rows."""
        return 0

    def acquire(self, owner: str, run: str, ttl_s: int) -> Lease:
        """Acquires the lease, or raises LeaseHeld. A holder that died on this machine, or expired, is replaced."""
        self._check_writable()
        self.path.mkdir(parents=True, exist_ok=True)
        self._lease = self._lease_file.acquire(owner, run, ttl_s)
        return self._lease

    def renew(self, lease: Lease, ttl_s: int) -> Lease:
        """Extends the lease. Raises LeaseHeld if it was lost."""
        return self._lease_file.renew(lease, ttl_s)

    def release(self, lease: Lease) -> None:
        """Releases the lease."""
        self._lease = None
        self._lease_file.release(lease)

    def holder(self) -> Lease | None:
        """The recorded holder, even if expired."""
        return self._lease_file.holder()

    def purge(self) -> int:
        """Removes expired rows and returns their number."""
        now = int(self._clock())
        with self.batch() as batch:
            purged = 0
            for table in (each for each in self._tables if each.ttl_s is not None):
                batch.connection.execute(f"DELETE FROM {table.name} WHERE {EXPIRES_AT} <= ?", (now,))
                purged += batch.connection.changes()
            return purged

    def close(self) -> None:
        """Checkpoints what this store wrote and closes connections."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        self._readers.close()
        self._close_writer()

    def _check_writable(self) -> None:
        if not self._writable:
            raise StoreError(f"{self.path} is open for reading only")

    def _fence(self) -> AbstractContextManager[object]:
        """A block around a commit: a run whose lease was taken over must not commit over its successor."""
        return nullcontext() if self._lease is None else self._lease_file.fence(self._lease)

    @contextmanager
    def _appending(self) -> Iterator[SqliteBatch]:
        """One transaction on the served generation."""
        files.remove_leftovers(self.path)
        connection = self._open_writer()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield SqliteBatch(connection, self._clock)
            with self._fence():
                connection.execute("COMMIT")
        except BaseException:
            # SQLite itself ends the transaction after some errors of the disk.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self._readers.look_again()
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def _building(self, *, create: bool = False) -> Iterator[SqliteBatch]:
        """The next generation, built from a copy of the served one. Becomes the served one if the block ends without an
        error.
        """
        files.remove_leftovers(self.path)
        served = files.current_generation(self.path) if create else files.served_generation(self.path)
        self._close_writer()
        generation = files.next_generation(self.path)
        connection = apsw.Connection(str(self.path / generation))
        try:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA cache_size = -262144")
            if served is not None:
                with connection.backup("main", self._readers.connection(), "main") as copy:
                    copy.step()
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = OFF")
            batch = SqliteBatch(connection, self._clock)
            connection.execute("BEGIN")
            yield batch
            connection.execute("COMMIT")
            # The header says WAL from here. Leaving exclusive mode first allows the side files to be removed at close.
            connection.execute("PRAGMA locking_mode = NORMAL")
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        check_built(self.path / generation)
        files.fsync_generation(self.path, generation)
        with self._fence():
            files.publish(self.path, generation)
        self._readers.look_again()
        files.remove_leftovers(self.path)

    def _open_writer(self) -> apsw.Connection:
        generation = files.served_generation(self.path)
        if self._writer is not None:
            if self._writer[0] == generation:
                return self._writer[1]
            self._close_writer()
        connection = apsw.Connection(
            str(self.path / generation), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=STATEMENTS_KEPT
        )
        connection.set_busy_timeout(BUSY_MS)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA cache_size = -131072")
        self._writer = (generation, connection)
        return connection

    def _close_writer(self) -> None:
        if self._writer is not None:
            connection, self._writer = self._writer[1], None
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()

    def tables(self) -> frozenset[str]:
        """Names of the tables that exist; empty if the store does not exist."""
        return frozenset() if files.current_generation(self.path) is None else list_tables(self._readers)

    def has_column(self, table: str, column: str) -> bool:
        """Whether an existing table has this column."""
        return has_column(self._readers, table, column)

    def read_all(self, table: Table) -> list[Row]:
        """All rows of a table that is known to be small."""
        plan = self._plans.get((table.name, None)) or self._plan(table)
        return self._slice(self._readers.connection, plan, f"SELECT {', '.join(table.names)} FROM {table.name}", ())

    def execute(self, statements: Iterable[str]) -> None:
        """Runs the statements of a migration, all or none. Creates the first generation."""
        self._check_writable()
        new = files.current_generation(self.path) is None
        self.path.mkdir(parents=True, exist_ok=True)
        with self._writing, translated(self.path), self._building(create=True) if new else self._appending() as batch:
            for statement in statements:
                batch.connection.execute(statement)

    def drift(self) -> list[str]:
        """How the store's tables differ from the schema, one sentence each."""
        return find_drift(self._readers, self._tables)
