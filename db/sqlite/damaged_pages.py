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

PAGE_SIZES = frozenset(1 << power for power in range(9, 17))

SCHEMA = "sqlite_schema"
"""The table that lists the others. Without one of its pages no table can be read."""

FREE = "free"
"""What a page belongs to that contains no rows."""


def damaged_pages(file: Path, checked: Checked) -> list[int]:
    """The numbers of the pages that differ from their checksum. The first page has number 1."""
    with file.open("rb") as source, closing(apsw.Connection(":memory:")) as connection:
        size, total = page_bytes(source.read(100)), file.stat().st_size
        if size not in PAGE_SIZES or total % size:
            return [1]
        found, at = list[int](), 0
        source.seek(0)
        while data := source.read(size * PAGES_AT_ONCE):
            for start in range(0, len(data), size):
                if not matches(connection, data[start : start + size]):
                    found.append((at + start) // size + 1)
            at += len(data)
            checked(file.name, at, total)
        time.sleep(AGAIN_S if found else 0)
        return [page for page in found if not _matches_now(source, connection, page, size)]


def _matches_now(source: BinaryIO, connection: apsw.Connection, page: int, size: int) -> bool:
    source.seek((page - 1) * size)
    return matches(connection, source.read(size))


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
