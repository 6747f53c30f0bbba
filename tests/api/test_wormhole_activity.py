"""Operations, transactions, addresses and activity, each body held against the records and sums made of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest

from api.routes import wormhole_activity, wormhole_listing, wormhole_operations
from db.paging import Page
from tests.api.test_wormhole_v1 import KINDS
from tests.api.wormhole import DAY_S, PRICE, Message, World, b64, plain, utc

Json = dict[str, Any]

API = "/api/wormhole/v1"
MOVED = ("token_transfer", "token_transfer_with_payload")


def usd(world: World, message: Message) -> Decimal | None:
    amount = world.amount(message)
    return None if amount is None else round(amount * Decimal(PRICE), 8)


def amounts(world: World, message: Message) -> Json:
    record = message.served
    if record["payload_kind"] not in MOVED or world.amount(message) is None:
        return {"symbol": None, "tokenAmount": None, "usdAmount": None}
    symbol = world.metas[world.token_key(record)]["symbol"]
    return {"symbol": symbol, "tokenAmount": plain(world.amount(message)), "usdAmount": plain(usd(world, message))}


def tx_hash(message: Message) -> str | None:
    return None if message.tx_id is None else message.tx_id.removeprefix("0x")


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
    """Operations of those messages, whole but for what the payload says, which /vaas/parse tells as well."""
    found = list(found)
    assert [each["id"] for each in found] == [each.served["message_id"] for each in expected]
    for operation, message in zip(found, expected, strict=True):
        record = message.served
        content = operation.pop("content")
        assert content.keys() == {"payload", "standarizedProperties"}
        native = operation["emitterAddress"].pop("native")
        assert native
        sender = operation["sourceChain"].pop("from")
        if record is world.first_transfer:
            assert sender == "aNativeSender"
        data = amounts(world, message)
        assert operation == {
            "id": record["message_id"],
            "emitterChain": record["emitter_chain"],
            "emitterAddress": {"hex": record["emitter_address"]},
            "sequence": str(record["sequence"]),
            "vaa": {"raw": b64(record["hex"]), "guardianSetIndex": record["guardian_set"], "isDuplicated": False},
            "sourceChain": {
                "chainId": record["emitter_chain"],
                "timestamp": utc(record["timestamp"]),
                "transaction": {"txHash": tx_hash(message)},
                "status": "confirmed",
            },
        } | ({"data": data} if data["tokenAmount"] is not None else {})


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


async def test_an_address_whose_first_page_was_cut_short_is_no_404(
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
    asked = 0

    def endless(*_: Any, **__: Any) -> Any:
        async def pages(page_size: int, cursor: str | None) -> Page:
            nonlocal asked
            asked += 1
            assert asked < 1_000
            return Page([], "more")

        return pages

    monkeypatch.setattr(wormhole_operations, "lister", endless)
    answer = await signed.get(f"{API}/operations", params={"appId": "PORTAL_NFT_BRIDGE", "page": 1})
    expected = "parameter page: expected a page with fewer messages before it: the cursor leads there, found '1'"
    assert (answer.status_code, answer.json()["message"]) == (400, expected)
    assert asked == 3 * wormhole_listing.SKIPPED_MAX / 300


async def test_messages_of_too_many_chains_are_not_merged(signed: httpx.AsyncClient) -> None:
    ten = ",".join(map(str, range(10)))
    assert (await signed.get(f"{API}/operations", params={"sourceChain": ten})).status_code == 200
    answer = await signed.get(f"{API}/operations", params={"sourceChain": f"{ten},10"})
    expected = (
        f"parameter sourceChain: expected at most 10 numbers of chains with commas between them, found '{ten},10'"
    )
    assert (answer.status_code, answer.json()["message"]) == (400, expected)


async def test_operations_of_a_transaction_and_one_by_id(signed: httpx.AsyncClient, world: World) -> None:
    message = next(each for each in of_all(world) if each.tx_id is not None)
    same = {each.record["row_key"] for each in world.told if each.tx_id == message.tx_id}
    expected = [each for each in world.verified if each.served["row_key"] in same]
    checked(world, await all_of(signed, "operations", "operations", txHash=message.tx_id), expected)
    for each in of_all(world)[:10]:
        checked(world, [(await signed.get(f"{API}/operations/{each.served['message_id']}")).json()], [each])
    answer = await signed.get(f"{API}/operations", params={"txHash": "ab", "address": "ab"})
    assert answer.json()["message"] == "parameter txHash: expected nothing beside address, found 'ab'"


async def test_transactions_are_the_same_messages(signed: httpx.AsyncClient, world: World) -> None:
    found = await all_of(signed, "transactions", "transactions", pageSize=20)
    everything = of_all(world)
    assert sum(amounts(world, each)["usdAmount"] is not None for each in everything) > 1
    for each, message in zip(found, everything, strict=True):
        record = message.served
        assert each == (await signed.get(f"{API}/transactions/{record['message_id']}")).json()
        assert each.pop("emitterNativeAddress")
        assert each.pop("standardizedProperties")["fromChain"] == record["emitter_chain"]
        del each["payload"]
        assert each == {
            "id": record["message_id"],
            "timestamp": utc(record["timestamp"]),
            "txHash": tx_hash(message),
            "emitterChain": record["emitter_chain"],
            "emitterAddress": record["emitter_address"],
            **amounts(world, message),
        }


def transfers(world: World) -> list[Message]:
    return [each for each in world.verified if each.served["payload_kind"] in MOVED]


def date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()


def busiest(world: World) -> int:
    """A day whose month has transfers, of a token with a price."""
    return max(each.day for each in transfers(world) if usd(world, each))


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
    for each in transfers(world):
        if each.day <= last and (count is None or each.day > last - count):
            value = Decimal(1) if by == "tx" else usd(world, each) or Decimal(0)
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


@pytest.mark.parametrize(("word", "count"), [("7d", 7), ("30d", 30)])
async def test_tops(signed: httpx.AsyncClient, world: World, word: str, count: int) -> None:
    last = busiest(world)
    volumes: dict[tuple[int, str], Decimal] = defaultdict(Decimal)
    pairs: Counter[tuple[int, int]] = Counter()
    for each in transfers(world):
        if last - count < each.day <= last:
            chain = each.served["emitter_chain"]
            pairs[chain, each.served["decoded"]["to_chain"]] += 1
            if usd(world, each) is not None:
                volumes[chain, world.token_key(each.served)] += usd(world, each) or 0
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


async def test_what_is_locked_of_tokens_that_are_not_on_the_list_is_no_value(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"until": date(busiest(world))}
    tvl = (await signed.get("/api/wormhole/events/notionaltvl", params=given)).json()["AllTime"]["*"]["*"]["Notional"]
    cards = (await signed.get(f"{API}/scorecards", params=given)).json()
    assert float(round(Decimal(cards["tvl"]), 2)) == tvl != 0
    monkeypatch.setattr(wormhole_activity, "allowed_tokens", lambda *_: frozenset())
    assert (await signed.get(f"{API}/scorecards", params=given)).json() == cards | {"tvl": "0"}


async def test_scorecards(signed: httpx.AsyncClient, world: World) -> None:
    last = busiest(world)
    counted = [each for each in of_all(world) if each.day <= last]
    moved = [each for each in transfers(world) if each.day <= last]

    def volume(days: int | None) -> str | None:
        held = [each for each in moved if days is None or each.day > last - days]
        return plain(sum((usd(world, each) or Decimal(0) for each in held), Decimal(0)))

    locked = Decimal(0)
    for each in moved:
        record = each.served
        home = record["decoded"]["token_chain"]
        amount = world.amount(each)
        if amount is not None:
            locked += (
                amount * Decimal(PRICE) * ((record["emitter_chain"] == home) - (record["decoded"]["to_chain"] == home))
            )
    found = (await signed.get(f"{API}/scorecards", params={"until": date(last)})).json()
    assert found == {
        "24h_messages": str(sum(each.day == last for each in counted)),
        "total_messages": str(len(counted)),
        "total_tx_count": str(len(moved)),
        "total_volume": volume(None),
        "tvl": plain(locked),
        "24h_volume": volume(1),
        "7d_volume": volume(7),
        "30d_volume": volume(30),
    }
    assert len(counted) > 20
    assert (await signed.get(f"{API}/scorecards")).status_code == 200
    answer = await signed.get(f"{API}/scorecards?until=yesterday")
    assert answer.json()["message"] == "parameter until: expected a date as 2021-09-21, found 'yesterday'"
