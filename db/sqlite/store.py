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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import apsw

from db import schema
from db.damage import Checked, Damage
from db.listing.deadline import remaining_s
from db.listing.turns import AT_ONCE, give_way, must_give_way
from db.model import Table
from db.schema.dialects import EXPIRES_AT
from db.schema.protocols import IOTA, TABLES_OF
from db.sqlite import damage, files
from db.sqlite.batch import SqliteBatch
from db.sqlite.checksums import has_checksums
from db.sqlite.errors import store_error, translated
from db.sqlite.fsck import check_served
from db.sqlite.lease import LeaseFile
from db.sqlite.plans import ReadPlan, SqlScan
from db.sqlite.readers import Readers
from db.sqlite.schema_check import disk_space, find_drift, has_column, list_tables, measure, run_statement
from db.sqlite.stored_form import FORM, form_of
from db.sqlite.writer import Writer
from db.store import (
    Bound,
    DeadlinePassed,
    DiskSpace,
    Key,
    Lease,
    LeaveOut,
    Row,
    Scan,
    StoreError,
    TableSize,
    Where,
)

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
        self._writer = Writer(path, self._tables, self._readers, clock, self._fence)

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
    ) -> Sequence[Row]:
        """Up to `limit` rows of one partition in clustering order (`reverse`: exactly backwards)."""
        plan = self._plans.get((table.name, columns)) or self._plan(table, columns)
        sql, parameters = plan.slice(partition, lower, upper, reverse=reverse)
        if plan.expires:
            parameters.append(int(self._clock()))
        parameters.append(limit)
        if self._readers.inline:
            if must_give_way():
                await give_way()
            read = self._kept if plan.is_kept else self._slice
            return read(self._readers.connection_of_turn, plan, sql, parameters)
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

    def damage(self) -> str | None:
        """The damage that a read of the served generation found first, in any process, or None."""
        return damage.noted(self.path)

    def note_damage(self, cause: str) -> None:
        """Notes damage that a caller found in rows."""
        damage.note(self.path, cause)

    async def describe(self, tables: Collection[Table] | None = None) -> list[TableSize]:
        """Rows and bytes of tables, by reading them. Bytes are those of the values, including keys."""
        return await self._in_thread(
            lambda: measure(self._readers, [each for each in self._tables if tables is None or each in tables])
        )

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
        return None if native is None else plan.form.rows((native,))[0]

    def _slice(self, connect: Connect, plan: ReadPlan, sql: str, parameters: Sequence[object]) -> Sequence[Row]:
        try:
            return plan.form.read(connect().execute(sql, parameters).fetchall())
        except apsw.Error as error:
            raise store_error(error, self.path) from error

    def _kept(self, connect: Connect, plan: ReadPlan, sql: str, parameters: Sequence[Any]) -> Sequence[Row]:
        """Like `_slice`. Reads once as long as the data do not change."""
        kept, key = self._readers.kept_of_turn(), (sql, *parameters)
        rows = kept.get(key)
        if rows is None:
            rows = kept[key] = self._slice(connect, plan, sql, parameters)
        return rows

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
    def batch(
        self, *, publish: bool = False, without: Collection[Table] = (), leave_out: LeaveOut | None = None
    ) -> Iterator[SqliteBatch]:
        """A batch, committed when the block ends. Nothing of it is visible if the block raises."""
        self._check_writable()
        if self._lease is None:
            self._lease_file.check_free()
        self._readers.end_turn()  # a checkpoint would wait for it
        written = self._writer.build(without, leave_out) if publish else self._writer.append()
        with self._writing, translated(self.path), written as batch:
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
        with translated(self.path):
            self._writer.close()

    def _check_writable(self) -> None:
        if not self._writable:
            raise StoreError(f"{self.path} is open for reading only")

    def _fence(self) -> AbstractContextManager[object]:
        """A block around a commit: a run whose lease was taken over must not commit over its successor."""
        return nullcontext() if self._lease is None else self._lease_file.fence(self._lease)

    def tables(self) -> frozenset[str]:
        """Names of the tables that exist; empty if the store does not exist."""
        return frozenset() if files.current_generation(self.path) is None else list_tables(self._readers)

    def has_column(self, table: str, column: str) -> bool:
        """Whether an existing table has this column."""
        return has_column(self._readers, table, column)

    def read_all(self, table: Table) -> list[Row]:
        """All rows of a table that is known to be small."""
        plan = self._plans.get((table.name, None)) or self._plan(table)
        every = f"SELECT {', '.join(table.names)} FROM {table.name}"
        with translated(self.path):
            return plan.form.rows(self._readers.connection().execute(every).fetchall())

    def native_rows(self, table: Table, names: Sequence[str], at_once: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yields all rows of a table, up to `at_once` each time. Ids are bytes, booleans 0 or 1. Omits expired rows."""
        alive = "" if table.ttl_s is None else f" WHERE {EXPIRES_AT} > {int(self._clock())}"
        with translated(self.path):
            cursor = self._readers.connection().cursor()
            try:
                cursor.execute(f"SELECT {', '.join(names)} FROM {table.name}{alive}")
                while rows := [*islice(cursor, at_once)]:
                    yield rows
            finally:
                cursor.close(force=True)

    def execute(self, statements: Iterable[str]) -> None:
        """Runs the statements of a migration, all or none. Creates the first generation, in the current form."""
        self._check_writable()
        generation = files.current_generation(self.path)
        self.path.mkdir(parents=True, exist_ok=True)
        written = self._writer.build(first=True) if generation is None else self._writer.append()
        is_packed = generation is None or form_of(self.path / generation) == FORM
        with self._writing, translated(self.path), written as batch:
            for statement in statements:
                run_statement(batch.connection, statement, self._tables, is_packed=is_packed)

    def is_outdated(self) -> bool:
        """Whether the served generation has no checksums, or an earlier form than this version writes."""
        generation = files.current_generation(self.path)
        if generation is None:
            return False
        with translated(self.path):
            return form_of(self.path / generation) < FORM or not has_checksums(self.path / generation)

    def convert(self) -> None:
        """Writes the served generation again in the current form."""
        with self.batch(publish=True):
            pass

    def check(self, chunk_size: int, checked: Checked) -> Iterator[Damage]:
        """Reads every page and row of the served generation, and then yields what is damaged."""
        return check_served(self.path, self._tables, chunk_size, checked)

    def drift(self) -> list[str]:
        """How the store's tables differ from the schema, one sentence each."""
        if self.is_outdated():
            return ["its files have an earlier form; run `permanode migrate`, which writes them again"]
        if form_of(self.path / files.served_generation(self.path)) > FORM:
            return ["its files have a later form, which this version does not know; use a newer version"]
        return find_drift(self._readers, self._tables)
