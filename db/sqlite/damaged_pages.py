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


def owners_of(file: Path, pages: Sequence[int]) -> Mapping[int, str] | None:
    """The table that each of these pages belongs to, SCHEMA, or FREE. None if the damage hides it."""
    if 1 in pages:
        return dict.fromkeys(pages, SCHEMA)
    with closing(connect(file)) as connection:
        ignore_checksums(connection)
        numbers = ", ".join(map(str, pages))
        try:
            found = connection.execute(f"SELECT pageno, name FROM dbstat WHERE pageno IN ({numbers})").fetchall()
        except apsw.Error as error:
            if is_damage(error):
                return None
            raise
    return dict.fromkeys(pages, FREE) | {int(str(page)): str(name) for page, name in found}


def damaged_tables(file: Path) -> frozenset[str] | None:
    """The tables with pages that differ from their checksum. None if they are unknown."""
    pages = damaged_pages(file, lambda *_: None)
    owners = owners_of(file, pages) if pages else {}
    return None if owners is None else frozenset(owners.values())
