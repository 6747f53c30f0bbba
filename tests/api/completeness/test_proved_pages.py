"""`proof=complete` of every listing that has a family, over both oracle ledgers with intervals of five milestones."""

import json
from base64 import b64decode
from collections.abc import Iterable

import httpx
import pytest

from ledger.completeness.check import check_document
from ledger.crypto.bech32 import format_address
from tests.api.completeness.proved_routes import BOTH_ERAS, CHRYSALIS, SEEDS, STARDUST, Route, pages
from tests.api.contract import described
from tests.api.oracle import Json
from tests.api.proved import END, Proved


def listed(answer: Json, route: Route) -> list[str]:
    items = answer[route.items]
    return [(each[route.item] if route.item else each).removeprefix("0x") for each in items]


def checked(answer: Json, route: Route, proved: Proved, key: bytes) -> dict[str, tuple[int, list[bytes]]]:
    """Checks the documents of a page: family → place of the first row, and the rows."""
    assert answer["completeTo"] == END
    documents = answer[route.documents] if route.documents == "proofs" else [answer[route.documents]]
    found = {}
    for each in documents:
        text = json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode()
        assert check_document(text, proved.network, proved.head).failure is None
        assert (each["key"], each["to"]) == (key.hex(), END)
        whole = [row for row in proved.of(each["family"], key) if int.from_bytes(row[:4], "big") <= END]
        rows = [b64decode(row) for row in each["rows"]]
        assert each["total"] == len(whole)
        assert rows == whole[each["index"] : each["index"] + len(rows)]
        found[each["family"]] = each["index"], rows
    assert sorted(found) == sorted(route.families)
    return found


def without_ends(rows: list[bytes], shown: set[str], start: int, stop: int) -> list[bytes]:
    """The rows without the one before and the one after the page."""
    if rows and rows[0].hex()[start:stop] not in shown:
        rows = rows[1:]
    return rows[:-1] if rows and rows[-1].hex()[start:stop] not in shown else rows


async def prove_pages(proved: Proved, route: Route) -> int:
    start, stop = (2 * each for each in route.id_bytes)
    keys = {key for family in route.families for key in proved.keys(family)}
    if route.key == "ed25519":
        keys = {key for key in keys if key[0] == 0}
    count = 0
    for key in sorted(keys):
        if not key and "messages?" in route.path:
            continue
        for page_size, order in ((2, "newest"), (1000, "oldest")):
            rows: dict[str, set[bytes]] = {family: set() for family in route.families}
            for page in await pages(proved, route, key, page_size, order):
                shown = {*listed(page, route)}
                for family, (_, of_page) in checked(page, route, proved, key).items():
                    ids = [row.hex()[start:stop] for row in without_ends(of_page, shown, start, stop)]
                    assert {*ids} - shown <= (proved.migrated if "transactions/" in route.path else set())
                    rows[family] |= {*of_page}
                count += len(shown)
            for family, of_pages in rows.items():
                whole = proved.of(family, key)
                assert sorted(of_pages) == [row for row in whole if int.from_bytes(row[:4], "big") <= END]
    return count


@pytest.mark.thorough
@pytest.mark.parametrize("route", BOTH_ERAS, ids=lambda each: each.path)
async def test_all_pages_are_proved(proved: Proved, route: Route) -> None:
    assert await prove_pages(proved, route) > 10


@pytest.mark.thorough
@pytest.mark.parametrize("route", CHRYSALIS, ids=lambda each: each.path)
@pytest.mark.parametrize("proved", ["chrysalis"], indirect=True)
async def test_all_pages_of_chrysalis_outputs_are_proved(proved: Proved, route: Route) -> None:
    assert await prove_pages(proved, route) > 10


@pytest.mark.thorough
@pytest.mark.parametrize("route", [*STARDUST, *SEEDS], ids=lambda each: each.path)
@pytest.mark.parametrize("proved", ["stardust"], indirect=True)
async def test_all_pages_of_stardust_outputs_are_proved(proved: Proved, route: Route) -> None:
    assert await prove_pages(proved, route) > 3


def paths_with_proof() -> Iterable[str]:
    for each in described():
        if each.method == "get" and "proof" in {
            parameter["name"] for parameter in each.operation.get("parameters", ())
        }:
            yield each.path


def test_every_listing_of_a_family_has_the_parameter() -> None:
    """The routes above, and those that answer with the same handlers. Emitters of Wormhole networks state sequences."""
    same = {
        "transactions/{key}/included-message/children", "addresses/ed25519/{key}/outputs", "outputs",
        "aliases", "aliases/{key}", "foundries/{key}", "nft", "nft/{key}", "indexer/v1/outputs",
        "explorer/v2/blocks/{key}/children",
    }  # fmt: skip
    tested = {each.path.partition("?")[0] for each in (*BOTH_ERAS, *CHRYSALIS, *STARDUST, *SEEDS)} | same
    found = set()
    for path in paths_with_proof():
        if path.startswith("/api/{network}/") and not path.endswith("/vaas/{chain}/{emitter}"):
            below = path.removeprefix("/api/{network}/").removeprefix("core/v1/")
            found.add("/".join("{key}" if part.startswith("{") else part for part in below.split("/")))
    assert sorted(found) == sorted(tested)


TAGGED = "explorer/v2/blocks"


def most_tagged(proved: Proved) -> bytes:
    return proved.keys("messages_by_tag")[0]


@pytest.mark.thorough
async def test_a_span_is_proved_by_the_rows_around_it(proved: Proved) -> None:
    tag = most_tagged(proved)
    whole = [row for row in proved.of("messages_by_tag", tag) if int.from_bytes(row[:4], "big") <= END]
    for start, end in ((10, 20), (11, 11), (1, 3), (48, 50), (50, 50), (60, 70)):
        query = {"tag": f"0x{tag.hex()}", "proof": "complete", "start": str(start), "end": str(end)}
        page = (await proved.get(TAGGED, query)).json()
        document = page["proof"]
        inside = [row for row in whole if start <= int.from_bytes(row[:4], "big") <= end]
        before = [row for row in whole if int.from_bytes(row[:4], "big") < start]
        after = [row for row in whole if int.from_bytes(row[:4], "big") > end]
        assert [b64decode(row) for row in document["rows"]] == [*before[-1:], *inside, *after[:1]]
        assert document["index"] == max(0, len(before) - 1)


async def test_a_listing_without_rows_is_proved(proved: Proved) -> None:
    page = (await proved.get(TAGGED, {"tag": "0xffffff", "proof": "complete"})).json()
    assert (page["items"], page["completeTo"]) == ([], END)
    assert (page["proof"]["total"], page["proof"]["rows"]) == (0, [])
    text = json.dumps(page["proof"], separators=(",", ":"), ensure_ascii=False).encode()
    assert check_document(text, proved.network, proved.head).is_valid


FILTERED = (
    ("addresses/{address}/outputs", {}, "include-spent=true"),
    ("addresses/{address}/outputs", {"include-spent": "true", "type": "0"}, "no type"),
    ("addresses/{address}/outputs", {"include-spent": "true", "included": "false"}, "included=true"),
    ("transactions/ed25519/{hex}", {"ledger_included": "false"}, "ledger_included=true"),
    ("explorer/v2/ledger/updates/by-address/{address}", {"startMilestoneIndex": "7"}, "no startMilestoneIndex"),
    ("explorer/v2/ledger/outputs/by-address/{address}", {}, "role"),
    ("indexer/v1/outputs/basic", {"address": "{address}"}, "spent=any"),
    ("indexer/v1/outputs/basic", {"address": "{address}", "spent": "only"}, "spent=any"),
    ("indexer/v1/outputs/basic", {"address": "{address}", "tag": "0x01", "spent": "any"}, "one parameter"),
    ("indexer/v1/outputs/basic", {"address": "{address}", "hasTimelock": "true", "spent": "any"}, "one parameter"),
    (
        "indexer/v1/outputs",
        {"unlockableByAddress": "{address}", "spent": "any"},
        "at most 5 kinds of outputs and roles",
    ),
    ("indexer/v1/outputs/nft/0x" + 32 * "00", {}, "spent=any"),
    ("explorer/v2/blocks?tag=0x01", {"proof": "all"}, "complete"),
    ("messages?index=01", {"proof": "true"}, "complete"),
    ("messages/{hex}", {}, "only "),
)


@pytest.mark.parametrize(("path", "query", "message"), FILTERED)
async def test_a_page_with_a_filter_is_not_proved(
    proved: Proved, path: str, query: dict[str, str], message: str
) -> None:
    key = bytes(33)
    of_key = {"address": format_address(proved.hrp, key), "hex": key[1:].hex()}
    path, _, own = path.format(**of_key).partition("?")
    given = {"proof": "complete"} | {name: each.format(**of_key) for name, each in query.items()}
    response = await proved.get(path, given | dict(pair.split("=") for pair in own.split("&") if pair))
    assert response.status_code == 400, response.text
    assert "parameter proof" in response.text
    assert message in response.text


@pytest.mark.parametrize("path", ["addresses/{address}/tx-history", "explorer/v2/ledger/updates/by-address/{address}"])
async def test_exports_are_not_proved(proved: Proved, path: str) -> None:
    path = path.format(address=format_address(proved.hrp, bytes(33)))
    response = await proved.get(path, {"proof": "complete"}, accept="text/csv")
    assert (response.status_code, "a response in JSON, not text/csv" in response.text) == (400, True)


async def test_without_a_signed_log_nothing_is_proved(client: httpx.AsyncClient) -> None:
    response = await client.get("/api/testing/explorer/v2/blocks", params={"tag": "0x01", "proof": "complete"})
    assert (response.status_code, "log of " in response.json()["message"]) == (404, True)
