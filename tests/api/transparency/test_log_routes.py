"""The transparency log over HTTP: every expected body of the oracle's log, headers, and what does not exist."""

from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store
from db.store import WritableStore
from tests.api.oracle import Oracle
from tests.clients.api_requests_log import of_log
from tests.etl.transparency.logs import NETWORK, append, files_of, made_store
from tests.reference_log import reference_log

BASE = f"http://test/api/{NETWORK}/log"


def client_of(store: WritableStore, network: str = NETWORK) -> httpx.AsyncClient:
    app = create_app({network: NetworkMount(store, network, "atoi")}, network, ApiSettings())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app))


@pytest.mark.asyncio
async def test_all_bodies_of_the_oracles_log_on_every_store(store: WritableStore, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    reference_log(network, oracle.milestones).write(store)
    async with client_of(store, network) as client:
        for below, requests in of_log(oracle).items():
            for each in requests:
                query = {name: value for name, value in each.given.items() if f"{{{name}}}" not in below}
                answer = await client.get(f"http://test/api/{network}{below.format(**each.given)}", params=query)
                assert answer.status_code == 200, answer.text
                assert (answer.content.hex() if isinstance(each.answer, str) else answer.json()) == each.answer


LAST = 33_000
"""33,700 records: 131 full tiles, so numbers of one part; three levels."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[StoreSettings, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("served")
    settings = made_store(folder / "store")
    append(settings, folder / "lake", LAST)
    return settings, files_of(folder / "lake")


@pytest.fixture
def served(made: tuple[StoreSettings, dict[str, bytes]]) -> Iterator[httpx.AsyncClient]:
    with closing(open_store(made[0])) as store:
        yield client_of(store)


@pytest.mark.thorough
@pytest.mark.asyncio
async def test_every_file_of_the_lake_is_served(made: Any, served: httpx.AsyncClient) -> None:
    for path, data in made[1].items():
        if path in ("head", "verifier"):
            continue
        answer = await served.get(f"{BASE}/{path}")
        assert (answer.status_code, answer.content) == (200, data), path
        if path == "checkpoint":
            assert answer.headers["content-type"] == "text/plain; charset=utf-8"
            assert answer.headers["cache-control"] == "no-cache"
        else:
            assert answer.headers["content-type"] == "application/octet-stream"
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        again = await served.get(f"{BASE}/{path}", headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.thorough
@pytest.mark.asyncio
async def test_partial_tiles_of_earlier_sizes_are_served(made: Any, served: httpx.AsyncClient) -> None:
    whole, records = made[1]["tile/0/100"], made[1]["tile/entries/100"]
    for width in (1, 77, 255):
        answer = await served.get(f"{BASE}/tile/0/100.p/{width}")
        assert answer.content == whole[: 32 * width]
        bundle = (await served.get(f"{BASE}/tile/entries/100.p/{width}")).content
        assert records.startswith(bundle)
        first = int.from_bytes(bundle[:2], "big")
        assert sha256(b"\0" + bundle[2 : 2 + first]).digest() == whole[:32]


@pytest.mark.thorough
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("tile/0/999", 404),
        ("tile/0/131", 404),
        ("tile/0/131.p/255", 404),
        ("tile/0/000.p/0", 400),
        ("tile/0/000.p/256", 404),
        ("tile/0/x000/000", 404),
        ("tile/5/000.p/1", 404),
        ("tile/64/000", 404),
        ("tile/70/000", 400),
        ("tile/0/1", 400),
        ("tile/0/000/", 400),
        ("tile/data/000", 400),
        ("tile/0", 404),
        ("consistency?from=0", 400),
        ("consistency?from=9&to=8", 400),
        ("consistency", 400),
        ("consistency?from=1&to=99999999", 404),
        ("checkpoint?x=1", 400),
        ("proof/0", 404),
        (f"proof/{LAST + 1}", 404),
    ],
)
async def test_what_does_not_exist(served: httpx.AsyncClient, path: str, status: int) -> None:
    answer = await served.get(f"{BASE}/{path}")
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}


@pytest.fixture
def unsigned(tmp_path: Path) -> StoreSettings:
    settings = made_store(tmp_path / "store")
    append(settings, tmp_path / "lake", 50, key=None)
    return settings


@pytest.mark.asyncio
async def test_an_unsigned_log_has_tiles_and_no_checkpoint(unsigned: StoreSettings) -> None:
    with closing(open_store(unsigned)) as store:
        async with client_of(store) as client:
            state = (await client.get(BASE)).json()
            assert (state["newest"]["size"], state["signed"], state["verifier"]) == (50, None, None)
            assert (await client.get(f"{BASE}/tile/0/000.p/50")).status_code == 200
            missing = await client.get(f"{BASE}/checkpoint")
            assert (missing.status_code, missing.json()["error"]["message"]) == (
                404,
                f"a signed checkpoint of the log of {NETWORK} is not in this archive",
            )
            assert (await client.get(f"{BASE}/proof/7")).status_code == 404


@pytest.mark.asyncio
async def test_an_archive_without_a_log(tmp_path: Path) -> None:
    with closing(open_store(made_store(tmp_path / "store"))) as store:
        async with client_of(store) as client:
            for path in ("", "/checkpoint", "/tile/0/000", "/consistency?from=1", "/proof/1"):
                assert (await client.get(BASE + path)).status_code == 404
