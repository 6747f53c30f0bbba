"""Maps SQLite errors to the port's errors.

Errors that a retry may avoid become StoreUnavailable. A missing table or column means that a migration is missing.
Damaged pages are noted (db/sqlite/damage.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from db.sqlite import damage
from db.store import DeadlinePassed, StoreDamaged, StoreError, StoreMismatch, StoreUnavailable

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

DAMAGED = (apsw.CorruptError, apsw.NotADBError)
"""Errors of pages that are not what SQLite wrote."""


def is_damage(error: BaseException | None) -> bool:
    """Whether this is an error of a damaged page."""
    return isinstance(error, DAMAGED) or (
        isinstance(error, apsw.IOError) and getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA
    )


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
    if is_damage(error):
        cause = "a page differs from its checksum" if isinstance(error, apsw.IOError) else text
        damage.note(path, cause)
        return StoreDamaged(f"damaged data in {path}: {cause}; find the damaged rows with `permanode fsck`")
    if isinstance(error, apsw.InterruptError):
        return DeadlinePassed("a statement was interrupted")
    if isinstance(error, apsw.FullError):
        return StoreUnavailable(f"no space left on device: {path}; free space on it, then run the command again")
    if isinstance(error, PASSING):
        return StoreUnavailable(f"{text}: {path}")
    return StoreError(f"{text}: {path}")
