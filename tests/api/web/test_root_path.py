"""A server below the path of a proxy: every link of its pages, its documents and its redirects contain the path."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from html import unescape
from typing import Any

import httpx
import pytest
import pytest_asyncio

from api.app import create_app
from api.settings import ApiSettings
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.web.conftest import BROWSER
from tests.api.wormhole_network import World
from tests.web.pages import pages as pages_of

ROOT = "/below/a.path"

LINK = re.compile(r'\s([a-z-]+)="(/[^"]*)"')
"""An attribute whose value is a path."""

CURL = re.compile(r"curl -s '([^']*)'|curl -s &#39;(.*?)&#39;")


@pytest.fixture(scope="module")
def servers(explored: Any) -> dict[str, Any]:
    """Applications at the root and below the path. The first description of the API takes seconds."""
    settings = replace(explored.settings, deadline_s=300.0)
    networks = explored.networks
    return {
        path: create_app(networks, next(iter(networks)), replace(settings, root_path=path or None))
        for path in ("", ROOT)
    }


def browser(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://archive", headers=BROWSER)


@pytest_asyncio.fixture
async def plain(servers: dict[str, Any]) -> AsyncIterator[httpx.AsyncClient]:
    async with browser(servers[""]) as client:
        yield client


@pytest_asyncio.fixture
async def rooted(servers: dict[str, Any]) -> AsyncIterator[httpx.AsyncClient]:
    """A browser behind a proxy that removes the path: its requests reach the server without it."""
    async with browser(servers[ROOT]) as client:
        yield client


@pytest.mark.thorough
async def test_every_link_of_every_kind_of_page_contains_the_path(
    plain: httpx.AsyncClient,
    rooted: httpx.AsyncClient,
    explored: Any,
    oracle: Oracle,
    stardust: StardustLedger,
    world: World,
) -> None:
    visited = [
        each.path
        for each in pages_of(oracle, stardust, world)
        if (each.main or each.status >= 400) and re.split(r"[/?]", each.path)[1] in {"", "search", *explored.networks}
    ]
    assert len(visited) > 20
    for path in visited:
        at_root, below = await plain.get(path), await rooted.get(path)
        assert below.status_code == at_root.status_code, path
        links = LINK.findall(below.text)
        assert links or "location" in below.headers, path
        assert [(name, link) for name, link in links if not link.startswith(f"{ROOT}/")] == [], path
        assert [(name, link.removeprefix(ROOT)) for name, link in links] == LINK.findall(at_root.text), path


@pytest.mark.thorough
async def test_files_redirects_and_requests_of_a_page_work(rooted: httpx.AsyncClient, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    page = await rooted.get(f"/{network}/milestone/10")
    for link in (each for name, each in LINK.findall(page.text) if name in {"src", "href"}):
        assert (await rooted.get(unescape(link).removeprefix(ROOT))).status_code in {200, 302}, link
    shown = next(a or b for a, b in CURL.findall((await rooted.get(f"/{network}/api")).text))
    assert shown.startswith(f"http://archive{ROOT}/api/")
    message = oracle.milestones[4]["messages"][0]["id"]
    moved = await rooted.get(f"/{network}/message/0x{message}")
    assert (moved.status_code, moved.headers["location"]) == (302, f"{ROOT}/{network}/message/{message}")


@pytest.mark.thorough
async def test_the_api_is_described_at_the_path(rooted: httpx.AsyncClient, plain: httpx.AsyncClient) -> None:
    assert (await rooted.get("/openapi.json")).json()["servers"] == [{"url": ROOT}]
    assert "servers" not in (await plain.get("/openapi.json")).json()
    assert f'data-url="{ROOT}/openapi.json"' in (await rooted.get("/docs")).text
    missing = await rooted.get("/api/nowhere/core/v2/info", headers={"accept": "application/json"})
    assert missing.json() == (await plain.get("/api/nowhere/core/v2/info")).json()


@pytest.mark.parametrize("wrong", ["", "/", "archive", "/archive/", "//archive", "/a b", "/a?b", "/a//b", "/ä"])
def test_another_form_of_the_path_is_an_error(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"^root_path must begin with a slash, .*, not "):
        ApiSettings(root_path=wrong)
