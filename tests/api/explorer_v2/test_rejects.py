"""GET /explorer/v2/rejects: every reject of incomplete milestones, or of one milestone, in pages of any size."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.explorer_v2.reject_responses import Rejects
from api.network import NetworkMount
from db import schema
from db.queries import rejects
from db.store import WritableStore
from tests import reference
from tests.api.conftest import STORES, Filled, filled_with, new_store
from tests.api.explorer_v2.test_explorer_v2 import body, rejected
from tests.api.oracle import Json, Oracle
from tests.reference_rows import Rows

NETWORK = "rejecting"
INCOMPLETE = (3, 4, 9, 21)
COMPLETE = 12
"""A complete milestone whose sources contradict what is verified."""

GIVEN = [
    (-1, "b.log", 7, "", "expected a milestone, found text"),
    (-1, "a.log", 0, "", "expected a gzip file"),
    (3, "a.log", 3, "ab" * 32, "expected the id of the bytes"),
    (3, "a.log", 3, "cd" * 32, "expected the id of the bytes"),
    (3, "a.log", 3, "", "expected 5 messages, found 4"),
    (3, "a.log", 21, "", "expected a Merkle root"),
    (9, "<b>ä.log", 2, "0x00.bin", 'expected "<", found \\'),
    (21, "a.log", 21, "", "expected a Merkle root"),
    (12, "a.log", 12, "ef" * 32, "expected conflicting, found included"),
]
"""Milestone, file, line, item and reason of each reject. The incomplete milestone 4 has none."""


def rows_with_rejects(rows: Rows) -> Rows:
    """The rows of a ledger whose milestones INCOMPLETE are not complete, with GIVEN."""
    names = ("milestone_index", "file", "line", "item", "reason")
    for row in rows["sync"]:
        if row["milestone_index"] in INCOMPLETE:
            row["synced_by"] = None
    (ranges,) = rows["ranges"]
    held = [each for each in range(1, 51) if each not in INCOMPLETE]
    ranges["complete"] = str([[each, each] for each in held])
    ranges["incomplete"] = str([[3, 4], [9, 9], [21, 21]])
    return {**rows, "rejects": [dict(zip(names, each, strict=True)) for each in GIVEN]}


@pytest.fixture(scope="session", params=STORES)
def rejecting(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, filled: Filled
) -> Iterator[WritableStore]:
    settings = new_store(request, tmp_path_factory, "rejecting", NETWORK)
    rows = reference.reference_rows(oracle.milestones, [], 100_000, settings.partition_size, NETWORK)
    store = filled_with(settings, rows_with_rejects(rows))
    yield store
    store.close()


@pytest.fixture
def client(rejecting: WritableStore) -> httpx.AsyncClient:
    app = create_app({"rejecting": NetworkMount(rejecting, NETWORK, "atoi")}, "rejecting", ApiSettings())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


PATH = "rejects"


def expected(*milestones: int) -> list[Json]:
    """The items of rejects of these milestones."""
    return [
        {
            "milestoneIndex": None if milestone < 0 else milestone,
            "file": file,
            "line": line,
            "item": item or None,
            "reason": reason,
        }
        for milestone, file, line, item, reason in sorted(GIVEN)
        if milestone in milestones
    ]


async def walk(client: httpx.AsyncClient, page_size: int, **query: Any) -> list[list[Json]]:
    """The items of all pages."""
    pages, cursor = [], None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        page = await body(client, PATH, Rejects, pageSize=page_size, **query, **more)
        pages.append(page["items"])
        cursor = page["cursor"]
        if cursor is None:
            return pages


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", [1, 2, 3, 8, 100])
async def test_rejects_of_incomplete_milestones_and_unknown_ones(client: httpx.AsyncClient, page_size: int) -> None:
    pages = await walk(client, page_size)
    assert [item for page in pages for item in page] == expected(-1, *INCOMPLETE)
    assert all(len(page) == page_size for page in pages[:-1])


@pytest.mark.thorough
@pytest.mark.parametrize("milestone", [3, 4, COMPLETE, 13, 99])
async def test_rejects_of_one_milestone(client: httpx.AsyncClient, milestone: int) -> None:
    for page_size in (1, 100):
        pages = await walk(client, page_size, milestone=milestone)
        assert [item for page in pages for item in page] == expected(milestone)


async def test_a_page_reads_a_bounded_number_of_milestones(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejects, "EXAMINED", 2)
    pages = await walk(client, 100)
    assert [item for page in pages for item in page] == expected(-1, *INCOMPLETE)
    assert len(pages) == 3  # of the 5 milestones -1, 3, 4, 9, 21


async def test_cursors_of_other_listings_are_rejected(client: httpx.AsyncClient) -> None:
    cursor = (await body(client, PATH, Rejects, pageSize=1))["cursor"]
    await rejected(client, PATH, 400, cursor=cursor, milestone=3)


async def test_the_number_of_rejects_after_the_newest_load(client: httpx.AsyncClient, rejecting: WritableStore) -> None:
    assert (await body(client, PATH, Rejects))["total"] is None
    with rejecting.batch() as batch:
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [["rejects", str(len(GIVEN))]])
    assert (await body(client, PATH, Rejects))["total"] == len(GIVEN)
