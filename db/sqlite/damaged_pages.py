"""The pages of a generation that differ from their checksum, and the tables that they belong to."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import apsw

from db.damage import Checked
from db.sqlite.checksums import connect, matches, page_bytes
from db.sqlite.errors import is_damage
from db.sqlite.salvage import ignore_checksums

PAGES_AT_ONCE = 64
AGAIN_S = 0.1
"""Time after which a page that differs is read again: a checkpoint may have been writing it."""

LOCK_BYTE = 1 << 30
"""SQLite never uses the page with this byte (https://sqlite.org/fileformat2.html, "The Lock-Byte Page")."""

PAGE_SIZES = frozenset(1 << power for power in range(9, 17))

SCHEMA = "sqlite_schema"
"""The table that lists the others. Without one of its pages no table can be read."""

FREE = "free"
"""What a page belongs to that contains no rows."""


def damaged_pages(file: Path, checked: Checked) -> list[int]:
    """The numbers of the pages that differ from their checksum, and of those in use that contain only zeros, which
    SQLite's comparison accepts. The first page has number 1.
    """
    with file.open("rb") as source, closing(apsw.Connection(":memory:")) as connection:
        size, total = page_bytes(source.read(100)), file.stat().st_size
        if size not in PAGE_SIZES or total % size:
            return [1]
        found, at, locked = list[int](), 0, LOCK_BYTE // size + 1
        source.seek(0)
        while data := source.read(size * PAGES_AT_ONCE):
            for start in range(0, len(data), size):
                page = (at + start) // size + 1
                if not matches(connection, data[start : start + size]) and page != locked:
                    found.append(page)
            at += len(data)
            checked(file.name, at, total)
        time.sleep(AGAIN_S if found else 0)
        now = {page: _read_page(source, page, size) for page in found}
        found = [page for page, data in now.items() if not matches(connection, data)]
    empty = [page for page in found if not any(now[page])]
    # SQLite does not write a free page that was never used.
    unused = {page for page, names in owners_of(file, empty).items() if names == {FREE}}
    return [page for page in found if page not in unused]


def _read_page(source: BinaryIO, page: int, size: int) -> bytes:
    source.seek((page - 1) * size)
    return source.read(size)


def owners_of(file: Path, pages: Sequence[int]) -> Mapping[int, frozenset[str]]:
    """The tables that each of these pages may belong to, SCHEMA, or FREE. Several tables if damage hides which of them
    has the page.
    """
    if not pages or 1 in pages:
        return dict.fromkeys(pages, frozenset({SCHEMA}))
    names, owners, hidden = [SCHEMA], {page: set[str]() for page in pages}, set[str]()
    with closing(connect(file)) as connection:
        ignore_checksums(connection)
        try:
            found = connection.execute("SELECT name FROM sqlite_schema WHERE rootpage > 0").fetchall()
            names.extend(str(name) for (name,) in found)
        except apsw.Error as error:
            if not is_damage(error):
                raise
            return dict.fromkeys(pages, frozenset({SCHEMA}))
        # One table at a time: the list of a table's pages ends at a page whose pointers are wrong.
        select = f"SELECT pageno FROM dbstat WHERE name = ? AND pageno IN ({', '.join(map(str, pages))})"
        for name in names:
            try:
                for (page,) in connection.execute(select, (name,)):
                    owners[int(str(page))].add(name)
            except apsw.Error as error:
                if not is_damage(error):
                    raise
                hidden.add(name)
    return {page: frozenset(owners[page] or hidden or {FREE}) for page in pages}


def damaged_tables(file: Path) -> frozenset[str]:
    """The tables that pages which differ from their checksum may belong to."""
    return frozenset[str]().union(*owners_of(file, damaged_pages(file, lambda *_: None)).values())
