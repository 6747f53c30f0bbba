"""Every response of explorer v2 as a whole body, for everything in the Stardust oracle ledger; pagination; errors."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from api.app import ApiSettings, create_app
from api.explorer_v2 import history_routes as explorer_history
from api.explorer_v2 import ledger_routes as explorer_ledger
from api.explorer_v2 import responses as answers
from api.explorer_v2 import routes as explorer_v2
from api.fields.listing_proof_responses import PageOfProvedLists, ProvedPage
from api.fields.rich_list_responses import RichestAddresses, TokenDistribution
from api.http.responses import FlatErrorResponse
from db.connect import StoreSettings
from tests.api.conftest import Some, fill_stardust
from tests.api.explorer import ORDER, Explorer
from tests.api.oracle import Json
from tests.api.stardust import StardustLedger

BASE = "/api/explorer/v2"
UNKNOWN = "0x" + "ab" * 32
PAGE_SIZES = [1, 7, 1000]


@pytest.fixture(scope="session")
def explorer(stardust: StardustLedger) -> Explorer:
    return Explorer(stardust)


@pytest.fixture(scope="session")
def app(stardust: StardustLedger, stardust_store: Any) -> Any:
    return create_app({"shimmering": stardust.mount(stardust_store)}, "shimmering", ApiSettings())


PROVED = ProvedPage.model_fields.keys() | PageOfProvedLists.model_fields.keys()


async def body(client: httpx.AsyncClient, path: str, model: type[BaseModel], **query: Any) -> Json:
    """A successful response without proofs, which also matches the contract exactly."""
    answer = await client.get(f"{BASE}/{path}", params=query)
    assert answer.status_code == 200, (path, answer.text)
    assert answer.headers["content-type"] == "application/json"
    found: Json = answer.json()
    model.model_validate(found, strict=True, extra="forbid")
    assert list(found) == [name for name in model.model_fields if name not in PROVED]
    return found


async def rejected(client: httpx.AsyncClient, path: str, status: int, **query: Any) -> str:
    """The message of an error, in inx-chronicle's body."""
    answer = await client.get(f"{BASE}/{path}", params=query)
    assert answer.status_code == status, (path, answer.text)
    found = FlatErrorResponse.model_validate(answer.json(), strict=True, extra="forbid")
    assert found.code == status
    return found.message


async def walk(
    client: httpx.AsyncClient, path: str, model: type[BaseModel], items: str, page_size: int, **query: Any
) -> list[Any]:
    """The items of all pages; after the first, the cursor alone determines the page size."""
    page = await body(client, path, model, pageSize=page_size, **query)
    found = list(page[items])
    while page["cursor"] is not None:
        assert len(page[items]) == page_size
        page = await body(client, path, model, cursor=page["cursor"], **query)
        assert 0 < len(page[items]) <= page_size
        found += page[items]
    return found


async def test_every_balance(client: httpx.AsyncClient, explorer: Explorer) -> None:
    differing = 0
    for stated in explorer.ledger.expected["addresses"]:
        expected = explorer.balance(stated["bech32"])
        path = f"balance/{stated['bech32']}"
        if expected is None:
            assert "unspent" in await rejected(client, path, 404)
            assert stated["balance"] == "0"
            continue
        assert await body(client, path, answers.BalanceAnswer) == expected
        assert {each["id"]: each["amount"] for each in expected["nativeTokens"]} == stated["tokens"]
        differing += expected["totalBalance"] != stated["balance"]
    assert differing >= 3, "an owner of an alias, one of what expired, and whom that returned to"


@pytest.fixture(scope="module")
def earlier(stardust: StardustLedger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Any]]:
    """Applications over the ledger after some of its milestones."""
    apps, stores = {}, []
    for last in (20, 48, 49):
        part = replace(stardust, milestones=stardust.milestones[:last], pending=[])
        folder = tmp_path_factory.mktemp(f"after{last}")
        store = fill_stardust(StoreSettings(f"sqlite:///{folder}", stardust.network), part)
        stores.append(store)
        apps[last] = create_app({"shimmering": stardust.mount(store)}, "shimmering", ApiSettings())
    yield apps
    for store in stores:
        store.close()


@pytest.mark.thorough
async def test_balances_before_and_after_an_expiration_and_a_timelock(
    earlier: dict[int, Any], stardust: StardustLedger
) -> None:
    found: dict[int, dict[str, Json]] = {}
    for last, app in earlier.items():
        state = Explorer(stardust, last)
        found[last] = {}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            for address in state.addresses:
                expected = state.balance(address)
                answer = await client.get(f"{BASE}/balance/{address}")
                assert answer.status_code == (200 if expected else 404)
                if expected:
                    assert answer.json() == expected
                    found[last][address] = expected
    expired = next(
        each["output"]
        for each in Explorer(stardust, 49).unspent()
        if any(
            c["type"] == 3 and c["unixTime"] == Explorer(stardust).time_of[49]
            for c in each["output"]["unlockConditions"]
        )
    )
    roles, amount = Explorer(stardust).roles(expired), int(expired["amount"])
    deposit = next(int(each["amount"]) for each in expired["unlockConditions"] if each["type"] == 1)
    spent_and_received = {address: total_of(stardust, 49, address) for address in roles.values()}
    for role, moved in (("address", deposit - amount), ("expirationReturn", amount)):
        before, after = (int(found[last][roles[role]]["totalBalance"]) for last in (48, 49))
        assert after - before == moved + spent_and_received[roles[role]], role
    locked = [
        each
        for balances in found.values()
        for each in balances.values()
        if each["totalBalance"] != each["availableBalance"]
    ]
    assert locked, "something is locked for some time"


def total_of(stardust: StardustLedger, index: int, address: str) -> int:
    """What the transactions of a milestone changed for an address."""
    rows = [each for each in Explorer(stardust).updates_of(address) if each["milestoneIndex"] == index]
    return sum(-int(each["amount"]) if each["isSpent"] else int(each["amount"]) for each in rows)


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_children_are_complete_and_in_order(
    client: httpx.AsyncClient, explorer: Explorer, page_size: int
) -> None:
    assert max(len(each) for each in explorer.children.values()) > 5
    for entry in explorer.ledger.entries[:: 5 if page_size == 1 else 20]:
        path, expected = f"blocks/{entry['id']}/children", explorer.children.get(entry["id"], [])
        page = await body(client, path, answers.Children, pageSize=page_size)
        assert page | {"cursor": None} == {
            "blockId": entry["id"],
            "maxResults": page_size,
            "count": len(expected[:page_size]),
            "children": expected[:page_size],
            "cursor": None,
        }
        assert await walk(client, path, answers.Children, "children", page_size) == expected
        numbered = [
            (await body(client, path, answers.Children, pageSize=page_size, page=number))["children"]
            for number in range(len(expected) // page_size + 2)
        ]
        assert [*chain.from_iterable(numbered)] == expected
    genesis = await walk(client, f"blocks/0x{'00' * 32}/children", answers.Children, "children", page_size)
    assert genesis == explorer.children["0x" + "00" * 32]


async def test_children_are_those_that_expected_json_names(client: httpx.AsyncClient, stardust: StardustLedger) -> None:
    for block_id, expected in list(stardust.expected["children"].items())[::10]:
        found = await body(client, f"blocks/{block_id}/children", answers.Children)
        assert sorted(found["children"]) == sorted(expected)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_blocks_by_tag(client: httpx.AsyncClient, explorer: Explorer, page_size: int) -> None:
    assert len(explorer.tagged) > 5
    assert any(each["milestoneIndex"] is None for each in explorer.tagged["0x7065726d616e6f6465"])
    for tag, expected in explorer.tagged.items():
        assert await walk(client, "blocks", answers.TaggedBlocks, "items", page_size, tag=tag) == expected
        first = await body(client, "blocks", answers.TaggedBlocks, tag=tag, pageSize=1000)
        assert first == {"tag": tag, "items": expected, "cursor": None}
    text = await body(client, "blocks", answers.TaggedBlocks, tag="permanode", utf8="true", sort="oldest")
    assert text["items"] == explorer.tagged["0x7065726d616e6f6465"][::-1][:100]


async def test_blocks_by_tag_in_a_span_of_time(client: httpx.AsyncClient, explorer: Explorer) -> None:
    start, end = explorer.time_of[10], explorer.time_of[20]
    for tag, items in explorer.tagged.items():
        found = await walk(
            client, "blocks", answers.TaggedBlocks, "items", 3, tag=tag, startTimestamp=start, endTimestamp=end
        )
        assert found == [each for each in items if each["milestoneIndex"] and 10 <= each["milestoneIndex"] <= 20]
    assert len(explorer.tagged["0x494f5441"]) > len(found) >= 0


def milestones_of(explorer: Explorer) -> list[Json]:
    return [{"milestoneId": each["milestoneId"], "index": each["index"]} for each in explorer.ledger.milestone_entries][
        ::-1
    ]


@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_milestones_by_time_in_both_orders(client: httpx.AsyncClient, explorer: Explorer, page_size: int) -> None:
    expected, time_of = milestones_of(explorer), explorer.time_of
    assert len(expected) == 50
    assert await walk(client, "milestones", answers.MilestoneList, "items", page_size) == expected
    assert await walk(client, "milestones", answers.MilestoneList, "items", page_size, sort="oldest") == expected[::-1]
    for first, last in ((1, 50), (7, 7), (10, 21), (50, 50)):
        span = {"startTimestamp": time_of[first], "endTimestamp": time_of[last]}
        inside = [each for each in expected if first <= each["index"] <= last]
        assert await walk(client, "milestones", answers.MilestoneList, "items", page_size, **span) == inside
        nearly = {"startTimestamp": time_of[first] + 1, "endTimestamp": time_of[last] - 1}
        if first < last:
            inside = inside[1:-1]
            assert await walk(client, "milestones", answers.MilestoneList, "items", page_size, **nearly) == inside
    since = await walk(client, "milestones", answers.MilestoneList, "items", page_size, startTimestamp=time_of[40])
    assert since == expected[:11]
    until = await walk(client, "milestones", answers.MilestoneList, "items", page_size, endTimestamp=time_of[40])
    assert until == expected[10:]


@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_blocks_of_every_milestone(client: httpx.AsyncClient, explorer: Explorer, page_size: int) -> None:
    for line in explorer.ledger.milestones[:: 2 if page_size == 7 else 10]:
        expected = [
            {"blockId": entry["id"], "payloadType": entry["block"].get("payload", {}).get("type")}
            for entry in line["blocks"]
        ]
        assert len(expected) > 5
        milestone = line["milestone"]
        for path in (f"milestones/{milestone['milestoneId']}", f"milestones/by-index/{milestone['index']}"):
            newest = await walk(client, f"{path}/blocks", answers.BlocksOfMilestone, "blocks", page_size)
            assert newest == expected[::-1]
            oldest = await walk(client, f"{path}/blocks", answers.BlocksOfMilestone, "blocks", page_size, sort="oldest")
            assert oldest == expected


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_updates_of_every_address(
    client: httpx.AsyncClient, explorer: Explorer, page_size: int, some: Some[str]
) -> None:
    roles = set()
    of_role = {each["role"]: each["of"] for each in explorer.updates}
    for address in {*some(explorer.addresses[:: 1 if page_size == 1000 else 4]), *of_role.values()}:
        expected = explorer.updates_of(address)
        roles |= {each["role"] for each in expected}
        path = f"ledger/updates/by-address/{address}"
        page = await body(client, path, answers.UpdatesOfAddress, pageSize=page_size)
        assert page["address"] == address
        assert await walk(client, path, answers.UpdatesOfAddress, "items", page_size) == expected
        oldest = await walk(client, path, answers.UpdatesOfAddress, "items", page_size, sort="oldest")
        assert oldest == expected[::-1]
        for start in (0, 20):
            newer = await walk(
                client, path, answers.UpdatesOfAddress, "items", page_size, sort="oldest", startMilestoneIndex=start
            )
            assert newer == [each for each in expected[::-1] if each["milestoneIndex"] > start]
            older = await walk(client, path, answers.UpdatesOfAddress, "items", page_size, startMilestoneIndex=start)
            assert older == [each for each in expected if each["milestoneIndex"] < start]
    assert roles == {"address", "stateController", "expirationReturn"}
    assert sum(len(explorer.updates_of(each)) for each in explorer.addresses) == len(explorer.updates) > 1500


@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_updates_of_every_milestone(client: httpx.AsyncClient, explorer: Explorer, page_size: int) -> None:
    for line in explorer.ledger.milestones[:: 3 if page_size == 7 else 12]:
        milestone = line["milestone"]
        expected = explorer.updates_in(milestone["index"])
        changes = milestone["utxoChanges"]
        assert len(expected) == len(changes["createdOutputs"]) + len(changes["consumedOutputs"])
        path = f"ledger/updates/by-milestone/{milestone['milestoneId']}"
        page = await body(client, path, answers.UpdatesOfMilestone, pageSize=page_size)
        assert page["milestoneIndex"] == milestone["index"]
        assert await walk(client, path, answers.UpdatesOfMilestone, "items", page_size) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_outputs_of_every_address_in_every_role(
    client: httpx.AsyncClient, explorer: Explorer, page_size: int, some: Some[str]
) -> None:
    listed = set()
    of_role = {
        role: address
        for address in explorer.addresses
        for each in explorer.outputs_of(address)
        for role in each["roles"]
    }
    for address in {*some(explorer.addresses[:: 1 if page_size == 1000 else 4]), *of_role.values()}:
        path, expected = f"ledger/outputs/by-address/{address}", explorer.outputs_of(address)
        listed |= {role for each in expected for role in each["roles"]}
        page = await body(client, path, answers.OutputsOfAddress, pageSize=page_size)
        assert (page["address"], page["ledgerIndex"]) == (address, 50)
        assert await walk(client, path, answers.OutputsOfAddress, "items", page_size) == expected
        if page_size != 1:
            oldest = await walk(client, path, answers.OutputsOfAddress, "items", page_size, sort="oldest")
            assert oldest == expected[::-1]
        if page_size == 7:
            for role in ORDER:
                found = await walk(client, path, answers.OutputsOfAddress, "items", page_size, role=role)
                assert found == explorer.outputs_of(address, role)
    assert listed == set(ORDER)


async def test_what_expected_json_says_of_roles_is_there(client: httpx.AsyncClient, explorer: Explorer) -> None:
    names = {"storageReturn": "storageDepositReturn"} | {
        name: name for name in ("stateController", "governor", "sender", "issuer", "expirationReturn")
    }
    for stated in explorer.ledger.expected["addresses"]:
        path = f"ledger/outputs/by-address/{stated['bech32']}"
        for name, role in names.items():
            found = await body(client, path, answers.OutputsOfAddress, role=role, pageSize=1000)
            unspent = {each["outputId"] for each in found["items"] if not each["isSpent"]}
            assert unspent == set(stated[name]), (stated["bech32"], role)


async def test_histories_are_tables_and_lines_of_json_too(
    client: httpx.AsyncClient, explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer_history, "MAXIMUM", 30)
    for what, expected_of in (("updates", explorer.updates_of), ("outputs", explorer.outputs_of)):
        for address in explorer.addresses[::4]:
            path, expected = f"{BASE}/ledger/{what}/by-address/{address}", expected_of(address)
            answer = await client.get(path, headers={"accept": "application/x-ndjson"}, params={"pageSize": 1})
            assert answer.headers["content-type"] == "application/x-ndjson"
            assert [json.loads(line) for line in answer.text.splitlines()] == expected
            oldest = await client.get(path, headers={"accept": "text/csv"}, params={"sort": "oldest"})
            assert oldest.headers["content-type"] == "text/csv; charset=utf-8"
            assert [*csv.DictReader(io.StringIO(oldest.text))] == [
                {name: in_table(value) for name, value in each.items()} for each in expected[::-1]
            ]
    model = answers.UpdateOfAddress
    nobody = "tst1qzuj04xe3ve9r3pkxrjx6520l5kwdpkuq2kt30usqzmr0we0qy5r7e433uv"
    assert not explorer.updates_of(nobody)
    empty = await client.get(f"{BASE}/ledger/updates/by-address/{nobody}", headers={"accept": "text/csv"})
    assert next(csv.reader([empty.text])) == list(model.model_fields)
    part = await client.get(
        f"{BASE}/ledger/updates/by-address/{explorer.addresses[0]}",
        headers={"accept": "application/x-ndjson;q=0.9, application/json;q=0.5"},
        params={"startMilestoneIndex": 10},
    )
    wanted = [each for each in explorer.updates_of(explorer.addresses[0]) if each["milestoneIndex"] < 10]
    assert [json.loads(line) for line in part.text.splitlines()] == wanted


def in_table(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(value)
    return {None: "", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)


@pytest.mark.parametrize("top", [1, 3, 100, 5000])
async def test_richest_addresses(client: httpx.AsyncClient, explorer: Explorer, top: int) -> None:
    hexes = {each["bech32"]: (each["type"], each["hex"]) for each in explorer.ledger.expected["addresses"]}
    ranked = sorted(explorer.owned().items(), key=lambda item: (-item[1], hexes[item[0]]))
    expected = {"top": [{"address": who, "balance": str(much)} for who, much in ranked[:top]], "ledgerIndex": 50}
    assert len(ranked) > 10
    assert sum(much for _, much in ranked) + int(explorer.ledger.expected["treasury"]["amount"]) > 0
    assert await body(client, "ledger/richest-addresses", RichestAddresses, top=top) == expected
    for name in ("ledgerIndex", "ledger_index"):
        found = await body(client, "ledger/richest-addresses", RichestAddresses, top=top, **{name: 50})
        assert found == expected
    genesis = await body(client, "ledger/richest-addresses", RichestAddresses, top=top, ledgerIndex=0)
    first = Explorer(explorer.ledger, 0).owned()
    assert genesis["ledgerIndex"] == 0
    assert [each["balance"] for each in genesis["top"]] == [str(much) for much in sorted(first.values())[::-1][:top]]


async def test_token_distribution(client: httpx.AsyncClient, explorer: Explorer) -> None:
    buckets: dict[int, list[int]] = {}
    for balance in explorer.owned().values():
        buckets.setdefault(len(str(balance)) - 1, []).append(balance)
    assert len(buckets) > 2
    assert await body(client, "ledger/token-distribution", TokenDistribution) == {
        "distribution": [
            {
                "range": {"start": 10**power, "end": 10 ** (power + 1)},
                "addressCount": str(len(buckets[power])),
                "totalBalance": str(sum(buckets[power])),
            }
            for power in sorted(buckets)
        ],
        "ledgerIndex": 50,
    }


async def test_wealth_of_another_time(client: httpx.AsyncClient) -> None:
    for path in ("ledger/richest-addresses", "ledger/token-distribution"):
        assert "7 are not kept" in await rejected(client, path, 501, ledgerIndex=7)
        assert "51" in await rejected(client, path, 404, ledgerIndex=51)
    both = {"ledgerIndex": 50, "ledger_index": 50}
    assert "ledger_index" in await rejected(client, "ledger/richest-addresses", 400, **both)


async def test_cursors_of_inx_chronicle_begin_where_they_say(client: httpx.AsyncClient, explorer: Explorer) -> None:
    address = max(explorer.addresses, key=lambda each: len(explorer.updates_of(each)))
    updates = explorer.updates_of(address)
    for at in (0, 1, 40, len(updates) - 1):
        each = updates[at]
        text = f"{each['milestoneIndex']}.{each['outputId']}.{str(each['isSpent']).lower()}.3"
        path = f"ledger/updates/by-address/{address}"
        found = await body(client, path, answers.UpdatesOfAddress, cursor=text, pageSize=50)
        assert found["items"] == updates[at : at + 3]
        back = await body(client, path, answers.UpdatesOfAddress, cursor=text, sort="oldest")
        assert back["items"] == updates[max(at - 2, 0) : at + 1][::-1]
    line = explorer.ledger.milestones[20]
    changes, milestone = explorer.updates_in(21), line["milestone"]
    for at in (0, 2, len(changes) - 1):
        text = f"{changes[at]['outputId']}.{str(changes[at]['isSpent']).lower()}.2"
        path = f"ledger/updates/by-milestone/{milestone['milestoneId']}"
        assert (await body(client, path, answers.UpdatesOfMilestone, cursor=text))["items"] == changes[at : at + 2]
    found = await body(client, "milestones", answers.MilestoneList, cursor="30.4")
    assert [each["index"] for each in found["items"]] == [30, 29, 28, 27]
    found = await body(client, "milestones", answers.MilestoneList, cursor="30.4", sort="oldest")
    assert [each["index"] for each in found["items"]] == [30, 31, 32, 33]
    found = await body(client, "milestones", answers.MilestoneList, cursor="4294967295.1")
    assert [each["index"] for each in found["items"]] == [50]
    blocks = await body(client, "milestones/by-index/21/blocks", answers.BlocksOfMilestone, cursor="3.2", sort="oldest")
    assert [each["blockId"] for each in blocks["blocks"]] == [each["id"] for each in line["blocks"][3:5]]


async def test_what_is_wrong_is_named_in_inx_chronicle_s_error_body(
    client: httpx.AsyncClient, explorer: Explorer
) -> None:
    address = explorer.addresses[0]
    updates = f"ledger/updates/by-address/{address}"
    first = await body(client, updates, answers.UpdatesOfAddress, pageSize=1)
    for path, query, name in (
        (f"balance/{address}", {"pageSize": 1}, "pageSize"),
        ("milestones", {"limit": 1}, "limit"),
        ("milestones", {"page_size": 1}, "page_size"),
        ("milestones", {"pageSize": 0}, "pageSize"),
        ("milestones", {"pageSize": -1}, "pageSize"),
        ("milestones", {"pageSize": "x"}, "pageSize"),
        ("milestones", {"sort": "up"}, "sort"),
        ("milestones", {"startTimestamp": 9, "endTimestamp": 8}, "endTimestamp"),
        ("milestones", {"startTimestamp": 2**32}, "startTimestamp"),
        ("milestones", {"cursor": "x"}, "cursor"),
        ("milestones", {"cursor": "x.y.1"}, "cursor"),
        ("milestones", {"cursor": "7.0"}, "cursor"),
        ("milestones", {"cursor": ".1"}, "cursor"),
        ("milestones", {"cursor": first["cursor"]}, "cursor"),
        (updates, {"cursor": first["cursor"], "sort": "oldest"}, "cursor"),
        (updates, {"cursor": f"7.{UNKNOWN}.true.1"}, "cursor"),
        (updates, {"cursor": f"7.{UNKNOWN}0000.yes.1"}, "cursor"),
        (f"ledger/outputs/by-address/{address}", {"role": "owner"}, "role"),
        ("blocks", {}, "tag"),
        ("blocks", {"tag": "xyz"}, "tag"),
        ("blocks", {"tag": "0x" + "00" * 65}, "tag"),
        ("blocks", {"tag": "", "utf8": "true"}, "tag"),
        (f"blocks/{explorer.ledger.entries[0]['id']}/children", {"page": 101}, "page"),
        ("balance/tst1x", {}, "address"),
        ("balance/smr1qrhacyfwlcnzkvzteumekfkrrwks98mpdm37cj4xx3drvmjvnep6x8x4r7t", {}, "address"),
        ("milestones/0x00/blocks", {}, "milestoneId"),
        ("ledger/richest-addresses", {"top": 0}, "top"),
    ):
        message = await rejected(client, path, 400, **query)
        assert message.startswith(f"parameter {name}: expected "), (path, query, message)
    for path in (f"milestones/{UNKNOWN}/blocks", "milestones/by-index/51/blocks", f"blocks/{UNKNOWN}/children"):
        assert "not in this archive" in await rejected(client, path, 404)
    assert "not in this archive" in await rejected(client, f"ledger/updates/by-milestone/{UNKNOWN}", 404)


async def test_a_network_s_own_mount_answers_the_same(client: httpx.AsyncClient, explorer: Explorer) -> None:
    path = f"explorer/v2/ledger/updates/by-address/{explorer.addresses[3]}"
    assert (await client.get(f"/api/shimmering/{path}")).json() == (await client.get(f"/api/{path}")).json()
    elsewhere = await client.get(f"/api/elsewhere/{path}")
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (404, 404)


async def test_too_much_for_one_request_is_reported(
    client: httpx.AsyncClient, explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer_ledger, "OUTPUTS_MAX", 10)
    monkeypatch.setattr(explorer_v2, "SKIPPED_MAX", 3)
    rich = next(each["bech32"] for each in explorer.ledger.expected["addresses"] if len(each["ownedUnspent"]) > 20)
    assert "more than 10 outputs" in await rejected(client, f"balance/{rich}", 501)
    block_id = max(explorer.children, key=lambda each: len(explorer.children[each]))
    await body(client, f"blocks/{block_id}/children", answers.Children, pageSize=3, page=1)
    assert await rejected(client, f"blocks/{block_id}/children", 400, pageSize=2, page=2)
