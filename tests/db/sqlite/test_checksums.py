"""Checksums of pages: damaged data are never returned, and the check finds all of them.

The rows are those of the oracle ledger, written by the naive reference.
"""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.admin.migrate import REWRITTEN, migrate
from db.connect import StoreSettings, open_adapter, open_store
from db.damage import Damage
from db.sqlite import damage, writer
from db.sqlite.building import PAGE_BYTES
from db.sqlite.checksums import connect, has_checksums
from db.sqlite.stored_form import NUMBERS
from db.store import StoreDamaged, StoreMismatch, Unreadable
from tests.api.conftest import filled_store
from tests.api.http.test_error_shape import assert_shape
from tests.api.oracle import Oracle
from tests.db.stores import first_form, flip, generation_of
from tests.etl.store_rows import stored_rows
from tests.reference import ORACLE

CHUNK_SIZE, PARTITION_SIZE = 20, 30
FLIPS, ALL_FLIPS = 20, 1_000
"""Bits that are inverted one after another by default, and with `--slow`."""

HEADER_BITS = 100 * 8
"""The header of the file, which also says whether pages have checksums."""


FIRST = 25
"""Milestones in the store, which is checked as a whole for each bit."""


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    """The first milestones of the ledger."""
    whole = Oracle.read(ORACLE)
    return replace(whole, milestones=whole.milestones[:FIRST], pending=[])


@pytest.fixture(scope="module")
def settings(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> StoreSettings:
    """A filled store."""
    folder = tmp_path_factory.mktemp("checksums") / "store"
    filled_store(folder, oracle, CHUNK_SIZE, PARTITION_SIZE).close()
    return StoreSettings(f"sqlite:///{folder}", oracle.expected["network"], CHUNK_SIZE, PARTITION_SIZE)


@pytest.fixture
def folder(settings: StoreSettings) -> Path:
    return Path(settings.url.removeprefix("sqlite:///"))


@pytest.fixture
def generation(folder: Path) -> Iterator[Path]:
    """The served file, which is restored afterwards."""
    file = generation_of(folder)
    data = file.read_bytes()
    yield file
    file.write_bytes(data)
    damage.forget(folder)


def found(settings: StoreSettings) -> list[Damage]:
    with closing(open_adapter(settings, writable=False)) as store:
        return list(store.check(CHUNK_SIZE, lambda *_: None))


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def read_all(settings: StoreSettings) -> dict[str, list[Any]] | None:
    """Every row of every table, as requests read them. None if a damaged page prevents it."""
    adapter: Any = open_adapter(settings, writable=False)
    with closing(adapter):
        try:
            return {table.name: adapter.read_all(table) for table in schema.TABLES if table is not schema.lease}
        except StoreDamaged:
            return None


@pytest.mark.thorough
@pytest.mark.parametrize("count", [FLIPS, pytest.param(ALL_FLIPS, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_found_and_no_wrong_row_is_returned(
    settings: StoreSettings, folder: Path, generation: Path, count: int
) -> None:
    rows = read_all(settings)
    assert rows is not None
    assert len(rows["messages"]) > 100
    assert found(settings) == []
    seed = random.randrange(2**32)
    chosen = random.Random(seed)
    bits = generation.stat().st_size * 8
    unread = 0
    for number in range(count):
        position = chosen.randrange(HEADER_BITS if number % 10 == 0 else bits)
        flip(generation, position)
        assert found(settings), f"bit {position} of seed {seed} is not found"
        damage.forget(folder)
        unread += (read := read_all(settings)) is None
        assert read in (None, rows), f"bit {position} of seed {seed} changes rows"
        flip(generation, position)
        damage.forget(folder)
    assert unread > count / 2
    assert found(settings) == []


@pytest.mark.thorough
def test_every_bit_that_says_how_pages_are_stored_is_found(
    settings: StoreSettings, folder: Path, generation: Path
) -> None:
    """Bytes 16 to 23 of the header: the page size, the formats, the room for checksums, and constants."""
    for position in range(16 * 8, 24 * 8):
        flip(generation, position)
        with suppress(StoreDamaged):
            assert found(settings), position
        flip(generation, position)
    damage.forget(folder)
    assert found(settings) == []


@pytest.mark.thorough
def test_checks_at_the_same_time_wait_for_each_other(settings: StoreSettings) -> None:
    """The last connection that closes a file locks it for a moment."""
    with ThreadPoolExecutor(3) as pool:
        for damages in pool.map(lambda _: found(settings), range(24)):
            assert damages == []


def test_the_rows_on_a_damaged_page_are_named(settings: StoreSettings, generation: Path) -> None:
    """SQLite's dbstat counts the rows on the page. The row after them, on the page above, cannot be found either."""
    with closing(connect(generation)) as connection:
        pages = connection.execute(
            "SELECT pageno, ncell FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY path"
        ).fetchall()
        ids = [row[0] for row in connection.execute("SELECT message_id FROM messages ORDER BY message_id")]
        milestones = dict(connection.execute("SELECT message_id, milestone_index FROM messages").fetchall())
    assert len(pages) > 2
    page, cells = pages[0]
    flip(generation, (int(page) - 1) * 16_384 * 8 + 12_000 * 8)
    (one,) = found(settings)
    of_page = ids[: int(cells) + 1]
    assert (one.table, one.place) == ("messages", f"{generation.name}, page {page}")
    assert one.rows == f"{cells + 1} rows from message_id {of_page[0].hex()} to message_id {of_page[-1].hex()}"
    assert one.cause == "the page differs from its checksum"
    expected = sorted({int(milestones[each]) for each in of_page})
    assert sorted({index for first, last in one.milestones for index in range(first, last + 1)}) == expected


async def test_a_damaged_store_is_unhealthy_until_the_next_generation(
    settings: StoreSettings, folder: Path, generation: Path, oracle: Oracle
) -> None:
    with closing(connect(generation)) as connection:
        page = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY path LIMIT 1"
        ).get
        (first,) = connection.execute("SELECT message_id FROM messages ORDER BY message_id LIMIT 1").fetchall()
    flip(generation, (int(page) - 1) * 16_384 * 8 + 12_000 * 8)
    with closing(open_store(settings)) as store:
        app = create_app({"testing": NetworkMount(store, settings.network, "atoi")}, "testing", ApiSettings())
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
            assert (await client.get("/health")).status_code == 200
            text = assert_shape(await client.get(f"/api/v1/messages/{first[0].hex()}"), 503)
            assert "permanode fsck" in text
            text = assert_shape(await client.get("/health"), 503)
            assert text == "network testing has a damaged store: a page differs from its checksum"
    # Another process, and a later start, know it too.
    with closing(open_store(settings)) as later:
        assert later.damage() == "a page differs from its checksum"
    current = (folder / "CURRENT").read_text()
    (folder / "gen-000099.sqlite").write_bytes(generation.read_bytes())
    (folder / "CURRENT").write_text("gen-000099.sqlite\n")
    with closing(open_store(settings)) as later:
        assert later.damage() is None
    (folder / "CURRENT").write_text(current)


def test_a_load_does_not_copy_damage(settings: StoreSettings, folder: Path, generation: Path) -> None:
    rows = stored_rows(folder)
    with closing(connect(generation)) as connection:
        page = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = 'parents_rows' AND pagetype = 'leaf' ORDER BY path LIMIT 1"
        ).get
    flip(generation, int(page) * 16_384 * 8 - 9)  # in the checksum, so that the rows themselves are right
    with closing(open_store(settings, writable=True)) as store:
        message = r"damaged data in .*checksum; find the damaged rows with `permanode fsck`"
        # A batch without a table copies the others row by row.
        for without in ((), (schema.rejects,)):
            with pytest.raises(StoreDamaged, match=message), store.batch(publish=True, without=without):
                pass
        lost: list[Unreadable] = []
        with store.batch(publish=True, leave_out=lost.append) as batch:
            missing = [dict(row) for each in lost for row in each.rows]
            names = schema.parents.names
            batch.upsert(schema.parents, names, [[row[name] for name in names] for row in missing])
    assert {(each.table.name, each.total) for each in lost} == {("parents", len(rows["parents"]))}
    assert len(missing) > 10
    assert stored_rows(folder) == rows
    assert found(settings) == []


def test_a_damaged_dictionary_of_partitions_hides_an_unknown_number_of_rows(
    settings: StoreSettings, generation: Path
) -> None:
    with closing(connect(generation)) as connection:
        page = connection.execute("SELECT min(pageno) FROM dbstat WHERE name = 'parents_partitions'").get
    flip(generation, int(page) * 16_384 * 8 - 9)
    damages = found(settings)
    assert {each.table for each in damages} == {"parents"}
    assert damages[-1].rows == "unknown"
    lost: list[Unreadable] = []
    with closing(open_store(settings, writable=True)) as store, store.batch(publish=True, leave_out=lost.append):
        pass
    assert {(each.table.name, each.complete, each.total) for each in lost} == {("parents", False, None)}


@pytest.mark.thorough
def test_a_store_of_the_first_form_is_migrated_even_if_interrupted(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    settings = StoreSettings(f"sqlite:///{folder}", oracle.expected["network"], CHUNK_SIZE, PARTITION_SIZE)
    filled_store(folder, oracle, CHUNK_SIZE, PARTITION_SIZE).close()
    rows = stored_rows(folder)
    first_form(generation_of(folder))
    assert stored_rows(folder) == rows
    assert not has_checksums(generation_of(folder))
    with pytest.raises(StoreMismatch, match="earlier form; run `permanode migrate`"):
        open_store(settings)
    for step in ("check_built", "publish"):
        with monkeypatch.context() as patched:
            patched.setattr(writer, step, interrupt)
            with pytest.raises(KeyboardInterrupt):
                migrate(settings)
        assert stored_rows(folder) == rows
        assert not has_checksums(generation_of(folder))
    assert migrate(settings) == [REWRITTEN]
    assert has_checksums(generation_of(folder))
    assert found(settings) == []
    assert stored_rows(folder) == rows
    assert migrate(settings) == []


def other_pages(file: Path, *, copied: bool) -> Iterator[tuple[int, str, bytes]]:
    """The numbers of all pages in use but the first, what they belong to, and what replaces them: zeros, or the next
    page, if it is of the same table.
    """
    with closing(connect(file)) as connection:
        owners = dict(connection.execute("SELECT pageno, name FROM dbstat").fetchall())
    data = file.read_bytes()
    for page, name in sorted(owners.items()):
        if page > 1 and (not copied or owners.get(page + 1) == name):
            yield page, str(name), data[page * PAGE_BYTES :][:PAGE_BYTES] if copied else bytes(PAGE_BYTES)


@pytest.mark.thorough
@pytest.mark.parametrize("copied", [False, True])
def test_every_page_that_was_replaced_is_found(
    settings: StoreSettings, folder: Path, generation: Path, copied: bool
) -> None:
    """By zeros, as a disk returns for a sector that was never written, or by another page with its right checksum."""
    original = generation.read_bytes()
    replaced = [*other_pages(generation, copied=copied)]
    assert len(replaced) > (20 if copied else 100)
    for page, name, content in replaced:
        with generation.open("r+b") as file:
            file.seek((page - 1) * PAGE_BYTES)
            file.write(content)
        damages = found(settings)
        assert damages, (page, name)
        if not copied:
            places = [each.place for each in damages if each.cause == "the page differs from its checksum"]
            assert any(each.endswith((f", page {page}", f"table {NUMBERS}")) for each in places), damages
        generation.write_bytes(original)
        damage.forget(folder)
    assert found(settings) == []
