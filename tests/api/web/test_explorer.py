"""Which requests get pages, their headers, the search, errors, and the files that pages load."""

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

import httpx
import pytest

from api.app import create_app
from api.settings import ApiSettings
from api.web.static_files import FOLDER
from db.store import StoreUnavailable
from tests.api.networks import GAPS, MISSING, TWO_ERAS
from tests.api.oracle import Oracle
from tests.api.wormhole_network import DAY_S, World, utc
from tests.api.wormhole_network import NETWORK as WORMHOLE

HOSTILE = "<script>alert(1)</script>\"'`{{7*7}}"


def text_of(html: str) -> str:
    """The text of a page, without tags, with single spaces."""
    body = re.sub(r"<[^>]*>", " ", html.partition("<main")[2].partition("</main>")[0])
    return re.sub(r"\s+", " ", body)


async def test_the_root_is_a_page_for_browsers_and_an_index_for_other_clients(
    pages: httpx.AsyncClient, oracle: Oracle
) -> None:
    page = await pages.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert oracle.expected["network"] in page.text
    for accept in ("*/*", "application/json", "text/html;q=0.5, application/json"):
        index = await pages.get("/", headers={"accept": accept})
        assert index.headers["content-type"] == "application/json"
        assert {each["name"]: each["protocol"] for each in index.json()["networks"]}[WORMHOLE] == "wormhole"


async def test_the_home_page_shows_the_newest_milestone_coverage_and_messages_of_each_network(
    pages: httpx.AsyncClient, oracle: Oracle
) -> None:
    shown = text_of((await pages.get(f"/{oracle.expected['network']}")).text)
    last = oracle.milestones[-1]["milestone"]["index"]
    assert f"newest milestone {last} " in shown
    assert (
        f"{len(oracle.milestones)} milestones in the archive" in shown or f"archive {len(oracle.milestones)} " in shown
    )
    for line in oracle.milestones[-6:]:
        assert f" {line['milestone']['index']} {len(line['messages'])} " in shown


async def test_the_home_page_counts_verified_wormhole_messages(pages: httpx.AsyncClient) -> None:
    world = World()
    newest = max(utc(each.day * DAY_S)[:10] for each in world.verified)
    shown = text_of((await pages.get("/")).text)
    assert f"verified messages {len(world.verified)} newest day {newest} " in shown


async def test_the_home_page_shows_the_other_networks_if_one_cannot_be_read(
    pages: httpx.AsyncClient, explored: Any, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("the disk is gone")

    monkeypatch.setattr(explored.networks[WORMHOLE].store, "slice", fail)
    page = await pages.get("/")
    assert page.status_code == 200
    shown = text_of(page.text)
    assert f"{WORMHOLE} the store does not respond; retry later " in shown
    assert f"newest milestone {oracle.milestones[-1]['milestone']['index']} " in shown
    assert (await pages.get(f"/{WORMHOLE}")).status_code == 503


async def test_the_home_page_counts_the_milestones_that_are_missing(pages: httpx.AsyncClient) -> None:
    assert f"; {len(MISSING)} missing between" in text_of((await pages.get(f"/{GAPS}")).text)


@pytest.mark.parametrize("path", ["/", f"/{TWO_ERAS}", "/search", "/nowhere", f"/{TWO_ERAS}/nothing"])
async def test_every_page_allows_only_files_of_this_server(pages: httpx.AsyncClient, path: str) -> None:
    page = await pages.get(path)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';")
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]* src=)|<style|\son[a-z]+=|\sstyle=|javascript:", page.text)
    assert not re.search(r'(?:src|href)="(?!/|#|\?)', page.text)


async def test_a_page_names_the_requests_that_have_its_data(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    page = await pages.get(f"/{oracle.expected['network']}")
    sources = [each.replace("&amp;", "&") for each in re.findall(r'<li><a href="(/api/[^"]*)"', page.text)]
    assert f"/api/{oracle.expected['network']}/sync" in sources
    for url in sources:
        assert (await pages.get(url)).status_code == 200


async def test_a_search_with_one_result_leads_to_its_page(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    message = oracle.milestones[4]["messages"][0]["id"]
    found = await pages.get("/search", params={"q": message})
    if found.status_code == 302:
        assert found.headers["location"] == f"/{network}/message/{message}"
    else:
        # The same message is in other networks of this server.
        assert f'href="/{network}/message/{message}"' in found.text
    assert (
        f'href="/{network}/message/{message}"'
        in (await pages.get("/search/suggestions", params={"q": message[:12]})).text
    )


@pytest.mark.parametrize("path", ["/search", "/search/suggestions", f"/{TWO_ERAS}/{{}}", "/{}"])
async def test_texts_of_a_request_are_escaped(pages: httpx.AsyncClient, path: str) -> None:
    page = await pages.get(httpx.URL("http://archive").copy_with(path=path.format(HOSTILE)), params={"q": HOSTILE})
    assert "<script>alert" not in page.text
    assert "49" not in re.findall(r"<code>(.*?)</code>", page.text)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/nowhere", 404, "no endpoint /nowhere"),
        (f"/{TWO_ERAS}/nothing/here", 404, f"no endpoint /{TWO_ERAS}/nothing/here"),
        (f"/{TWO_ERAS}//", 404, "no endpoint"),
    ],
)
async def test_browsers_get_a_page_for_an_unknown_path(
    pages: httpx.AsyncClient, path: str, status: int, words: str
) -> None:
    page = await pages.get(path)
    assert page.status_code == status
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert words in text_of(page.text)


async def test_other_methods_than_get_and_head_are_rejected(pages: httpx.AsyncClient) -> None:
    rejected = await pages.post(f"/{TWO_ERAS}")
    assert rejected.status_code == 405
    assert rejected.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/nowhere/messages", "/health/nothing", "/v1/nothing"])
async def test_errors_of_an_api_are_json_for_browsers_too(pages: httpx.AsyncClient, path: str) -> None:
    assert (await pages.get(path)).headers["content-type"] == "application/json"


async def test_pages_load_files_that_browsers_keep(pages: httpx.AsyncClient) -> None:
    page = await pages.get("/")
    files = set(re.findall(r'"(/web/[^"]+)"', page.text))
    assert len(files) >= 4
    for file in files:
        found = await pages.get(file)
        assert found.status_code == 200
        assert "immutable" in found.headers["cache-control"]


def test_vendored_files_are_those_of_their_packages() -> None:
    vendor = FOLDER / "vendor"
    sources = json.loads((vendor / "SOURCES.json").read_text())
    present = {path.relative_to(vendor).as_posix() for path in vendor.rglob("*") if path.is_file()}
    assert present == {each["file"] for each in sources} | {"SOURCES.json"}
    for each in sources:
        assert hashlib.sha256((vendor / each["file"]).read_bytes()).hexdigest() == each["sha256"], each["file"]
    assert {each["package"] for each in sources} == {
        each["package"] for each in sources if each["file"].endswith("LICENSE")
    }


async def test_a_setting_turns_the_explorer_off(explored: Any) -> None:
    settings = replace(explored.settings, explorer=False)
    app = create_app(explored.networks, next(iter(explored.networks)), settings)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://archive") as client:
        root = await client.get("/", headers={"accept": "text/html"})
        assert root.headers["content-type"] == "application/json"
        assert (await client.get(f"/{TWO_ERAS}", headers={"accept": "text/html"})).status_code == 404


@pytest.mark.parametrize("name", ["api", "docs", "v1", "health", "metrics", "mqtt", "search", "web"])
def test_no_network_has_the_name_of_a_path(explored: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"network {name} cannot be mounted"):
        create_app({name: explored.networks[TWO_ERAS]}, name, ApiSettings())
