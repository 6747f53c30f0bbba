"""Proofs of listings from both stores, compared with proofs from whole trees in memory."""

import pytest

from db import schema
from db.queries.listing_proofs import fetch_rows, find_index, locate_key
from db.store import NotFound, StoreDamaged, WritableStore
from ledger.completeness.document import render_document
from ledger.completeness.families import milestone_of
from ledger.completeness.intervals import cover
from ledger.completeness.proof import Listing, prove_page
from ledger.completeness.trees import family_of, place_of
from tests.db.stored_listings import END, FIRST, FRONTIER, MISSING, ROWS, TAGS, shown, write_archive
from tests.db.stores import CHUNK_SIZE
from tests.ledger.completeness.ledgers import Archive


@pytest.fixture(scope="module")
def archive() -> Archive:
    return Archive(ROWS, FIRST, FRONTIER)


@pytest.fixture
def filled(store: WritableStore, archive: Archive) -> WritableStore:
    write_archive(store, archive)
    return store


def listing_of(archive: Archive, place: bytes) -> Listing:
    family = family_of(place)
    assert family is not None
    return Listing(archive.network, FIRST, family, place[1:], END)


async def prove(store: WritableStore, archive: Archive, place: bytes, index: int, count: int) -> bytes:
    listing = listing_of(archive, place)
    trees = await locate_key(store, listing)
    await fetch_rows(store, trees, listing, index, count)
    archive.prove(place, END, index, count)
    proof = prove_page(trees, listing, index, count, archive.log_paths[END], archive.checkpoint)
    return render_document(proof).encode()


async def test_documents_are_those_of_whole_trees(filled: WritableStore, archive: Archive) -> None:
    pages = [(0, 100), (0, 1), (15, 2), (16, 16), (99, 100), (250, 100), (700, 30), (1_400, 1_000)]
    places = [*list(ROWS)[:7], *list(ROWS)[7::100], *MISSING]
    proved = 0
    for place in places:
        total = len(shown(place))
        for index, count in pages:
            if index == 0 or index < total:
                assert await prove(filled, archive, place, index, count) == archive.document(place, END, index, count)
                proved += 1
    assert proved > len(places)


async def test_the_place_of_a_row_is_the_number_of_rows_before_it(filled: WritableStore, archive: Archive) -> None:
    for place, rows in list(ROWS.items())[:8]:
        listing = listing_of(archive, place)
        trees = await locate_key(filled, listing)
        proved = shown(place)
        for index in range(0, len(proved), max(1, len(proved) // 9)):
            assert await find_index(filled, trees, listing, proved[index]) == index
        after = (END + 1).to_bytes(4, "big") + bytes(len(rows[0]) - 4)
        assert await find_index(filled, trees, listing, after) == len(proved)


async def test_rows_that_differ_from_what_was_hashed_are_noticed(filled: WritableStore, archive: Archive) -> None:
    (once,) = ROWS[place_of(TAGS, b"once")]
    names = ("tag", "ms_range_id", "partition_id", "milestone_index", "message_id")
    with filled.batch() as batch:
        batch.upsert(
            schema.tags, names, [(b"once", milestone_of(once) // CHUNK_SIZE, 0, milestone_of(once), bytes(32))]
        )
    with pytest.raises(StoreDamaged, match=r"the rows of 016f6e6365 in .* have another root"):
        await prove(filled, archive, place_of(TAGS, b"once"), 0, 10)


async def test_trees_that_are_no_longer_kept_are_not_found(filled: WritableStore, archive: Archive) -> None:
    interval = cover(FIRST, END)[0]
    with filled.batch() as batch:
        batch.delete(schema.listing_tiles, (*interval, 0))
    with pytest.raises(NotFound, match=f"the leaves of the tree of milestones {interval.start} to {interval.end}"):
        await locate_key(filled, listing_of(archive, place_of(TAGS, b"hot")))
