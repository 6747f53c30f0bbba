"""Events of the oracle ledgers: pages, and streams that begin anywhere, continue live and are interrupted."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.events import routes
from api.network import NetworkMount
from db.connect import StoreSettings
from db.store import Store, WritableStore
from db.sync import find_newest_milestone
from tests import reference, reference_stardust
from tests.api.conftest import STORES, Some, filled_with
from tests.api.events.reference_events import Json, Wanted, expected_events, output_id, parties
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.reference_facts import Milestone
from tests.reference_rows import write

PATH = "/api/testing/events"


class Ledger:
    """A served oracle ledger, and what to subscribe to."""

    def __init__(self, mount: NetworkMount, milestones: Sequence[Milestone], seed: int = 1) -> None:
        self.mount, self.milestones = mount, milestones
        self.app = create_app({"testing": mount}, "testing", ApiSettings())
        messages = [message for milestone in milestones for message in milestone.messages]
        tags = Counter(tag for message in messages for tag in message.tags if tag)
        addresses = Counter(address for message in messages for address in parties(message))
        made = [output_id(each, 0) for each in messages if each.transaction is not None and each.state == 1]
        spent = {
            spend.output_id for each in messages if each.transaction is not None for spend in each.transaction.spends
        }
        rng = random.Random(seed)
        outputs = [
            *rng.sample([each for each in made if each in spent], 8),
            *(each for each in made if each not in spent),
        ]
        self.keys = (
            [each for each, _ in tags.most_common(3)],
            [each for each, _ in addresses.most_common(4)],
            outputs[:10],
        )

    @property
    def wanted(self) -> list[Wanted]:
        """Subscriptions: one of each kind, and all together."""
        tags, addresses, outputs = self.keys
        return [
            Wanted(milestones=True),
            Wanted(tags=tags),
            Wanted(addresses=addresses),
            Wanted(outputs=outputs),
            Wanted(True, tags, addresses, outputs),
        ]

    def expected(self, wanted: Wanted) -> list[Json]:
        return expected_events(self.milestones, wanted, self.mount.bech32)

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(app=self.app), base_url="http://permanode")


@pytest.fixture(scope="module")
def chrysalis(mount: NetworkMount, oracle: Oracle) -> Ledger:
    return Ledger(mount, [reference.milestone_fact(line) for line in oracle.milestones])


@pytest.fixture(scope="module")
def of_stardust(stardust_store: WritableStore, stardust: StardustLedger) -> Ledger:
    return Ledger(
        stardust.mount(stardust_store), [reference_stardust.milestone_fact(line) for line in stardust.milestones]
    )


async def pages(ledger: Ledger, wanted: Wanted, page_size: int) -> list[Json]:
    """All events, page by page."""
    found: list[Json] = []
    query = {**wanted.query(ledger.mount.bech32), "pageSize": str(page_size)}
    async with ledger.client() as client:
        while True:
            answer = (await client.get(PATH, params=query)).json()
            assert len(answer["items"]) <= page_size
            found += answer["items"]
            if not answer["items"]:
                return found
            query["cursor"] = answer["cursor"]


def parsed(text: str) -> list[Json]:
    """The events of a stream, as a browser dispatches them: each with an id, a name and data."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            item: Json = json.loads(fields["data"])
            assert (fields["id"], fields["event"]) == (item["cursor"], item["event"])
            found.append(item)
    return found


async def replayed(ledger: Ledger, wanted: Wanted, last_event_id: str) -> list[Json]:
    """The events of a stream that ends at the newest milestone."""
    headers = {"accept": "text/event-stream", "last-event-id": last_event_id}
    async with ledger.client() as client:
        answer = await client.get(
            PATH, params={**wanted.query(ledger.mount.bech32), "follow": "false"}, headers=headers
        )
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
        return parsed(answer.text)


async def check(ledger: Ledger, some: Some[int]) -> None:
    """Compares pages, and streams from several places on, with the ledger's lines.

    A cluster gets large pages and one place: tests/db reads small pages from it.
    """
    rng = random.Random(3)
    async with ledger.client() as client:
        of_default, of_milestones = [(await client.get(PATH, params=each)).json() for each in ({}, {"milestones": "1"})]
    assert of_default == of_milestones
    for wanted in ledger.wanted:
        expected = ledger.expected(wanted)
        assert len(expected) > 10
        for page_size in some((1_000, 3)):
            assert await pages(ledger, wanted, page_size) == expected
        assert await replayed(ledger, wanted, "0") == expected
        for number in some(rng.sample(range(len(expected)), 6)):
            assert await replayed(ledger, wanted, expected[number]["cursor"]) == expected[number + 1 :]


@pytest.mark.thorough
@pytest.mark.parametrize("store", STORES, indirect=True)
async def test_the_events_of_chrysalis(chrysalis: Ledger, some: Some[int]) -> None:
    await check(chrysalis, some)


@pytest.mark.thorough
async def test_the_events_of_stardust(of_stardust: Ledger, some: Some[int]) -> None:
    await check(of_stardust, some)


@asynccontextmanager
async def streaming(ledger: Ledger, wanted: Wanted, last_event_id: str = "") -> AsyncIterator[asyncio.Queue[str]]:
    """A stream that follows: what it sends, part by part, until the client disconnects."""
    parts: asyncio.Queue[str] = asyncio.Queue()
    gone = asyncio.Event()

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await parts.put(message["body"].decode())

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    scope = {
        "type": "http",
        "method": "GET",
        "path": PATH,
        "query_string": urlencode(wanted.query(ledger.mount.bech32)).encode(),
        "headers": [(b"accept", b"text/event-stream"), (b"last-event-id", last_event_id.encode())],
        "root_path": "",
    }
    serving = asyncio.create_task(ledger.app(scope, receive, send))
    try:
        yield parts
    finally:
        gone.set()
        await asyncio.wait_for(serving, 5)


@pytest.fixture
def fast_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "POLL_S", 0.01)
    monkeypatch.setattr(routes, "QUIET_S", 0.05)


def growing(folder: Path, oracle: Oracle, *ends: int) -> Iterator[Ledger]:
    """The oracle ledger in a store that has its first milestones up to each end, one after the other."""
    settings = StoreSettings(f"sqlite:///{folder}", oracle.expected["network"], 7, 3)
    first = [reference.reference_rows(oracle.milestones[:end], [], 7, 3, settings.network) for end in ends]
    store = filled_with(settings, first[0])
    mount = NetworkMount(store, settings.network, oracle.expected["bech32Hrp"])
    ledger = Ledger(mount, [reference.milestone_fact(line) for line in oracle.milestones])
    try:
        yield ledger
        for rows in first[1:]:
            write(store, rows)
            yield ledger
    finally:
        store.close()


async def test_a_stream_ends_when_its_client_has_gone(chrysalis: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only when it has something to send: QUIET_S is longer than the test waits."""
    monkeypatch.setattr(routes, "POLL_S", 0.01)
    async with streaming(chrysalis, chrysalis.wanted[-1]) as parts:
        assert (await parts.get()).startswith("retry: ")


@pytest.mark.thorough
@pytest.mark.usefixtures("fast_polls")
@pytest.mark.parametrize("last_event_id", ["", "0"])
async def test_a_stream_continues_with_new_milestones(oracle: Oracle, tmp_path: Path, last_event_id: str) -> None:
    """Without a last event it begins with what is new. Between events it sends its place and comments."""
    ends = [20, 30, 31, 50]
    stages = growing(tmp_path, oracle, *ends)
    ledger = next(stages)
    wanted = ledger.wanted[-1]
    expected = [each for each in ledger.expected(wanted) if last_event_id or each["milestoneIndex"] > ends[0]]
    text = ""
    async with streaming(ledger, wanted, last_event_id) as parts:
        begins = await parts.get()
        assert begins == f"retry: 2000\nid: {last_event_id or ends[0]}\n\n"
        for end in ends:
            due = [each for each in expected if each["milestoneIndex"] <= end]
            while len(parsed(text)) < len(due) or not text.endswith(":\n\n"):
                text += await asyncio.wait_for(parts.get(), 5)
            assert parsed(text) == due
            assert next(stages, ledger) is ledger
    assert expected
    # The page after the last event is empty, and so it stays.
    assert await replayed(ledger, wanted, expected[-1]["cursor"]) == []


@pytest.mark.usefixtures("fast_polls")
async def test_streams_that_begin_together_begin_at_the_newest_milestone(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one has to read it; the second one must not take anything else for it."""

    async def read_slowly(store: Store, network: str) -> int | None:
        await asyncio.sleep(0.02)
        return await find_newest_milestone(store, network)

    monkeypatch.setattr(routes, "find_newest_milestone", read_slowly)
    stages = growing(tmp_path, oracle, 20)
    ledger, wanted = next(stages), Wanted(milestones=True)
    async with streaming(ledger, wanted) as one, streaming(ledger, wanted) as other:
        assert [await one.get(), await other.get()] == ["retry: 2000\nid: 20\n\n"] * 2
    assert next(stages, None) is None


async def test_milestones_that_are_missing_in_the_archive_are_an_event(oracle: Oracle, tmp_path: Path) -> None:
    settings = StoreSettings(f"sqlite:///{tmp_path}", oracle.expected["network"], 7, 3)
    kept = [line for line in oracle.milestones if line["milestone"]["index"] not in (1, 2, 12, 13, 14, 40)]
    store = filled_with(settings, reference.reference_rows(kept, [], 7, 3, settings.network))
    mount = NetworkMount(store, settings.network, oracle.expected["bech32Hrp"])
    ledger = Ledger(mount, [reference.milestone_fact(line) for line in kept])
    gaps = [
        {"event": "gap", "cursor": str(last), "firstMilestone": first, "lastMilestone": last}
        for first, last in ((1, 2), (12, 14), (40, 40))
    ]
    for wanted in (ledger.wanted[0], ledger.wanted[1]):
        expected = sorted([*ledger.expected(wanted), *gaps], key=lambda each: int(each["cursor"].partition(".")[0]))
        assert await pages(ledger, wanted, 4) == expected
        assert await replayed(ledger, wanted, "0") == expected
    # Within a gap, the rest of it.
    assert (await replayed(ledger, ledger.wanted[0], "13"))[0] == {**gaps[1], "firstMilestone": 14}
    store.close()


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"milestones": "false"}, "milestones"),
        ({"milestones": "true", "cursor": "x"}, "cursor"),
        ({"milestones": "true", "cursor": "4.3." + "0" * 64}, "cursor"),
        ({"milestones": "true", "cursor": "4.1." + "0" * 64}, "cursor"),
        ({"milestones": "true", "cursor": "9999999999"}, "cursor"),
        ({"tag": "0x1"}, "tag"),
        ({"tag": ""}, "tag"),
        ({"tag": ",".join(["0x01"] * 21)}, "tag"),
        ({"address": "rms1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqquq5kq5"}, "address"),
        ({"output": "0x00"}, "output"),
        ({"milestones": "true", "unknown": "1"}, "unknown"),
    ],
)
async def test_bad_subscriptions_are_rejected_by_name(chrysalis: Ledger, query: Json, named: str) -> None:
    async with chrysalis.client() as client:
        for accept in ("application/json", "text/event-stream"):
            answer = await client.get(PATH, params=query, headers={"accept": accept})
            assert answer.status_code == 400
            assert named in answer.json()["error"]["message"]


async def test_a_bad_last_event_id_is_rejected(chrysalis: Ledger) -> None:
    async with chrysalis.client() as client:
        answer = await client.get(PATH, params={"milestones": "true"}, headers={"last-event-id": "1;"})
        assert answer.status_code == 400
        assert "Last-Event-ID" in answer.json()["error"]["message"]
        page = await client.get(PATH, params={"milestones": "true", "cursor": "3"}, headers={"last-event-id": "5"})
        assert page.json()["items"][0]["milestoneIndex"] == 6
