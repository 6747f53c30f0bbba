"""Balances and outputs at every ledger index, compared with the oracle ledgers' input files.

Each listing is read twice: from the unspent outputs that a store keeps, and from the history, as it is behind them.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.queries import unspent
from tests import reference_indexer
from tests.api.asgi import ask
from tests.api.conftest import GEOMETRIES, Some, filled_store
from tests.api.explorer import Explorer
from tests.api.http.test_work import CountingStore, bound
from tests.api.indexing import BASE as INDEXER
from tests.api.indexing import path_of, walk
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.clients.api_requests_indexer import CHAINS, outputs_of
from tests.reference import whole_rows
from tests.reference_indexer import Indexed
from tests.reference_rows import write

LAST = 50
DUST_BELOW, DUST_DIVISOR, DUST_MOST = 1_000_000, 100_000, 100
SOME_STATES = (30, 0, 7, 49, 50)
"""Ledger indexes of most tests; of a cluster only the first."""


@pytest.fixture(params=["kept", "history"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where past states come from. `history`: the store keeps unspent outputs only from the newest state on."""
    if request.param == "history":

        async def after_all(_: Any) -> int:
            return LAST

        monkeypatch.setattr(unspent, "find_unspent_from", after_all)
    return str(request.param)


@pytest.fixture(scope="module")
def stardust_app(stardust: StardustLedger, stardust_store: Any) -> tuple[Any, CountingStore]:
    store: Any = CountingStore(stardust_store)
    return create_app({"shimmering": stardust.mount(store)}, "shimmering", ApiSettings()), store


def held_at(oracle: Oracle, address: str, index: int, *, or_spent: bool = False) -> list[str]:
    """Ids of the outputs of an address that exist at a milestone, newest first."""
    return [
        output_id
        for output_id in oracle.all_outputs(address)
        if oracle.milestone_of[oracle.outputs[output_id]["messageId"]] <= index
        and (or_spent or oracle.outputs[output_id].get("milestoneIndexSpent", LAST + 1) > index)
    ]


def balance_at(oracle: Oracle, address: str, index: int) -> Json:
    """The whole response of a node whose newest milestone that is."""
    held = [oracle.outputs[each]["output"] for each in held_at(oracle, address, index)]
    allowance = sum(each["amount"] for each in held if each["type"] == 1)
    dust = sum(each["type"] == 0 and each["amount"] < DUST_BELOW for each in held)
    return {
        "addressType": 0,
        "address": address,
        "balance": sum(each["amount"] for each in held),
        "dustAllowed": dust < min(allowance // DUST_DIVISOR, DUST_MOST),
        "ledgerIndex": index,
    }


async def test_every_chrysalis_balance_after_every_milestone(app: Any, oracle: Oracle, some: Some[str]) -> None:
    seen = set()
    bech32 = {each["address"]: each["bech32"] for each in oracle.expected["addresses"]}
    for address in some(oracle.addresses):
        for index in range(LAST + 1):
            expected = balance_at(oracle, address, index)
            for path in (f"v1/addresses/ed25519/{address}", f"testing/addresses/{bech32[address]}"):
                assert await ask(app, f"/api/{path}", {"ledgerIndex": index}) == (200, {"data": expected})
            seen.add((expected["balance"] > 0, expected["dustAllowed"]))
    assert {(True, False), (False, False)} <= seen
    now = await ask(app, f"/api/v1/addresses/ed25519/{address}")
    assert now == await ask(app, f"/api/v1/addresses/ed25519/{address}", {"ledgerIndex": LAST})


@pytest.mark.thorough
@pytest.mark.parametrize("or_spent", [False, True])
async def test_every_chrysalis_listing_after_every_milestone_adds_up_to_the_balance(
    app: Any, oracle: Oracle, some: Some[str], source: str, or_spent: bool
) -> None:
    for address in some(oracle.addresses):
        path = f"/api/v1/addresses/ed25519/{address}/outputs"
        for index in range(LAST + 1):
            query: Json = {"ledgerIndex": index, "page_size": 3 if index % 10 == 0 else 1000}
            ids = held_at(oracle, address, index, or_spent=or_spent)
            found: list[str] = []
            state: str | None = ""
            while state is not None:
                given = query | {"include-spent": str(or_spent).lower()} | ({"state": state} if state else {})
                status, answer = await ask(app, path, given)
                page = answer["data"]
                items = page["outputIds"]
                head = {"addressType": 0, "address": address, "maxResults": query["page_size"]}
                expected = head | {"count": len(items), "outputIds": items, "state": page["state"]}
                assert (status, page) == (200, expected | {"ledgerIndex": index}), source
                found += items
                state = page["state"]
            assert found == ids
            if not or_spent:
                total = sum(oracle.outputs[each]["output"]["amount"] for each in found)
                assert (
                    total
                    == (await ask(app, path.removesuffix("/outputs"), {"ledgerIndex": index}))[1]["data"]["balance"]
                )


@pytest.mark.thorough
async def test_stardust_balances_of_any_time_by_their_conditions_at_that_time(
    stardust_app: tuple[Any, CountingStore], stardust: StardustLedger, some: Some[int], source: str
) -> None:
    app, store = stardust_app
    differing = 0
    states = some([30, *range(1, LAST + 1, 3 if source == "kept" else 7)])
    for index in states:
        explorer = Explorer(stardust, index)
        assert set(explorer.addresses)
        for address in explorer.addresses:
            store.rows = 0
            status, found = await ask(app, f"/api/explorer/v2/balance/{address}", {"ledgerIndex": index})
            expected = explorer.balance(address)
            assert (status, found if status == 200 else None) == (404 if expected is None else 200, expected)
            named = (await ask(app, f"/api/v1/addresses/{address}", {"ledgerIndex": index}))[1]["data"]
            assert (named["balance"], named["ledgerIndex"]) == (explorer.owned()[address], index)
            differing += expected is not None and int(expected["totalBalance"]) != named["balance"]
    assert differing > len(states) // 4


@pytest.mark.parametrize("role", [None, "sender"])
async def test_explorer_lists_the_outputs_of_any_state(
    stardust_app: tuple[Any, CountingStore], stardust: StardustLedger, some: Some[int], role: str | None
) -> None:
    app, _ = stardust_app
    listed, states = 0, some(SOME_STATES)
    for index in states:
        explorer = Explorer(stardust, index)
        for address in explorer.addresses[:: 1 if role is None else 3]:
            query: Json = {"ledgerIndex": index, "pageSize": 1000} | ({"role": role} if role else {})
            items = explorer.outputs_of(address, role)
            expected = {"address": address, "items": items, "cursor": None, "ledgerIndex": index}
            path = f"/api/explorer/v2/ledger/outputs/by-address/{address}"
            assert await ask(app, path, query) == (200, expected)
            listed += len(items)
    assert listed > 20 * len(states)


def outputs_at(stardust: StardustLedger, index: int) -> list[Indexed]:
    """The outputs that exist after a milestone, and whether they are spent then."""
    found = []
    for each in outputs_of(stardust):
        if each.metadata["milestoneIndexBooked"] <= index:
            is_spent = each.metadata["isSpent"] and each.metadata["milestoneIndexSpent"] <= index
            each.metadata = {**each.metadata, "isSpent": is_spent}
            found.append(each)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("route", reference_indexer.TAKES)
async def test_every_filter_of_the_indexer_in_past_states(
    stardust_app: tuple[Any, CountingStore], stardust: StardustLedger, some: Some[int], source: str, route: str
) -> None:
    hits, taken, states = set[str](), reference_indexer.TAKES[route], some(SOME_STATES)
    for index in states:
        outputs = outputs_at(stardust, index)
        of_route = [each for each in outputs if each.output["type"] in reference_indexer.KINDS[route]]
        for name in taken:
            values = list(dict.fromkeys(value for each in of_route for value in reference_indexer.hits(each, name)))
            for value in values[:: max(1, len(values) // 3)][:2]:
                filters: Json = {name: value}
                if source == "history" and index < LAST and name not in reference_indexer.NAMES_KEY:
                    key = next(each for each in ("unlockableByAddress", "aliasAddress") if each in taken)
                    known = [given for each in of_route for given in reference_indexer.hits(each, key)]
                    filters[key] = known[len(known) // 2]
                for spent in ("unspent", "any") if name in reference_indexer.NAMES_KEY else ("unspent",):
                    wanted = reference_indexer.found(outputs, route, filters, spent)
                    for newest in (False, True):
                        query = filters | {
                            "ledgerIndex": index,
                            "spent": spent,
                            "sort": "newest" if newest else "oldest",
                        }
                        bodies, items = await walk(*stardust_app, path_of(route), query, 7 if newest else 1000)
                        assert items == (wanted[::-1] if newest else wanted), (query, source)
                        assert {(body["ledgerIndex"], body["pageSize"]) for body in bodies} == {
                            (index, 7 if newest else 1000)
                        }
                    hits |= {name} if wanted else set()
    never = {"timelockedBefore", "timelockedAfter", *(("sender", "createdBefore") if route == "alias" else ())}
    assert hits >= set(taken) - never if len(states) == len(SOME_STATES) else hits


async def test_chain_objects_of_the_indexer_in_past_states(
    stardust_app: tuple[Any, CountingStore], stardust: StardustLedger, some: Some[int], source: str
) -> None:
    app, _ = stardust_app
    statuses, states_of_ledger = set(), some(SOME_STATES)
    for kind in CHAINS:
        for chain_id, states in list(reference_indexer.chains(outputs_of(stardust), kind).items())[::4]:
            for index in states_of_ledger:
                at = [each for each in states if each.metadata["milestoneIndexBooked"] <= index]
                living = [each for each in at if each.metadata.get("milestoneIndexSpent", LAST + 1) > index]
                path, query = f"{INDEXER}/outputs/{kind}/{chain_id}", {"ledgerIndex": index}
                status, found = await ask(app, path, query)
                items = [each.output_id for each in living]
                expected = {"ledgerIndex": index, "pageSize": 0, "items": items} if items else None
                assert (status, found if status == 200 else None) == (200 if items else 404, expected), source
                statuses.add(status)
                status, found = await ask(app, path, query | {"spent": "any", "pageSize": 1000})
                ordered = [each.output_id for each in reference_indexer.in_ledger_order(at)] if at else []
                assert status == (200 if at else 404)
                assert not at or found["items"] == ordered
    assert statuses == {200, 404} if len(states_of_ledger) == len(SOME_STATES) else 200 in statuses


async def test_a_cursor_belongs_to_its_ledger_index(
    app: Any, oracle: Oracle, stardust_app: tuple[Any, CountingStore], source: str
) -> None:
    address = max(oracle.addresses, key=lambda each: len(held_at(oracle, each, 30)))
    path, query = f"/api/v1/addresses/ed25519/{address}/outputs", {"page_size": 2}
    indexer, size = f"{INDEXER}/outputs", {"pageSize": 2}
    named = next(iter(Explorer(StardustLedger.read()).bech32.values()))
    listings = (
        (app, path, query, "state"),
        (stardust_app[0], indexer, size | {"unlockableByAddress": named}, "cursor"),
    )
    for served, listing, given, name in listings:
        status, body = await ask(served, listing, given | {"ledgerIndex": 30})
        cursor = body.get("data", body)[name]
        assert (status, bool(cursor)) == (200, True), source
        for other, expected in ((30, 200), (31, 400), (29, 400), (None, 400)):
            again = given | {name: cursor} | ({} if other is None else {"ledgerIndex": other})
            status, body = await ask(served, listing, again)
            assert status == expected, (listing, other, body)
            assert status == 200 or f"parameter {name}: expected the cursor of the previous page of this query" in str(
                body
            )


@pytest.fixture(scope="module")
def from_10_to_30(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An API over a store whose genesis is milestone 10 and whose ledger index is 30."""
    settings = StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('later')}", oracle.expected["network"])
    migrate(settings)
    store = open_store(settings, writable=True)
    rows = whole_rows(oracle.milestones, [], settings.chunk_size, settings.partition_size, settings.network)
    rows["ledger_frontier"] = [{"network": settings.network, "ledger_index": index} for index in (10, 30)]
    rows["keyspace_info"] = [*rows.get("keyspace_info", ()), {"name": "unspent_from", "value": "20"}]
    write(store, rows)
    yield create_app({"testing": NetworkMount(store, settings.network, "atoi")}, "testing", ApiSettings())
    store.close()


@pytest.mark.thorough
async def test_states_that_the_store_does_not_cover_are_named(
    from_10_to_30: Any, oracle: Oracle, tmp_path: Path
) -> None:
    owned = f"/api/v1/addresses/ed25519/{oracle.addresses[0]}"
    bech32 = oracle.expected["addresses"][0]["bech32"]
    explorer = f"/api/explorer/v2/ledger/outputs/by-address/{bech32}"
    balance = f"/api/explorer/v2/balance/{bech32}"
    for path in (owned, f"{owned}/outputs", explorer, balance, f"{INDEXER}/outputs/basic"):
        for index, text in (
            (9, "the ledger state of 9, which is before the genesis (10)"),
            (31, "the ledger state of 31"),
        ):
            status, body = await ask(from_10_to_30, path, {"ledgerIndex": index})
            assert status == 404
            assert text in str(body)
        for index in (-1, "x", 2**32):
            status, body = await ask(from_10_to_30, path, {"ledgerIndex": index})
            assert (status, "parameter ledgerIndex" in str(body)) == (400, True)
        assert (await ask(from_10_to_30, path, {"ledgerIndex": 2**32 - 1}))[0] == 404
    status, body = await ask(from_10_to_30, f"{INDEXER}/outputs", {"ledgerIndex": 19})
    assert (status, "only that of 20 and later: add a parameter with an address or a tag" in str(body)) == (501, True)
    assert (await ask(from_10_to_30, f"{INDEXER}/outputs", {"ledgerIndex": 20}))[0] == 200
    store = filled_store(tmp_path, oracle, *GEOMETRIES["default"], with_genesis=False)
    bare = create_app({"testing": NetworkMount(store, oracle.expected["network"], "atoi")}, "testing", ApiSettings())
    for path in (owned, f"{owned}/outputs", explorer):
        status, body = await ask(bare, path, {"ledgerIndex": 20})
        assert (status, "load --genesis" in str(body)) == (501, True)
    store.close()


async def test_a_balance_is_a_point_read(mount: NetworkMount, oracle: Oracle) -> None:
    """It reads the ledger index, the genesis, two hints and one or two rows, however long the history is."""
    store: Any = CountingStore(mount.store)
    app = create_app({"testing": replace(mount, store=store)}, "testing", ApiSettings())
    for index in (5, 25, LAST):
        for address in oracle.addresses:
            store.rows = 0
            await ask(app, f"/api/v1/addresses/ed25519/{address}", {"ledgerIndex": index})
            assert store.rows <= 6


async def test_the_work_of_a_page_in_the_history_is_bounded(
    mount: NetworkMount, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def after_all(_: Any) -> int:
        return LAST

    monkeypatch.setattr(unspent, "find_unspent_from", after_all)
    store: Any = CountingStore(mount.store)
    app = create_app({"testing": replace(mount, store=store)}, "testing", ApiSettings())
    address = max(oracle.addresses, key=lambda each: len(oracle.all_outputs(each)))
    for page_size in (1, 10, 100, 1000):
        store.rows = 0
        query = {"ledgerIndex": 40, "page_size": page_size}
        status, _ = await ask(app, f"/api/v1/addresses/ed25519/{address}/outputs", query)
        assert (status, store.rows <= bound(page_size)) == (200, True)
