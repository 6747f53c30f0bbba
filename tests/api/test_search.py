"""Search: ids and their beginnings, addresses, tags, milestones, dates, VAAs, in one network and in all.

What a text must find is computed from the lines of the ledgers: every object with the digits by which it is found.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.store import WritableStore
from ledger.crypto.bech32 import format_address
from tests import reference, reference_stardust
from tests.api.conftest import Some
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import DAY_S, NETWORK, SHARED_TX, UNSIGNED, UNSIGNED_TX, World
from tests.reference_facts import Genesis, Message, Milestone, Output

WHOLE = 65
"""Digits by which outputs are found: fewer are those of their transaction."""

ON_SQLITE = [pytest.param(("sqlite", "default"), id="sqlite")]
EACH_STORE = [
    *ON_SQLITE,
    pytest.param(("cassandra", ""), id="cassandra", marks=[pytest.mark.cassandra, pytest.mark.slow]),
]
"""No query depends on the geometry of lookups."""


class Known(NamedTuple):
    """An object: the digits of its id, the least number of them that find it, and its result without `network`."""

    digits: str
    least: int
    kind: str
    id: str
    path: str


class Iota:
    """What can be found in an IOTA ledger."""

    def __init__(
        self, milestones: Sequence[Milestone], pending: Sequence[Message], genesis: Genesis, hrp: str, *, is_new: bool
    ) -> None:
        self.milestones, self.pending, self.hrp = milestones, pending, hrp
        self._0x, self._folder = ("0x", "core/v2/") if is_new else ("", "")
        self._message = "block" if is_new else "message"
        self.known = sorted({*self._of_genesis(genesis), *self._of_milestones()})
        self.addresses = sorted({each for output in self._outputs(genesis) for each in output.roles.values()})
        self.tags = {tag: "messages?index=" for message in self.messages for tag in message.tags}

    @property
    def chosen(self) -> list[Known]:
        """All chain objects, and every seventh of the others, which are sorted by id."""
        others = [each for each in self.known if each.kind not in ("alias", "nft", "foundry")]
        return sorted({*self.known} - {*others}) + others[::7]

    @property
    def messages(self) -> list[Message]:
        return [message for each in self.milestones for message in each.messages]

    def _outputs(self, genesis: Genesis) -> Iterator[Output]:
        yield from genesis.outputs.values()
        for milestone in self.milestones:
            yield from milestone.receipt.funds if milestone.receipt else ()
        for message in self.messages:
            yield from message.transaction.outputs if message.transaction else ()

    def _of_genesis(self, genesis: Genesis) -> Iterator[Known]:
        for output_id, output in genesis.outputs.items():
            yield from self._of_output(output_id, output, 8)

    def _of_output(self, output_id: str, output: Output, least: int) -> Iterator[Known]:
        # An output of Chrysalis keeps its path in a network that begins with a snapshot of Chrysalis.
        prefix, folder = ("", "") if output.kind == "legacy" else (self._0x, self._folder)
        yield Known(output_id, least, "output", f"{prefix}{output_id}", f"{folder}outputs/{prefix}{output_id}")
        chain_id = output.keys(output_id).get("chain")
        if chain_id is not None:
            path = {"alias": "aliases", "foundry": "foundries", "nft": "nft"}[output.kind]
            yield Known(chain_id, 8, output.kind, f"0x{chain_id}", f"{path}/0x{chain_id}?spent=any")

    def _of_milestones(self) -> Iterator[Known]:
        included = {
            message.transaction.transaction_id
            for message in self.messages
            if message.transaction is not None and message.state == 1
        }
        others: dict[str, str] = {}
        for milestone in self.milestones:
            index = str(milestone.index)
            folder = "core/v2/milestones/by-index" if self._folder else "milestones"
            yield Known(milestone.milestone_id, 8, "milestone", index, f"{folder}/{index}")
            for place, fund in enumerate(milestone.receipt.funds if milestone.receipt else ()):
                yield from self._of_output(f"{milestone.milestone_id}{place:02x}00", fund, WHOLE)
            for message in milestone.messages:
                yield self._of_message(message.message_id)
                if message.transaction is not None:
                    transaction_id = message.transaction.transaction_id
                    if transaction_id in included:
                        path = f"{self._folder}transactions/{self._0x}{transaction_id}/included-{self._message}"
                        yield Known(transaction_id, 8, "transaction", f"{self._0x}{transaction_id}", path)
                    else:
                        first = min(others.get(transaction_id, message.message_id), message.message_id)
                        others[transaction_id] = first
                    for place, output in enumerate(message.transaction.outputs if message.state == 1 else ()):
                        yield from self._of_output(f"{transaction_id}{place:02x}00", output, WHOLE)
        for transaction_id, message_id in others.items():
            path = self._of_message(message_id).path
            yield Known(transaction_id, 8, "transaction", f"{self._0x}{transaction_id}", path)

    def _of_message(self, message_id: str) -> Known:
        named = f"{self._0x}{message_id}"
        return Known(message_id, 8, self._message, named, f"{self._folder}{self._message}s/{named}")

    def named(self, digits: str) -> list[Known]:
        """What these digits find."""
        return [each for each in self.known if each.digits.startswith(digits) and len(digits) >= each.least]


@pytest.fixture(scope="session")
def chrysalis(oracle: Oracle) -> Iota:
    facts = [reference.milestone_fact(line) for line in oracle.milestones]
    pending = [reference.message_fact(entry) for entry in oracle.pending]
    return Iota(facts, pending, reference.READING.genesis(), oracle.expected["bech32Hrp"], is_new=False)


@pytest.fixture(scope="session")
def blocks(stardust: StardustLedger) -> Iota:
    facts = [reference_stardust.milestone_fact(line) for line in stardust.milestones]
    pending = [reference_stardust.message_fact(entry) for entry in stardust.pending]
    return Iota(facts, pending, reference_stardust.READING.genesis(), stardust.expected["bech32Hrp"], is_new=True)


@pytest.fixture(scope="session")
def stardust_app(stardust_store: WritableStore, stardust: StardustLedger) -> Any:
    return create_app({"testing": stardust.mount(stardust_store)}, "testing", ApiSettings())


@pytest.fixture
def stardust_client(stardust_app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=stardust_app), base_url="http://permanode")


async def found(client: httpx.AsyncClient, text: str, network: str = "testing") -> list[Json]:
    answer = await client.get(f"/api/{network}/search", params={"q": text})
    assert answer.status_code == 200, (text, answer.text)
    body = answer.json()
    assert body.keys() == {"results", "more"}
    assert body["more"] is False
    results: list[Json] = body["results"]
    return results


def results(objects: Iterable[tuple[str, str, str]], network: str = "testing") -> list[Json]:
    """The results of (kind, id, path), in their order."""
    return [
        {"kind": kind, "network": network, "id": id_, "url": f"/api/{network}/{path}"}
        for kind, id_, path in sorted(set(objects))
    ]


async def check_ids(client: httpx.AsyncClient, ledger: Iota, some: Some[Any]) -> None:
    """Every object by the beginning of its id, of several lengths and in several spellings, and by its whole id."""
    for number, each in enumerate(some(ledger.chosen)):
        length = (each.least, each.least + 1, max(31, each.least))[number % 3]
        for digits in (each.digits[:length], each.digits):
            expected = results((one.kind, one.id, one.path) for one in ledger.named(digits))
            assert (each.kind, each.id) in [(one["kind"], one["id"]) for one in expected]
            spelled = [digits, f"0x{digits}", digits.upper()][number % 3]
            assert await found(client, spelled) == expected, spelled


async def check_urls(client: httpx.AsyncClient, ledger: Iota, some: Some[Any]) -> None:
    """Requests the object of every result."""
    for each in some(ledger.chosen):
        answer = await client.get(f"/api/testing/{each.path}")
        assert answer.status_code == 200, (each, answer.text)


async def check_addresses(client: httpx.AsyncClient, ledger: Iota, some: Some[Any]) -> None:
    for address in some(ledger.addresses):
        text = format_address(ledger.hrp, bytes.fromhex(address))
        expected = results([("address", text, f"addresses/{text}/outputs")])
        objects = results((each.kind, each.id, each.path) for each in ledger.known if each.digits == address[2:])
        assert await found(client, text) == expected + objects
        # The beginning of the ids of an alias' foundries is its address.
        assert [each for each in await found(client, f"0x{address}") if each["kind"] != "foundry"] == expected + objects
        if address.startswith("00"):
            assert await found(client, address[2:]) == expected
        other = format_address("else", bytes.fromhex(address))
        assert await found(client, other) == []
        assert (await client.get(expected[0]["url"])).status_code == 200
    unknown = format_address(ledger.hrp, b"\0" + bytes(range(32)))
    assert await found(client, unknown) == await found(client, bytes(range(32)).hex()) == []


async def check_tags(client: httpx.AsyncClient, tags: dict[str, str], some: Some[Any]) -> int:
    """Requests each tag as hex and as text. Returns the number of those that are text."""
    texts = 0
    for tag, path in some(sorted(item for item in tags.items() if item[0])):
        expected = {"kind": "tag", "network": "testing", "id": tag, "url": f"/api/testing/{path}{tag}"}
        # Short hex may also be something else, for example the index of a milestone.
        assert [each for each in await found(client, f"0x{tag}") if each["id"] == tag] == [expected]
        assert (await client.get(expected["url"])).status_code == 200
        text = bytes.fromhex(tag).decode("utf-8", "replace")
        if text.encode().hex() == tag and text.strip() == text:
            texts += 1
            assert expected in await found(client, text)
    return texts


async def check_milestones(client: httpx.AsyncClient, ledger: Iota, some: Some[Any]) -> None:
    paths = {each.id: each.path for each in ledger.known if each.kind == "milestone"}
    for index, path in some(paths.items()):
        assert await found(client, index) == results([("milestone", index, path)])
    last = max(each.index for each in ledger.milestones)
    for absent in (last + 1, 2**31 - 1, 2**31, 10**30):
        assert [each for each in await found(client, f"{absent}") if each["kind"] == "milestone"] == []
    days = {datetime.fromtimestamp(each.timestamp, UTC).date() for each in ledger.milestones}
    for day in sorted(days):
        url = f"explorer/v2/milestones/by-date/{day}"
        assert await found(client, f"{day}") == results([("day", f"{day}", url)])
        assert (await client.get(f"/api/testing/{url}")).status_code == 200
    for text in (f"{min(days) - timedelta(days=1)}", f"{max(days) + timedelta(days=1)}", "2021-13-01", "2021-02-30"):
        assert await found(client, text) == []


@pytest.mark.thorough
@pytest.mark.parametrize("store", EACH_STORE, indirect=True)
async def test_every_message_transaction_milestone_and_output_of_chrysalis_is_found(
    client: httpx.AsyncClient, chrysalis: Iota, some: Some[Any]
) -> None:
    await check_ids(client, chrysalis, some)
    await check_urls(client, chrysalis, some)
    assert {each.kind for each in chrysalis.chosen} == {"message", "transaction", "milestone", "output"}


@pytest.mark.parametrize("store", EACH_STORE, indirect=True)
async def test_addresses_tags_and_milestones_of_chrysalis_are_found(
    client: httpx.AsyncClient, chrysalis: Iota, some: Some[Any]
) -> None:
    await check_addresses(client, chrysalis, some)
    assert await check_tags(client, chrysalis.tags, some)
    await check_milestones(client, chrysalis, some)


@pytest.mark.thorough
@pytest.mark.parametrize("stardust_store", EACH_STORE, indirect=True)
async def test_every_block_transaction_milestone_output_and_chain_object_of_stardust_is_found(
    stardust_client: httpx.AsyncClient, blocks: Iota, some: Some[Any]
) -> None:
    await check_ids(stardust_client, blocks, some)
    await check_urls(stardust_client, blocks, some)
    kinds = {"block", "transaction", "milestone", "output", "alias", "nft", "foundry"}
    assert {each.kind for each in blocks.chosen} == kinds


@pytest.mark.parametrize("stardust_store", EACH_STORE, indirect=True)
async def test_addresses_tags_and_milestones_of_stardust_are_found(
    stardust_client: httpx.AsyncClient, blocks: Iota, some: Some[Any]
) -> None:
    await check_addresses(stardust_client, blocks, some)
    tagged = {
        tag: f"indexer/v1/outputs/{output.kind}?tag=0x"
        for message in sorted(blocks.messages, key=lambda each: each.message_id)
        for output in (message.transaction.outputs if message.transaction else ())
        for tag in [output.filter_values.get("tag")]
        if tag is not None
    }
    assert set(tagged) - set(blocks.tags), "tags of outputs only"
    basic = {
        tag
        for message in blocks.messages
        for output in (message.transaction.outputs if message.transaction else ())
        for tag in [output.filter_values.get("tag")]
        if output.kind == "basic" and tag is not None
    }
    tagged |= dict.fromkeys(basic, "indexer/v1/outputs/basic?tag=0x")
    await check_tags(stardust_client, tagged | blocks.tags, some)
    await check_milestones(stardust_client, blocks, some)


@pytest.mark.parametrize("store", EACH_STORE, indirect=True)
async def test_pending_messages_are_found_by_their_whole_id(client: httpx.AsyncClient, chrysalis: Iota) -> None:
    assert chrysalis.pending
    for message in chrysalis.pending:
        path = f"messages/{message.message_id}"
        assert await found(client, message.message_id) == results([("message", message.message_id, path)])
        if message.transaction is not None:
            transaction_id = message.transaction.transaction_id
            assert await found(client, transaction_id) == results([("transaction", transaction_id, path)])


UNKNOWN = ["ffffffffff", "0x" + "f" * 64, "f" * 68, "f" * 76, "f" * 77, "no such tag", "ä", "%", "0x", "1/2/3"]


@pytest.mark.parametrize("store", ON_SQLITE, indirect=True)
@pytest.mark.parametrize("stardust_store", ON_SQLITE, indirect=True)
@pytest.mark.parametrize("wormhole_store", ON_SQLITE, indirect=True)
async def test_an_unknown_text_finds_nothing(
    client: httpx.AsyncClient, stardust_client: httpx.AsyncClient, signed: httpx.AsyncClient
) -> None:
    for text in UNKNOWN:
        for each, network in ((client, "testing"), (stardust_client, "testing"), (signed, NETWORK)):
            assert await found(each, text, network) == [], text


@pytest.mark.parametrize("store", ON_SQLITE, indirect=True)
@pytest.mark.parametrize("query", ["", "?q=", f"?q={'a' * 201}", "?q=1&p=1", "?q=1&q=2"])
@pytest.mark.parametrize("path", ["/api/search", "/api/testing/search"])
async def test_an_empty_or_long_text_is_rejected(client: httpx.AsyncClient, path: str, query: str) -> None:
    answer = await client.get(f"{path}{query}")
    assert answer.status_code == 400, answer.text
    assert (await client.get(f"{path}?q={'a' * 200}")).json() == {"results": [], "more": False}


def wormhole_known(world: World) -> dict[str, list[tuple[str, str, str]]]:
    """Digest or transaction id (hex without 0x) → what it finds."""
    known: dict[str, list[tuple[str, str, str]]] = {}
    for message in world.messages.values():
        record = message.served
        id_ = f"{record['emitter_chain']}/{record['emitter_address']}/{record['sequence']}"
        is_served = world.canonical[record["row_key"]] is message and record["quorum"]
        path = f"wormhole/v1/vaas/{id_}" + ("" if is_served else "/verification")
        known.setdefault(record["digest"], []).append(("vaa", id_, path))
    for text in {*earliest_transactions(world), UNSIGNED_TX}:
        id_ = text.removeprefix("0x")
        known.setdefault(id_, []).append(transaction(id_))
    return known


def transaction(id_: str) -> tuple[str, str, str]:
    return "transaction", id_, f"wormhole/v1/vaas?txHash={id_}"


def earliest_transactions(world: World) -> set[str]:
    """The transaction of each message: the one that was seen first, then the smaller one."""
    by_key: dict[str, list[tuple[Any, ...]]] = {}
    for each in world.observed:
        if each.tx_id is not None:
            seen = each.seen_ms is None, each.seen_ms or 0, each.tx_id
            by_key.setdefault(each.record["row_key"], []).append(seen)
    return {min(seen)[2] for seen in by_key.values()}


@pytest.mark.thorough
@pytest.mark.parametrize("wormhole_store", EACH_STORE, indirect=True)
async def test_vaas_and_transactions_of_other_chains_are_found(
    signed: httpx.AsyncClient, world: World, some: Some[Any]
) -> None:
    known = wormhole_known(world)
    assert SHARED_TX[2:] in known
    for digits in some(sorted(known))[::4]:
        for length in (8, 9, 30, 64):
            named = [each for other in known if other.startswith(digits[:length]) for each in known[other]]
            if length == 64 and f"0x{digits}" in {each.tx_id for each in world.observed}:
                named.append(transaction(digits))
            expected = results(named, NETWORK)
            assert await found(signed, digits[:length], NETWORK) == expected
            assert await found(signed, f"0x{digits[:length].upper()}", NETWORK) == expected
        for each in results(known[digits], NETWORK):
            assert (await signed.get(each["url"])).status_code == 200, each
    later = {each.tx_id for each in world.observed if each.tx_id} - earliest_transactions(world)
    for id_ in sorted(text[2:] for text in later)[::5]:
        expected = results([transaction(id_), *known.get(id_, [])], NETWORK)
        assert await found(signed, id_, NETWORK) == expected


@pytest.mark.parametrize("wormhole_store", EACH_STORE, indirect=True)
async def test_vaas_are_found_by_their_id(signed: httpx.AsyncClient, world: World, some: Some[Any]) -> None:
    for key, message in some(sorted(world.canonical.items())):
        record = message.served
        id_ = f"{record['emitter_chain']}/{record['emitter_address']}/{record['sequence']}"
        path = f"wormhole/v1/vaas/{id_}" + ("" if record["quorum"] else "/verification")
        expected = results([("vaa", id_, path)], NETWORK)
        assert await found(signed, id_, NETWORK) == expected
        assert await found(signed, key, NETWORK) == expected
    chain, emitter, sequence = UNSIGNED.split(":")
    id_ = f"{chain}/{emitter}/{int(sequence)}"
    assert await found(signed, id_, NETWORK) == results([("vaa", id_, f"wormhole/v1/vaas/{id_}/verification")], NETWORK)
    for unknown in (
        f"{chain}/{emitter}/9",
        f"65536/{emitter}/7",
        f"{chain}/{emitter}/{2**64}",
        f"{chain}/{'g' * 64}/7",
    ):
        assert await found(signed, unknown, NETWORK) == []


@pytest.mark.parametrize("wormhole_store", EACH_STORE, indirect=True)
async def test_emitters_and_parties_are_found_by_address(
    signed: httpx.AsyncClient, world: World, some: Some[Any]
) -> None:
    emitters: dict[str, set[int]] = {}
    for message in world.messages.values():
        emitters.setdefault(message.served["emitter_address"], set()).add(message.served["emitter_chain"])
    for address, chains in some(sorted(emitters.items())):
        expected = results(
            [("emitter", f"{chain}/{address}", f"wormhole/v1/vaas/{chain}/{address}") for chain in chains], NETWORK
        )
        for text in (address, f"0x{address}"):
            assert [each for each in await found(signed, text, NETWORK) if each["kind"] == "emitter"] == expected
    recipients = sorted({each.served["decoded"]["to_address"] for each in world.transfers})
    for address in some(recipients):
        expected = results([("address", address, f"wormhole/v1/address/{address}")], NETWORK)
        assert [each for each in await found(signed, address, NETWORK) if each["kind"] == "address"] == expected
        assert (await signed.get(expected[0]["url"])).status_code == 200
    assert await found(signed, "aNativeSender", NETWORK) == results(
        [("address", "aNativeSender", "wormhole/v1/address/aNativeSender")], NETWORK
    )


@pytest.mark.parametrize("wormhole_store", EACH_STORE, indirect=True)
async def test_days_with_messages_are_found(signed: httpx.AsyncClient, world: World) -> None:
    pythnet = 26
    days = {each.served["timestamp"] // DAY_S for each in world.verified if each.served["emitter_chain"] != pythnet}
    for day in sorted(days)[::10]:
        text = f"{date(1970, 1, 1) + timedelta(days=day)}"
        path = f"wormhole/v1/operations?from={text}T00:00:00Z&to={text}T23:59:59Z"
        assert await found(signed, text, NETWORK) == results([("day", text, path)], NETWORK)
        assert (await signed.get(f"/api/{NETWORK}/{path}")).json()["operations"]
    absent = next(day for day in range(min(days), max(days)) if day not in days)
    assert await found(signed, f"{date(1970, 1, 1) + timedelta(days=absent)}", NETWORK) == []


@pytest.mark.parametrize("store", ON_SQLITE, indirect=True)
@pytest.mark.parametrize("stardust_store", ON_SQLITE, indirect=True)
@pytest.mark.parametrize("wormhole_store", ON_SQLITE, indirect=True)
async def test_a_search_without_a_network_covers_all_of_them(
    mount: NetworkMount,
    stardust_store: WritableStore,
    wormhole_store: WritableStore,
    stardust: StardustLedger,
    chrysalis: Iota,
    blocks: Iota,
    world: World,
) -> None:
    networks = {
        "signed": NetworkMount(wormhole_store, NETWORK, wormhole="mainnet"),
        "old": mount,
        "new": stardust.mount(stardust_store),
    }
    app = create_app(networks, "old", ApiSettings())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")

    async def of_all(text: str) -> list[Json]:
        answer = await client.get("/api/search", params={"q": text})
        body = answer.json()
        assert body == {"results": body["results"], "more": False}
        parts = [(await client.get(f"/api/{name}/search", params={"q": text})).json() for name in sorted(networks)]
        assert body["results"] == [each for part in parts for each in part["results"]]
        return list(body["results"])

    fives = [("milestone", "new", "core/v2/milestones/by-index/5"), ("milestone", "old", "milestones/5")]
    assert [(each["kind"], each["network"], each["url"]) for each in await of_all("5")] == [
        (kind, network, f"/api/{network}/{path}") for kind, network, path in fives
    ]
    first = chrysalis.messages[0].message_id
    assert await of_all(first[:8]) == results([("message", first, f"messages/{first}")], "old")
    block = blocks.messages[0].message_id
    assert await of_all(f" {block} ") == results([("block", f"0x{block}", f"core/v2/blocks/0x{block}")], "new")
    digest = world.verified[0].served["digest"]
    assert [each["kind"] for each in await of_all(digest[:12])] == ["vaa"]
    assert (await client.get("/api/unknown/search?q=1")).status_code == 404


@pytest.mark.parametrize("store", ON_SQLITE, indirect=True)
def test_more_ids_with_the_same_beginning_than_a_search_returns(store: WritableStore, chrysalis: Iota) -> None:
    """A store that lists 30 unknown ids beside a known one: at most 20 are looked up, and the answer says so."""
    known = chrysalis.messages[3].message_id

    class Crowded:
        """The store, with more ids in one partition."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def slice(self, table: Any, partition: Any, **options: Any) -> Any:
            rows = await store.slice(table, partition, **options)
            if table.name != "ids_by_prefix":
                return rows
            beside = [{"prefix": known[:4], "id": known[:8] + f"{number:056x}"} for number in range(30)]
            return [*rows, *beside][: options["limit"]]

    crowded: Any = Crowded()
    mounted = NetworkMount(crowded, "crowded", "atoi")
    app = create_app({"crowded": mounted}, "crowded", ApiSettings())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")
    answer = asyncio.run(client.get("/api/crowded/search", params={"q": known[:8]}))
    assert answer.json() == {"results": results([("message", known, f"messages/{known}")], "crowded"), "more": True}
