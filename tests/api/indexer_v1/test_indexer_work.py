"""The indexer's work is bounded where filters drop nearly all rows of a key, and its cursor continues from there."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from cli.serving import make_app
from cli.settings import read
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.listing.page import EXAMINED_AT_LEAST, EXAMINED_PER_ROW
from ledger.crypto.bech32 import format_address
from tests.api.http.test_work import CountingStore
from tests.api.indexing import Json, walk
from tests.db.made_outputs import LAST, Made, put_made
from tests.db.stores import CHUNK_SIZE

NETWORK = "crowded-1"
COUNT = 6_000
RARE = 500
"""One output of that many has native tokens."""

OWNER = b"\0" + hashlib.blake2b(b"owner", digest_size=32).digest()
ROLES = (
    ("basic", "address"), ("basic", "expiration_return"), ("nft", "storage_deposit_return"),
    ("alias", "state_controller"), ("alias", "governor"),
)  # fmt: skip


def crowd() -> list[Made]:
    """Outputs that OWNER may unlock in one role each, half of them spent, in the order of their output ids."""
    made = []
    for number in range(COUNT):
        kind, view = ROLES[number % len(ROLES)]
        milestone = 1 + number * (LAST - 1) // COUNT
        keys = {view: OWNER} | ({"sender": OWNER} if kind != "alias" else {})
        filter_values = {
            "native_tokens": 2 if number % RARE < 2 else 0,
            "expiration": 5 if view == "expiration_return" else None,
        }
        spent = LAST if number % 2 else None
        made.append(Made(kind, milestone, number, number.to_bytes(34, "big"), keys, spent, filter_values))
    return made


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("crowded")
    settings = StoreSettings(f"sqlite:///{folder}", NETWORK, CHUNK_SIZE)
    migrate(settings)
    store = open_store(settings, writable=True)
    put_made(store, crowd(), 1)
    with store.batch() as batch:
        batch.upsert(schema.ledger_frontier, schema.ledger_frontier.names, [(NETWORK, 0), (NETWORK, LAST)])
    yield store
    store.close()


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", [1, 100, 1000])
@pytest.mark.parametrize("spent", ["unspent", "only", "any"])
@pytest.mark.parametrize(("route", "key"), [("outputs", "unlockableByAddress"), ("outputs/basic", "sender")])
async def test_few_of_many_rows_are_found_page_by_page(
    crowded: Any, route: str, key: str, spent: str, page_size: int
) -> None:
    store: Any = CountingStore(crowded)
    app = create_app({NETWORK: NetworkMount(store, NETWORK, "tst")}, NETWORK, ApiSettings())
    wanted = [
        f"0x{each.output_id.hex()}"
        for each in crowd()
        if each.filter_values["native_tokens"] == 2
        and (route == "outputs" or (each.kind == "basic" and "sender" in each.keys))
        and (spent == "any" or (each.spent is not None) == (spent == "only"))
    ]
    assert len(wanted) >= 4
    rows = sum(route == "outputs" or (each.kind == "basic" and "sender" in each.keys) for each in crowd())
    query: Json = {key: format_address("tst", OWNER), "minNativeTokenCount": 2, "spent": spent}
    for sort in ("oldest", "newest"):
        bodies, items = await walk(app, store, f"/api/indexer/v1/{route}", {**query, "sort": sort}, page_size)
        assert items == (wanted if sort == "oldest" else wanted[::-1])
        assert (len(bodies) > 1) == (rows > max(EXAMINED_AT_LEAST, EXAMINED_PER_ROW * page_size))
    bodies, items = await walk(app, store, f"/api/indexer/v1/{route}", {**query, "maxNativeTokenCount": 1}, page_size)
    assert items == []
    assert (len(bodies) > 1) == (rows > max(EXAMINED_AT_LEAST, EXAMINED_PER_ROW * page_size))


async def test_a_network_of_stardust_alone_is_not_searched_for_chrysalis_outputs(tmp_path: Path) -> None:
    settings = StoreSettings(f"sqlite:///{tmp_path}", NETWORK, CHUNK_SIZE)
    migrate(settings)
    store = open_store(settings, writable=True)
    kinds = ("legacy", "basic", "legacy", "basic")
    ids = [bytes([at]) * 34 for at in range(len(kinds))]
    put_made(store, [Made(kind, 1 + at, at, ids[at], {"address": OWNER}, None, {}) for at, kind in enumerate(kinds)], 1)
    with store.batch() as batch:
        batch.upsert(schema.ledger_frontier, schema.ledger_frontier.names, [(NETWORK, 0), (NETWORK, LAST)])
    store.close()
    path = f"/api/indexer/v1/outputs/basic?address={format_address('atoi', OWNER)}"
    for first, wanted in (("", ids), ("2", ids), ("0", ids[1::2]), ("1", ids[1::2])):
        variables = {"PERMANODE_STORE": settings.url, "PERMANODE_NETWORK": NETWORK}
        variables["PERMANODE_STORE_CHUNK_SIZE"] = str(CHUNK_SIZE)
        app = make_app(read(None, variables | ({"PERMANODE_STORE_STARDUST_FROM": first} if first else {}), {}))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            found = (await client.get(path)).json()
        assert found["items"] == [f"0x{each.hex()}" for each in wanted]
