"""The indexer over the Stardust oracle ledger: every filter, alone and in random company, against a scan of files."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.app import ApiSettings, create_app
from api.indexer_v1.responses import IndexedOutputs
from api.network import NetworkMount
from ledger.crypto.bech32 import format_address
from tests import reference_indexer as reference
from tests.api.asgi import ask
from tests.api.conftest import Some
from tests.api.http.test_work import CountingStore
from tests.api.indexing import BASE, Json, path_of, walk
from tests.api.oracle import GENESIS, Oracle
from tests.api.stardust import StardustLedger
from tests.clients.api_requests_indexer import CHAINS, SEED_NAMES, SEED_PATHS, outputs_of
from tests.reference_indexer import KINDS, NAMES_KEY, TAKES, Indexed

NETWORK = "shimmering"
ROUTES = tuple(TAKES)
SPENT = ("unspent", "only", "any")
PAGE_SIZES = (1, 2, 3, 7, 100, 1000)

random_queries = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="session")
def outputs(stardust: StardustLedger) -> list[Indexed]:
    return outputs_of(stardust)


@pytest.fixture(scope="session")
def counted(stardust: StardustLedger, stardust_store: Any) -> tuple[Any, CountingStore]:
    """The application and its store. The read that a process makes once (where genesis has outputs) is already made."""
    store: Any = CountingStore(stardust_store)
    app = create_app({NETWORK: stardust.mount(store)}, NETWORK, ApiSettings())
    asyncio.run(ask(app, f"{BASE}/outputs"))
    return app, store


@pytest.fixture(scope="session")
def app(counted: tuple[Any, CountingStore]) -> Any:
    return counted[0]


def page_body(ledger: StardustLedger, page_size: int, items: list[str], body: Json) -> Json:
    """The whole body of a page; the cursor's text is not predictable."""
    head = {"ledgerIndex": ledger.expected["milestones"], "pageSize": page_size}
    return head | ({"cursor": body["cursor"]} if "cursor" in body else {}) | {"items": items}


async def check(
    counted: tuple[Any, CountingStore], ledger: StardustLedger, path: str, query: Json, wanted: list[str], size: int
) -> None:
    """All pages of that size as whole bodies; only a page that reached its work limit may have room left."""
    bodies, items = await walk(*counted, path, query, size)
    newest = query.get("sort") == "newest"
    assert items == (wanted[::-1] if newest else wanted), query
    for body in bodies:
        IndexedOutputs.model_validate(body, strict=True, extra="forbid")
        assert body == page_body(ledger, size, body["items"], body)
    if len(wanted) <= size and len(bodies) == 1:
        assert "cursor" not in bodies[0]


def around(value: Any) -> list[Any]:
    """A value and its neighbours: a number one less, the same, one more (a time's limits), or the other boolean."""
    if isinstance(value, bool):
        return [value, not value]
    return [each for each in (value - 1, value, value + 1) if each >= 0] if isinstance(value, int) else [value]


@pytest.mark.thorough
@pytest.mark.parametrize("spent", SPENT)
@pytest.mark.parametrize("route", ROUTES)
async def test_each_filter_by_hits_and_a_miss(
    counted: tuple[Any, CountingStore],
    stardust: StardustLedger,
    outputs: list[Indexed],
    some: Some[Any],
    route: str,
    spent: str,
) -> None:
    of_route = [each for each in outputs if each.output["type"] in KINDS[route]]
    stored = [each for each in of_route if spent == "any" or each.metadata["isSpent"] == (spent == "only")]
    for name in TAKES[route]:
        values = dict.fromkeys(value for each in of_route for value in reference.hits(each, name))
        tried = [each for value in list(values)[:: max(1, len(values) // 3)] for each in around(value)]
        for value in some(tried):
            filters: Json = {name: value}
            if spent != "unspent" and name not in NAMES_KEY:
                key = "sender" if "sender" in TAKES[route] else TAKES[route][0]
                senders = [each for each in stored if reference.MEETS[name](each, value)]
                known = [given for each in senders for given in reference.hits(each, key)]
                filters |= {key: known[0]} if known else {}
                if not known:
                    continue
            wanted = reference.found(outputs, route, filters, spent)
            await check(counted, stardust, path_of(route), {**filters, "spent": spent}, wanted, 100)


def test_the_ledger_has_a_hit_for_every_filter(outputs: list[Indexed]) -> None:
    """Each filter alone matches unspent outputs, so that none is tested on an empty result; except timelocks of basic
    outputs, which are all spent.
    """
    empty = {
        (route, name)
        for route in ROUTES
        for name in TAKES[route]
        if not any(
            not each.metadata["isSpent"]
            for each in outputs
            if each.output["type"] in KINDS[route] and reference.hits(each, name)
        )
    }
    assert empty == {("basic", "timelockedBefore"), ("basic", "timelockedAfter"), ("alias", "sender")}


ANY_VALUE = {
    "has": st.booleans(),
    "min": st.integers(0, 3),
    "max": st.integers(0, 3),
}


@st.composite
def filtered_queries(draw: st.DrawFn, outputs: list[Indexed]) -> tuple[str, Json, str, Indexed]:
    """A route and filters that some output matches, sometimes with one more that it need not match."""
    route, spent = draw(st.sampled_from(ROUTES)), draw(st.sampled_from(SPENT))
    candidates = [
        each
        for each in outputs
        if each.output["type"] in KINDS[route] and (spent == "any" or each.metadata["isSpent"] == (spent == "only"))
    ]
    plain = draw(st.booleans())
    target = draw(st.sampled_from(candidates if plain else sorted(candidates, key=richness)[-25:]))
    usable = {name: reference.hits(target, name) for name in TAKES[route]}
    usable = {name: values for name, values in usable.items() if values}
    names = draw(st.sets(st.sampled_from(sorted(usable)), min_size=0 if spent == "unspent" else 1, max_size=5))
    keys = sorted(NAMES_KEY & usable.keys())
    if spent != "unspent" and not names & NAMES_KEY:
        names |= {draw(st.sampled_from(keys))}
    filters = {name: draw(st.sampled_from(usable[name])) for name in sorted(names)}
    if draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from(TAKES[route]))
        others = [value for each in candidates for value in reference.hits(each, name)]
        if others:
            filters[name] = draw(st.sampled_from(others))
    return route, filters, spent, target


def richness(each: Indexed) -> int:
    """The number of values by which an output can be filtered."""
    return len(each.conditions) + len(each.output.get("features", ())) + each.token_count


@given(data=st.data())
@random_queries
def test_random_filters_find_what_a_scan_of_the_files_finds(
    counted: tuple[Any, CountingStore],
    stardust: StardustLedger,
    outputs: list[Indexed],
    some: Some[int],
    data: st.DataObject,
) -> None:
    page_count = len(some(range(40)))
    route, filters, spent, target = data.draw(filtered_queries(outputs))
    wanted = reference.found(outputs, route, filters, spent)
    if all(reference.MEETS[name](target, value) for name, value in filters.items()):
        assert target.output_id in wanted
    sizes = [size for size in PAGE_SIZES if size * page_count >= len(wanted)]
    query = {**filters, "sort": data.draw(st.sampled_from(("oldest", "newest"))), "spent": spent}
    size = data.draw(st.sampled_from(sizes))
    asyncio.run(check(counted, stardust, path_of(route), query, wanted, size))


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("route", ROUTES)
async def test_a_walk_is_complete_at_every_page_size(
    counted: tuple[Any, CountingStore], stardust: StardustLedger, outputs: list[Indexed], route: str, page_size: int
) -> None:
    wanted = reference.found(outputs, route, {})
    assert wanted
    for sort in ("oldest", "newest") if page_size > 2 else ("oldest",):
        await check(counted, stardust, path_of(route), {"sort": sort}, wanted, page_size)
    owner = max(
        {value for each in outputs for value in reference.hits(each, "unlockableByAddress")},
        key=lambda value: len(reference.found(outputs, "all", {"unlockableByAddress": value}, "any")),
    )
    if "unlockableByAddress" in TAKES[route]:
        wanted = reference.found(outputs, route, {"unlockableByAddress": owner}, "any")
        query = {"unlockableByAddress": owner, "spent": "any", "sort": "newest"}
        await check(counted, stardust, path_of(route), query, wanted, page_size)


async def test_without_parameters_the_oldest_unspent_come_first_as_from_inx_indexer(
    app: Any, stardust: StardustLedger, outputs: list[Indexed]
) -> None:
    wanted = reference.found(outputs, "all", {})
    assert len(wanted) > 600
    status, body = await ask(app, f"{BASE}/outputs")
    assert status == 200
    assert body == {"ledgerIndex": 50, "pageSize": 1000, "items": wanted}


async def test_chain_objects_by_their_ids(
    counted: tuple[Any, CountingStore], stardust: StardustLedger, outputs: list[Indexed]
) -> None:
    app, store = counted
    states = {(kind, key): own for kind in CHAINS for key, own in reference.chains(outputs, kind).items()}
    assert {kind for kind, _ in states} == set(CHAINS)
    assert set(stardust.expected["chains"].values()) & {chain_id for _, chain_id in states}
    for (kind, chain_id), in_order in states.items():
        living = [each.output_id for each in in_order if not each.metadata["isSpent"]]
        path = f"{path_of(kind)}/{chain_id}"
        status, body = await ask(app, path)
        if living:
            assert (status, body) == (200, {"ledgerIndex": 50, "pageSize": 0, "items": living})
        else:
            assert (status, body["error"]["code"]) == (404, "404")
            assert chain_id[2:] in body["error"]["message"]
        every = [each.output_id for each in in_order]
        status, body = await ask(app, path, {"spent": "any"})
        assert (status, body) == (200, {"ledgerIndex": 50, "pageSize": 1000, "items": every})
        ended = [output_id for output_id in every if output_id not in living]
        store.rows = 0
        status, body = await ask(app, path, {"spent": "only", "sort": "newest", "pageSize": 1000})
        assert 0 < store.rows <= 4 * max(5, len(every))
        if ended:
            assert (status, body) == (200, {"ledgerIndex": 50, "pageSize": 1000, "items": ended[::-1]})
        else:
            assert status == 404


@pytest.mark.parametrize("kind", ["alias", "foundry", "nft"])
async def test_a_chain_object_that_is_not_there(app: Any, kind: str) -> None:
    unknown = "0x" + "ab" * (38 if kind == "foundry" else 32)
    for spent in SPENT:
        status, body = await ask(app, f"{path_of(kind)}/{unknown}", {"spent": spent})
        assert (status, body["error"]["code"]) == (404, "404")
        assert unknown[2:] in body["error"]["message"]


@pytest.mark.parametrize("route", SEED_PATHS)
async def test_the_seeds_routes_are_the_same_lists_by_other_names(
    counted: tuple[Any, CountingStore], stardust: StardustLedger, outputs: list[Indexed], route: str
) -> None:
    path = f"/api/{NETWORK}{SEED_PATHS[route]}"
    await check(counted, stardust, path, {}, reference.found(outputs, route, {}), 100)
    for name, own in SEED_NAMES[route].items():
        values = dict.fromkeys(value for each in outputs for value in reference.hits(each, own))
        requested = 0
        for value in list(values):
            for spent in ("unspent", "any") if own in NAMES_KEY else ("unspent",):
                wanted = reference.found(outputs, route, {own: value}, spent)
                requested += bool(wanted)
                await check(counted, stardust, path, {name: value, "spent": spent}, wanted, 100)
        assert requested, name
    if route == "basic":
        return
    for chain_id in reference.chains(outputs, route):
        own_body = await ask(counted[0], f"{path_of(route)}/{chain_id}")
        assert await ask(counted[0], f"{path}/{chain_id}") == own_body


async def test_both_mounts_answer_equally(app: Any, stardust: StardustLedger) -> None:
    owner = stardust.expected["addresses"][0]["bech32"]
    for path, query in (
        ("outputs", {}),
        ("outputs/basic", {"address": owner}),
        ("outputs/alias", {}),
        ("outputs/nft", {"spent": "any", "address": owner}),
        (f"outputs/alias/{stardust.expected['chains']['A']}", {}),
    ):
        found = await ask(app, f"{BASE}/{path}", query)
        assert found[0] == 200
        assert await ask(app, f"/api/{NETWORK}/indexer/v1/{path}", query) == found


async def test_chrysalis_outputs_are_basic_outputs_those_of_genesis_before_every_time(
    mount: NetworkMount, oracle: Oracle
) -> None:
    app = create_app({"testing": mount}, "testing", ApiSettings())
    head = {"ledgerIndex": oracle.expected["milestones"], "pageSize": 1000}

    async def items(query: Json, route: str = "basic") -> list[str]:
        status, body = await ask(app, path_of(route), query)
        assert (status, {key: body[key] for key in head}) == (200, head)
        assert set(body) == {*head, "items"}
        found: list[str] = body["items"]
        return found

    def oldest_first(keys: list[str]) -> list[str]:
        placed = {key: (oracle.milestone_of.get(oracle.outputs[key]["messageId"], 0), key) for key in keys}
        return [f"0x{key}" for key in sorted(keys, key=lambda key: placed[key])]

    for address in oracle.addresses:
        given = {"address": format_address(mount.bech32_hrp, b"\0" + bytes.fromhex(address))}
        every, living = oracle.all_outputs(address), oracle.address_outputs(
            address, output_type=None, include_spent=False
        )  # fmt: skip
        ended = [key for key in every if key not in living]
        genesis = [key for key in every if oracle.outputs[key]["messageId"] == GENESIS]
        assert await items(given) == oldest_first(living)
        assert await items({**given, "hasTimelock": "false", "maxNativeTokenCount": 0}) == oldest_first(living)
        assert await items({**given, "hasNativeTokens": "true"}) == []
        assert await items({**given, "spent": "any", "sort": "newest"}) == oldest_first(every)[::-1]
        assert await items({**given, "spent": "only"}) == oldest_first(ended)
        first = oracle.milestones[0]["milestone"]["timestamp"]
        assert await items({**given, "spent": "any", "createdBefore": first}) == oldest_first(genesis)
        assert await items({**given, "spent": "any", "createdBefore": first, "createdAfter": 0}) == []
        later = [key for key in every if key not in genesis]
        assert await items({**given, "spent": "any", "createdAfter": first - 1}) == oldest_first(later)
    unspent = [key for key, each in oracle.outputs.items() if not each["isSpent"]]
    assert await items({}) == await items({}, "all") == oldest_first(unspent)
    assert await items({}, "alias") == []
