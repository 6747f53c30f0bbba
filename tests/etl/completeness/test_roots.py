"""Roots after loads, compared with a plain reading of the oracle ledgers of both eras."""

import asyncio
from base64 import b64encode
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from db import schema
from db.connect import open_store
from db.queries.listing_proofs import fetch_trees
from db.queries.log_records import PROVED_FROM, PROVED_TO
from db.store import NotFound, Unreadable
from etl import runs
from etl.completeness import advance
from etl.report import quiet
from etl.writers.rewrite import emptied
from ledger.completeness import check, intervals, proof
from ledger.completeness.check import LogHead
from ledger.completeness.document import render_document
from ledger.completeness.families import BY_NUMBER
from ledger.completeness.proof import prove_page
from ledger.crypto.log_tree import leaf_hash, prove_range, tree_root
from tests.etl.completeness.published_logs import LAST, LEDGERS, SMALLEST, expected, log_of, tables_of
from tests.etl.conftest import SQLITE, Loading, Stores, on
from tests.etl.store_rows import LISTINGS
from tests.ledger.completeness.reference import Listing
from tests.reference_completeness import listings

pytestmark = [pytest.mark.loads, pytest.mark.usefixtures("small_intervals")]

GEOMETRY = 100_000, 90_000
"""That of no other test: stores that others load have intervals of 100 milestones."""


@pytest.mark.parametrize("name", LEDGERS)
def test_roots_are_those_of_the_input_files(everywhere: Stores, name: str) -> None:
    loading, report = everywhere.kept(name, GEOMETRY)
    assert report.ledger_index == LAST
    assert log_of(loading) == expected(name)


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
    loading, _ = everywhere.kept(name, GEOMETRY)
    ends = (44, 49) if everywhere.kind == "sqlite" else (49,)
    asyncio.run(prove_all(loading, expected(name), listings(LEDGERS[name].rows(), 0), ends))


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
    loading.load(*LEDGERS["chrysalis from genesis"].files(tmp_path, [LAST]))
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
