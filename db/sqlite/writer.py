"""The two ways to write a store: a transaction on the served generation, and a next generation beside it."""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

import apsw

from db.model import Table
from db.sqlite import building, damage
from db.sqlite.batch import SqliteBatch, check_built
from db.sqlite.checksums import connect
from db.sqlite.errors import PASSING
from db.sqlite.files import current_generation, fsync, name_to_build, publish, remove_leftovers, served_generation
from db.sqlite.readers import STATEMENTS_KEPT, Readers
from db.store import LeaveOut


class Writer:
    """Writes one store. `fence` is a block that raises if the lease was lost, and in which nobody can take it over.

    Files that another run may use are removed and replaced only in this block.
    """

    def __init__(
        self,
        path: Path,
        tables: Sequence[Table],
        readers: Readers,
        clock: Callable[[], float],
        fence: Callable[[], AbstractContextManager[object]],
    ) -> None:
        self._path = path
        self._tables = tables
        self._readers = readers
        self._clock = clock
        self._fence = fence
        self._open: tuple[str, apsw.Connection] | None = None

    @contextmanager
    def append(self) -> Iterator[SqliteBatch]:
        """One transaction on the served generation."""
        with self._fence():
            remove_leftovers(self._path)
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield SqliteBatch(lambda: connection, self._clock)
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
    def build(
        self, without: Collection[Table] = (), leave_out: LeaveOut | None = None, *, first: bool = False
    ) -> Iterator[SqliteBatch]:
        """The next generation, which becomes the served one if the block ends without an error.

        It begins with the rows of the served one as WritableStore.batch says. `first`: there may be no served one.
        """
        with self._fence():
            remove_leftovers(self._path)
        served = current_generation(self._path) if first else served_generation(self._path)
        self.close()
        file = self._path / name_to_build(self._path)
        with closing(building.create(file)) as connection:
            with self._filled(connection, served, without, leave_out) as filled:
                yield SqliteBatch(filled, self._clock)
            with self._fence():
                pass  # A run that lost its lease ends here, not with an error of a file that its successor removed.
            connection.execute("COMMIT")
            # The header says WAL from here. Leaving exclusive mode first allows the side files to be removed at close.
            connection.execute("PRAGMA locking_mode = NORMAL")
            connection.execute("PRAGMA journal_mode = WAL")
        check_built(file)
        fsync(file)  # the slow part of publishing
        with self._fence():
            publish(self._path, file.name)
            damage.forget(self._path)
            remove_leftovers(self._path)
        self._readers.look_again()

    @contextmanager
    def _filled(
        self, connection: apsw.Connection, served: str | None, without: Collection[Table], leave_out: LeaveOut | None
    ) -> Iterator[Callable[[], apsw.Connection]]:
        """A function that returns this connection, with the rows of the served generation and a transaction.

        Pages are copied while the block prepares its first rows. An error of copying is raised by that function, and
        at the end of the block.
        """

        def begin() -> apsw.Connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("BEGIN")
            return connection

        source = None if served is None else self._path / served
        if source is None or without or leave_out is not None or not building.has_same_pages(source):
            if source is not None:
                building.copy_rows(source, connection, self._tables, without, leave_out)
            begin()
            yield lambda: connection
            return
        stopped = threading.Event()

        def with_pages() -> apsw.Connection:
            building.copy_pages(source, connection, stopped)
            return begin()

        with ThreadPoolExecutor(1, thread_name_prefix="copy") as pool:
            filled = pool.submit(with_pages)
            try:
                yield filled.result
                filled.result()
            finally:
                stopped.set()

    def close(self) -> None:
        """Checkpoints what was appended, and closes the file.

        Without a checkpoint, for example on a full disk, the next one copies the rows from the log.
        """
        if self._open is not None:
            connection, self._open = self._open[1], None
            with closing(connection), suppress(*PASSING):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _connection(self) -> apsw.Connection:
        generation = served_generation(self._path)
        if self._open is not None:
            if self._open[0] == generation:
                return self._open[1]
            self.close()
        connection = connect(self._path / generation, apsw.SQLITE_OPEN_READWRITE, statements=STATEMENTS_KEPT)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA cache_size = -131072")
        self._open = (generation, connection)
        return connection
