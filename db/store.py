"""The port of a store. Every query reads one partition; `scan` filters the rows of one where they are stored.

Rules of this file: protocols, frozen values and the error tree only. Values are those of db.model.Type; rows are
dicts by column name. Reads are coroutines (a cluster answers asynchronously, SQLite inline); the writing half is
synchronous, as one writer at a time loads a store.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from db.model import Table

Value: TypeAlias = str | bytes | bool | int | None
Row: TypeAlias = dict[str, Any]
"""Values by column name, each of its column's type: a Value, which mypy cannot tell apart by name."""
Key: TypeAlias = tuple[Value, ...]


class StoreError(Exception):
    """Root of what a store can fail with."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or did not answer in time; the same question may succeed later."""


class DeadlinePassed(StoreError):
    """The question took longer than whoever asked would wait (db.deadline)."""


class StoreMismatch(StoreError):
    """The store was made for something else: network, chunk_size, partition_size, layout or migrations differ."""


class NotFound(StoreError):
    """What a `get_` question asked for is not in the store; the message names it."""


class LedgerUnknown(StoreError):
    """A question about the ledger state of a store that has none; the message says how it comes by one."""


class LeaseHeld(StoreError):
    """Another run writes to this store; the message names the holder."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a slice: values of a prefix of the clustering columns."""

    values: Key
    inclusive: bool = True


Relation: TypeAlias = Literal["null", "not null", "=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Condition:
    """What a column of a row is: null, or not, or so related to `value`. Null is related to nothing."""

    column: str
    relation: Relation
    value: Value = None


Test: TypeAlias = tuple[Condition, ...]
"""Conditions any of which holds."""

Where: TypeAlias = Sequence[Test]
"""Tests all of which are met."""


class Passed(Row):
    """A row that meets no such tests: nobody is shown it, it tells how far was read."""

    __slots__ = ()


class Scan(NamedTuple):
    """What a scan found, and how many rows it looked at."""

    rows: list[Row]
    examined: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write, held by one run."""

    owner: str
    run: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class TableSize:
    """Rows and bytes of one table; None where the store cannot tell."""

    table: str
    rows: int | None
    bytes: int | None


class Store(Protocol):
    """Reads. Each ends with DeadlinePassed, at the latest, soon after the deadline of its context (db.deadline)."""

    async def get(self, table: Table, key: Key) -> Row | None:
        """The row of that whole primary key, or None. Expired rows do not exist."""

    async def get_many(self, table: Table, keys: Sequence[Key]) -> list[Row | None]:
        """One answer a key, in the order asked; bounded in flight."""

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
        """Up to `limit` rows of one partition in clustering order (`reverse`: exactly backwards).

        `columns`: rows have these alone, all where None. `lower` and `upper` compare by value, whichever way the table
        runs: lower <= row <= upper.
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
        """Of the rows that such a slice gives those that meet `where`.

        The last row that was looked at is among them where `limit` were, or where none meets it: Passed if it does not.
        """

    async def ping(self) -> None:
        """Returns when the store answers; StoreUnavailable otherwise."""

    async def describe(self) -> list[TableSize]:
        """Rows and bytes of every table; an operator's question, not an endpoint's."""


class Batch(Protocol):
    """Writes that become durable together (SQLite) or step by step in the order given (a cluster)."""

    def upsert(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> int:
        """Writes only the columns given, key columns among them; other columns of a row keep their values.

        A None takes a value's place in `sync` and `ranges`; no other row ever loses a value, and a cluster is not told
        of what it does not have. Values are native: HEX columns as `bytes`. Rows of a table with `ttl_s` expire that
        long from now. Returns the number of rows.
        """

    def delete(self, table: Table, key: Sequence[Value], *, fact: int | None = None) -> None:
        """The row of that key, or every row under a prefix of it that covers the partition key. Native values.

        `fact`: a milestone, or what `last_fact` told. Where writes are ordered by such (etl.tables.frames.FACT), a
        cluster deletes what was told up to that one, and nothing that is told later, whatever clocks say.
        """

    def last_fact(self, table: Table, key: Sequence[Value]) -> int:
        """A fact that is no earlier than that of what stands under that prefix of a key, nor than now: rows told as of
        the next one take the place of what a delete as of this one removes. What stands there was told as of one fact,
        and its first column behind the key has a value.
        """

    def clear(self, table: Table) -> None:
        """Every row of the table."""


class WritableStore(Store, Protocol):
    """Writes, under a lease."""

    def batch(self, *, publish: bool = False) -> AbstractContextManager[Batch]:
        """A batch; durable when the block ends. LeaseHeld when another run holds the lease, or took it meanwhile.

        SQLite shows nothing of it before it ends, nor when it raises. A cluster shows rows as they are written, and a
        batch that raised is completed by running it again: what may be read is said by rows that are written last.
        `publish`: SQLite builds a new generation beside what is served and switches at the end; a cluster does not.
        """

    def nodes(self) -> int:
        """How many nodes of a cluster hold the rows, as far as they are known to be up; 0: this process holds them."""

    def acquire(self, owner: str, run: str, ttl_s: int) -> Lease:
        """The lease, or LeaseHeld. A lease whose holder is known to be dead or expired is taken over."""

    def renew(self, lease: Lease, ttl_s: int) -> Lease:
        """The same lease, longer; LeaseHeld when it was lost."""

    def release(self, lease: Lease) -> None:
        """Gives the lease back; nothing when it was lost already."""

    def holder(self) -> Lease | None:
        """Whom the lease names; None when nobody holds it. A cluster forgets a holder that expired."""

    def purge(self) -> int:
        """Removes expired rows and says how many; nothing to do where the store itself does."""

    def close(self) -> None:
        """Frees connections and files."""
