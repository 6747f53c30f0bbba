"""Maps SQLite errors to the port's errors.

Errors that a retry may avoid become StoreUnavailable. A missing table or column means that a migration is missing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
"""Errors that a retry may avoid: locks, and errors of the disk or its permissions."""


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """A block that raises the port's errors instead of SQLite's. `path`: the store's directory."""
    try:
        yield
    except apsw.Error as error:
        raise store_error(error, path) from error


def store_error(error: apsw.Error, path: Path) -> StoreError:
    """The port's error for a SQLite error. Its text begins with the cause and the store's directory."""
    text = str(error)
    if text.startswith("no such"):
        return StoreMismatch(f"{text}: a migration is missing in {path}; run `permanode migrate`")
    if isinstance(error, apsw.InterruptError):
        return DeadlinePassed("a statement was interrupted")
    if isinstance(error, apsw.FullError):
        return StoreUnavailable(f"no space left on device: {path}; free space on it, then run the command again")
    if isinstance(error, PASSING):
        return StoreUnavailable(f"{text}: {path}")
    return StoreError(f"{text}: {path}")
