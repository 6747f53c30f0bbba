"""Sums of the event database's functions, compared with sums over the records, and the defects of the originals."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from itertools import product
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from api.wormhole.events import address_routes as wormhole_event_addresses
from api.wormhole.events import sum_routes as wormhole_event_sums
from db.listing import turns
from ledger.wormhole import allowlist
from tests.api.conftest import STORES
from tests.api.wormhole.test_wormhole_events import API, both
from tests.api.wormhole_network import DAY_S, LAUNCH_DAY, NETWORK, UNLISTED, Message, World
from tests.conftest import needs_shared

Json = dict[str, Any]

LAST, SPAN = 20_095, 300
"""A day with transfers and the number of days before it. Half of the transfers fall into them, and prices change."""

Contract = tuple[int | None, str | None]

Moved = tuple[int, tuple[str, str, str], Decimal]
"""Day; source chain, destination, symbol; USD."""


def transfers(world: World, contract: Contract = (None, None)) -> list[Moved]:
    """Transfers until LAST of listed tokens with a price; of one chain, or of one contract only."""
    found = []
    for message in world.transfers:
        record, usd = message.served, world.usd(message)
        key = world.token_key(record)
        if usd is not None and key != UNLISTED and sent_by(message, contract) and message.day <= LAST:
            place = str(record["emitter_chain"]), str(record["decoded"]["to_chain"]), world.metas[key]["symbol"].upper()
            found.append((message.day, place, usd))
    return found


def sent_by(message: Message, contract: Contract) -> bool:
    """Whether that chain, and that contract of it, sent the message; None: any chain."""
    chain, address = contract
    record = message.served
    return chain in (None, record["emitter_chain"]) and address in (None, record["emitter_address"])


def requested(contract: Contract) -> dict[str, str]:
    """The parameters of such a request."""
    given = zip(("forChain", "forAddress"), contract, strict=True)
    return {name: str(value) for name, value in given if value is not None}


def contracts(world: World) -> list[Contract]:
    """All together; one chain; its bridge; and with that chain's number the bridge of another chain."""
    senders = Counter((each.served["emitter_chain"], each.served["emitter_address"]) for each in world.transfers)
    (chain, bridge), (_, other) = sorted(senders, key=lambda each: -len(transfers(world, each)))[:2]
    return [(None, None), (chain, None), (chain, bridge), (chain, other)]


def date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()


def tree(found: Iterable[Moved], group_by: slice, keys: Iterable[Moved] = ()) -> Json:
    """Sums in objects; keys in `keys` also where the sum is zero."""
    sums: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for rows, factor in ((found, 1), (keys, 0)):
        for _, place, usd in rows:
            for each in product(*(("*", name) for name in place[group_by])):
                sums[each] += usd * factor
    whole: Json = {}
    for each, usd in sums.items():
        inner = whole
        for name in each[:-1]:
            inner = inner.setdefault(name, {})
        inner[each[-1]] = float(usd.quantize(Decimal("0.01"), ROUND_HALF_UP))
    return whole


TO = {"notionaltransferred": slice(0, 3), "notionaltransferredto": slice(1, 3)}


@needs_shared
async def test_a_token_called_like_the_sum_is_not_counted_twice(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def called(_: Any, keys: Iterable[str]) -> dict[str, str]:
        return dict.fromkeys(keys, "*")

    held = [each for each in transfers(world) if each[0] >= LAST - SPAN]
    monkeypatch.setattr(wormhole_event_sums, "find_symbols", called)
    given = {"numDays": str(SPAN), "until": date(LAST), "forPeriod": "x"}
    found = (await signed.get(f"{API}/notionaltransferredto", params=given)).json()["WithinPeriod"]["*"]
    total = sum((usd for *_, usd in held), Decimal(0))
    assert found["*"] == float(total.quantize(Decimal("0.01"), ROUND_HALF_UP))
    keys = {world.token_key(each.served) for each in world.transfers}
    assert found.keys() - {"*"} <= keys
    assert len(found) > 2


@needs_shared
@pytest.mark.parametrize("function", TO)
async def test_what_moved_in_a_period(signed: httpx.AsyncClient, world: World, function: str) -> None:
    every, group_by = transfers(world), TO[function]
    for days, contract in ((40, (None, None)), *((SPAN, each) for each in contracts(world))):
        held = [each for each in transfers(world, contract) if LAST - days <= each[0] <= LAST]
        given = {"numDays": str(days), "until": date(LAST), "daily": "true", "forPeriod": "x", "last24Hours": "false"}
        by_day = {day: [each for each in held if each[0] == day] for day in range(LAST - days, LAST + 1)}
        assert await both(signed, function, **given, **requested(contract)) == {
            "Last24Hours": tree(by_day[LAST], group_by),
            "WithinPeriod": tree(held, group_by),
            "PeriodDurationDays": days,
            "Daily": {date(day): tree(moved, group_by, keys=held) for day, moved in by_day.items()},
        }
        assert bool(held) is (contract != contracts(world)[-1])
    alone = (await signed.get(f"{API}/{function}", params={"until": date(LAST)})).json()
    last_day = tree([each for each in every if each[0] == LAST], group_by)
    assert last_day
    assert alone == {"Last24Hours": last_day, "WithinPeriod": None, "PeriodDurationDays": 30, "Daily": None}


@pytest.mark.thorough
async def test_what_ever_moved(signed: httpx.AsyncClient, world: World) -> None:
    every = transfers(world)
    days = range(LAUNCH_DAY, LAST + 1)
    leaving = slice(0, 1)
    assert await both(signed, "notionaltransferredfrom", until=date(LAST)) == {
        "Daily": {date(day): tree([each for each in every if each[0] == day], leaving, keys=every) for day in days},
        "Total": tree(every, leaving)["*"],
    }
    to = slice(1, 3)
    given = {"until": date(LAST), "numDays": str(SPAN), "daily": "true", "allTime": "true"}
    for contract in contracts(world):
        held = transfers(world, contract)
        assert await both(signed, "notionaltransferredtocumulative", **given, **requested(contract)) == {
            "AllTime": tree(held, to),
            "AllTimeDurationDays": LAST - LAUNCH_DAY,
            "Daily": {
                date(day): tree([each for each in held if each[0] <= day], to, keys=held)
                for day in days
                if day >= LAST - SPAN
            },
        }
    alone = (await signed.get(f"{API}/notionaltransferredtocumulative", params={"until": date(LAST)})).json()
    assert (alone["AllTime"], alone["Daily"]) == (tree(every, to), None)


async def test_messages_of_every_chain_and_day(signed: httpx.AsyncClient, world: World) -> None:
    last = max(each.day for each in world.verified)
    counts = {day: Counter[str]() for day in range(LAUNCH_DAY, last + 1)}
    for each in world.verified:
        if each.day in counts:
            counts[each.day].update(["*", str(each.served["emitter_chain"])])
    names = {name for each in counts.values() for name in each}
    assert "26" in names
    assert await both(signed, "transactiontotals", until=date(last)) == {
        "DailyTotals": {date(day): {name: each[name] for name in names} for day, each in counts.items()}
    }


AVAX = "6/000000000000000000000000b31f66aa3c1e785363f0875a1b74e27b85fd66c7"
WETH = "2/000000000000000000000000c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
DAI = "2/0000000000000000000000006b175474e89094c44da98b954eedeac495271d0f"
USDC = "2/000000000000000000000000a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
USDC_4 = "4/0000000000000000000000008ac76a51cc950d9822d68b83fe1ad97b32cd580d"
USDC_5 = "5/0000000000000000000000002791bca1f2de4661ed88a30c99a7a9449aa84174"
COINS = {AVAX: "avalanche-2", WETH: "ethereum", DAI: "dai"} | dict.fromkeys((USDC, USDC_4, USDC_5), "usd-coin")


def assets(world: World, held: dict[str, Decimal], day: int) -> Json:
    found: Json = {}
    for key, amount in held.items():
        chain, _, address = key.partition("/")
        meta, native = world.metas[key], "0x" + address[24:]
        asset = {"Symbol": meta["symbol"], "Name": meta["name"], "Address": native, "CoinGeckoId": COINS[key]}
        asset |= {"Amount": float(amount), "TokenPrice": float(world.price(key, day))}
        asset |= {"TokenDecimals": meta["decimals"], "Notional": worth(world, {key: amount}, day)["*"]}
        found.setdefault(chain, {})[native] = asset
    for chain, usd in worth(world, held, day).items():
        found.setdefault(chain, {})["*"] = {"Symbol": "*", "Notional": usd}
    return found


def worth(world: World, held: dict[str, Decimal], day: int) -> dict[str, float]:
    """USD by home chain, and in total."""
    found: dict[str, Decimal] = defaultdict(Decimal)
    for key, amount in held.items():
        for chain in (key.partition("/")[0], "*"):
            found[chain] += amount * world.price(key, day)
    return {chain: float(usd.quantize(Decimal("0.01"), ROUND_HALF_UP)) for chain, usd in found.items()}


def total_json(usd: float) -> Json:
    return {"*": {"Symbol": "*", "Notional": usd}}


@needs_shared
async def test_what_is_locked(signed: httpx.AsyncClient, world: World) -> None:
    assert world.locked(LAUNCH_DAY, 30_000).keys() == COINS.keys()
    days = sorted({each.day for each in world.transfers if world.locked(each.day, each.day)})
    assert min(world.locked(LAUNCH_DAY, days[-1]).values()) < 0
    for day in days[-3:]:
        change = world.locked(day, day)
        assert change
        assert await both(signed, "notionaltvl", until=date(day), last24Hours="true") == {
            "Last24HoursChange": assets(world, change, day),
            "AllTime": assets(world, world.locked(LAUNCH_DAY, day), day),
        }
    every = {day: worth(world, world.locked(LAUNCH_DAY, day), day) for day in range(LAST - SPAN, LAST + 1)}
    assert len({each["2"] for each in every.values()}) == 4
    assert await both(signed, "notionaltvlcumulative", until=date(LAST), numDays=str(SPAN)) == {
        "DailyLocked": {
            date(day): {chain: total_json(each.get(chain, 0.0)) for chain in ("*", "2", "4", "5", "6")}
            for day, each in every.items()
        }
    }


@needs_shared
async def test_what_a_token_locked_is_returned_as_long_as_it_is_on_the_list(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Avalanche's bridge locked 0.000001 AVAX on day 19698 and 200 on day 19732; here AVAX leaves the list between."""
    monkeypatch.setitem(allowlist.INACTIVE, AVAX, 19_700)

    async def all_time(day: int) -> Json:
        found = (await signed.get(f"{API}/notionaltvl", params={"until": date(day)})).json()
        cards = (await signed.get("/api/wormhole/v1/scorecards", params={"until": date(day)})).json()
        assert round(float(cards["tvl"]), 2) == found["AllTime"]["*"]["*"]["Notional"]
        whole: Json = found["AllTime"]
        return whole

    before, after = await all_time(19_699), await all_time(19_732)
    assert before["6"]["0x" + AVAX[-40:]]["Amount"] == 0.000001
    assert (before.keys(), after.keys()) == ({"*", "2", "5", "6"}, {"*", "2", "5"})
    # 1.25123123 WETH were locked and 6.29 USDC returned from Polygon, whatever happens to AVAX.
    both_days = worth(world, {WETH: Decimal("1.25123123"), USDC_5: Decimal("-6.29")}, 19_732)
    assert {chain: each["*"]["Notional"] for chain, each in after.items()} == both_days
    monkeypatch.setitem(allowlist.INACTIVE, AVAX, 19_733)
    given = {"until": date(19_733), "numDays": "1"}
    days = (await signed.get(f"{API}/notionaltvlcumulative", params=given)).json()["DailyLocked"]
    avax = worth(world, {AVAX: Decimal("200.000001")}, 19_732)
    assert [each["6"] for each in days.values()] == [total_json(avax["6"]), total_json(0.0)]
    assert days[date(19_733)]["*"] == total_json(both_days["*"])


@pytest.mark.thorough
async def test_who_received(signed: httpx.AsyncClient, world: World) -> None:
    def held(first: int, until: int, contract: Contract = (None, None)) -> dict[tuple[int, str], Decimal]:
        found: dict[tuple[int, str], Decimal] = defaultdict(Decimal)
        for each in world.transfers:
            decoded = each.served["decoded"]
            if first <= each.day <= until and sent_by(each, contract):
                found[decoded["to_chain"], decoded["to_address"]] += world.usd(each) or Decimal(0)
        return found

    def counts(found: Iterable[tuple[int, str]], every: Iterable[tuple[int, str]]) -> Json:
        by_chain = Counter(chain for chain, _ in found)
        return {"*": by_chain.total()} | {str(chain): by_chain[chain] for chain, _ in every}

    def amounts(dates: Iterable[dict[tuple[int, str], Decimal]], every: Iterable[tuple[int, str]]) -> Json:
        """USD on those dates for each address of `every`, by chain."""
        observed: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        dates = [*dates]
        for place in every:
            usd = (each.get(place, Decimal(0)).quantize(Decimal("0.01"), ROUND_HALF_UP) for each in dates)
            observed[str(place[0])].append(tuple(map(float, usd)))
        return {chain: sorted(each) for chain, each in observed.items()}

    def unnamed(dates: Iterable[Json]) -> Json:
        """The same from a body; tests/ledger checks how a chain writes an address."""
        (first, *_) = dates = [*dates]
        return {chain: sorted(tuple(each[chain][name] for each in dates) for name in first[chain]) for chain in first}

    days = range(LAST - SPAN, LAST + 1)
    dates = [date(day) for day in days]
    for contract in contracts(world):
        whole, ever = held(days[0], LAST, contract), held(LAUNCH_DAY, LAST, contract)
        daily = [held(day, day, contract) for day in days]
        given = {"until": date(LAST), "numDays": str(SPAN), "counts": "x", "amounts": "x", "daily": "x"} | requested(
            contract
        )
        found = await both(signed, "addressestransferredto", **given, forPeriod="x", last24Hours="x")
        assert unnamed([found.pop("WithinPeriodAmounts")]) == amounts([whole], whole)
        assert unnamed([found.pop("Last24HoursAmounts")]) == amounts(daily[-1:], daily[-1])
        by_date = found.pop("DailyAmounts")
        assert [*by_date] == dates
        assert unnamed(by_date.values()) == amounts(daily, whole)
        assert found == {
            "Last24HoursCounts": counts(daily[-1], daily[-1]),
            "WithinPeriodCounts": counts(whole, whole),
            "PeriodDurationDays": SPAN,
            "DailyCounts": {day: counts(each, whole) for day, each in zip(dates, daily, strict=True)},
        }
        so_far = [held(LAUNCH_DAY, day, contract) for day in days]
        found = await both(signed, "addressestransferredtocumulative", **given, allTime="x")
        assert unnamed([found.pop("AllTimeAmounts")]) == amounts([ever], ever)
        assert unnamed(found.pop("DailyAmounts").values()) == amounts(so_far, ever)
        assert found == {
            "AllTimeCounts": counts(ever, ever),
            "AllTimeDurationDays": LAST - LAUNCH_DAY,
            "DailyCounts": {day: counts(each, ever) for day, each in zip(dates, so_far, strict=True)},
        }
    only = {"until": date(LAST), "allTime": "x"}
    found = await both(signed, "addressestransferredtocumulative", **only)
    ever = held(LAUNCH_DAY, LAST)
    assert found["AllTimeCounts"] == counts(ever, ever)
    assert [found[name] for name in ("AllTimeAmounts", "DailyAmounts", "DailyCounts")] == [None] * 3


async def test_too_many_addresses_are_not_returned_on_every_date(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = max(each.day for each in world.transfers)
    received = [each.served["decoded"] for each in world.transfers if each.day >= LAUNCH_DAY]
    addresses = len({(each["to_chain"], each["to_address"]) for each in received})
    daily = {"until": date(last), "numDays": "9", "daily": "x"}
    monkeypatch.setattr(wormhole_event_addresses, "DATED_MAX", 10 * addresses - 1)
    found = await both(signed, "addressestransferredtocumulative", **daily)
    assert (found["code"], found["message"]) == (
        12,
        f"more than {10 * addresses - 1} numbers, of {addresses} addresses on 10 dates:"
        " request fewer with numDays or forChain",
    )
    # The sum over all time has no dates, and fewer dates are returned.
    assert (await both(signed, "addressestransferredtocumulative", until=date(last)))["AllTimeCounts"]["*"] == addresses
    assert (await both(signed, "addressestransferredtocumulative", **daily | {"numDays": "8"}))["DailyCounts"]
    monkeypatch.setattr(wormhole_event_addresses, "DATED_MAX", 9)
    assert (await both(signed, "addressestransferredto", **daily | {"amounts": "x"}))["code"] == 12
    assert (await both(signed, "addressestransferredto", **daily))["DailyCounts"]
    monkeypatch.setattr(wormhole_event_addresses, "ADDRESSES_MAX", 1)
    found = await both(signed, "addressestransferredtocumulative", until=date(last))
    assert found["message"] == "more than 1 addresses and days: request fewer with numDays or forChain"


def test_cents_of_any_number_that_may_have_been_written() -> None:
    assert wormhole_event_sums.cents(Decimal("1.5e308")) == 1.5e308
    assert wormhole_event_sums.cents(Decimal("0.005")) == 0.01


@needs_shared
async def test_what_a_token_moved_counts_as_long_as_it_is_on_the_list(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = transfers(world)
    last, left = max(day for day, *_ in every), 20_000
    usdc = [each.day for each in world.transfers if world.token_key(each.served) == USDC]
    assert min(usdc) < left < max(usdc)
    monkeypatch.setitem(allowlist.INACTIVE, USDC, left)
    given = {"numDays": "1200", "until": date(last), "forPeriod": "true"}
    found = (await signed.get(f"{API}/notionaltransferred", params=given)).json()
    held = [each for each in every if each[0] >= last - 1200 and (each[0] < left or each[1][2] != "USDC")]
    assert found["WithinPeriod"] == tree(held, slice(0, 3))


@needs_shared
async def test_chain_1_is_never_the_beginning_of_chain_10(signed: httpx.AsyncClient, world: World) -> None:
    last = max(each.day for each in world.verified if each.served["emitter_chain"] in (10, 14, 16))

    def of(*chains: int) -> int:
        return sum(each.served["emitter_chain"] in chains and last - 400 <= each.day <= last for each in world.verified)

    assert of(1)
    assert of(10, 14, 16)
    given = {"numDays": "400", "until": date(last), "forChain": "1"}
    found = (await signed.get(f"{API}/totals", params=given)).json()
    assert found["TotalCount"] == {"*": of(1), "1": of(1)}


@pytest.mark.parametrize(
    ("function", "given"),
    [
        ("notionaltransferred", {"daily": "true", "numDays": "3"}),
        ("notionaltransferredto", {"daily": "true", "numDays": "3"}),
        ("notionaltransferredtocumulative", {"daily": "true", "numDays": "3"}),
        ("notionaltransferredfrom", {}),
        ("transactiontotals", {}),
    ],
)
async def test_sums_of_too_many_keys_and_days_are_not_made(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch, function: str, given: dict[str, str]
) -> None:
    given |= {"until": date(max(day for day, *_ in transfers(world)))}
    whole = await both(signed, function, **given)
    days = whole.get("Daily") or whole["DailyTotals"]
    numbers = len(days) * leaves(next(iter(days.values())))
    monkeypatch.setattr(wormhole_event_sums, "COUNTS_MAX", numbers - 1)
    found = await both(signed, function, **given)
    assert found["code"] == 12
    assert found["message"].startswith(f"more than {numbers - 1} numbers, of {numbers // len(days)} keys on ")
    monkeypatch.setattr(wormhole_event_sums, "COUNTS_MAX", numbers)
    assert await both(signed, function, **given) == whole


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("function", "given"),
    [
        ("totals", {}),
        ("nfts", {}),
        ("notionaltransferred", {"daily": "true"}),
        ("notionaltransferredto", {"daily": "true"}),
        ("notionaltransferredtocumulative", {"daily": "true"}),
        ("notionaltvlcumulative", {}),
        ("addressestransferredto", {"daily": "true"}),
        ("addressestransferredtocumulative", {"daily": "true"}),
    ],
)
async def test_no_day_before_the_launch_is_returned(
    signed: httpx.AsyncClient, world: World, function: str, given: dict[str, str]
) -> None:
    """However many days are requested."""
    last = max(day for day, *_ in transfers(world))
    given |= {"until": date(last)}
    since = last - LAUNCH_DAY
    found = [await both(signed, function, **given, numDays=str(days)) for days in (since, since + 700)]
    by_day = [[each for name, each in answer.items() if name.startswith("Daily") and each] for answer in found]
    assert by_day[0] == by_day[1]
    dates = {day for each in by_day[1] for day in each}
    assert min(dates) >= "2021-09-13"
    assert max(dates) == date(last)


class Counted:
    """A store that counts the reads in each turn of the event loop."""

    def __init__(self, store: Any) -> None:
        self._store, self.most, self._here = store, 0, 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in ("get", "get_many", "slice", "scan"):
            return method

        async def counted(*arguments: Any, **options: Any) -> Any:
            found = await method(*arguments, **options)
            if not self._here:
                asyncio.get_running_loop().call_soon(self.end)
            self._here += 1
            self.most = max(self.most, self._here)
            return found

        return counted

    def end(self) -> None:
        """A turn of the loop has ended."""
        self._here = 0


@pytest.mark.thorough
@pytest.mark.parametrize("wormhole_store", STORES[:1], indirect=True)
@pytest.mark.parametrize(
    "path",
    [
        "events/notionaltransferred?forPeriod=1&numDays=2000",
        "events/notionaltransferredtocumulative?daily=1",
        "events/notionaltransferredfrom",
        "events/notionaltvl",
        "events/notionaltvlcumulative",
        "events/addressestransferredto?daily=1&numDays=2000",
        "events/addressestransferredtocumulative",
        "events/transactiontotals",
        "events/totals",
        "v1/scorecards",
        "v1/top-assets-by-volume?timeSpan=30d",
        "v1/tokens-symbol-volume",
        "v1/vaas/vaa-counts",
        "v1/coverage",
        "v1/vaas?pageSize=1000",
    ],
)
async def test_sums_give_way_to_other_requests(wormhole_store: Any, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """With the shortest slices, every read is in a turn of its own."""
    monkeypatch.setattr(turns, "SLICE_S", -1.0)
    turns.SLICE.set(None)
    store: Any = Counted(wormhole_store)
    app = create_app({NETWORK: NetworkMount(store, NETWORK, wormhole="mainnet")}, NETWORK, ApiSettings())
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
        assert (await client.get(f"/api/wormhole/{path}")).status_code in (200, 501)
    assert 1 <= store.most <= 2


def leaves(found: Any) -> int:
    """Numbers inside objects."""
    return sum(map(leaves, found.values())) if isinstance(found, dict) else 1
