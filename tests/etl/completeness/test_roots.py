"""Roots after loads, compared with a plain reading of the oracle ledgers of both eras."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from db import schema
from db.connect import open_store
from db.queries.listing_proofs import fetch_trees
from db.queries.log_records import PROVED_FROM, PROVED_TO, find_proved
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
from tests.etl.completeness.published_logs import (
    LAST,
    LEDGERS,
    SMALLEST,
    checkpoint_of,
    expected,
    expected_checkpoint,
    log_of,
    tables_of,
)
from tests.etl.conftest import CASSANDRA, LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.store_rows import LISTINGS
from tests.ledger.completeness.reference import Listing
from tests.reference_completeness import listings

pytestmark = [pytest.mark.loads, pytest.mark.usefixtures("small_intervals")]

GEOMETRY = 100_000, 90_000
"""That of no other test: stores that others load have intervals of 100 milestones."""


CHRYSALIS, STARDUST = LEDGERS

CLUSTERS = [
    pytest.param("cassandra", STARDUST, marks=CASSANDRA.marks),
    pytest.param("cassandra", CHRYSALIS, marks=LATER_CASSANDRA.marks),
]
"""Chrysalis on a cluster with --slow only."""

EMBEDDED = [pytest.param("sqlite", CHRYSALIS), pytest.param("sqlite", STARDUST)]

ON_A_CLUSTER, BOTH_ON_A_CLUSTER_LATER = (
    pytest.mark.parametrize(("everywhere", "name"), cases, indirect=["everywhere"], scope="module")
    for cases in (CLUSTERS, [*EMBEDDED, *CLUSTERS])
)
"""The scope keeps loaded stores for the next test. The default is that of `name`, a function."""

LATE = range(18, 33)
"""Milestones that a cluster gets in a second load."""

Ledgers: TypeAlias = Callable[[str], Loading]


@pytest.fixture(scope="module")
def ledgers(everywhere: Stores, tmp_path_factory: pytest.TempPathFactory) -> Ledgers:
    """The oracle ledgers by name: on SQLite in one load, on a cluster with late milestones and smaller partitions."""

    @cache
    def loaded(name: str) -> Loading:
        if everywhere.kind == "sqlite":
            return everywhere.loaded(name, GEOMETRY)[0]
        ledger, loading = LEDGERS[name], everywhere((7, 3), LEDGERS[name].network)
        folder = tmp_path_factory.mktemp("parts")
        early = {*range(1, LAST + 1)} - {*LATE}
        loading.load(*reversed(ledger.files(folder, early)), genesis=ledger.genesis)
        loading.load(*ledger.files(folder, LATE))
        return loading

    return loaded


@BOTH_ON_A_CLUSTER_LATER
def test_roots_are_those_of_the_input_files(ledgers: Ledgers, name: str) -> None:
    loading = ledgers(name)
    assert log_of(loading) == expected(name)
    assert checkpoint_of(loading) == expected_checkpoint(name)


@ON_A_CLUSTER
def test_independent_permanodes_divide_listings_equally(stores: Stores, ledgers: Ledgers, name: str) -> None:
    one, _ = stores.loaded(name, GEOMETRY)
    assert tables_of(one)["listing_parts"] == tables_of(ledgers(name))["listing_parts"]


EVERY = 24
"""A cluster takes several times as long for a tree, whose rows are the same."""


def some(rows_of: dict[Listing, list[bytes]]) -> set[Listing]:
    """The largest listing of each family, and every so many of the others."""
    largest = {number: (number, key) for number, key in sorted(rows_of, key=lambda each: len(rows_of[each]))}
    return {*largest.values(), *list(rows_of)[::EVERY]}


async def prove(
    loading: Loading,
    leaves: list[bytes],
    rows_of: dict[Listing, list[bytes]],
    chosen: Iterable[Listing],
    ends: Iterable[int],
) -> None:
    """Proves pages of the chosen listings, and of listings without rows."""
    hashes = [leaf_hash(leaf) for leaf in leaves]
    head = LogHead(len(leaves), tree_root(hashes))
    network = loading.store.network
    checkpoint = f"permanode/{network}/1\n{head.size}\n{b64encode(head.root).decode()}\n\n— permanode signature\n"
    absent = [(1, b"\xff" * 9), (2, bytes(32)), (113, b"\xff" * 33), (16, bytes(33))]
    with closing(open_store(loading.store)) as store:
        for end in ends:
            at = intervals.log_place_of_cover(1, end)
            log_path = prove_range(hashes, at, at + 1)
            for number, key in {*chosen, *absent}:
                of_key = rows_of.get((number, key), [])
                rows = [row for row in of_key if int.from_bytes(row[:4], "big") <= end]
                listing = proof.Listing(network, 1, BY_NUMBER[number], key, end)
                for index, count in {(0, 100), (len(rows) // 2, 3), (max(0, len(rows) - 1), 1)}:
                    found = await fetch_trees(store, listing, index, count)
                    page = prove_page(found, listing, index, count, log_path, checkpoint)
                    assert (page.total, list(page.rows)) == (len(rows), rows[index : index + count])
                    verdict = check.check_document(render_document(page).encode(), network, head)
                    assert verdict.failure is None


@BOTH_ON_A_CLUSTER_LATER
def test_every_listing_is_proved(everywhere: Stores, ledgers: Ledgers, name: str) -> None:
    loading = ledgers(name)
    rows_of = listings(LEDGERS[name].rows(), 0)
    if everywhere.kind == "sqlite":
        asyncio.run(prove(loading, expected(name), rows_of, rows_of, (49,)))
    asyncio.run(prove(loading, expected(name), rows_of, some(rows_of), (44, 49)))


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
        write_trees(loading, days=days)
        assert log_of(loading) == whole[:records]


class Killed(Exception):
    """Ends a run in the middle."""


@on(SQLITE)
@pytest.mark.parametrize("killed_at", [14, 34])
def test_a_follower_after_a_killed_load_proves_every_listing(
    everywhere: Stores, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    """The killed load did not write the leaves of intervals that it would have merged later."""
    name = "chrysalis from genesis"
    loading, _ = everywhere.loaded(name, GEOMETRY)
    forget(loading)
    monkeypatch.setattr(advance, "MESSAGES_AT_ONCE", 1)
    monkeypatch.setattr(advance, "HEAD_LEVEL", 0)
    written = advance.ListingTrees._write_step

    def write_step(self: advance.ListingTrees, first: int, before: int, step: advance.TreeStep, frontier: int) -> None:
        if step.done >= killed_at:
            raise Killed
        written(self, first, before, step, frontier)

    with monkeypatch.context() as patch:
        patch.setattr(advance.ListingTrees, "_write_step", write_step)
        with pytest.raises(Killed):
            write_trees(loading, days=True)
    assert proved_to(loading) == killed_at
    write_trees(loading, days=False)
    log = log_of(loading)
    assert log == expected(name)[: len(log)]
    end, rows_of = intervals.complete_to(1, proved_to(loading)), listings(LEDGERS[name].rows(), 0)
    assert end is not None
    asyncio.run(prove(loading, log, rows_of, some(rows_of), (end,)))


def proved_to(loading: Loading) -> int:
    """The last milestone of the log."""
    with closing(open_store(loading.store)) as store:
        proved = asyncio.run(find_proved(store))
    assert proved is not None
    return proved.stop - 1


def write_trees(loading: Loading, *, days: bool) -> None:
    """Continues the trees as the load of a follower does."""
    with runs.open_run(loading.store, loading.settings, quiet, at_head=True) as publication:
        leaves = advance.message_leaves(publication)
        assert leaves is not None
        leaves.write()
        advance.ListingTrees(publication, leaves).advance(days=days)


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
