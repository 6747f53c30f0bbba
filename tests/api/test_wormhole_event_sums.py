"""Sums of the event database's functions, each body held against sums of the records, and the faults theirs had."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from itertools import product
from typing import Any

import httpx
import pytest

from api.routes import wormhole_event_addresses, wormhole_event_sums, wormhole_event_tvl
from tests.api.test_wormhole_events import API, both
from tests.api.wormhole import DAY_S, PRICE, World

Json = dict[str, Any]

LAUNCH_DAY = 18_883

Moved = tuple[int, tuple[str, str, str], Decimal]
"""Day; leaving chain, destination, symbol; USD."""


def transfers(world: World) -> list[Moved]:
    """Transfers that have a price: all of them are of tokens on the list."""
    found = []
    for message in world.verified:
        record = message.served
        if record["payload_kind"].startswith("token_transfer") and (amount := world.amount(message)) is not None:
            symbol = world.metas[world.token_key(record)]["symbol"]
            place = str(record["emitter_chain"]), str(record["decoded"]["to_chain"]), symbol
            found.append((message.day, place, round(amount * Decimal(PRICE), 8)))
    assert len({place for _, place, _ in found}) > 2
    return found


def date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()


def tree(found: Iterable[Moved], told_by: slice, keys: Iterable[Moved] = ()) -> Json:
    """Sums in objects; those of `keys` too, where they are zero."""
    sums: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for rows, factor in ((found, 1), (keys, 0)):
        for _, place, usd in rows:
            for each in product(*(("*", name) for name in place[told_by])):
                sums[each] += usd * factor
    whole: Json = {}
    for each, usd in sums.items():
        inner = whole
        for name in each[:-1]:
            inner = inner.setdefault(name, {})
        inner[each[-1]] = float(usd.quantize(Decimal("0.01"), ROUND_HALF_UP))
    return whole


TO = {"notionaltransferred": slice(0, 3), "notionaltransferredto": slice(1, 3)}


@pytest.mark.parametrize("function", TO)
async def test_what_moved_in_a_period(signed: httpx.AsyncClient, world: World, function: str) -> None:
    every, told_by = transfers(world), TO[function]
    last = max(day for day, *_ in every)
    first_chain = every[-1][1][0]
    for days, chain in ((400, ""), (40, ""), (400, first_chain)):
        held = [each for each in every if last - days <= each[0] <= last and chain in ("", each[1][0])]
        given = {"numDays": str(days), "until": date(last), "daily": "true", "forPeriod": "x", "last24Hours": "false"}
        by_day = {day: [each for each in held if each[0] == day] for day in range(last - days, last + 1)}
        assert held
        assert await both(signed, function, **given, **({"forChain": chain} if chain else {})) == {
            "Last24Hours": tree(by_day[last], told_by),
            "WithinPeriod": tree(held, told_by),
            "PeriodDurationDays": days,
            "Daily": {date(day): tree(moved, told_by, keys=held) for day, moved in by_day.items()},
        }
    alone = (await signed.get(f"{API}/{function}", params={"until": date(last)})).json()
    last_day = tree([each for each in every if each[0] == last], told_by)
    assert last_day
    assert alone == {"Last24Hours": last_day, "WithinPeriod": None, "PeriodDurationDays": 30, "Daily": None}


async def test_what_ever_moved(signed: httpx.AsyncClient, world: World) -> None:
    every = transfers(world)
    last = max(day for day, *_ in every)
    days = range(LAUNCH_DAY, last + 1)
    leaving = slice(0, 1)
    assert await both(signed, "notionaltransferredfrom", until=date(last)) == {
        "Daily": {date(day): tree([each for each in every if each[0] == day], leaving, keys=every) for day in days},
        "Total": tree(every, leaving)["*"],
    }
    to = slice(1, 3)
    given = {"until": date(last), "numDays": "40", "daily": "true", "allTime": "true"}
    assert await both(signed, "notionaltransferredtocumulative", **given) == {
        "AllTime": tree(every, to),
        "AllTimeDurationDays": last - LAUNCH_DAY,
        "Daily": {
            date(day): tree([each for each in every if each[0] <= day], to, keys=every)
            for day in days
            if day >= last - 40
        },
    }
    alone = (await signed.get(f"{API}/notionaltransferredtocumulative", params={"until": date(last)})).json()
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
COINS = {AVAX: "avalanche-2", WETH: "ethereum"}


def locked(world: World, first: int, last: int) -> dict[str, Decimal]:
    """Tokens by token_key that left home in those days, less those that came back."""
    found: dict[str, Decimal] = defaultdict(Decimal)
    for message in world.verified:
        record = message.served
        if record["payload_kind"].startswith("token_transfer") and first <= message.day <= last:
            key, amount = world.token_key(record), world.amount(message)
            home = int(key.partition("/")[0])
            if amount is not None:
                found[key] += amount * ((record["emitter_chain"] == home) - (record["decoded"]["to_chain"] == home))
    return {key: amount for key, amount in found.items() if amount}


def assets(world: World, held: dict[str, Decimal]) -> Json:
    found: Json = {}
    for key, amount in held.items():
        chain, _, address = key.partition("/")
        meta, native = world.metas[key], "0x" + address[24:]
        asset = {"Symbol": meta["symbol"], "Name": meta["name"], "Address": native, "CoinGeckoId": COINS[key]}
        asset |= {"Amount": float(amount), "TokenPrice": float(PRICE), "TokenDecimals": meta["decimals"]}
        found.setdefault(chain, {})[native] = asset | {"Notional": usd_of([amount])}
    if found:
        sums = {chain: [amount for key, amount in held.items() if key.startswith(f"{chain}/")] for chain in found}
        for chain, amounts in (sums | {"*": [*held.values()]}).items():
            found.setdefault(chain, {})["*"] = {"Symbol": "*", "Notional": usd_of(amounts)}
    return found


def usd_of(amounts: Iterable[Decimal]) -> float:
    return float((sum(amounts, Decimal(0)) * Decimal(PRICE)).quantize(Decimal("0.01"), ROUND_HALF_UP))


async def test_what_is_locked(signed: httpx.AsyncClient, world: World) -> None:
    last = max(day for day, *_ in transfers(world))
    whole, change = locked(world, LAUNCH_DAY, last), locked(world, last, last)
    assert whole.keys() == {AVAX, WETH}
    assert change
    assert await both(signed, "notionaltvl", until=date(last), last24Hours="true") == {
        "Last24HoursChange": assets(world, change),
        "AllTime": assets(world, whole),
    }
    every = {day: locked(world, LAUNCH_DAY, day) for day in range(last - 40, last + 1)}
    assert await both(signed, "notionaltvlcumulative", until=date(last), numDays="40") == {
        "DailyLocked": {
            date(day): {
                chain: {
                    "*": {
                        "Symbol": "*",
                        "Notional": usd_of(
                            amount for key, amount in held.items() if chain in ("*", key.partition("/")[0])
                        ),
                    }
                }
                for chain in ("*", "2", "6")
            }
            for day, held in every.items()
        }
    }


async def test_who_received(signed: httpx.AsyncClient, world: World) -> None:
    moved = [each for each in world.verified if each.served["payload_kind"].startswith("token_transfer")]
    last = max(each.day for each in moved)

    def held(first: int, until: int) -> dict[tuple[int, str], Decimal]:
        found: dict[tuple[int, str], Decimal] = defaultdict(Decimal)
        for each in moved:
            decoded = each.served["decoded"]
            if first <= each.day <= until:
                usd = (world.amount(each) or Decimal(0)) * Decimal(PRICE)
                found[decoded["to_chain"], decoded["to_address"]] += usd
        return found

    def counts(found: Iterable[tuple[int, str]], every: Iterable[tuple[int, str]]) -> Json:
        by_chain = Counter(chain for chain, _ in found)
        return {"*": by_chain.total()} | {str(chain): by_chain[chain] for chain, _ in every}

    def amounts(found: dict[tuple[int, str], Decimal]) -> Json:
        """As lists of USD: how a chain writes an address tests/ledger looks at."""
        usd: dict[str, list[float]] = defaultdict(list)
        for (chain, _), each in found.items():
            usd[str(chain)].append(float(each.quantize(Decimal("0.01"), ROUND_HALF_UP)))
        return {chain: sorted(each) for chain, each in usd.items()}

    whole, ever, days = held(last - 400, last), held(LAUNCH_DAY, last), range(last - 40, last + 1)
    given = {"until": date(last), "numDays": "400", "forPeriod": "x", "counts": "x", "amounts": "x", "last24Hours": "x"}
    found = await both(signed, "addressestransferredto", **given)
    assert {chain: sorted(each.values()) for chain, each in found.pop("WithinPeriodAmounts").items()} == amounts(whole)
    of_last = found.pop("Last24HoursAmounts")
    assert {chain: sorted(each.values()) for chain, each in of_last.items()} == amounts(held(last, last))
    assert found == {
        "Last24HoursCounts": counts(held(last, last), held(last, last)),
        "WithinPeriodCounts": counts(whole, whole),
        "PeriodDurationDays": 400,
        "DailyAmounts": None,
        "DailyCounts": None,
    }
    given = {"until": date(last), "numDays": "40", "daily": "x", "allTime": "x"}
    assert await both(signed, "addressestransferredtocumulative", **given) == {
        "AllTimeAmounts": None,
        "AllTimeCounts": counts(ever, ever),
        "AllTimeDurationDays": last - LAUNCH_DAY,
        "DailyAmounts": None,
        "DailyCounts": {date(day): counts(held(LAUNCH_DAY, day), ever) for day in days},
    }


async def test_too_many_addresses_are_not_told_on_every_date(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = [each for each in world.verified if each.served["payload_kind"].startswith("token_transfer")]
    last = max(each.day for each in moved)
    received = [each.served["decoded"] for each in moved if each.day >= LAUNCH_DAY]
    addresses = len({(each["to_chain"], each["to_address"]) for each in received})
    daily = {"until": date(last), "numDays": "9", "daily": "x"}
    monkeypatch.setattr(wormhole_event_addresses, "DATED_MAX", 10 * addresses - 1)
    found = await both(signed, "addressestransferredtocumulative", **daily)
    assert (found["code"], found["message"]) == (
        12,
        f"more than {10 * addresses - 1} numbers, of {addresses} addresses on 10 dates:"
        " numDays or forChain asks for fewer",
    )
    # All time together has no dates, and fewer dates are told.
    assert (await both(signed, "addressestransferredtocumulative", until=date(last)))["AllTimeCounts"]["*"] == addresses
    assert (await both(signed, "addressestransferredtocumulative", **daily | {"numDays": "8"}))["DailyCounts"]
    monkeypatch.setattr(wormhole_event_addresses, "DATED_MAX", 9)
    assert (await both(signed, "addressestransferredto", **daily | {"amounts": "x"}))["code"] == 12
    assert (await both(signed, "addressestransferredto", **daily))["DailyCounts"]
    monkeypatch.setattr(wormhole_event_addresses, "ADDRESSES_MAX", 1)
    found = await both(signed, "addressestransferredtocumulative", until=date(last))
    assert found["message"] == "more than 1 addresses and days: numDays or forChain asks for fewer"


def test_cents_of_any_number_that_may_have_been_written() -> None:
    assert wormhole_event_sums.cents(Decimal("1.5e308")) == 1.5e308
    assert wormhole_event_sums.cents(Decimal("0.005")) == 0.01


async def test_what_came_back_is_told_too(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = max(day for day, *_ in transfers(world))

    async def changes(*_: Any) -> dict[int, dict[str, Decimal]]:
        return {last - 1: {AVAX: Decimal(7)}, last: {AVAX: Decimal(-5)}}

    monkeypatch.setattr(wormhole_event_tvl, "daily_changes", changes)
    given = {"until": date(last), "last24Hours": "true"}
    assert (await signed.get(f"{API}/notionaltvl", params=given)).json() == {
        "Last24HoursChange": assets(world, {AVAX: Decimal(-5)}),
        "AllTime": assets(world, {AVAX: Decimal(2)}),
    }


async def test_what_was_locked_is_worth_what_that_day_paid(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = max(day for day, *_ in transfers(world))

    async def histories(*_: Any) -> dict[str, list[tuple[int, Decimal]]]:
        return {WETH: [(last - 3, Decimal(2)), (last - 1, Decimal(4))]}

    monkeypatch.setattr(wormhole_event_tvl, "read_histories", histories)
    given = {"until": date(last), "numDays": "4"}
    found = (await signed.get(f"{API}/notionaltvlcumulative", params=given)).json()["DailyLocked"]
    assert [day["2"]["*"]["Notional"] for day in found.values()] == [2.5, 2.5, 2.5, 5.0, 5.0]


async def test_a_token_that_leaves_the_list_counts_no_longer(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = transfers(world)
    last, (_, (chain, *_), _) = max(day for day, *_ in every), every[0]
    tokens = {
        world.token_key(each.served): each for each in world.verified if each.served["decoded"].get("token_chain")
    }
    listed = frozenset(key for key in tokens if not key.startswith(f"{chain}/"))
    monkeypatch.setattr(
        wormhole_event_sums, "allowed_tokens", lambda _, day: listed if day >= last else listed | {*tokens}
    )
    given = {"numDays": "400", "until": date(last), "forPeriod": "true", "last24Hours": "true"}
    found = (await signed.get(f"{API}/notionaltransferred", params=given)).json()
    assert found["Last24Hours"] == {}
    assert found["WithinPeriod"] == tree([each for each in every if each[0] < last], slice(0, 3))


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


def leaves(found: Any) -> int:
    """Numbers in objects."""
    return sum(map(leaves, found.values())) if isinstance(found, dict) else 1
