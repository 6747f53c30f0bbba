"""Invalid requests of indexer clients, and how page sizes, cursors and unknown parameters are parsed."""

from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from ledger.crypto.bech32 import format_address
from tests.api.asgi import ask
from tests.api.indexing import BASE, Json, path_of, sent
from tests.api.stardust import StardustLedger


@pytest.fixture(scope="session")
def app(stardust: StardustLedger, stardust_store: Any) -> Any:
    return create_app({"shimmering": stardust.mount(stardust_store)}, "shimmering", ApiSettings())


@pytest.mark.parametrize(
    ("path", "query", "status", "message"),
    [
        ("basic", {"address": "abc"}, 400, "parameter address: expected a bech32 address: Ed25519 or alias or NFT"),
        ("basic", {"minNativeTokenCount": 65}, 400, "parameter minNativeTokenCount: expected an integer from 0 to 64"),
        ("basic", {"expiresBefore": -1}, 400, "parameter expiresBefore: expected an integer from 0 to 4294967295"),
        ("basic", {"hasTimelock": "maybe"}, 400, "parameter hasTimelock: expected true or false"),
        ("basic", {"tag": "0x1"}, 400, "parameter tag: expected hex of 1 to 64 bytes"),
        ("basic", {"tag": "ab" * 65}, 400, "parameter tag: expected hex of 1 to 64 bytes"),
        ("nft", {"spent": "all"}, 400, "parameter spent: expected one of unspent, only, any"),
        ("nft", {"sort": "desc"}, 400, "parameter sort: expected newest or oldest"),
        ("nft", {"cursor": "AAAA.10"}, 400, "parameter cursor: expected the cursor of the previous page"),
        ("nft", {"cursor": "AAAA"}, 400, "parameter cursor: expected the cursor of the previous page"),
        ("alias/0xabc", {}, 400, "parameter aliasId: expected 64 hex characters"),
        ("foundry/0x" + "ab" * 32, {}, 400, "parameter foundryId: expected 76 hex characters"),
        ("basic", {"spent": "any"}, 501, "parameter spent: any also needs a parameter with an address or a tag"),
        ("alias", {"spent": "only", "hasNativeTokens": "true"}, 501, "parameter spent: only also needs a parameter"),
    ],
)
async def test_what_is_wrong_is_named(app: Any, path: str, query: Json, status: int, message: str) -> None:
    found, body = await ask(app, f"{BASE}/outputs/{path}", query)
    assert found == status
    assert set(body) == {"error"}
    assert body["error"]["code"] == str(status)
    assert body["error"]["message"].startswith(message)


async def test_addresses_of_other_networks_and_of_other_types_are_named(app: Any, stardust: StardustLedger) -> None:
    other = format_address("smr", bytes(33))
    status, body = await ask(app, f"{BASE}/outputs/basic", {"address": other})
    assert status == 400
    assert body["error"]["message"].startswith("parameter address: expected an address of this network, tst1")
    owner = stardust.expected["addresses"][0]["bech32"]
    assert (await ask(app, f"{BASE}/outputs/basic", {"address": format_address("tst", bytes(33))}))[1]["items"] == []
    status, body = await ask(app, f"{BASE}/outputs/basic", {"address": format_address("tst", b"\1" + bytes(32))})
    assert (status, body["error"]["message"][:35]) == (400, "parameter address: expected a bech3")
    status, body = await ask(app, f"{BASE}/outputs/foundry", {"aliasAddress": owner})
    assert status == 400
    assert body["error"]["message"].startswith("parameter aliasAddress: expected a bech32 address: alias")


async def test_an_address_is_in_one_case(app: Any, stardust: StardustLedger) -> None:
    owner = stardust.expected["addresses"][0]["bech32"]
    lower, upper = [await ask(app, f"{BASE}/outputs/basic", {"address": each}) for each in (owner, owner.upper())]
    assert upper == lower
    assert lower[0] == 200
    for mixed in (owner.title(), owner[:4].upper() + owner[4:], owner[:40] + owner[40:].upper()):
        expected = "parameter address: expected a bech32 address: Ed25519 or alias or NFT"
        message = f"{expected}, found '{mixed}' (expected one case, found upper and lower)"
        found = await ask(app, f"{BASE}/outputs/basic", {"address": mixed})
        assert found == (400, {"error": {"code": "400", "message": message}})


async def test_page_sizes_are_read_as_inx_indexer_reads_them_and_a_cursor_has_its_own(app: Any) -> None:
    for text in ("0", "1001", "99999999999999999999", "-1", "x", ""):
        _, body = await ask(app, f"{BASE}/outputs/basic", {"pageSize": text})
        assert body["pageSize"] == 1000
    _, first = await ask(app, f"{BASE}/outputs/basic", {"pageSize": 3})
    assert first["cursor"].endswith(".3")
    _, second = await ask(app, f"{BASE}/outputs/basic", {"pageSize": 50, "cursor": first["cursor"]})
    _, same = await ask(app, f"{BASE}/outputs/basic", {"cursor": first["cursor"]})
    assert second == same
    assert (second["pageSize"], len(second["items"])) == (3, 3)


async def test_a_cursor_is_bound_to_one_query(app: Any, stardust: StardustLedger) -> None:
    owner, other = (each["bech32"] for each in stardust.expected["addresses"][:2])
    requested = [
        ("basic", {}), ("basic", {"address": owner}), ("basic", {"address": other}), ("all", {}),
        ("basic", {"address": owner, "hasTimelock": "false"}), ("basic", {"address": owner, "hasTimelock": "true"}),
        ("basic", {"address": owner, "spent": "any"}), ("basic", {"address": owner, "spent": "only"}),
        ("basic", {"address": owner, "sort": "newest"}), ("basic", {"address": owner, "createdAfter": "1"}),
    ]  # fmt: skip
    cursors = []
    for route, query in requested:
        status, body = await ask(app, path_of(route), {**query, "pageSize": 2})
        assert status == 200
        cursors.append(body.get("cursor"))
    assert sum(cursor is None for cursor in cursors) == 1
    for number, cursor in enumerate(cursors):
        for other_number, (route, query) in enumerate(requested):
            if cursor is not None:
                status, body = await ask(app, path_of(route), {**query, "cursor": cursor})
                assert status == (200 if number == other_number else 400), (number, other_number)


async def test_unknown_parameters_are_ignored(app: Any) -> None:
    known = await ask(app, f"{BASE}/outputs/foundry", {"pageSize": 5})
    assert await ask(app, f"{BASE}/outputs/foundry", {"pageSize": 5, "foo": "bar"}) == known
    assert known[0] == 200


@pytest.mark.parametrize("name", ["address", "include-spent", "hasExpiration"])
async def test_parameters_of_other_operations_are_named(app: Any, name: str) -> None:
    status, body = await ask(app, f"{BASE}/outputs/foundry", {name: "1"})
    assert status == 400
    assert body["error"]["message"].startswith(f"parameter {name}: expected only aliasAddress, createdAfter, ")


async def test_a_known_parameter_may_come_once(app: Any, stardust: StardustLedger) -> None:
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")
    twice = [("createdAfter", "1"), ("createdAfter", "2")]
    answer = await client.get(f"{BASE}/outputs/foundry", params=twice)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "400")
    assert answer.json()["error"]["message"].startswith("parameter createdAfter: expected one value")


def test_sent_values_are_json_s() -> None:
    assert sent({"hasTimelock": True, "tag": "0xab", "expiresAfter": 3}) == {
        "hasTimelock": "true",
        "tag": "0xab",
        "expiresAfter": 3,
    }
