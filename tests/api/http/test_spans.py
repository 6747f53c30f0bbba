"""`start` and `end` of every history and listing: milestones, seconds and days, against the Stardust oracle ledger."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import httpx
import orjson
import pytest

from api.app import ApiSettings, create_app
from db.store import WritableStore
from tests.api.asgi import ask
from tests.api.chronicle_v1.test_stardust_objects import OfAddresses
from tests.api.conftest import Some
from tests.api.explorer import Explorer
from tests.api.oracle import Json
from tests.api.stardust import StardustLedger
from tests.reference_stardust import address as serialized
from tests.reference_stardust import bare

DAY = datetime.fromtimestamp(1664553610, UTC).date()
"""The day of all milestones."""


class Listing(NamedTuple):
    """A listing: its path and parameters, the names of its items, its page size and its position, and what it lists as
    (milestone, item), newest first.
    """

    path: str
    query: Json
    items: str
    page_size: str
    cursor: str
    rows: list[tuple[int, Any]]


def milestone_of(entry: Json) -> int | None:
    found: int | None = entry["metadata"].get("referencedByMilestoneIndex")
    return found


class Listings:
    """All listings of the ledger, some of each kind."""

    def __init__(self, ledger: StardustLedger, some: Some[Any]) -> None:
        self.ledger, self.explorer, self.addresses = ledger, Explorer(ledger), OfAddresses(ledger)
        self.block = {entry["id"]: entry for entry in ledger.entries}
        self.some = some

    def __iter__(self) -> Iterator[Listing]:
        for made in (self.children, self.tagged, self.milestones, self.of_addresses, self.transactions, self.indexed):
            yield from self.some(made())

    def children(self) -> Iterator[Listing]:
        known = [item for item in self.explorer.children.items() if item[0] in self.block]
        for parent, ids in sorted(known, key=lambda item: -len(item[1]))[:3]:
            rows = [(index, each) for each in ids if (index := milestone_of(self.block[each])) is not None]
            bare_rows = [(index, bare(each)) for index, each in rows]
            yield v1(f"messages/{bare(parent)}/children", "childrenMessageIds", bare_rows)
            yield explorer(f"blocks/{parent}/children", "children", rows)

    def tagged(self) -> Iterator[Listing]:
        for tag, items in sorted(self.explorer.tagged.items(), key=lambda item: -len(item[1]))[:3]:
            rows = [(item["milestoneIndex"], item) for item in items if item["milestoneIndex"] is not None]
            if tag != "0x":
                ids = [(index, bare(item["blockId"])) for index, item in rows]
                yield v1("messages", "messageIds", ids, index=bare(tag))
                yield explorer("blocks", "items", rows, tag=tag)

    def milestones(self) -> Iterator[Listing]:
        entries = self.ledger.milestone_entries[::-1]
        rows = [(each["index"], {"milestoneId": each["milestoneId"], "index": each["index"]}) for each in entries]
        yield explorer("milestones", "items", rows)

    def of_addresses(self) -> Iterator[Listing]:
        owners = {entry["bech32"]: entry for entry in self.ledger.expected["addresses"]}
        for bech32 in sorted(owners, key=lambda each: -len(self.explorer.updates_of(each)))[:3]:
            updates = [(item["milestoneIndex"], item) for item in self.explorer.updates_of(bech32)]
            yield explorer(f"ledger/updates/by-address/{bech32}", "items", updates)
            outputs = [(item["milestoneIndex"], item) for item in self.explorer.outputs_of(bech32)]
            yield explorer(f"ledger/outputs/by-address/{bech32}", "items", outputs)
            entry = owners[bech32]
            owned = self.addresses.owned[f"{entry['type']:02x}{bare(entry['hex'])}"]
            ids = [(each["metadata"]["milestoneIndexBooked"], output_id) for output_id, each in owned]
            query = {"include-spent": "true"}
            yield v1(f"addresses/{bech32}/outputs", "outputIds", ids, **query)
            unspent = [each[0] for each in owned if not each[1]["metadata"]["isSpent"]]
            yield v1(f"addresses/{bech32}/outputs", "outputIds", [row for row in ids if row[1] in unspent])

    def transactions(self) -> Iterator[Listing]:
        for address, entries in list(self.addresses.histories.items())[:4]:
            rows = [
                (self.addresses.milestone_of[bare(each["id"])], self.addresses.attachment(each)) for each in entries
            ]
            yield v1(f"transactions/ed25519/{address}", "transactions", rows)

    def indexed(self) -> Iterator[Listing]:
        owners = {f"{entry['type']:02x}{bare(entry['hex'])}": entry for entry in self.ledger.expected["addresses"]}
        for address, owned in sorted(self.addresses.owned.items(), key=lambda item: -len(item[1]))[:4]:
            basic = [
                (entry["metadata"]["milestoneIndexBooked"], f"0x{output_id}", entry["metadata"]["isSpent"])
                for output_id, entry in owned
                if entry["output"]["type"] == 3
                and serialized(entry["output"]["unlockConditions"][0]["address"]) == address
            ]
            for spent, shown in (("any", basic), ("unspent", [each for each in basic if not each[2]])):
                rows = [(index, output_id) for index, output_id, _ in shown]
                query = {"address": owners[address]["bech32"], "spent": spent}
                yield Listing("/api/testing/indexer/v1/outputs/basic", query, "items", "pageSize", "cursor", rows)


def v1(path: str, items: str, rows: list[tuple[int, Any]], **query: Any) -> Listing:
    return Listing(f"/api/testing/{path}", query, items, "page_size", "state", rows)


def explorer(path: str, items: str, rows: list[tuple[int, Any]], **query: Any) -> Listing:
    return Listing(f"/api/testing/explorer/v2/{path}", query, items, "pageSize", "cursor", rows)


async def walk(app: Any, listing: Listing, page_size: int, query: Json) -> list[Any]:
    """All items, page by page."""
    found: list[Any] = []
    sent = listing.query | query | {listing.page_size: page_size}
    while True:
        status, body = await ask(app, listing.path, sent)
        assert status == 200, (listing.path, sent, body)
        page = body.get("data", body)
        found += page[listing.items]
        if page.get(listing.cursor) is None:
            return found
        assert len(page[listing.items]) == page_size
        sent[listing.cursor] = page[listing.cursor]


Edge = int | date | None


def is_after(edge: Edge, index: int, time_of: Callable[[int], int]) -> bool:
    """Whether a milestone is at or after a start. The genesis, milestone 0, precedes every time."""
    if edge is None:
        return True
    if isinstance(edge, date):
        return index > 0 and datetime.fromtimestamp(time_of(index), UTC).date() >= edge
    return index >= edge if edge < 10**9 else index > 0 and time_of(index) >= edge


def is_before(edge: Edge, index: int, time_of: Callable[[int], int]) -> bool:
    if edge is None or index == 0:
        return True
    if isinstance(edge, date):
        return datetime.fromtimestamp(time_of(index), UTC).date() <= edge
    return index <= edge if edge < 10**9 else time_of(index) <= edge


def spans(time_of: Callable[[int], int]) -> list[tuple[Edge, Edge]]:
    yesterday, tomorrow = DAY - timedelta(days=1), DAY + timedelta(days=1)
    return [
        (0, None),
        (1, None),
        (None, 0),
        (None, 25),
        (13, 37),
        (20, 20),
        (37, 13),
        (time_of(13), None),
        (None, time_of(30) - 1),
        (time_of(13), time_of(30)),
        (time_of(13) + 1, 40),
        (8, time_of(30)),
        (DAY, DAY),
        (None, yesterday),
        (tomorrow, None),
        (yesterday, 12),
    ]


@pytest.fixture(scope="module")
def spanned_app(stardust_store: WritableStore, stardust: StardustLedger) -> Any:
    return create_app({"testing": stardust.mount(stardust_store)}, "testing", ApiSettings())


@pytest.mark.thorough
async def test_every_listing_begins_and_ends_where_requested(
    spanned_app: Any, stardust: StardustLedger, some: Some[Any]
) -> None:
    times = {each["index"]: each["timestamp"] for each in stardust.milestone_entries}
    time_of = times.__getitem__
    paths, filled = set(), 0
    for listing in Listings(stardust, some):
        paths.add(listing.items)
        for number, (start, end) in enumerate(spans(time_of)):
            edges = {name: str(edge) for name, edge in (("start", start), ("end", end)) if edge is not None}
            expected = [
                item
                for index, item in listing.rows
                if is_after(start, index, time_of) and is_before(end, index, time_of)
            ]
            filled += 0 < len(expected) < len(listing.rows)
            newest = await walk(spanned_app, listing, (3, 1000)[number % 2], edges | {"sort": "newest"})
            assert newest == expected, (listing.path, listing.query, edges)
            assert await walk(spanned_app, listing, 7, edges | {"sort": "oldest"}) == expected[::-1]
    assert len(paths) >= 4
    assert filled > 20


async def test_a_whole_history_begins_and_ends_where_requested(spanned_app: Any, stardust: StardustLedger) -> None:
    explored = Explorer(stardust)
    bech32 = max(explored.addresses, key=lambda each: len(explored.updates_of(each)))
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=spanned_app), base_url="http://permanode")
    for path, items in (("updates", explored.updates_of(bech32)), ("outputs", explored.outputs_of(bech32))):
        url = f"/api/explorer/v2/ledger/{path}/by-address/{bech32}"
        answer = await client.get(url, params={"start": 10, "end": 30, "format": "ndjson"})
        expected = [each for each in items if 10 <= each["milestoneIndex"] <= 30]
        assert [orjson.loads(line) for line in answer.text.splitlines()] == expected
        assert 0 < len(expected) < len(items)


async def test_a_cursor_belongs_to_its_span(spanned_app: Any, stardust: StardustLedger) -> None:
    parent = max(Explorer(stardust).children.items(), key=lambda item: len(item[1]))[0]
    path = f"/api/testing/explorer/v2/blocks/{parent}/children"
    _, first = await ask(spanned_app, path, {"start": 1, "pageSize": 1})
    again = {"pageSize": 1, "cursor": first["cursor"]}
    assert (await ask(spanned_app, path, again | {"start": 1}))[0] == 200
    for other in ({}, {"start": 2}, {"start": 1, "end": 40}):
        assert (await ask(spanned_app, path, again | other))[0] == 400


@pytest.mark.parametrize("value", ["x", "-1", "2022-13-01", "4294967296", "1.5"])
async def test_an_invalid_edge_is_named(spanned_app: Any, value: str) -> None:
    status, body = await ask(spanned_app, "/api/testing/explorer/v2/milestones", {"start": value})
    assert status == 400
    assert body["message"].startswith("parameter start: expected an integer from 0 to 4294967295 or a date such as ")


OF_ONE_STATE = {
    "milestones/10/messages": "one milestone references all these messages",
    "explorer/v2/milestones/by-index/10/blocks": "one milestone references all these blocks",
    "explorer/v2/milestones/{milestone}/blocks": "one milestone references all these blocks",
    "explorer/v2/ledger/updates/by-milestone/{milestone}": "one milestone made all these changes",
    "explorer/v2/native-tokens/{token}/holders": "all these addresses own the token at one ledger index",
    "explorer/v2/pending/outputs/by-address/{address}": "no milestone references these blocks yet",
    "explorer/v2/pending/outputs/by-chain/{chain}": "no milestone references these blocks yet",
    "explorer/v2/pending/outputs?tag=0x01": "no milestone references these blocks yet",
    "explorer/v2/pending/transactions/{milestone}": "no milestone references these blocks yet",
    "explorer/v2/rejects": "rejects of incomplete milestones have no time",
    "explorer/v2/transactions/{milestone}/blocks": "the blocks of a transaction are sorted by inclusion state",
}
"""Listings without a span, and why."""


@pytest.mark.parametrize("path", OF_ONE_STATE)
async def test_listings_of_one_milestone_or_state_say_why_they_have_no_span(
    spanned_app: Any, stardust: StardustLedger, path: str
) -> None:
    milestone = stardust.milestone_entries[9]["milestoneId"]
    bech32 = stardust.expected["addresses"][0]["bech32"]
    filled, _, query = path.partition("?")
    filled = filled.format(milestone=milestone, token="0x" + "08" * 38, address=bech32, chain=milestone)
    for name in ("start", "end"):
        given: Json = dict([query.split("=")]) if query else {}
        status, body = await ask(spanned_app, f"/api/testing/{filled}", given | {name: "1"})
        message = body["message"] if "message" in body else body["error"]["message"]
        assert status == 400
        assert message.startswith(f"parameter {name}: expected only ")
        assert message.endswith(f": {OF_ONE_STATE[path]}, found '1'")
        assert "start" not in message.removeprefix(f"parameter {name}").partition(":")[2].partition(":")[0]


@pytest.mark.thorough
async def test_the_changes_of_a_milestone_in_both_orders(spanned_app: Any, stardust: StardustLedger) -> None:
    sizes = []
    for milestone in stardust.milestone_entries:
        listing = explorer(f"ledger/updates/by-milestone/{milestone['milestoneId']}", "items", [])
        items = Explorer(stardust).updates_in(milestone["index"])
        for page_size in (3, 1000):
            assert await walk(spanned_app, listing, page_size, {}) == items
            assert await walk(spanned_app, listing, page_size, {"sort": "oldest"}) == items
            assert await walk(spanned_app, listing, page_size, {"sort": "newest"}) == items[::-1]
        sizes.append(len(items))
    assert max(sizes) > 6
