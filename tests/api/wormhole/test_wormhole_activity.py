"""Operations, transactions, addresses and activity: each body is compared with the records and sums over them."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from api.wormhole.scan import activity_routes as wormhole_activity
from api.wormhole.scan import operation_routes as wormhole_operations
from api.wormhole.scan import vaa_pages
from db import schema
from db.connect import StoreSettings, open_store
from db.listing.page import Page
from db.queries.wormhole.vaas import find_bodies
from db.schema import wormhole_tables as tables
from tests.api.wormhole.test_wormhole_v1 import KINDS
from tests.api.wormhole_network import (
    DAY_S,
    LAUNCH_DAY,
    NETWORK,
    SHARED_TX,
    Message,
    World,
    b64,
    plain,
    utc,
    write_read,
)
from tests.conftest import needs_shared
from tests.sqlite_stores import create

Json = dict[str, Any]

API = "/api/wormhole/v1"
MOVED = ("token_transfer", "token_transfer_with_payload")


def amounts(world: World, message: Message) -> Json:
    """What a transfer moved, nothing if its token is unknown."""
    record = message.served
    if record["payload_kind"] not in MOVED or world.amount(message) is None:
        return {}
    symbol = world.metas[world.token_key(record)]["symbol"]
    return {"symbol": symbol, "tokenAmount": plain(world.amount(message)), "usdAmount": plain(world.usd(message))}


def sent(world: World, message: Message) -> Json:
    """The source of an operation without its sender, nothing if its transaction is unknown."""
    if message.tx_id is None and message.served is not world.first_transfer:
        return {}
    return {
        "sourceChain": {
            "chainId": message.served["emitter_chain"],
            "timestamp": utc(message.served["timestamp"]),
            "transaction": {"txHash": (message.tx_id or "").removeprefix("0x")},
            "status": "confirmed",
        }
    }


KEY_OF_VAAS = ("emitter_chain", "emitter_address", "seq_range", "sequence_key", "row_key")

UNDECODED = ("generic",)
"""Kinds of payloads that have no `payload`."""


async def all_of(client: httpx.AsyncClient, path: str, name: str, **params: Any) -> list[Json]:
    found: list[Json] = []
    cursor = None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        body = (await client.get(f"{API}/{path}", params=params | more)).json()
        assert body.keys() == {name, "pagination"}, body
        found += body[name]["vaas"] if name == "data" else body[name]
        cursor = body["pagination"]["next"]
        if not cursor:
            return found


def checked(world: World, found: Iterable[Json], expected: list[Message]) -> None:
    """Operations of those messages, complete except for the decoded payload, which /vaas/parse returns as well."""
    found = list(found)
    assert [each["id"] for each in found] == [each.served["message_id"] for each in expected]
    for operation, message in zip(found, expected, strict=True):
        record = message.served
        content = operation.pop("content")
        assert content.pop("standarizedProperties")
        assert content.keys() == (set() if record["payload_kind"] in UNDECODED else {"payload"})
        assert None not in content.values()
        native = operation["emitterAddress"].pop("native")
        assert native
        sender = operation["sourceChain"].pop("from") if "sourceChain" in operation else None
        if record is world.first_transfer:
            assert sender == "aNativeSender"
        data = amounts(world, message)
        assert operation == {
            "id": record["message_id"],
            "emitterChain": record["emitter_chain"],
            "emitterAddress": {"hex": record["emitter_address"]},
            "sequence": str(record["sequence"]),
            "vaa": {"raw": b64(record["hex"]), "guardianSetIndex": record["guardian_set"], "isDuplicated": False},
        } | sent(world, message) | ({"data": data} if data else {})


def of_all(world: World) -> list[Message]:
    return [each for each in world.verified if each.served["emitter_chain"] != 26]


async def test_operations_of_all_chains_of_some_and_of_applications(signed: httpx.AsyncClient, world: World) -> None:
    everything = of_all(world)
    checked(world, await all_of(signed, "operations", "operations", pageSize=100), everything)
    checked(world, await all_of(signed, "operations", "operations", pageSize=3, sortOrder="ASC"), everything[::-1])
    some = [each for each in everything if each.served["emitter_chain"] in (2, 1)]
    checked(world, await all_of(signed, "operations", "operations", sourceChain="1,2"), some)
    to = [
        each
        for each in everything
        if "transfer" in each.served["payload_kind"] and "ntt" not in each.served["payload_kind"]
    ]
    to = [each for each in to if each.served["decoded"]["to_chain"] == 2]
    assert to
    checked(world, await all_of(signed, "operations", "operations", targetChain="2"), to)
    apps = [
        each
        for each in everything
        if KINDS.get(each.served["payload_kind"]) in ("PORTAL_NFT_BRIDGE", "GENERIC_RELAYER")
    ]
    assert apps
    found = await all_of(signed, "operations", "operations", appId="PORTAL_NFT_BRIDGE,GENERIC_RELAYER")
    checked(world, found, apps)
    both = [each for each in apps if each.served["emitter_chain"] == 1]
    found = await all_of(signed, "operations", "operations", appId="PORTAL_NFT_BRIDGE", sourceChain="1")
    checked(world, found, [each for each in both if each.served["payload_kind"] == "nft_transfer"])


PAYLOAD_TYPES = {"token_transfer": "1", "nft_transfer": "1", "asset_meta": "2", "token_transfer_with_payload": "3"}


@pytest.mark.parametrize("types", ["1", "2", "3", "2,3", "3,1,1"])
async def test_operations_by_the_type_of_their_payload(signed: httpx.AsyncClient, world: World, types: str) -> None:
    def typed(messages: Iterable[Message]) -> list[Message]:
        return [each for each in messages if PAYLOAD_TYPES.get(each.served["payload_kind"]) in types.split(",")]

    expected = typed(of_all(world))
    assert 0 < len(expected) < len(of_all(world))
    found = await all_of(signed, "operations", "operations", payloadType=types, pageSize=2)
    assert {str(each["content"]["payload"]["payloadType"]) for each in found} == set(types.split(","))
    checked(world, found, expected)
    for app in ("PORTAL_TOKEN_BRIDGE", "PORTAL_NFT_BRIDGE", "GENERIC_RELAYER"):
        given = {"payloadType": types, "appId": app}
        of_app = [each for each in expected if KINDS[each.served["payload_kind"]] == app]
        found = await all_of(signed, "operations", "operations", **given)
        checked(world, found, of_app)
        checked(world, await all_of(signed, "operations", "operations", **given, exclusiveAppId=True), of_app)
    of_chain = [each for each in expected if each.served["emitter_chain"] == 2]
    checked(world, await all_of(signed, "operations", "operations", payloadType=types, sourceChain="2"), of_chain)


async def test_no_message_is_of_two_applications_at_once(signed: httpx.AsyncClient, world: World) -> None:
    found = await all_of(signed, "operations", "operations", pageSize=100)
    observed = [each["content"]["standarizedProperties"]["appIds"] for each in found]
    expected = [KINDS.get(each.served["payload_kind"]) for each in of_all(world)]
    assert observed == [[] if each is None else [each] for each in expected]
    assert len(set(expected)) == 5


def instants(world: World) -> list[int]:
    """Days on which messages were sent, and one without messages."""
    found = sorted({each.served["timestamp"] for each in of_all(world)})
    assert len(found) > 20
    assert found[0] == 0
    return [*found[::12], found[-1], found[-1] - DAY_S]


@pytest.mark.parametrize("order", ["DESC", "ASC"])
async def test_operations_of_a_span_of_time(signed: httpx.AsyncClient, world: World, order: str) -> None:
    times = sorted(instants(world))
    everything = of_all(world) if order == "DESC" else of_all(world)[::-1]
    sizes = set()
    for first, last in [*pairwise(times), *zip(times, times[3:], strict=False), *((each, each) for each in times)]:
        for begin, end in ((first, last),) if first < last else ((first, last), (None, last), (first, None)):
            given = {"from": None if begin is None else utc(begin), "to": None if end is None else utc(end)}
            given = {name: text for name, text in given.items() if text is not None}
            expected = [
                each
                for each in everything
                if (begin is None or begin <= each.served["timestamp"])
                and (end is None or each.served["timestamp"] <= end)
            ]
            size = max(1, len(expected) // 3)
            found = await all_of(signed, "operations", "operations", **given, pageSize=size, sortOrder=order)
            checked(world, found, expected)
            sizes.add(len(expected))
    assert {0, len(everything)} <= sizes
    assert len(sizes) > 5


async def test_a_span_of_time_reads_no_range_of_days_outside_it(wormhole_store: Any, world: World) -> None:
    class Counting:
        def __init__(self) -> None:
            self.ranges: list[int] = []

        def __getattr__(self, name: str) -> Any:
            return getattr(wormhole_store, name)

        async def slice(self, table: Any, partition: Any, **bounds: Any) -> Any:
            if table.name == "vaa_lookups":
                self.ranges.append(partition[2])
            return await wormhole_store.slice(table, partition, **bounds)

    days = sorted({each.served["timestamp"] // DAY_S for each in of_all(world)})
    size = int((await wormhole_store.get(schema.keyspace_info, ("chunk_size",)))["value"])
    first, last = days[len(days) // 2], days[len(days) // 2 + 3]
    for order in ("DESC", "ASC"):
        store: Any = Counting()
        app = create_app({NETWORK: NetworkMount(store, NETWORK, wormhole="mainnet")}, NETWORK, ApiSettings())
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")
        given = {"from": utc(first * DAY_S), "to": utc((last + 1) * DAY_S - 1), "sortOrder": order}
        found = await all_of(client, "operations", "operations", **given)
        assert len(found) == sum(first <= each.served["timestamp"] // DAY_S <= last for each in of_all(world))
        outside = [each for each in store.ranges if not first // size <= each <= last // size]
        assert len(outside) <= 1, "one read may go beyond the end"


@needs_shared
async def test_a_span_of_time_combines_with_every_other_query(signed: httpx.AsyncClient, world: World) -> None:
    transfer = world.of_record(world.first_transfer)
    at = transfer.served["timestamp"]
    requested = {"address": "aNativeSender"}
    for begin, expected in ((at, [transfer]), (at + 1, [])):
        found = await all_of(signed, "operations", "operations", **requested, **{"from": utc(begin)})
        checked(world, found, expected)
    observed = next(each for each in of_all(world) if each.tx_id is not None and each.served["timestamp"] > 0)
    for end, count in ((observed.served["timestamp"], 1), (observed.served["timestamp"] - 1, 0)):
        found = await all_of(signed, "operations", "operations", txHash=observed.tx_id, to=utc(end))
        checked(world, found, [observed] * count)
    for given, chosen in (
        ({"sourceChain": "1,2,4"}, [each for each in of_all(world) if each.served["emitter_chain"] in (1, 2, 4)]),
        ({"payloadType": "2"}, [each for each in of_all(world) if each.served["payload_kind"] == "asset_meta"]),
        ({"appId": "PORTAL_TOKEN_BRIDGE", "targetChain": "2,1"}, [
            each for each in of_all(world)
            if each.served["payload_kind"] in MOVED and each.served["decoded"]["to_chain"] in (1, 2)
        ]),
    ):  # fmt: skip
        times = sorted({each.served["timestamp"] for each in chosen})
        middle = times[len(times) // 2]
        expected = [each for each in chosen if each.served["timestamp"] >= middle]
        assert 0 < len(expected) < len(chosen)
        found = await all_of(signed, "operations", "operations", **given, **{"from": utc(middle)}, pageSize=2)
        checked(world, found, expected)
        page = {"page": 1, "pageSize": 2}
        body = (await signed.get(f"{API}/operations", params=given | {"from": utc(middle)} | page)).json()
        checked(world, body["operations"], expected[2:4])


async def test_times_are_written_in_any_way_of_rfc_3339(signed: httpx.AsyncClient, world: World) -> None:
    at = world.first_transfer["timestamp"]
    at_once = [each for each in of_all(world) if each.served["timestamp"] == at]
    assert at_once
    moved = datetime.fromtimestamp(at, UTC).astimezone(timezone(timedelta(hours=-5, minutes=-30))).isoformat()
    assert moved.endswith("-05:30")
    plainly = utc(at)
    for given, expected in (
        ({"from": moved, "to": moved}, at_once),
        ({"from": plainly, "to": plainly.replace("Z", ".999999999Z")}, at_once),
        ({"from": plainly.replace("Z", ".5Z"), "to": plainly.replace("Z", ".9Z")}, []),
        ({"from": "1939-01-01T00:00:00Z", "to": "1969-12-31T23:59:59.9Z"}, []),
        ({"from": "2106-02-07T06:28:16Z"}, []),
        ({"from": "9999-12-31T23:59:59-23:59"}, []),
        ({"to": "0001-01-01T00:00:00+23:59"}, []),
    ):
        checked(world, await all_of(signed, "operations", "operations", **given), expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"payloadType": "4"}, "parameter payloadType: expected any of 1, 2, 3, separated by commas, found '4'"),
        ({"exclusiveAppId": "yes"}, "parameter exclusiveAppId: expected true or false, found 'yes'"),
        ({"from": "2021-09-21"}, "parameter from: expected a time such as 2021-09-21T01:52:26Z, found '2021-09-21'"),
        ({"to": "2021-13-21T01:52:26Z"},
         "parameter to: expected a time such as 2021-09-21T01:52:26Z, found '2021-13-21T01:52:26Z'"),
        ({"to": "2021-09-21T01:52:26"},
         "parameter to: expected a time such as 2021-09-21T01:52:26Z, found '2021-09-21T01:52:26'"),
        ({"from": "2021-09-21T01:52:26Z", "to": "2021-09-21T01:52:25Z"},
         "parameter to: expected the time of from or a later one, found '2021-09-21T01:52:25Z'"),
    ],
)  # fmt: skip
async def test_a_bad_filter_is_a_400_that_names_it(signed: httpx.AsyncClient, given: Json, message: str) -> None:
    answer = await signed.get(f"{API}/operations", params=given)
    assert (answer.status_code, answer.json()) == (400, {"code": 3, "message": message, "details": []})


@pytest.mark.parametrize(
    ("path", "name", "item", "expected"),
    [
        (f"{API}/x-chain-activity", "apps", "MAYAN",
         "names of applications, separated by commas (letters, digits, - and _)"),
        (f"{API}/operations", "appId", "GENERIC_RELAYER",
         "any of PORTAL_TOKEN_BRIDGE, PORTAL_NFT_BRIDGE, GENERIC_RELAYER, NATIVE_TOKEN_TRANSFER, separated by commas"),
        (f"{API}/operations", "sourceChain", "1", "at most 10 chain IDs, separated by commas"),
        (f"{API}/operations", "targetChain", "1", "at most 10 chain IDs, separated by commas"),
        (f"{API}/operations", "payloadType", "1", "any of 1, 2, 3, separated by commas"),
    ],
)  # fmt: skip
async def test_an_empty_item_of_a_list_is_named(
    signed: httpx.AsyncClient, path: str, name: str, item: str, expected: str
) -> None:
    for listed, number in ((f"{item},", 2), (f",{item}", 1), (f"{item},{item},,{item},", 3), (",", 1)):
        answer = await signed.get(path, params={name: listed})
        message = f"parameter {name}: expected {expected}, found '{listed}' (item {number} is empty)"
        assert (answer.status_code, answer.json()["message"]) == (400, message)


async def test_a_cursor_is_of_its_span(signed: httpx.AsyncClient, world: World) -> None:
    first, last = instants(world)[1:3]
    given: Json = {"from": utc(min(first, last)), "to": utc(max(first, last)), "pageSize": 1}
    cursor = (await signed.get(f"{API}/operations", params=given)).json()["pagination"]["next"]
    assert cursor
    assert (await signed.get(f"{API}/operations", params=given | {"cursor": cursor})).status_code == 200
    del given["to"]
    answer = await signed.get(f"{API}/operations", params=given | {"cursor": cursor})
    assert answer.json()["message"].startswith(
        "parameter cursor: expected the cursor of the previous page of this query"
    )


async def test_operations_and_messages_of_an_address_in_any_form(signed: httpx.AsyncClient, world: World) -> None:
    recipients = defaultdict(list)
    for each in of_all(world):
        record = each.served
        if record["payload_kind"] in (*MOVED, "nft_transfer"):
            recipients[record["decoded"]["to_address"]].append(each)
    assert len(recipients) > 3
    for address, expected in recipients.items():
        sent = [
            each
            for each in of_all(world)
            if each.served["payload_kind"] == "token_transfer_with_payload"
            and each.served["decoded"]["from_address"] == address
            and each not in expected
        ]
        expected = sorted([*expected, *sent], key=lambda each: each.order, reverse=True)
        forms = [address, f"0x{address}"] + ([f"0x{address[24:]}"] if address.startswith("0" * 24) else [])
        for form in forms:
            checked(world, await all_of(signed, "operations", "operations", address=form), expected)
            found = await all_of(signed, f"address/{form}", "data")
            assert [each["digest"] for each in found] == [each.served["digest"] for each in expected]
    found = await all_of(signed, "operations", "operations", address="aNativeSender")
    checked(world, found, [world.of_record(world.first_transfer)])
    answer = await signed.get(f"{API}/address/{'ef' * 32}")
    expected_body = {"code": 5, "message": f"any message of address {'ef' * 32} is not in this archive", "details": []}
    assert (answer.status_code, answer.json()) == (404, expected_body)


async def test_an_address_whose_first_page_was_cut_short_is_not_a_404(
    signed: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut_short(*_: Any) -> Page:
        return Page([], "more")

    monkeypatch.setattr(wormhole_operations, "numbered", cut_short)
    answer = await signed.get(f"{API}/address/{'ef' * 32}")
    assert (answer.status_code, answer.json()) == (200, {"data": {"vaas": []}, "pagination": {"next": "more"}})


async def test_a_page_by_number_reads_no_more_rows_than_results_may_be_skipped(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = 0

    def endless(*_: Any, **__: Any) -> Any:
        async def pages(page_size: int, cursor: str | None) -> Page:
            nonlocal requested
            requested += 1
            assert requested < 1_000
            return Page([], "more")

        return pages

    monkeypatch.setattr(wormhole_operations, "lister", endless)
    answer = await signed.get(f"{API}/operations", params={"appId": "PORTAL_NFT_BRIDGE", "page": 1})
    expected = "parameter page: expected a page with fewer messages before it: the cursor leads there, found '1'"
    assert (answer.status_code, answer.json()["message"]) == (400, expected)
    assert requested == 3 * vaa_pages.SKIPPED_MAX / 300


async def test_messages_of_too_many_chains_are_not_merged(signed: httpx.AsyncClient) -> None:
    ten = ",".join(map(str, range(10)))
    assert (await signed.get(f"{API}/operations", params={"sourceChain": ten})).status_code == 200
    answer = await signed.get(f"{API}/operations", params={"sourceChain": f"{ten},10"})
    expected = f"parameter sourceChain: expected at most 10 chain IDs, separated by commas, found '{ten},10'"
    assert (answer.status_code, answer.json()["message"]) == (400, expected)


@pytest.mark.parametrize("listing", ["operations", "transactions"])
async def test_what_a_transaction_sent(signed: httpx.AsyncClient, world: World, listing: str) -> None:
    hashes = {each.tx_id for each in world.observed if each.tx_id is not None}
    assert SHARED_TX in hashes
    for tx_id in hashes:
        same = {each.record["row_key"] for each in world.observed if each.tx_id == tx_id}
        expected = [each.served["message_id"] for each in world.verified if each.served["row_key"] in same]
        for spelled in (tx_id, tx_id[2:].upper()):
            found = await all_of(signed, listing, listing, txHash=spelled)
            assert [each["id"] for each in found] == expected
            assert all([each == (await signed.get(f"{API}/{listing}/{each['id']}")).json() for each in found])
    answer = await signed.get(f"{API}/{listing}", params={"txHash": "ab", "address": "ab"})
    message = "parameter txHash: expected nothing beside address, found 'ab'"
    assert (answer.status_code, answer.json()) == (400, {"code": 3, "message": message, "details": []})


async def test_operations_of_a_transaction_and_one_by_id(signed: httpx.AsyncClient, world: World) -> None:
    message = next(each for each in of_all(world) if each.tx_id is not None)
    same = {each.record["row_key"] for each in world.observed if each.tx_id == message.tx_id}
    expected = [each for each in world.verified if each.served["row_key"] in same]
    checked(world, await all_of(signed, "operations", "operations", txHash=message.tx_id), expected)
    for each in of_all(world)[:10]:
        checked(world, [(await signed.get(f"{API}/operations/{each.served['message_id']}")).json()], [each])


async def test_transactions_are_the_same_messages(signed: httpx.AsyncClient, world: World) -> None:
    found = await all_of(signed, "transactions", "transactions", pageSize=20)
    everything = of_all(world)
    assert sum("usdAmount" in amounts(world, each) for each in everything) > 1
    for each, message in zip(found, everything, strict=True):
        record = message.served
        assert each == (await signed.get(f"{API}/transactions/{record['message_id']}")).json()
        assert each.pop("emitterNativeAddress")
        assert each.pop("standardizedProperties")["fromChain"] == record["emitter_chain"]
        assert (each.pop("payload", None) is None) == (record["payload_kind"] in UNDECODED)
        hashes = {} if message.tx_id is None else {"txHash": message.tx_id.removeprefix("0x")}
        assert each == hashes | {
            "id": record["message_id"],
            "timestamp": utc(record["timestamp"]),
            "emitterChain": record["emitter_chain"],
            "emitterAddress": record["emitter_address"],
            **amounts(world, message),
        }


@pytest.mark.parametrize(
    ("transaction", "sender", "amounts", "data"),
    [
        (None, None, {}, {}),
        ("0x" + "5a" * 32, None, {"details_amount": "1.5"}, {"symbol": "", "tokenAmount": "1.5", "usdAmount": ""}),
        (
            None,
            "aSender",
            {"details_amount": "1.5", "details_origin_symbol": ""},
            {"symbol": "", "tokenAmount": "1.5", "usdAmount": ""},
        ),
        (
            "0x" + "5a" * 32,
            "aSender",
            {"details_origin_symbol": "ORIGIN"},
            {"symbol": "ORIGIN", "tokenAmount": "", "usdAmount": ""},
        ),
    ],
)
async def test_unknown_fields_are_absent_or_empty_and_never_null(
    wormhole_store: Any,
    world: World,
    tmp_path: Path,
    transaction: str | None,
    sender: str | None,
    amounts: Json,
    data: Json,
) -> None:
    """As the structs of wormholescan with omitempty: TransactionDetail and OperationResponse, whose `data` is a map."""
    record = world.first_transfer
    place = record["emitter_chain"], record["emitter_address"], record["sequence"]
    bodies = [each for each in await find_bodies(wormhole_store, *place) if each["digest"]]
    payload = await wormhole_store.get(tables.vaa_payloads, (record["row_key"], record["digest"]))
    unknown = {name: None for name in payload if name.startswith("details_")} | {"chain_sender_address": sender}
    of_message = dict.fromkeys(bodies[0]) | {name: bodies[0][name] for name in KEY_OF_VAAS}
    settings = StoreSettings(f"sqlite:///{tmp_path}", NETWORK)
    create(settings)
    with closing(open_store(settings, writable=True)) as store:
        bodies.append(of_message | {"digest": "", "initiating_tx_id": transaction})
        write_read(store, {tables.vaas: bodies, tables.vaa_payloads: [payload | unknown | amounts]})
        app = create_app({NETWORK: NetworkMount(store, NETWORK, wormhole="mainnet")}, NETWORK, ApiSettings())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            operation, transacted = [
                (await client.get(f"{API}/{listing}/{record['message_id']}")).json()
                for listing in ("operations", "transactions")
            ]
            parsed = (await client.post(f"{API}/vaas/parse", json={"vaa": b64(record["hex"])})).json()
    payload_json, properties = parsed["parsedPayload"], parsed["standardizedProperties"]
    head: Json = {"id": record["message_id"], "emitterChain": record["emitter_chain"]}
    source = {
        "chainId": record["emitter_chain"],
        "timestamp": utc(record["timestamp"]),
        "transaction": {"txHash": "" if transaction is None else "5a" * 32},
        "from": sender or "",
        "status": "confirmed",
    }
    native = operation["emitterAddress"]["native"]
    assert operation == head | {
        "emitterAddress": {"hex": record["emitter_address"], "native": native},
        "sequence": str(record["sequence"]),
        "vaa": {"raw": b64(record["hex"]), "guardianSetIndex": record["guardian_set"], "isDuplicated": False},
        "content": {"payload": payload_json, "standarizedProperties": properties},
    } | ({} if transaction is sender is None else {"sourceChain": source}) | ({"data": data} if data else {})
    assert transacted == head | {
        "timestamp": utc(record["timestamp"]),
        "emitterAddress": record["emitter_address"],
        "emitterNativeAddress": native,
        "payload": payload_json,
        "standardizedProperties": properties,
    } | ({} if transaction is None else {"txHash": "5a" * 32}) | {name: each for name, each in data.items() if each}


def date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()


def busiest(world: World) -> int:
    """The day in the month with the most transfers of priced tokens."""
    days = [each.day for each in world.transfers if world.usd(each)]
    return max(days, key=lambda last: sum(last - 30 < day <= last for day in days))


async def test_counts_by_day_and_by_hour(signed: httpx.AsyncClient, world: World) -> None:
    days = Counter(each.day for each in of_all(world))
    for last in (days.most_common(1)[0][0], busiest(world)):
        for word, count in (("1w", 7), ("1mo", 30)):
            expected = [{"time": utc(day * DAY_S), "count": days.get(day, 0)} for day in range(last, last - count, -1)]
            params = {"timeSpan": word, "until": date(last)}
            found = (await signed.get(f"{API}/last-txs", params=params)).json()
            assert found == expected
            assert sum(each["count"] for each in expected)
            assert (await signed.get(f"{API}/last-txs", params=params | {"sampleRate": "1d"})).json() == expected
    own = max(each.served["timestamp"] for each in of_all(world)) // DAY_S
    hours = Counter(
        each.served["timestamp"] // 3600 for each in of_all(world) if each.served["timestamp"] // DAY_S == own
    )
    expected = [
        {"time": utc(hour * 3600), "count": hours.get(hour, 0)} for hour in range(own * 24 + 23, own * 24 - 1, -1)
    ]
    found = (await signed.get(f"{API}/last-txs", params={"until": date(own)})).json()
    assert found == expected
    answer = await signed.get(f"{API}/last-txs", params={"sampleRate": "1d"})
    assert answer.json()["message"] == "parameter sampleRate: expected 1h for timeSpan 1d, found '1d'"


@pytest.mark.parametrize(("word", "count"), [("7d", 7), ("30d", 30), ("1y", 365), ("all-time", None)])
@pytest.mark.parametrize("by", ["notional", "tx"])
async def test_what_moved_between_chains(
    signed: httpx.AsyncClient, world: World, word: str, count: int | None, by: str
) -> None:
    last = busiest(world)
    sums: dict[int, dict[int, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for each in world.transfers:
        if each.day <= last and (count is None or each.day > last - count):
            value = Decimal(1) if by == "tx" else world.usd(each) or Decimal(0)
            sums[each.served["emitter_chain"]][each.served["decoded"]["to_chain"]] += value
    whole = sum((sum(targets.values()) for targets in sums.values()), Decimal(0))

    def part(chain: int, volume: Decimal, of: Decimal) -> Json:
        return {"chain": chain, "volume": plain(volume), "percentage": float(round(100 * volume / of, 2)) if of else 0}

    def ranked(values: dict[int, Decimal]) -> list[tuple[int, Decimal]]:
        return sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))

    expected = [
        part(chain, volume, whole) | {"destinations": [part(to, moved, volume) for to, moved in ranked(sums[chain])]}
        for chain, volume in ranked({chain: sum(targets.values(), Decimal(0)) for chain, targets in sums.items()})
    ]
    params = {"timeSpan": word, "by": by, "until": date(last)}
    assert (await signed.get(f"{API}/x-chain-activity", params=params)).json() == {"txs": expected}
    assert expected
    for apps, moved in (
        ("PORTAL_TOKEN_BRIDGE", expected),
        ("MAYAN,PORTAL_TOKEN_BRIDGE", expected),
        ("PORTAL_NFT_BRIDGE", []),
        ("MAYAN,CONNECT,UNKONWN", []),
    ):
        found = (await signed.get(f"{API}/x-chain-activity", params=params | {"apps": apps})).json()
        assert found == {"txs": moved}
    answer = await signed.get(f"{API}/x-chain-activity", params=params | {"apps": "MAYAN,"})
    assert answer.json()["message"].startswith("parameter apps: expected names of applications, ")


@pytest.mark.parametrize(("word", "count"), [("7d", 7), ("30d", 30)])
async def test_tops(signed: httpx.AsyncClient, world: World, word: str, count: int) -> None:
    last = busiest(world)
    volumes: dict[tuple[int, str], Decimal] = defaultdict(Decimal)
    pairs: Counter[tuple[int, int]] = Counter()
    for each in world.transfers:
        if last - count < each.day <= last:
            chain = each.served["emitter_chain"]
            pairs[chain, each.served["decoded"]["to_chain"]] += 1
            if world.usd(each) is not None:
                volumes[chain, world.token_key(each.served)] += world.usd(each) or 0
    assets = [
        {
            "emitterChain": chain,
            "symbol": world.metas[key]["symbol"],
            "tokenChain": int(key.split("/")[0]),
            "tokenAddress": key.split("/")[1],
            "volume": plain(volume),
        }
        for (chain, key), volume in sorted(volumes.items(), key=lambda pair: (-pair[1], pair[0]))[:7]
    ]
    params = {"timeSpan": word, "until": date(last)}
    assert (await signed.get(f"{API}/top-assets-by-volume", params=params)).json() == {"assets": assets}
    expected = [
        {"emitterChain": chain, "destinationChain": to, "numberOfTransfers": str(number)}
        for (chain, to), number in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    found = (await signed.get(f"{API}/top-chain-pairs-by-num-transfers", params=params)).json()
    assert found == {"chainPairs": expected}
    assert assets
    assert expected
    answer = await signed.get(f"{API}/top-assets-by-volume")
    assert answer.json()["message"] == "parameter timeSpan: expected one of 7d, 15d, 30d, found nothing"


async def test_what_was_locked_before_the_bridge_began_or_of_tokens_not_on_the_list_has_no_value(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"until": date(busiest(world))}
    tvl = (await signed.get("/api/wormhole/events/notionaltvl", params=given)).json()["AllTime"]["*"]["*"]["Notional"]
    cards = (await signed.get(f"{API}/scorecards", params=given)).json()
    assert float(round(Decimal(cards["tvl"]), 2)) == tvl != 0
    began = min(each.day for each in world.transfers if world.usd(each)) + 1
    monkeypatch.setattr(wormhole_activity, "LAUNCH_DAY", began)
    locked = world.locked(began, busiest(world))
    since = sum((amount * world.price(key, busiest(world)) for key, amount in locked.items()), Decimal(0))
    assert since != Decimal(cards["tvl"])
    assert (await signed.get(f"{API}/scorecards", params=given)).json() == cards | {"tvl": plain(since)}
    monkeypatch.setattr(wormhole_activity, "allowed_tokens", lambda *_: frozenset())
    assert (await signed.get(f"{API}/scorecards", params=given)).json() == cards | {"tvl": "0"}


async def test_scorecards(signed: httpx.AsyncClient, world: World) -> None:
    last = busiest(world)
    counted = [each for each in of_all(world) if each.day <= last]
    moved = [each for each in world.transfers if each.day <= last]

    def volume(days: int | None) -> str | None:
        held = [each for each in moved if days is None or each.day > last - days]
        return plain(sum((world.usd(each) or Decimal(0) for each in held), Decimal(0)))

    locked = world.locked(LAUNCH_DAY, last)
    assert min(locked.values()) < 0
    tvl = sum((amount * world.price(key, last) for key, amount in locked.items()), Decimal(0))
    found = (await signed.get(f"{API}/scorecards", params={"until": date(last)})).json()
    assert found == {
        "24h_messages": str(sum(each.day == last for each in counted)),
        "total_messages": str(len(counted)),
        "total_tx_count": str(len(moved)),
        "total_volume": volume(None),
        "tvl": plain(tvl),
        "24h_volume": volume(1),
        "7d_volume": volume(7),
        "30d_volume": volume(30),
    }
    assert len(counted) > 20
    assert (await signed.get(f"{API}/scorecards")).status_code == 200
    answer = await signed.get(f"{API}/scorecards?until=yesterday")
    assert answer.json()["message"] == "parameter until: expected a date such as 2021-09-21, found 'yesterday'"


@pytest.mark.thorough
async def test_every_other_list_of_messages_between_two_times(signed: httpx.AsyncClient, world: World) -> None:
    sent = {each.served["message_id"]: each.served["timestamp"] for each in world.verified}
    emitted = Counter((each.served["emitter_chain"], each.served["emitter_address"]) for each in world.verified)
    (chain, emitter), _ = emitted.most_common(1)[0]
    recipients = Counter(each.served["decoded"]["to_address"] for each in world.transfers)
    lists = {
        "vaas": ("data", sent),
        f"vaas/{chain}": ("data", {key: at for key, at in sent.items() if key.startswith(f"{chain}/")}),
        f"vaas/{chain}/{emitter}": ("data", {key: at for key, at in sent.items() if f"{chain}/{emitter}/" in key}),
        "transactions": ("transactions", sent),
        f"address/{recipients.most_common(1)[0][0]}": ("data", {}),
    }
    for path, (name, of_list) in lists.items():
        whole = await listed_ids(signed, path, name, {})
        assert set(whole) <= sent.keys()
        assert not of_list or set(whole) == of_list.keys() - pythnet(path, sent)
        times = sorted({sent[key] for key in whole})
        assert len(times) > 1, path
        for first, last in [(times[0], times[-1]), (times[1], times[-1]), (times[0], times[-2]), (times[1], times[1])]:
            given = {"from": utc(first), "to": utc(last)}
            expected = [key for key in whole if first <= sent[key] <= last]
            assert await listed_ids(signed, path, name, given) == expected
            assert await listed_ids(signed, path, name, given | {"sortOrder": "ASC"}) == expected[::-1]
    backwards = await signed.get(f"{API}/vaas", params={"from": utc(2), "to": utc(1)})
    assert (backwards.status_code, "parameter to" in backwards.json()["message"]) == (400, True)


def pythnet(path: str, sent: dict[str, int]) -> set[str]:
    """Lists of all chains leave Pythnet out."""
    return {key for key in sent if key.startswith("26/")} if path in ("vaas", "transactions") else set()


async def listed_ids(signed: httpx.AsyncClient, path: str, name: str, given: Json) -> list[str]:
    """The ids of a list, in pages of three."""
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        params = given | {"pageSize": 3} | ({"cursor": cursor} if cursor else {})
        body = (await signed.get(f"{API}/{path}", params=params)).json()
        items = body[name]["vaas"] if path.startswith("address/") else body[name]
        found += [each["id"] for each in items]
        cursor = body["pagination"]["next"] or None
    return found


REASONS = {
    "protocols/stats": "wormholescan reads these numbers from servers of other protocols; an archive has messages",
    **dict.fromkeys(
        ("supply", "supply/circulating", "supply/total"),
        "the supply of W follows from its unlocking schedule; an archive has messages",
    ),
    **{
        f"native-token-transfer/{part}?timeSpan=1mo": (
            "anyone can send messages of native token transfers; an archive does not know which moved tokens"
        )
        for part in ("summary", "activity", "transfer-by-time", "top-address", "top-holder")
    },
}
"""Routes of wormholescan (api/routes/wormscan/routes.go) about things that are not in messages."""


@pytest.mark.parametrize("path", REASONS)
async def test_what_messages_do_not_contain_is_a_501_with_a_reason(signed: httpx.AsyncClient, path: str) -> None:
    for prefix in (API, "/api/v1"):
        answer = await signed.get(f"{prefix}/{path}")
        assert (answer.status_code, answer.json()) == (501, {"code": 12, "message": REASONS[path], "details": []})
