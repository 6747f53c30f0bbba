"""Cassandra or ScyllaDB as a store: one keyspace per network. Every query reads one partition.

Invariants:
1. Reads are coroutines. Responses arrive on the driver's threads, so no read blocks a thread of the server.
2. Rows that may change (frontier, ranges, hints, slices) are read from a quorum of the local datacenter, and writes
   need
   one. A row that no longer changes is read from one replica; before it counts as missing, a quorum is read
   (docs/decisions/0008).
"""

import asyncio
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from db import schema
from db.cassandra.address import Address, ClusterSettings
from db.cassandra.batch import CassandraBatch
from db.cassandra.compression import compress_tables, find_option, find_uncompressed
from db.cassandra.errors import OutOfRange
from db.cassandra.fsck import find_damage, read_rows
from db.cassandra.lease import CassandraLease
from db.cassandra.plans import IMMUTABLE, ReadPlan, compressed_cql, in_range, out_of_range, sizes_cql
from db.cassandra.queries import reading
from db.cassandra.schema_check import create_keyspace, find_drift, has_column, list_tables
from db.cassandra.session import CassandraSession
from db.damage import Checked, Damage
from db.listing.conditions import columns_of, meeting
from db.model import Table
from db.retry import retry
from db.schema.migration_files import KEYSPACE
from db.schema.protocols import IOTA, TABLES_OF
from db.statements import shape_of
from db.store import (
    Bound,
    DiskSpace,
    Key,
    Lease,
    LeaveOut,
    Passed,
    Row,
    Scan,
    StoreError,
    StoreUnavailable,
    TableSize,
    Where,
)
from db.together import together

GETS_IN_FLIGHT = 32

ESTIMATES_KEPT_S = 300.0
"""How often the nodes estimate the sizes of their tables."""


class CassandraStore:
    """A WritableStore in a keyspace."""

    dialect = "cql"
    atomic = False

    def __init__(
        self, address: Address, settings: ClusterSettings, *, writable: bool = True, protocol: str = IOTA
    ) -> None:
        """Connects. Raises StoreUnavailable if no node responds."""
        self.protocol = protocol
        self._session = CassandraSession(address, settings)
        self._query, self._ping = reading(address, settings, self._session, writable=writable)
        self._keyspace = address.keyspace
        self._writable = writable
        self._quorum, self._one = settings.consistency, settings.consistency_immutable
        self._retry_s = settings.write_patience_s
        self._lease_row = CassandraLease(self._session, address.keyspace)
        self._lease: tuple[Lease, int] | None = None
        self._plans: dict[tuple[str, tuple[str, ...] | None], ReadPlan] = {}
        self._space: tuple[float, DiskSpace] | None = None
        self._damage: str | None = None

    # Reads

    async def get(self, table: Table, key: Key) -> Row | None:
        """The row with this whole primary key, or None. Expired rows do not exist."""
        try:
            return await self._get(table, key)
        except OutOfRange:
            if out_of_range(table, table.key, key) is None:
                raise
            return None

    async def _get(self, table: Table, key: Key) -> Row | None:
        cql = (self._plans.get((table.name, None)) or self._plan(table)).get
        is_settled = IMMUTABLE.get(table.name)
        if is_settled is not None:
            rows = await self._query(cql, key, self._one)
            if rows and is_settled(rows[0]):
                return rows[0]
        rows = await self._query(cql, key, self._quorum)
        return rows[0] if rows else None

    async def get_many(self, table: Table, keys: Sequence[Key]) -> list[Row | None]:
        """One result per key, in the order of `keys`."""
        answers: list[Row | None] = [None] * len(keys)
        left = iter(enumerate(keys))

        async def work() -> None:
            for index, key in left:
                answers[index] = await self.get(table, key)

        await together(*(work() for _ in range(min(GETS_IN_FLIGHT, len(keys)))))
        return answers

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
        try:
            return await self._slice(plan, partition, (lower, upper), limit, reverse=reverse)
        except OutOfRange:
            ends = in_range(table, lower, is_upper=False), in_range(table, upper, is_upper=True)
            if ends == (lower, upper) and out_of_range(table, table.partition, partition) is None:
                raise
        if out_of_range(table, table.partition, partition) is not None:
            return []
        if any(end and not end.values and not end.inclusive for end in ends):
            return []
        return await self._slice(plan, partition, ends, limit, reverse=reverse)

    async def _slice(
        self, plan: ReadPlan, partition: Key, ends: tuple[Bound | None, Bound | None], limit: int, *, reverse: bool
    ) -> list[Row]:
        cql = plan.slice(shape_of(*ends, reverse=reverse))
        values = [value for end in ends if end for value in end.values]
        return await self._query(cql, [*partition, *values, limit], self._quorum)

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
        """The rows of a slice that satisfy `where`, and the last row read. The server returns all rows, and the filter
        runs here.
        """
        read = tuple(dict.fromkeys((*columns, *columns_of(where))))
        found = await self.slice(table, partition, lower=lower, upper=upper, reverse=reverse, limit=limit, columns=read)
        rows = [{name: row[name] for name in columns} for row in meeting(found, where)]
        if len(found) == limit or (found and not rows):
            last = {name: found[-1][name] for name in columns}
            if not rows or rows[-1] != last:
                rows.append(Passed(last))
        return Scan(rows, len(found))

    async def ping(self) -> None:
        """Returns when a node responds."""
        await self._ping("SELECT key FROM system.local", (), "ONE")

    def damage(self) -> str | None:
        """The damage that this process found first, or None."""
        return self._damage

    def note_damage(self, cause: str) -> None:
        """Notes damage that a caller found in rows."""
        self._damage = self._damage or cause

    async def describe(self, tables: Collection[Table] | None = None) -> list[TableSize]:
        """Bytes of tables as estimated by the nodes every few minutes, for data on disk only. Rows only if each is
        its own partition.
        """
        return await asyncio.to_thread(self._describe, tables)

    async def disk_space(self) -> DiskSpace:
        """The sum of what the nodes estimate for one replica, read again after ESTIMATES_KEPT_S."""
        now = time.monotonic()
        if self._space is not None and now - self._space[0] < ESTIMATES_KEPT_S:
            return self._space[1]
        try:
            sizes = [each.bytes for each in await self.describe() if each.bytes is not None]
        except StoreUnavailable:
            raise
        except StoreError:
            # The role may not read the estimates.
            sizes = []
        found = DiskSpace(sum(sizes) if sizes else None, None)
        # Without nodes or estimates, the next call looks again.
        self._space = (now, found) if sizes else None
        return found

    def _describe(self, tables: Collection[Table] | None) -> list[TableSize]:
        partitions: dict[str, int] = {}
        sizes: dict[str, int] = {}
        for host in self._session.hosts():
            for row in self._session.run_on(host, sizes_cql(), (self._keyspace,)):
                name, count = row["table_name"], row["partitions_count"]
                partitions[name] = partitions.get(name, 0) + count
                sizes[name] = sizes.get(name, 0) + count * row["mean_partition_size"]
        return [
            TableSize(table.name, None if table.clustering else partitions.get(table.name), sizes.get(table.name))
            for table in TABLES_OF[self.protocol]
            if tables is None or table in tables
        ]

    def _plan(self, table: Table, columns: tuple[str, ...] | None = None) -> ReadPlan:
        plan = self._plans[table.name, columns] = ReadPlan(table, self._keyspace, columns)
        return plan

    # Writes

    @contextmanager
    def batch(
        self,
        *,
        publish: bool = False,  # noqa: ARG002 (there are no generations)
        without: Collection[Table] = (),
        leave_out: LeaveOut | None = None,  # noqa: ARG002 (a damaged replica is repaired from the others)
    ) -> Iterator[CassandraBatch]:
        """A batch. Its rows are durable step by step. A run that lost its lease raises at the end.

        `publish` has no effect: readers follow `ranges` and `ledger_frontier`, which are written last. The tables of
        `without` are cleared in their order.
        """
        self._check_writable()
        retry(self._check_lease, self._retry_s)
        batch = CassandraBatch(self._session, self._keyspace, self._retry_s)
        for table in without:
            batch.clear(table)
        yield batch
        retry(self._check_lease, self._retry_s)

    def nodes(self) -> int:
        """The number of nodes known to be up."""
        return len(self._session.hosts())

    def acquire(self, owner: str, run: str, ttl_s: int) -> Lease:
        """Acquires the lease, or raises LeaseHeld. A holder that died on this machine, or expired, is replaced."""
        self._check_writable()
        if schema.lease.name not in self.tables():
            create_keyspace(self._session, self._keyspace)
        lease = self._lease_row.acquire(owner, run, ttl_s)
        self._lease = lease, ttl_s
        return lease

    def renew(self, lease: Lease, ttl_s: int) -> Lease:
        """Extends the lease. Raises LeaseHeld if it was lost."""
        return self._lease_row.renew(lease, ttl_s)

    def release(self, lease: Lease) -> None:
        """Releases the lease."""
        self._lease = None
        self._lease_row.release(lease)

    def holder(self) -> Lease | None:
        """The recorded holder, until it expires."""
        return self._lease_row.holder() if schema.lease.name in self.tables() else None

    def purge(self) -> int:
        """0: the cluster removes expired rows itself."""
        self._check_writable()
        self._check_lease()
        return 0

    def close(self) -> None:
        """Closes connections."""
        self._session.close()

    def tables(self) -> frozenset[str]:
        """Names of the tables that exist; empty if the store does not exist."""
        return list_tables(self._session, self._keyspace)

    def read_all(self, table: Table) -> list[Row]:
        """All rows of a table that is known to be small."""
        return self._session.run(f"SELECT {', '.join(table.names)} FROM {self._keyspace}.{table.name}")

    def native_rows(self, table: Table, names: Sequence[str], at_once: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yields all rows of a table, up to `at_once` each time, by parts of the token ring. Ids are hexadecimal."""
        yield from read_rows(self._session, self._keyspace, table, names, at_once)

    def has_column(self, table: str, column: str) -> bool:
        """Whether an existing table has this column."""
        return has_column(self._session, self._keyspace, table, column)

    def execute(self, statements: Iterable[str]) -> None:
        """Runs the statements of a migration one after the other."""
        self._check_writable()
        option = find_option(self._session, self._keyspace)
        for statement in statements:
            self._session.define(compressed_cql(statement.replace(KEYSPACE, self._keyspace), option))

    def is_outdated(self) -> bool:
        """Whether a table has another compression than new tables."""
        return bool(find_uncompressed(self._session, self._keyspace))

    def convert(self) -> None:
        """Sets the compression of these tables, one after the other."""
        self._check_writable()
        compress_tables(self._session, self._keyspace)

    def check(self, chunk_size: int, checked: Checked) -> Iterator[Damage]:
        """Reads every row, and yields what no quorum returns or has another hash."""
        tables = TABLES_OF[self.protocol]
        for each in find_damage(self._session, self._keyspace, tables, chunk_size, checked, self._retry_s):
            self.note_damage(f"{each.table}: {each.cause}")
            yield each

    def drift(self) -> list[str]:
        """How the store's tables differ from the schema, one sentence each."""
        return find_drift(self._session, self._keyspace, TABLES_OF[self.protocol])

    def _check_lease(self) -> None:
        """Raises LeaseHeld if this run lost its lease, or has none and another run holds it."""
        if self._lease is None:
            self._lease_row.check_free()
        else:
            self._lease_row.renew(*self._lease)

    def _check_writable(self) -> None:
        if not self._writable:
            raise StoreError(f"{self._session.address} is open for reading only")
