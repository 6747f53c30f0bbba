"""`proof=complete` of every listing that has a family, over both oracle ledgers with intervals of five milestones."""

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from ledger.completeness.check import check_document
from ledger.crypto.bech32 import format_address
from tests.api.contract import described
from tests.api.oracle import Json, Oracle
from tests.api.proved import END, LEDGERS, Proved, served
from tests.api.stardust import StardustLedger


@pytest.fixture(scope="module", params=LEDGERS)
def proved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, stardust: StardustLedger
) -> Iterator[Proved]:
    with served(request.param, tmp_path_factory.mktemp("proved"), oracle, stardust) as found:
        yield found


@dataclass(frozen=True)
class Route:
    """How one operation shows a listing.

    Attributes:
        path: path below the network's mount, with the key.
        families: the families that the listing merges.
        items: name of the list in the response.
        item: name of an item's id; empty if the item is the id.
        id_bytes: where a row id has that id.
        size: name of the parameter with the page size; the cursor's parameter follows from it.
        key: how the path has the key.
        query: parameters that make the listing whole.
        is_v1: the response has an envelope.
    """

    path: str
    families: tuple[str, ...]
    items: str
    item: str = ""
    id_bytes: tuple[int, int] = (4, 36)
    size: str = "pageSize"
    key: str = "hex"
    query: tuple[tuple[str, str], ...] = ()
    is_v1: bool = False

    @property
    def cursor(self) -> str:
        return "state" if self.is_v1 else "cursor"

    @property
    def documents(self) -> str:
        return "proofs" if "outputs" in self.path or self.path.startswith("foundries") else "proof"

    def spelled(self, key: bytes, hrp: str) -> str:
        match self.key:
            case "bech32":
                return format_address(hrp, key)
            case "ed25519":
                return key[1:].hex()
            case "0x":
                return f"0x{key.hex()}"
        return key.hex()


OWNED = ("legacy_outputs_by_address",)
OWNED_IN_STARDUST = (
    "basic_outputs_by_address", "foundry_outputs_by_address", "nft_outputs_by_address",
    "alias_outputs_by_state_controller",
)  # fmt: skip
OUTPUT, CHANGE, ATTACHMENT, STATE = (4, 38), (4, 38), (36, 68), (8, 42)
ANY, SPENT = (("spent", "any"),), (("include-spent", "true"),)


def v1(path: str, family: tuple[str, ...], items: str, **more: Any) -> Route:
    return Route(path, family, items, size=more.pop("size", "page_size"), is_v1=True, **more)


def indexed(path: str, *families: str, **more: Any) -> Route:
    return Route(f"indexer/v1/outputs{path}", families, "items", id_bytes=OUTPUT, query=ANY, **more)


BOTH_ERAS = (
    v1("messages?index={key}", ("messages_by_tag",), "messageIds"),
    v1("messages/{key}/children", ("messages_by_parent",), "childrenMessageIds"),
    v1("addresses/{key}/tx-history", ("transactions_by_address",), "history", item="messageId", id_bytes=ATTACHMENT,
       size="pageSize", key="bech32"),
    v1("addresses/ed25519/{key}/tx-history", ("transactions_by_address",), "history", item="messageId",
       id_bytes=ATTACHMENT, size="pageSize", key="ed25519"),
    v1("transactions/ed25519/{key}", ("transactions_by_address",), "transactions", item="messageId",
       id_bytes=ATTACHMENT, key="ed25519"),
    Route("explorer/v2/blocks?tag={key}", ("messages_by_tag",), "items", "blockId", key="0x"),
    Route("explorer/v2/blocks/{key}/children", ("messages_by_parent",), "children"),
    Route("explorer/v2/ledger/updates/by-address/{key}", ("ledger_updates_by_address",), "items", "outputId", CHANGE,
          key="bech32"),
)  # fmt: skip
CHRYSALIS = (
    v1("addresses/{key}/outputs", OWNED, "outputIds", id_bytes=OUTPUT, key="bech32", query=SPENT),
    v1("addresses/ed25519/{key}/outputs", OWNED, "outputIds", id_bytes=OUTPUT, key="ed25519", query=SPENT),
)
STARDUST = (
    v1("addresses/{key}/outputs", OWNED_IN_STARDUST, "outputIds", id_bytes=OUTPUT, key="bech32", query=SPENT),
    Route("explorer/v2/ledger/outputs/by-address/{key}", ("basic_outputs_by_sender", "alias_outputs_by_sender",
          "nft_outputs_by_sender"), "items", "outputId", OUTPUT, key="bech32", query=(("role", "sender"),)),
    Route("explorer/v2/nfts/{key}/transfers", ("nft_outputs_by_chain",), "items", "outputId", STATE),
    Route("explorer/v2/native-tokens/{key}/supply", ("foundry_outputs_by_chain",), "items", "outputId", STATE),
    indexed("/basic?address={key}", "basic_outputs_by_address", "legacy_outputs_by_address", key="bech32"),
    indexed("/basic?tag={key}", "basic_outputs_by_tag"),
    indexed("/nft?issuer={key}", "nft_outputs_by_issuer", key="bech32"),
    indexed("/alias?governor={key}", "alias_outputs_by_governor", key="bech32"),
    indexed("/foundry?aliasAddress={key}", "foundry_outputs_by_address", key="bech32"),
    indexed("/alias?unlockableByAddress={key}", "alias_outputs_by_state_controller", "alias_outputs_by_governor",
            key="bech32"),
    Route("indexer/v1/outputs/alias/{key}", ("alias_outputs_by_chain",), "items", "", STATE, query=ANY),
    Route("indexer/v1/outputs/foundry/{key}", ("foundry_outputs_by_chain",), "items", "", STATE, query=ANY),
    Route("indexer/v1/outputs/nft/{key}", ("nft_outputs_by_chain",), "items", "", STATE, query=ANY),
)  # fmt: skip
SEEDS = (
    Route("outputs?sender={key}", ("basic_outputs_by_sender",), "items", "", OUTPUT, key="bech32", query=ANY),
    Route("foundries?address={key}", ("foundry_outputs_by_address",), "items", "", OUTPUT, key="bech32", query=ANY),
)


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


async def pages(proved: Proved, route: Route, key: bytes, page_size: int, order: str) -> list[Json]:
    """All pages of a listing, with proofs."""
    path, _, own = route.path.format(key=route.spelled(key, proved.hrp)).partition("?")
    query = dict([*route.query, *(pair.split("=") for pair in own.split("&") if pair)])
    query |= {"proof": "complete", "sort": order, route.size: str(page_size)}
    found: list[Json] = []
    while not found or found[-1].get(route.cursor):
        position = {route.cursor: found[-1][route.cursor]} if found else {}
        response = await proved.get(path, query | position)
        assert response.status_code == 200, response.text
        found.append(response.json()["data"] if route.is_v1 else response.json())
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
        for page_size, order in ((2, "newest"), (7, "oldest"), (1000, "newest")):
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


@pytest.mark.parametrize("route", BOTH_ERAS, ids=lambda each: each.path)
async def test_all_pages_are_proved(proved: Proved, route: Route) -> None:
    assert await prove_pages(proved, route) > 10


@pytest.mark.parametrize("route", CHRYSALIS, ids=lambda each: each.path)
@pytest.mark.parametrize("proved", ["chrysalis"], indirect=True)
async def test_all_pages_of_chrysalis_outputs_are_proved(proved: Proved, route: Route) -> None:
    assert await prove_pages(proved, route) > 10


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
    """The routes above, and those that answer with the same handlers."""
    same = {
        "transactions/{key}/included-message/children", "addresses/ed25519/{key}/outputs", "outputs",
        "aliases", "aliases/{key}", "foundries/{key}", "nft", "nft/{key}", "indexer/v1/outputs",
        "explorer/v2/blocks/{key}/children",
    }  # fmt: skip
    tested = {each.path.partition("?")[0] for each in (*BOTH_ERAS, *CHRYSALIS, *STARDUST, *SEEDS)} | same
    found = set()
    for path in paths_with_proof():
        if path.startswith("/api/{network}/"):
            below = path.removeprefix("/api/{network}/").removeprefix("core/v1/")
            found.add("/".join("{key}" if part.startswith("{") else part for part in below.split("/")))
    assert sorted(found) == sorted(tested)


TAGGED = "explorer/v2/blocks"


def most_tagged(proved: Proved) -> bytes:
    return proved.keys("messages_by_tag")[0]


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
