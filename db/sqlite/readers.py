"""Read-only connections to the served generation, one per thread, reopened when CURRENT changes.

Invariants:
1. CURRENT is checked at most once per CHECK_S, because a point read costs little more than the check.
2. If a generation vanishes while it is opened, it was superseded, and the new one is opened.
3. A connection interrupts its own statement at the deadline of the request.
4. No read transaction outlives a turn of the event loop, or CHECK_S if the turn is longer.
5. What is kept of earlier reads belongs to the data of the present transaction, by SQLite's count of their changes.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from db.listing.deadline import DEADLINE, is_over
from db.sqlite.checksums import connect, has_checksums
from db.sqlite.errors import DAMAGED, PASSING, store_error
from db.sqlite.files import current_generation, current_stamp, half_of_memory
from db.store import DeadlinePassed, Key, Row, StoreMismatch, StoreUnavailable

CHECK_S = 0.02
"""The longest time for which a superseded generation is still read."""

STEPS_BETWEEN_LOOKS = 10_000
"""SQLite steps between checks of the deadline during a statement: about half a millisecond."""

STATEMENTS_KEPT = 512

CACHE_KIB = 32_768
"""Memory for pages whose checksums were compared, for each thread."""

KEPT_AT_MOST = 1_024
"""Reads whose rows are kept for each thread: about 1 kB each, at most 20 kB."""

OPEN_ATTEMPTS = 20


class _Local(threading.local):
    """A thread's connection, the CURRENT it was opened under, and the check of CURRENT before its read transaction.

    `turn` is the statement whose result is not read to its end: it keeps the read transaction of a turn of the event
    loop open. `kept` has rows of the data with the number `version`, by statement and parameters.
    """

    connection: apsw.Connection | None = None
    stamp: tuple[int, int] | None = None
    look: float = 0.0
    turn: apsw.Cursor | None = None
    version: int | None = None

    def __init__(self) -> None:
        self.kept: dict[Key, Sequence[Row]] = {}


class Readers:
    """The connections of one store. `inline`: the file is small enough to be read on the event loop."""

    def __init__(self, path: Path) -> None:
        self.inline = True
        self.path = path
        self._local = _Local()
        self._stamp: tuple[int, int] | None = None
        self._check_after = 0.0
        self._open_connections: set[apsw.Connection] = set()
        self._lock = threading.Lock()

    def look_again(self) -> None:
        """Makes the next read check CURRENT, however recent the last check was."""
        self._check_after = 0.0

    def close(self) -> None:
        """Closes the connections of all threads."""
        with self._lock:
            connections, self._open_connections = self._open_connections, set()
        for connection in connections:
            connection.close()
        self._local = _Local()

    def connection(self) -> apsw.Connection:
        """The calling thread's connection to the served generation. Raises DeadlinePassed if no time is left."""
        now = time.monotonic()
        if now > DEADLINE.get():
            raise DeadlinePassed("no time left")
        if now >= self._check_after:
            self._stamp = current_stamp(self.path)
            self._check_after = now + CHECK_S
        local = self._local
        if local.connection is not None and local.stamp == self._stamp:
            return local.connection
        return self._open()

    def connection_of_turn(self) -> apsw.Connection:
        """The event loop thread's connection, in one read transaction for all reads of this turn of the loop until the
        next check of CURRENT. Acquiring and releasing a lock costs more than a point read.

        A request sees the data as of its arrival, because its reads begin in a later turn.
        """
        connection, local = self.connection(), self._local
        if local.turn is None:
            asyncio.get_running_loop().call_soon(self.end_turn)
        elif local.look == self._check_after:
            return connection
        else:
            local.turn.close()
        # A number that changes with the data. A statement begins a transaction in less time than BEGIN and COMMIT.
        local.turn = connection.execute("PRAGMA data_version")
        (version,) = next(local.turn)
        if version != local.version or len(local.kept) > KEPT_AT_MOST:
            local.version, local.kept = version, {}
        local.look = self._check_after
        return connection

    def kept_of_turn(self) -> dict[Key, Sequence[Row]]:
        """Rows that were read since the data changed."""
        try:
            self.connection_of_turn()
        except apsw.Error as error:
            raise store_error(error, self.path) from error
        return self._local.kept

    def end_turn(self) -> None:
        """Ends the calling thread's read transaction."""
        local = self._local
        if local.turn is not None:
            local.turn.close()
            local.turn = None

    def _open(self) -> apsw.Connection:
        local = self._local
        if local.connection is not None:
            with self._lock:
                self._open_connections.discard(local.connection)
            self.end_turn()
            local.connection.close()
            local.connection = None
        for _ in range(OPEN_ATTEMPTS):
            stamp = current_stamp(self.path)
            generation = current_generation(self.path)
            if generation is None:
                raise StoreMismatch(f"{self.path} contains no store; create it with `permanode migrate`")
            file = self.path / generation
            try:
                connection = connect(file, statements=STATEMENTS_KEPT)
                # Plan a statement once, not again for other values: the only plan is by primary key.
                connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
                connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
                connection.set_progress_handler(is_over, STEPS_BETWEEN_LOOKS)
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                has_checksums(file)  # its errors
                self.inline = file.stat().st_size < half_of_memory()
            except (*PASSING, *DAMAGED, FileNotFoundError) as error:
                if file.exists() and current_generation(self.path) == generation:
                    if isinstance(error, FileNotFoundError):
                        raise StoreUnavailable(f"{file}: {error}") from error
                    raise store_error(error, self.path) from error
                continue  # superseded between reading CURRENT and opening it
            with self._lock:
                self._open_connections.add(connection)
            local.connection, local.stamp, self._stamp = connection, stamp, stamp
            local.version = None  # connections count for themselves
            return connection
        raise StoreUnavailable(f"{self.path}: CURRENT names a generation that does not exist")
