"""Roots after loads, compared with a plain reading of the oracle ledgers of both eras."""

import asyncio
from base64 import b64encode
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db import schema
from db.connect import open_adapter, open_store
from db.queries.listing_proofs import fetch_trees
from db.queries.log_records import PROVED_FROM, PROVED_TO, closed_records, find_proved
from db.store import NotFound, Unreadable
from etl import runs
from etl.completeness import advance
from etl.report import quiet
from etl.writers.rewrite import emptied
from ledger.completeness import check, intervals, proof, trees
from ledger.completeness.check import LogHead
from ledger.completeness.document import render_document
from ledger.completeness.families import BY_NUMBER
from ledger.completeness.proof import prove_page
from ledger.crypto.log_tree import leaf_hash, prove_range, tree_root
from ledger.transparency import positions
from tests import reference, reference_stardust
from tests.conftest import SAMPLE
from tests.etl.archives import dump, sample, write
from tests.etl.archives import oracle as chrysalis_oracle
from tests.etl.conftest import SQLITE, Loading, Stores, on
from tests.etl.stardust_archives import NETWORK as STARDUST_NETWORK
from tests.etl.stardust_archives import oracle as stardust_oracle
from tests.etl.store_rows import LISTINGS
from tests.ledger.completeness.reference import Ledger, Listing
from tests.reference_completeness import listings, milestone_record

pytestmark = pytest.mark.loads

SMALLEST = 5
"""Milestones of the smallest interval in these tests, because the oracle ledgers have 50 milestones."""

LAST = 50

GEOMETRY = 100_000, 90_000
"""That of no other test: stores that others load have intervals of 100 milestones."""


@pytest.fixture(autouse=True)
def small_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (intervals, trees, check, positions):
        monkeypatch.setattr(module, "SMALLEST", SMALLEST)
    monkeypatch.setattr(schema, "TREES_KEPT", 7)
    monkeypatch.setattr(schema, "DIVIDED_FROM", 3)


def chrysalis_rows() -> dict[str, list[dict[str, Any]]]:
    return dict(reference.whole_rows(chrysalis_oracle(), [], 100_000, 100_000, "permatest-1"))


def stardust_rows() -> dict[str, list[dict[str, Any]]]:
    return dict(reference_stardust.whole_rows(stardust_oracle(), [], 100_000, 100_000, STARDUST_NETWORK))


LEDGERS = {
    "chrysalis from genesis": (chrysalis_rows, "permatest-1", False),
    "stardust from genesis": (stardust_rows, STARDUST_NETWORK, True),
}


def expected(name: str) -> list[bytes]:
    """The leaves of the log."""
    rows_of, network, stardust = LEDGERS[name]
    rows = rows_of()
    ledger = Ledger(network, 1, LAST, listings(rows, 0), SMALLEST)
    return [
        milestone_record(rows, int(text.split()[1]), stardust=stardust) if text.startswith("milestone") else leaf
        for text, leaf in ledger.log()
    ]


def log_of(loading: Loading) -> list[bytes]:
    """The leaves of the log that a store has records of."""

    async def read() -> list[bytes]:
        with closing(open_store(loading.store)) as store:
            proved = await find_proved(store)
            if proved is None:
                return []
            records = closed_records(store, proved.start, proved.start - 1, proved.stop - 1)
            return [bytes(each) async for each in records]

    return asyncio.run(read())


def tables_of(loading: Loading) -> dict[str, list[dict[str, Any]]]:
    with closing(open_adapter(loading.store, writable=False)) as store:
        return {table.name: sorted(store.read_all(table), key=repr) for table in LISTINGS}


@pytest.mark.parametrize("name", LEDGERS)
def test_roots_are_those_of_the_input_files(everywhere: Stores, name: str) -> None:
    loading, report = everywhere.loaded(name, GEOMETRY)
    assert report.ledger_index == LAST
    assert log_of(loading) == expected(name)


class Killed(Exception):
    """Ends a run in the middle."""


def chrysalis_lines(folder: Path, numbers: Iterable[int]) -> list[Path]:
    return [write(folder / f"{number}.log", [dump(sample()[number - 1])]) for number in sorted(numbers)]


def killing(monkeypatch: pytest.MonkeyPatch, rng: Random) -> None:
    """Makes the trees of the next load fail: before, between or after the rows of a step."""
    rows_left = rng.randint(0, 12)
    original = advance.ListingTrees._upsert

    def upsert(self: Any, *args: Any) -> None:
        nonlocal rows_left
        if rows_left == 0:
            raise Killed
        rows_left -= 1
        original(self, *args)

    monkeypatch.setattr(advance.ListingTrees, "_upsert", upsert)


@on(SQLITE)
@settings(deadline=None, max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_roots_do_not_depend_on_the_history_of_loads(everywhere: Stores, tmp_path: Path, seed: int) -> None:
    """Other orders of loads, late milestones, steps of other sizes, runs that end in the middle, other geometries."""
    rng = Random(seed)
    geometry = rng.choice(((100_000, 100_000), (7, 3)))
    loading = everywhere(geometry)
    left = list(range(1, LAST + 1))
    if rng.random() < 0.7:
        rng.shuffle(left)
    genesis: Path | None = SAMPLE / "genesis.json"
    folder = tmp_path / str(rng.random())
    logs = [log_of(loading)]
    while left:
        count = rng.choice((4, 9, 20, 50))
        numbers, left = left[:count], left[count:]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(advance, "MESSAGES_AT_ONCE", rng.choice((1, 100, 10_000)))
            is_killed = rng.random() < 0.3
            if is_killed:
                killing(patch, rng)
            try:
                loading.load(*chrysalis_lines(folder / str(len(left)), numbers), genesis=genesis)
            except Killed:
                left = [*numbers, *left] if rng.random() < 0.5 else left
        genesis = None
        logs.append(log_of(loading))
    loading.load(*chrysalis_lines(folder / "again", [LAST]))
    whole = expected("chrysalis from genesis")
    assert [log for log in logs if log != whole[: len(log)]] == []
    assert log_of(loading) == whole
    found = tables_of(loading)
    loading.rebuild()
    assert log_of(loading) == whole
    again = tables_of(loading)
    # Leaves that a later run could not need any more are not written at all.
    assert [row for row in again["listing_tiles"] if row not in found["listing_tiles"]] == []
    assert again | {"listing_tiles": []} == found | {"listing_tiles": []}


async def prove_all(
    loading: Loading, leaves: list[bytes], rows_of: dict[Listing, list[bytes]], ends: Iterable[int]
) -> None:
    """Proves pages of every listing, and of listings without rows."""
    hashes = [leaf_hash(leaf) for leaf in leaves]
    head = LogHead(len(leaves), tree_root(hashes))
    network = loading.store.network
    checkpoint = f"permanode/{network}/1\n{head.size}\n{b64encode(head.root).decode()}\n\n— permanode signature\n"
    absent = [(1, b"\xff" * 9), (2, bytes(32)), (113, b"\xff" * 33), (16, bytes(33))]
    with closing(open_store(loading.store)) as store:
        for end in ends:
            at = intervals.log_place_of_cover(1, end)
            log_path = prove_range(hashes, at, at + 1)
            for number, key in (*rows_of, *absent):
                of_key = rows_of.get((number, key), [])
                rows = [row for row in of_key if int.from_bytes(row[:4], "big") <= end]
                listing = proof.Listing(network, 1, BY_NUMBER[number], key, end)
                for index, count in {(0, 100), (len(rows) // 2, 3), (max(0, len(rows) - 1), 1)}:
                    found = await fetch_trees(store, listing, index, count)
                    page = prove_page(found, listing, index, count, log_path, checkpoint)
                    assert (page.total, list(page.rows)) == (len(rows), rows[index : index + count])
                    verdict = check.check_document(render_document(page).encode(), network, head)
                    assert verdict.failure is None


@pytest.mark.parametrize("name", LEDGERS)
def test_every_listing_is_proved(everywhere: Stores, name: str) -> None:
    loading, _ = everywhere.loaded(name, GEOMETRY)
    ends = (44, 49) if everywhere.kind == "sqlite" else (49,)
    asyncio.run(prove_all(loading, expected(name), listings(LEDGERS[name][0](), 0), ends))


@on(SQLITE)
def test_trees_of_old_covers_are_not_kept(everywhere: Stores) -> None:
    loading, _ = everywhere.loaded("chrysalis from genesis", GEOMETRY)
    listing = proof.Listing("permatest-1", 1, BY_NUMBER[1], b"tag", 4)

    async def fetch() -> None:
        with closing(open_store(loading.store)) as store:
            await fetch_trees(store, listing, 0, 1)

    with pytest.raises(NotFound, match="the leaves of the tree"):
        asyncio.run(fetch())


def forget(loading: Loading) -> None:
    """Makes a store one of an older version, after its migration."""
    with closing(open_store(loading.store, writable=True)) as store, store.batch() as batch:
        for table in LISTINGS:
            batch.clear(table)
        for name in (PROVED_FROM, PROVED_TO):
            batch.delete(schema.keyspace_info, (name,))


@on(SQLITE)
def test_an_older_store_gets_its_roots_with_the_next_load(everywhere: Stores, tmp_path: Path) -> None:
    loading, _ = everywhere.loaded("chrysalis from genesis", GEOMETRY)
    forget(loading)
    assert log_of(loading) == []
    loading.load(*chrysalis_lines(tmp_path, [LAST]))
    assert log_of(loading) == expected("chrysalis from genesis")


@on(SQLITE)
def test_a_follower_leaves_large_intervals_to_the_load_with_days(
    everywhere: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, _ = everywhere.loaded("chrysalis from genesis", GEOMETRY)
    forget(loading)
    monkeypatch.setattr(advance, "HEAD_LEVEL", 0)
    whole = expected("chrysalis from genesis")
    for days, records in ((False, log_size(18)), (False, log_size(18)), (True, len(whole))):
        with runs.open_run(loading.store, loading.settings, quiet, at_head=True) as publication:
            advance.ListingTrees(publication).advance(days=days)
        assert log_of(loading) == whole[:records]


def log_size(milestone: int) -> int:
    """The records of a log from milestone 1 to this one: its own, and for each interval of level 0 two."""
    return milestone + 2 * ((milestone + 1) // SMALLEST)


@on(SQLITE)
def test_a_damaged_row_is_computed_again(everywhere: Stores) -> None:
    loading, _ = everywhere.loaded("chrysalis from genesis", GEOMETRY)
    found = tables_of(loading)
    lost = Unreadable(schema.listing_tiles, [])
    assert set(emptied([lost])) == set(LISTINGS)
    forget(loading)
    loading.rebuild()
    assert tables_of(loading) == found


def test_leaves_of_the_largest_intervals_are_kept_at_any_frontier() -> None:
    largest = intervals.Interval(intervals.LEVELS - 1, 0)
    assert advance._is_kept(1, largest, intervals.MILESTONE_MOST)
    assert not advance._is_kept(1, intervals.Interval(0, 0), intervals.MILESTONE_MOST)
