"""Checksums of a generation's pages: SQLite's checksum VFS, which is part of apsw.

The last RESERVED bytes of each page are its checksum. The VFS writes it with the page and compares it whenever the page
is read from the file. https://sqlite.org/cksumvfs.html describes it.
"""

from contextlib import closing
from pathlib import Path

import apsw
import apsw.sqlite_extra

VFS = "cksmvfs"
RESERVED = 8
HEADER_BYTES = 100

BUSY_MS = 10_000
"""How long a connection waits for a lock of another one."""

WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
READ = apsw.SQLITE_OPEN_READONLY


def _register() -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        apsw.sqlite_extra.load(connection, "cksumvfs")


_register()


def connect(file: Path, flags: int = READ, *, statements: int = 100) -> apsw.Connection:
    """Opens a generation. Reading a page that does not match its checksum raises apsw.IOError (IOERR_DATA).

    `statements`: the number of prepared statements that are kept.
    """
    connection = apsw.Connection(str(file), flags=flags, vfs=VFS, statementcachesize=statements)
    # The last one that closes a file locks it for a moment.
    connection.set_busy_timeout(BUSY_MS)
    return connection


def connect_finished(file: Path) -> apsw.Connection:
    """Opens a generation that nobody writes any more, without the side files that readers create."""
    return apsw.Connection(f"{file.resolve().as_uri()}?immutable=1", flags=READ | apsw.SQLITE_OPEN_URI, vfs=VFS)


def reserve(connection: apsw.Connection) -> None:
    """Makes room for checksums in a database without tables."""
    connection.reserve_bytes("main", RESERVED)


def has_checksums(file: Path) -> bool:
    """Whether the pages of a generation have checksums, by the header that decides whether they are compared.

    Raises apsw.CorruptError if the file has no header, or if the header says no and the pages have checksums.
    """
    with file.open("rb") as source:
        header = source.read(HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            raise apsw.CorruptError("the file has no header")
        if header[20] == RESERVED:
            return True
        size = page_bytes(header)
        source.seek(size)
        second = source.read(size)
    with closing(apsw.Connection(":memory:")) as connection:
        if matches(connection, second):
            raise apsw.CorruptError(f"the header reserves {header[20]} instead of {RESERVED} bytes of each page")
    return False


def page_bytes(header: bytes) -> int:
    """The page size in the header of a database, in bytes."""
    size = int.from_bytes(header[16:18], "big")
    return 65_536 if size == 1 else size


def matches(connection: apsw.Connection, page: bytes) -> bool:
    """Whether a page as it is in the file matches its checksum. `connection`: any one.

    A page of zeros does not match: the checksum of zeros is zero, but every page in use has other bytes.
    """
    return page.count(0) < len(page) and bool(connection.execute("SELECT verify_checksum(?)", (page,)).get == 1)
