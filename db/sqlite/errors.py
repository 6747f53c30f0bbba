"""SQLite's errors in the port's words.

Rules of this file: what may be better the next time is StoreUnavailable; a store that lacks a table lacks a migration.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from db.store import DeadlinePassed, StoreError, StoreMismatch, StoreUnavailable

PASSING = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.LockedError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
    apsw.SchemaChangeError,
)
"""What may be better the next time: locks, and what the machine's disk or owner says."""


@contextmanager
def translated() -> Iterator[None]:
    """A block whose errors of SQLite leave as the port's."""
    try:
        yield
    except apsw.Error as error:
        raise store_error(error) from error


def store_error(error: apsw.Error) -> StoreError:
    """The port's error for SQLite's; a missing table or column means that a migration is."""
    text = str(error)
    if text.startswith("no such"):
        return StoreMismatch(f"{text}: the store lacks a migration, run `permanode migrate`")
    if isinstance(error, apsw.InterruptError):
        return DeadlinePassed("a statement was interrupted")
    if isinstance(error, PASSING):
        return StoreUnavailable(text)
    return StoreError(text)
