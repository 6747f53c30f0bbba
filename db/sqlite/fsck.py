"""Finds the damage of a generation: pages that differ from their checksum, with the rows on them, and wrong hashes."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw

from db.damage import HASHED, Checked, Damage, damage_of, key_text, milestones_of, wrong_hash
from db.model import Table
from db.sqlite import damage
from db.sqlite.batch import disagreements
from db.sqlite.checksums import connect
from db.sqlite.damaged_pages import FREE, SCHEMA, damaged_pages, owners_of
from db.sqlite.errors import is_damage, store_error
from db.sqlite.files import current_generation, served_generation
from db.sqlite.salvage import ignore_checksums, read_rows
from db.sqlite.stored_form import NUMBERS, partitions_table, stored_tables
from db.store import StoreUnavailable, Unreadable

ROWS_BETWEEN_REPORTS = 10_000
DIFFERS = "the page differs from its checksum"


def check_served(directory: Path, tables: Sequence[Table], chunk_size: int, checked: Checked) -> Iterator[Damage]:
    """Checks the served generation and yields its damage. Notes the damage, or removes the note if nothing is damaged.

    If a load replaces the generation meanwhile, its file is removed and its damage no longer matters. The check then
    begins again. Damage is therefore yielded at the end.
    """
    while True:
        generation, found = served_generation(directory), list[Damage]()
        try:
            for each in find_damage(directory / generation, tables, chunk_size, checked):
                found.append(each)
                damage.note(directory, f"{each.table}: {each.cause}", of=generation)
        except (apsw.Error, FileNotFoundError) as error:
            if current_generation(directory) != generation:
                continue
            yield from found
            if isinstance(error, apsw.Error):
                raise store_error(error, directory) from error
            raise StoreUnavailable(str(error)) from error
        if found and current_generation(directory) != generation:
            continue
        if not found and current_generation(directory) == generation:
            damage.forget(directory)
        yield from found
        return


def find_damage(file: Path, tables: Sequence[Table], chunk_size: int, checked: Checked) -> Iterator[Damage]:
    """Reads all pages and all rows of a generation, and yields what is damaged. `chunk_size`: milestones per range."""
    pages = damaged_pages(file, checked)
    owners = owners_of(file, pages)
    for page in pages:
        if SCHEMA in owners[page]:
            # No table can be opened without it.
            yield Damage(SCHEMA, f"{file.name}, page {page}", "all rows of all tables", DIFFERS)
            return
        if FREE in owners[page]:
            yield Damage("", f"{file.name}, page {page}", "a page without rows", DIFFERS)
    for table in tables:
        stored = {table.name, *stored_tables(table)}
        own = [page for page in pages if owners[page] & stored]
        if own:
            is_known = all(owners[page] <= stored - {partitions_table(table)} for page in own)
            yield from _on_pages(file, table, own, chunk_size, is_known=is_known)
    if any(NUMBERS in names for names in owners.values()):
        yield Damage("", f"{file.name}, table {NUMBERS}", "the next numbers of partitions", DIFFERS)
    if not pages and (wrong := _wrong_structure(file)):
        yield Damage("", file.name, "unknown", wrong)
        return
    for table in tables:
        if table in HASHED:
            yield from _wrong_hashes(file, table, chunk_size, checked, is_known=bool(pages))
    if not pages:
        for name, meaning in disagreements(partial(connect, file)):
            yield Damage(name, file.name, meaning, "the tables contradict each other")


def _on_pages(file: Path, table: Table, pages: Sequence[int], chunk_size: int, *, is_known: bool) -> Iterator[Damage]:
    """The rows on damaged pages. `is_known`: whether their keys are known: the pages are this table's,
    and none is its dictionary's.
    """
    place = f"{file.name}, page{'s' if len(pages) > 1 else ''} {', '.join(map(str, pages))}"
    is_found = False
    with closing(connect(file)) as checked, closing(connect(file)) as unchecked:
        ignore_checksums(unchecked)
        for row in read_rows(checked, unchecked, table, [*table.key, *_rest(table)]):
            if isinstance(row, Unreadable):
                is_found = True
                yield damage_of(row, place, DIFFERS, chunk_size)
    if not (is_found and is_known):
        yield Damage(table.name, place, "unknown", DIFFERS)


def _wrong_structure(file: Path) -> str:
    """What SQLite finds wrong although each page matches its checksum, such as a page that replaced another one.
    Empty if nothing is.
    """
    with closing(connect(file)) as connection:
        try:
            found = str(connection.execute("PRAGMA integrity_check(1)").get)
        except apsw.Error as error:
            if not is_damage(error):
                raise
            found = str(error)
    return "" if found == "ok" else " ".join(found.split())


def _wrong_hashes(file: Path, table: Table, chunk_size: int, checked: Checked, *, is_known: bool) -> Iterator[Damage]:
    """Rows that can be read, but whose bytes have another hash, and those that cannot be read unless damaged pages are
    known, whose rows were reported.
    """
    hash_column, data_column = HASHED[table]
    names = [*table.key, *_rest(table)]
    with closing(connect(file)) as connection, closing(connect(file)) as unchecked:
        ignore_checksums(unchecked)
        for number, row in enumerate(read_rows(connection, unchecked, table, names)):
            if number % ROWS_BETWEEN_REPORTS == 0:
                checked(table.name, number, None)
            if isinstance(row, Unreadable):
                if not is_known:
                    yield damage_of(row, file.name, "rows cannot be read", chunk_size)
                continue
            values = dict(zip(names, row, strict=True))
            fault = wrong_hash(table, values[hash_column], values[data_column])
            if fault is not None:
                milestones = milestones_of(Unreadable(table, [values]), chunk_size)
                yield Damage(table.name, file.name, key_text(table, row[: len(table.key)]), fault, milestones)


def _rest(table: Table) -> list[str]:
    """The columns after the key."""
    return [name for name in table.names if name not in table.key]
