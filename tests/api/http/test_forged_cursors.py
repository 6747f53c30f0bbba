"""Forged cursors: whoever knows the source can compute the digest of a cursor, so every content is a 400 or a page.

No content of a cursor is an error of the server, on any listing. The query that a digest binds is taken from the
running server, as an attacker would take it from the source.
"""

import base64
import contextlib
import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings
from db.listing import cursor as cursors
from tests.api.asgi import ask
from tests.api.conftest import ON_ONE_STORE, Some, filled_with
from tests.api.contract import Described, described, example
from tests.api.http.test_spans import Listings
from tests.api.http.test_work import largest
from tests.api.oracle import Json, Oracle
from tests.api.paths import OF_WORMHOLE
from tests.api.stardust import StardustLedger
from tests.reference import whole_rows

NAMES = ("state", "cursor")
SIZES = ("page_size", "pageSize", "numRows")
NOT_LISTED = "nothing: the newest rows have no pages"
"""Beginning of the description of a cursor that its operation rejects."""

ODD: list[Any] = [
    None, True, False, -1, 0, 1, 7, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, 2**70, 1.5, -0.0, 1e400, "", "x", "00",
    "0", "ab" * 32, "AB" * 32, "ab" * 34, "\0", "ä", "\ud800", [], [1], {}, {"a": 1}, "recent", "0" * 20, "9" * 20,
]  # fmt: skip
"""Values of JSON that a forged cursor has in place of its own; 1e400 becomes Infinity."""

BODIES = [b"", b"{}", b"[]", b"null", b"0", b"[", b"\xff", b"[" * 700, b"[0, false,null]", b'["\\u0041",false,null]']
"""Bodies that are not the JSON of a cursor."""

RANDOM_PER_ROUTE = 40


class Listed(NamedTuple):
    """A request of a listing: its path, query, and the name of its cursor."""

    path: str
    query: Json
    cursor: str


def spelled(values: object) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()


def sealed(body: bytes, query: str) -> str:
    """The text of a cursor with that body, with its digest as documented in db/listing/cursor.py."""
    key = hashlib.blake2b(query.encode(), digest_size=32).digest()
    digest = hashlib.blake2b(body, digest_size=8, key=key).digest()
    return base64.urlsafe_b64encode(digest + body).rstrip(b"=").decode()


def content(text: str) -> list[Any] | None:
    """The values of a cursor; None for cursors in the form of inx-chronicle, which have no digest."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        found: list[Any] = json.loads(raw[8:])
    except ValueError:
        return None
    return found


def changed(values: list[Any]) -> Iterator[list[Any]]:
    """A cursor's content with one value replaced, left out or added, and shifted."""
    for place in range(len(values)):
        for other in ODD:
            yield [*values[:place], other, *values[place + 1 :]]
        yield [*values[:place], *values[place + 1 :]]
        yield [*values[:place], 0, *values[place:]]
    yield values[::-1]


def is_same_kind(values: list[Any], forged: list[Any]) -> bool:
    """Whether a forged content has values of the same types as the real one, so that it may identify a position."""
    return len(values) == len(forged) and all(
        type(one) is type(other) or one is None for one, other in zip(values, forged, strict=True)
    )


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that the server bound a cursor to, or looked for in one."""
    found: list[str] = []
    digest: Callable[[bytes, str], bytes] = cursors._digest

    def watched(body: bytes, query: str) -> bytes:
        found.append(query)
        return digest(body, query)

    monkeypatch.setattr(cursors, "_digest", watched)
    return found


def listings(is_served: Callable[[Described], bool]) -> Iterator[tuple[Described, str]]:
    """The operations with pages, and the name of their cursor. The same handlers serve their aliases."""
    for each in described():
        if each.is_alias:
            continue
        for parameter in each.operation.get("parameters", ()):
            wanted = parameter["in"] == "query" and parameter["name"] in NAMES
            is_page = not parameter["schema"].get("description", "").startswith(NOT_LISTED)
            if wanted and is_page and each.method == "get" and is_served(each):
                yield each, parameter["name"]


def by_example(each: Described, cursor: str, network: str) -> Listed:
    """A request with the contract's examples of what its route needs."""
    parameters = each.operation["parameters"]
    values = {parameter["name"]: example(parameter) for parameter in parameters} | {"network": network}
    needed = [one["name"] for one in parameters if one["in"] == "query" and one["required"]]
    query = {name: values[name] for name in needed}
    return Listed(each.path.format(**values), query, cursor)


async def forge(app: Any, listed: Listed, queries: list[str], seed: int) -> tuple[int, int]:
    """Requests the listing with many forged cursors. Returns how many, and how many of a real cursor."""
    path, query, name = listed
    size = next((each for each in SIZES if each in known(path)), None)
    first = query | ({size: 1} if size else {})
    status, body = await ask(app, path, first)
    real = found_cursor(body) if status == 200 else None
    suffix = ".1" if real is not None and "." in real else ""
    if real is None:
        # A listing without a second page binds its cursors all the same.
        for suffix in ("", ".1"):
            queries.clear()
            status, _ = await ask(app, path, query | {name: "AAAAAAAAAAAAAAAAAAAA" + suffix})
            assert status in (400, 404, 501), (path, status)
            if queries:
                break
    if not queries:
        return 0, 0
    bound = queries[-1]
    chance = random.Random(seed)
    contents: list[list[Any]] = [
        [chance.choice(ODD) for _ in range(chance.randint(0, 7))] + [chance.choice([False, False, True, None]), final]
        for final in [chance.choice([None, None, 0, 7, -1, 2**31, "x"]) for _ in range(RANDOM_PER_ROUTE)]
    ]
    values = None
    if real is not None:
        values = content(real.removesuffix(suffix))
    if values is not None:
        contents += changed(values)
    forged = [sealed(spelled(each), bound) for each in contents] + [sealed(each, bound) for each in BODIES]
    for text, each in itertools.zip_longest(forged, contents):
        status, body = await ask(app, path, query | {name: text + suffix})
        assert status in (200, 400), (path, each, body)
        if values is not None and each is not None and not is_same_kind(values, each) and each != values:
            assert status == 400, (path, values, each)
        if each is None:
            assert status == 400, (path, text)
    return len(forged), 0 if values is None else len(contents) - RANDOM_PER_ROUTE


def known(path: str) -> set[str]:
    """The query parameters of the route that serves a path."""
    (found,) = [each for each in described() if each.method == "get" and matches(each.path, path)][:1]
    return {one["name"] for one in found.operation["parameters"] if one["in"] == "query"}


def matches(template: str, path: str) -> bool:
    wanted, given = template.split("/"), path.split("/")
    pairs = zip(wanted, given, strict=False)
    return len(wanted) == len(given) and all(one.startswith("{") or one == other for one, other in pairs)


def found_cursor(body: Any) -> str | None:
    """The cursor in a response, wherever its family has it."""
    if isinstance(body, dict):
        for name in ("state", "cursor", "Next"):
            if body.get(name):
                return str(body[name])
        return found_cursor(body.get("data"))
    return None


@pytest.mark.thorough
async def test_on_listings_of_chrysalis(
    mount: NetworkMount, oracle: Oracle, queries: list[str], some: Some[Any]
) -> None:
    app = create_app({"testing": mount}, "testing", ApiSettings())
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    total = real = 0
    routes = list(listings(lambda each: not OF_WORMHOLE.search(each.path)))
    for number, (each, name) in enumerate(some(routes)):
        listed = by_example(each, name, "testing")
        if not set(each.path.split("/")) & {"native-tokens", "nfts", "{aliasId}", "{foundryId}", "{nftId}"}:
            with contextlib.suppress(KeyError):
                listed = listed._replace(path=largest(each.path, oracle))
        if each.path.endswith(("/messages", "/blocks")) and "{index}" not in each.path:
            listed = listed._replace(query={"tag" if "explorer" in each.path else "index": tag})
        forged, of_real = await forge(app, listed, queries, number)
        total, real = total + forged, real + of_real
    if some(routes) == routes:
        assert real > 300
        assert total > 20 * len(routes)


@pytest.mark.thorough
async def test_on_listings_of_stardust(
    stardust: StardustLedger, stardust_store: Any, queries: list[str], some: Some[Any]
) -> None:
    app = create_app({"testing": stardust.mount(stardust_store)}, "testing", ApiSettings())
    real = 0
    for number, each in enumerate(Listings(stardust, some)):
        real += (await forge(app, Listed(each.path, each.query, each.cursor), queries, number))[1]
    if len(some(range(100))) == 100:
        assert real > 1_000


async def test_on_listings_of_wormhole(signed_app: Any, queries: list[str], some: Some[Any]) -> None:
    real = total = 0
    routes = [*listings(lambda each: OF_WORMHOLE.search(each.path) is not None)]
    for number, (each, name) in enumerate(some(routes)):
        forged, of_real = await forge(signed_app, by_example(each, name, "wormhole-mainnet"), queries, number)
        total, real = total + forged, real + of_real
    if some(routes) == routes:
        assert real > 0
        assert total > 20 * len(routes)


@pytest.mark.thorough
@ON_ONE_STORE
async def test_a_cursor_of_another_network_is_rejected(mount: NetworkMount, oracle: Oracle, tmp_path: Path) -> None:
    """The same messages in two networks: each rejects the cursors of the other, and takes those of its own copies."""
    stores = {}
    for name, network in (("other", "other-1"), ("copy", mount.name)):
        settings = StoreSettings(f"sqlite:///{tmp_path / name}", network, 7, 3)
        rows = whole_rows(oracle.milestones, oracle.pending, 7, 3, network)
        stores[name] = filled_with(settings, rows)
    mounts = {
        name: NetworkMount(store, store_network)
        for (name, store), store_network in zip(stores.items(), ("other-1", mount.name), strict=True)
    }
    app = create_app({"testing": mount, **mounts}, "testing", ApiSettings())
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    pages = {}
    for name in ("testing", *mounts):
        _, pages[name] = await ask(app, f"/api/{name}/messages", {"index": tag, "page_size": 3})
    first = {name: page["data"] for name, page in pages.items()}
    assert first["testing"] == first["copy"]
    assert first["testing"]["messageIds"] == first["other"]["messageIds"]
    for name, other in (("testing", "other"), ("other", "copy")):
        query = {"index": tag, "page_size": 3, "state": first[name]["state"]}
        status, body = await ask(app, f"/api/{other}/messages", query)
        assert status == 400
        assert body["error"]["message"].startswith("parameter state: expected the cursor")
    for store in stores.values():
        store.close()
