"""Every example of the OpenAPI document is in the demo's data: a request that is made of examples alone returns 200.

The stores hold the same ledgers as those of `permanode demo`, written by the naive reference; tests/cli/test_demo.py
sends the prefilled requests to the demo itself.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api import description
from cli import demo, serving
from tests.api.conftest import fill, fill_stardust
from tests.api.contract import Request, described, filled_in, prefilled, with_each_option
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import World
from tests.conftest import some_of
from tests.reference_log import reference_log


@pytest.fixture(scope="module")
def demo_app(
    tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, stardust: StardustLedger, world: World
) -> Iterator[Any]:
    """The application that the demo serves."""
    settings = demo.demo_settings(tmp_path_factory.mktemp("demo"), None)
    network = demo.CHRYSALIS.network
    stores = [
        fill(settings.store(network), oracle),
        fill_stardust(settings.store(demo.STARDUST.network), stardust),
        world.fill(settings.store(demo.WORMHOLE.network)),
    ]
    reference_log(network, oracle.milestones).write(stores[0])
    yield serving.settled_app(settings)
    for store in stores:
        store.close()


@pytest.fixture
def visitor(demo_app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=demo_app), base_url="http://permanode")


def test_the_networks_of_the_examples_are_those_of_the_demo() -> None:
    named = (description.CHRYSALIS_EXAMPLE, description.STARDUST_EXAMPLE, description.WORMHOLE_EXAMPLE)
    assert named == tuple(sample.network for sample in demo.SAMPLES)


@pytest.mark.thorough
async def test_an_example_is_answered(visitor: httpx.AsyncClient) -> None:
    for request_ in some_of([*prefilled(), *with_each_option()]):
        answer = await visitor.request(request_.method, request_.path, params=request_.query, json=request_.body)
        assert answer.status_code == 200, (request_.name, answer.text)


MEDIA_TYPES = {"csv": "text/csv", "ndjson": "application/x-ndjson"}

EXPORTED = [
    (filled_in(each, {}), each.operation["responses"]["200"]["content"].keys() - {"application/json"})
    for each in described()
    if not each.is_alias and "text/csv" in each.operation["responses"].get("200", {}).get("content", {})
]
"""Requests for whole listings, with their media types beside JSON."""


@pytest.mark.thorough
@pytest.mark.parametrize(("request_", "media_types"), EXPORTED, ids=[each.name for each, _ in EXPORTED])
async def test_a_format_returns_what_accept_returns_and_takes_precedence(
    visitor: httpx.AsyncClient, request_: Request, media_types: set[str]
) -> None:
    async def read(accept: str, **query: str) -> tuple[int, str, str]:
        answer = await visitor.get(request_.path, params=request_.query | query, headers={"accept": accept})
        text = "\n".join(line for line in answer.text.splitlines() if not line.startswith('"Date:"'))
        return answer.status_code, answer.headers["content-type"], text

    assert len(EXPORTED) > 8
    page = await read("application/json")
    assert page[0] == 200
    for name, media_type in MEDIA_TYPES.items():
        if media_type not in media_types:
            assert (await read("*/*", format=name))[0] == 400
            continue
        whole = await read(media_type)
        assert whole[0] == 200
        assert whole[1].startswith(media_type)
        assert whole[2]
        for accept in ("*/*", "application/json", *MEDIA_TYPES.values()):
            assert await read(accept, format=name) == whole
            assert await read(accept, format="json") == page
    wrong = await visitor.get(request_.path, params=request_.query | {"format": "xml"})
    assert wrong.status_code == 400
    assert "parameter format: expected " in wrong.text


def test_every_operation_has_an_example() -> None:
    assert len(prefilled()) > 130
    assert len(with_each_option()) > 300
