"""The port of a store: protocols, frozen values and errors.

Invariants:
1. Every query reads one partition. `scan` filters a partition's rows inside the store.
2. Values are those of `db.model.Type`. Rows are dicts by column name.
3. Reads are coroutines: a cluster responds asynchronously, SQLite inline. Writes are synchronous, because a single
   writer loads a store.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from db.model import Table

Value: TypeAlias = str | bytes | bool | int | None
Row: TypeAlias = dict[str, Any]
"""Values by column name, each a Value of its column's type, which mypy cannot express per name."""
Key: TypeAlias = tuple[Value, ...]


class StoreError(Exception):
    """Base class of a store's errors."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or did not respond in time. A retry may succeed."""


class StoreDamaged(StoreError):
    """Stored data differ from what was written. `permanode fsck` finds all of them."""


class DeadlinePassed(StoreError):
    """The query exceeded the deadline of the request (db.listing.deadline)."""


class StoreMismatch(StoreError):
    """The store was created for something else: network, chunk_size, partition_size, layout or migrations differ."""


class NotFound(StoreError):
    """A `get_` query found nothing. The message names what is missing."""


class NotKeptHere(NotFound):
    """A selective store does not keep this. The message is complete."""


class LedgerUnknown(StoreError):
    """The query needs the ledger state, and the store has none. The message says how to add it."""


class WrongBalance(StoreError):
    """Rows of the store contradict each other: movements do not add up to the balance after a milestone."""

    def __init__(self, ledger_index: int, found: int, stored: int) -> None:
        super().__init__(
            f"the statement does not reconcile: after milestone {ledger_index} its movements add up to {found}, but "
            f"the balance is {stored}"
        )
        self.ledger_index = ledger_index
        self.found = found
        self.stored = stored


class LeaseHeld(StoreError):
    """Another run writes to this store. The message names the holder."""


class Bound(NamedTuple):
    """One end of a slice: values of a prefix of the clustering columns."""

    values: Key
    inclusive: bool = True


Relation: TypeAlias = Literal["null", "not null", "=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a column: null, not null, or a relation to `value`. Null satisfies no relation."""

    column: str
    relation: Relation
    value: Value = None


Test: TypeAlias = tuple[Condition, ...]
"""Conditions, at least one of which must hold."""

Where: TypeAlias = Sequence[Test]
"""Tests, all of which must hold."""


class Passed(Row):
    """A row that does not satisfy the tests. It is never returned to clients; it marks how far the scan read."""

    __slots__ = ()


class Scan(NamedTuple):
    """The rows that a scan found, and the number of rows that it read."""

    rows: list[Row]
    examined: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Adjacent rows of a table that cannot be read because their page, or one that leads to it, is damaged.

    Attributes:
        table: the table.
        rows: the rows as their damaged page has them, so single values may be wrong. Native values by column.
        complete: whether `rows` are all of them.
        total: the number of rows of the table, including these; None if it is unknown.
    """

    table: Table
    rows: Sequence[Mapping[str, Value]]
    complete: bool = True
    total: int | None = None


LeaveOut: TypeAlias = Callable[[Unreadable], None]


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write, held by one run."""

    owner: str
    run: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class TableSize:
    """Rows and bytes of one table; None if the store does not know."""

    table: str
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Bytes of a store's files, and bytes that are free where they are; None if the store does not know."""

    used: int | None
    free: int | None


class Store(Protocol):
    """Reads. Each raises DeadlinePassed soon after the deadline of its context (db.listing.deadline)."""

    async def get(self, table: Table, key: Key) -> Row | None:
        """The row with this whole primary key, or None. Expired rows do not exist."""

    async def get_many(self, table: Table, keys: Sequence[Key]) -> list[Row | None]:
        """One result per key, in the order of `keys`. Concurrency is bounded."""

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
        """Up to `limit` rows of one partition in clustering order (`reverse`: exactly backwards).

        `columns` limits the columns of the rows; None: all. `lower` and `upper` compare by value, whichever way the
        table is sorted: lower <= row <= upper.
        """

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
        """The rows of a slice that satisfy `where`.

        If `limit` rows were read, or none satisfies `where`, the last row read is included, as Passed if it does not
        satisfy `where`.
        """

    async def ping(self) -> None:
        """Returns when the store responds. Raises StoreUnavailable otherwise."""

    def damage(self) -> str | None:
        """The damage that a read found first since the store was last replaced or checked, or None. Cheap."""

    def note_damage(self, cause: str) -> None:
        """Notes damage that a caller found in rows, so that `damage` returns it."""

    async def describe(self, tables: Collection[Table] | None = None) -> list[TableSize]:
        """Rows and bytes of these tables. Default: of every table. For operators, not for endpoints."""

    async def disk_space(self) -> DiskSpace:
        """How much space the store takes, without reading rows."""


ROWS_BY_COLUMN = 1_000
"""Rows that RowBatches turns into columns at once."""


@dataclass(frozen=True, slots=True)
class RowBatches:
    """Rows that come by column, several rows at a time, as stores write them fastest. Iterating yields the rows.

    Attributes:
        batches: the columns of some rows, each with a value per row. It may be read once.
        has_messages: whether each batch ends with a column that is not one of the rows': the messages that contain
            them, or None. A store of parts of messages need not read these then.
    """

    batches: Iterable[Sequence[Sequence[Value]]]
    has_messages: bool = False

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        for columns in self.batches:
            yield from zip(*(columns[:-1] if self.has_messages else columns), strict=True)

    @classmethod
    def of(cls, rows: Iterable[Sequence[Value]]) -> "RowBatches":
        """Any rows by column."""
        return rows if isinstance(rows, cls) else cls(_columns(rows))


def _columns(rows: Iterable[Sequence[Value]]) -> Iterator[list[Sequence[Value]]]:
    passing = iter(rows)
    while some := list(islice(passing, ROWS_BY_COLUMN)):
        yield list(zip(*some, strict=True))


class Batch(Protocol):
    """Writes that become durable together (SQLite) or step by step in the given order (a cluster)."""

    def upsert(
        self,
        table: Table,
        columns: Sequence[str],
        rows: Iterable[Sequence[Value]],
        *,
        timed: bool = False,
        expiring: bool = False,
    ) -> int:
        """Writes the given columns, which include the key columns. Other columns of a row keep their values.

        `timed`: each row ends with its fact (see `delete`), in addition to its columns. `expiring`, for a table with
        `ttl_s`: each row ends with the time from which it no longer exists, in seconds since 1970.

        Only in `sync` and `ranges` does None replace a value. Elsewhere no row ever loses a value, and nulls are not
        sent to a cluster. Values are native: HEX columns as `bytes`. Other rows of a table with `ttl_s` expire
        that long from now. Returns the number of rows.
        """

    def delete(self, table: Table, key: Sequence[Value], *, fact: int | None = None) -> None:
        """Deletes the row with this key, or all rows under a key prefix that covers the partition key. Native values.

        `fact` is a milestone, or a result of `last_fact`. Where writes are ordered by facts (etl.tables.frames.FACT), a
        cluster deletes rows written for facts up to this one and keeps later ones, independently of clocks.
        """

    def last_fact(self, table: Table, key: Sequence[Value]) -> int:
        """A fact not before the present and not before that of the rows under this key prefix. A delete as of it
        removes these rows; rows written as of the next fact replace them.

        All rows under the prefix must have the same fact, and their first column after the key must have a value.
        """

    def clear(self, table: Table) -> None:
        """Deletes all rows of the table."""


class WritableStore(Store, Protocol):
    """Writes, under a lease."""

    def batch(
        self, *, publish: bool = False, without: Collection[Table] = (), leave_out: LeaveOut | None = None
    ) -> AbstractContextManager[Batch]:
        """A batch, durable when the block ends. Raises LeaseHeld if another run holds the lease or took it in the
        meantime.

        In SQLite, rows are visible only after the block ends without an error. A cluster shows rows as they are
        written, and a failed batch is completed by running it again; the rows that declare what may be read are written
        last. With `publish`, SQLite builds a new generation beside the current one and switches at the end; a cluster
        does not. The generation begins with the rows of the current one, except those of the tables `without`; a
        cluster clears these tables. Rows that cannot be read raise StoreDamaged, unless `leave_out` takes them.
        """

    def nodes(self) -> int:
        """The number of cluster nodes known to be up; 0 if this process holds the rows."""

    def acquire(self, owner: str, run: str, ttl_s: int) -> Lease:
        """Acquires the lease, or raises LeaseHeld. Takes over a lease whose holder is dead or whose time has
        expired.
        """

    def renew(self, lease: Lease, ttl_s: int) -> Lease:
        """Extends the lease. Raises LeaseHeld if it was lost."""

    def release(self, lease: Lease) -> None:
        """Releases the lease. Does nothing if it was lost."""

    def holder(self) -> Lease | None:
        """The recorded holder, or None. A cluster forgets an expired holder."""

    def purge(self) -> int:
        """Removes expired rows and returns their number. Does nothing if the store removes them itself."""

    def close(self) -> None:
        """Closes connections and files."""
