"""wormholescan's activity by day, month and year, its tokens and its server, compared with the records."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest

from api.version import VERSION
from api.wormhole.scan import period_routes, token_routes
from db.queries.wormhole import daily, periods
from db.store import DeadlinePassed
from tests.api.wormhole_network import Message, World, plain

Json = dict[str, Any]

API = "/api/wormhole/v1"
PYTHNET = 26
EPOCH = date(1970, 1, 1)

BRIDGES = {
    "PORTAL_TOKEN_BRIDGE": {
        1: "ec7372995d5cc8732397fb0ad35c0121e0eaa90d26f828a534cab54391b3a4f5",
        2: f"{'3ee18b2214aff97000d974cf647e7c347e8fa585':0>64}",
        3: f"{'7cf7b764e38a0a5e967972c1df77d432510564e2':0>64}",
        4: f"{'b6f6d86a8f9879a9c87f643768d9efc38c1da6e7':0>64}",
        5: f"{'5a58505a96d1dbf8df91cb21b54419fc36e93fde':0>64}",
        6: f"{'0e082f06ff657d94310cb8ce8b0d9a04541d8052':0>64}",
        14: f"{'796dff6d74f3e27060b71255fe517bfb23c93eed':0>64}",
        10: f"{'7c9fc5741288cdfdd83ceb07f3ea7e22618d79d2':0>64}",
        16: f"{'b1731c586ca89a23809861c6103f0b96b3f57d92':0>64}",
        21: "ccceeb29348f71bdd22ffef43a2a19c1f5b5e17c5cca5411529120182672ade5",
        22: f"{1:064d}",
        30: f"{'8d2de8d2f73f1f4cab472ac9a881c9b123c79627':0>64}",
        32: "86c5fd957e2db8389553e1728f9c27964b22a8154091ccba54d75f4b10c61f5e",
    },
    "PORTAL_NFT_BRIDGE": {1: "0def15a24423e1edd1a5ab16f557b9060303ddbab8c803d2ee48f4b78a1cfd6b"},
    "GENERIC_RELAYER": dict.fromkeys(
        (2, 4, 5, 6, 10, 16, 23, 24, 30), f"{'27428dd2d3dd32a4d7f7c497eaaa23130d894911':0>64}"
    ),
}
"""The emitters of wormholescan's applications that occur in the data."""


def text(day: int) -> str:
    return f"{(EPOCH + timedelta(days=day)).isoformat()}T00:00:00Z"


def day_of(at: date) -> int:
    return (at - EPOCH).days


def next_start(unit: str, day: int) -> int:
    at = EPOCH + timedelta(days=day)
    if unit == "1d":
        return day + 1
    return day_of(date(at.year + 1, 1, 1) if unit == "1y" else date(at.year + at.month // 12, at.month % 12 + 1, 1))


def start_of(unit: str, day: int) -> int:
    at = EPOCH + timedelta(days=day)
    return {"1d": day, "1mo": day_of(at.replace(day=1)), "1y": day_of(at.replace(month=1, day=1))}[unit]


def spans(unit: str, first: int, last: int) -> list[tuple[int, int]]:
    """The periods from that of the first day to the one before that of the last."""
    found, day = [], start_of(unit, first)
    while day < start_of(unit, last):
        found.append((day, next_start(unit, day)))
        day = next_start(unit, day)
    return found


def usd(world: World, messages: Iterable[Message]) -> Decimal:
    return sum((world.usd(each) or Decimal(0) for each in messages), Decimal(0))


def whole_span(world: World) -> tuple[int, int]:
    days = [each.day for each in world.transfers]
    return min(days), max(days) + 1


UNITS = [("1d", 300), ("1mo", None), ("1y", None)]


@pytest.mark.parametrize(("unit", "most"), UNITS)
async def test_what_left_each_chain_by_period(
    signed: httpx.AsyncClient, world: World, unit: str, most: int | None
) -> None:
    first, last = whole_span(world)
    busy = max((each.day for each in world.transfers), key=[each.day for each in world.transfers].count)
    if most is not None:
        first, last = busy - most // 2, busy + most // 2
    # The current period is not complete.
    last = min(next_start(unit, last), day_of(datetime.now(UTC).date()) + 1)
    some = [each for each in world.transfers if start_of(unit, first) <= each.day < start_of(unit, last)]
    chains = sorted({each.served["emitter_chain"] for each in some})
    targets = sorted({each.served["decoded"]["to_chain"] for each in some})
    given = {"timespan": unit, "from": text(first), "to": text(last)}
    for source, target in ((None, None), (chains[:1], None), (None, targets[-2:]), (chains, targets[:1])):
        held: dict[tuple[str, int, int], list[Message]] = defaultdict(list)
        for each in some:
            chain, to = each.served["emitter_chain"], each.served["decoded"]["to_chain"]
            if (source is None or chain in source) and (target is None or to in target):
                start = start_of(unit, each.day)
                held[str(chain), start, next_start(unit, start)].append(each)
        expected = [
            {
                "from": text(start),
                "to": text(end),
                "emitter_chain": chain,
                "volume": int(usd(world, messages) * 10**8),
                "count": len(messages),
            }
            for (chain, start, end), messages in sorted(held.items())
        ]
        more = {} if source is None else {"sourceChain": ",".join(map(str, source))}
        more |= {} if target is None else {"targetChain": ",".join(map(str, target))}
        apps = ((None, expected), ("PORTAL_TOKEN_BRIDGE", expected), ("CCTP", []))
        for app, rows in apps if source is None and target is None else apps[:1]:
            params = given | more | ({} if app is None else {"appId": app})
            assert (await signed.get(f"{API}/x-chain-activity/tops", params=params)).json() == rows
        assert expected


@pytest.mark.parametrize(("unit", "most"), UNITS[:2])
async def test_messages_of_each_application_by_period(
    signed: httpx.AsyncClient, world: World, unit: str, most: int | None
) -> None:
    first, last = whole_span(world)
    last = next_start(unit, last)
    if most is not None:
        first = last - most
    expected = []
    for name in sorted(BRIDGES):
        of_app = [
            each
            for each in world.verified
            if BRIDGES[name].get(each.served["emitter_chain"]) == each.served["emitter_address"]
        ]
        moved = [each for each in of_app if each.served["payload_kind"].startswith("token_transfer")]
        data = []
        for start, end in spans(unit, first, last):
            count = sum(start <= each.day < end for each in of_app)
            value = float(usd(world, (each for each in moved if start <= each.day < end)))
            sums = {"total_messages": count, "total_value_transferred": value}
            data.append({"from": text(start), "to": text(end), **sums, "aggregations": [{"app_id": name, **sums}]})
        if any(each["total_messages"] for each in data):
            expected.append({"app_id": name, "time_range_data": data})
    given = {"timespan": unit, "from": text(first), "to": text(last)}
    assert (await signed.get(f"{API}/application-activity", params=given)).json() == expected
    assert expected
    for each in expected:
        params = given | {"appId": each["app_id"], "exclusiveAppId": "true"}
        assert (await signed.get(f"{API}/application-activity", params=params)).json() == [each]
    assert (await signed.get(f"{API}/application-activity", params=given | {"appId": "CCTP"})).json() == []


def symbol(world: World, message: Message) -> str | None:
    meta = world.metas.get(world.token_key(message.served))
    return None if meta is None else meta["symbol"].upper()


@pytest.mark.parametrize(("unit", "most"), UNITS[:2])
async def test_transfers_of_each_symbol_by_period(
    signed: httpx.AsyncClient, world: World, unit: str, most: int | None
) -> None:
    first, last = whole_span(world)
    last = next_start(unit, last)
    if most is not None:
        first = last - most
    priced = [
        each
        for each in world.transfers
        if start_of(unit, first) <= each.day < start_of(unit, last) and world.usd(each) and symbol(world, each)
    ]
    names = {symbol(world, each) for each in priced}
    chosen = sorted(names, key=str)[:1]
    source = priced[0].served["emitter_chain"]
    for symbols, chain in ((None, None), (chosen, None), (None, source)):
        some = [
            each
            for each in priced
            if (symbols is None or symbol(world, each) in symbols)
            and (chain is None or each.served["emitter_chain"] == chain)
        ]
        tokens = []
        for name in {symbol(world, each) for each in some}:
            of_symbol = [each for each in some if symbol(world, each) == name]
            ways = sorted({(each.served["emitter_chain"], each.served["decoded"]["to_chain"]) for each in of_symbol})
            data = []
            for start, end in spans(unit, first, last):
                inside = [each for each in of_symbol if start <= each.day < end]
                parts = []
                for way in ways:
                    held = [
                        each
                        for each in inside
                        if (each.served["emitter_chain"], each.served["decoded"]["to_chain"]) == way
                    ]
                    sums = {"total_messages": len(held), "total_value_transferred": float(usd(world, held))}
                    parts.append(sums | {"source_chain": way[0], "target_chain": way[1]})
                sums = {"total_messages": len(inside), "total_value_transferred": float(usd(world, inside))}
                data.append({"from": text(start), "to": text(end), **sums, "aggregations": parts})
            sums = {"total_messages": len(of_symbol), "total_value_transferred": float(usd(world, of_symbol))}
            tokens.append({"token_symbol": name, **sums, "time_range_data": data})
        tokens.sort(key=lambda each: (-each["total_value_transferred"], each["token_symbol"]))
        params = {"timespan": unit, "from": text(first), "to": text(last)}
        params |= {} if symbols is None else {"symbol": ",".join(map(str, symbols))}
        params |= {} if chain is None else {"sourceChain": str(chain)}
        assert (await signed.get(f"{API}/tokens-symbol-activity", params=params)).json() == {"tokens": tokens}
        assert tokens
    monkey = {"timespan": unit, "from": text(first), "to": text(last), "symbol": "NOTHING"}
    assert (await signed.get(f"{API}/tokens-symbol-activity", params=monkey)).json() == {"tokens": []}


async def test_empty_symbols_are_ignored(signed: httpx.AsyncClient, world: World) -> None:
    first, last = whole_span(world)
    given = {"timespan": "1mo", "from": text(first), "to": text(next_start("1mo", last))}
    path = f"{API}/tokens-symbol-activity"
    everything = (await signed.get(path, params=given)).json()["tokens"]
    assert len(everything) > 1
    name = everything[0]["token_symbol"]
    hundred = ",".join([name, *map(str, range(99))])
    for spelled, expected in (
        (f"{name},", everything[:1]),
        (name.lower(), everything[:1]),
        (f",,{name},,NOTHING,", everything[:1]),
        (f"{hundred},,", everything[:1]),
        (",", everything),
        (",,", everything),
    ):
        assert (await signed.get(path, params=given | {"symbol": spelled})).json() == {"tokens": expected}, spelled
    for spelled in (f"{hundred},100,", "x" * 65 + ","):
        answer = await signed.get(path, params=given | {"symbol": spelled})
        message = "parameter symbol: expected at most 100 symbols, separated by commas, found '"
        assert (answer.status_code, answer.json()["message"][: len(message)]) == (400, message)


NOON = f"{text(20_000)[:11]}12:00:00Z"


@pytest.mark.parametrize("route", ["x-chain-activity/tops", "application-activity", "tokens-symbol-activity"])
@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        ({"timespan": "1d", "to": NOON}, 400, "parameter from: expected a time such as"),
        ({"timespan": "1d", "from": NOON}, 400, "parameter to: expected a time such as"),
        ({"from": NOON, "to": NOON}, 400, "parameter timespan: expected one of 1h, 1d, 1mo"),
        ({"timespan": "1w", "from": NOON, "to": NOON}, 400, "parameter timespan: expected one of 1h, 1d, 1mo"),
        ({"timespan": "1d", "from": NOON, "to": NOON}, 400, "parameter to: expected a time after from"),
        (
            {"timespan": "1d", "from": NOON, "to": text(20_001)},
            400,
            "parameter to: expected at least 1 days after",
        ),
        ({"timespan": "1mo", "from": NOON, "to": text(20_010)}, 400, "parameter to: expected at least 30 days after"),
        ({"timespan": "1h", "from": NOON, "to": text(20_001)}, 501, "sums are kept by day: hours are counted only"),
    ],
)
async def test_a_span_has_whole_periods(
    signed: httpx.AsyncClient, route: str, given: Json, status: int, message: str
) -> None:
    answer = await signed.get(f"{API}/{route}", params=given)
    assert (answer.status_code, answer.json()["message"][: len(message)]) == (status, message)


async def passed() -> None:
    """In place of a look at the clock after the deadline."""
    raise DeadlinePassed("working")


async def test_limits_are_checked(signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = await signed.get(
        f"{API}/x-chain-activity/tops", params={"timespan": "1d", "from": text(18_900), "to": text(19_300)}
    )
    assert answer.json()["message"].startswith("parameter to: expected at most 365 days after from for this timespan")
    answer = await signed.get(
        f"{API}/application-activity", params={"timespan": "1d", "from": "1990-01-01T00:00:00Z", "to": text(19_300)}
    )
    assert answer.json()["message"].startswith("parameter from: expected at most 3650 days before to")
    first, last = whole_span(world)
    given = {"timespan": "1mo", "from": text(first), "to": text(last + 31)}
    with monkeypatch.context() as patch:
        patch.setattr(period_routes, "NUMBERS_MAX", 1)
        answer = await signed.get(f"{API}/tokens-symbol-activity", params=given)
        assert (answer.status_code, answer.json()["code"]) == (501, 12)
    with monkeypatch.context() as patch:
        patch.setattr(periods, "ROWS_MAX", 1)
        for route in ("x-chain-activity/tops", "application-activity", "tokens-symbol-activity"):
            answer = await signed.get(f"{API}/{route}", params=given)
            expected = "more rows than one response sums: request fewer days"
            assert (answer.status_code, answer.json()["message"]) == (501, expected)
        assert (await signed.get(f"{API}/tokens-symbol-volume")).status_code == 501
    with monkeypatch.context() as patch:
        patch.setattr(daily, "give_way", passed)
        assert (await signed.get(f"{API}/x-chain-activity/tops", params=given)).status_code == 503
        assert (await signed.get(f"{API}/tokens-symbol-volume")).status_code == 503


def busiest(world: World) -> int:
    days = [each.day for each in world.transfers if world.usd(each)]
    return max(days, key=lambda last: sum(last - 30 < day <= last for day in days))


@pytest.mark.parametrize(("word", "count"), [("7d", 7), ("15d", 15), ("30d", 30)])
async def test_symbols_with_the_highest_volume(
    signed: httpx.AsyncClient, world: World, word: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = busiest(world)
    by_symbol: dict[str, dict[tuple[int, str], list[Message]]] = defaultdict(lambda: defaultdict(list))
    for each in world.transfers:
        name = symbol(world, each)
        if last - count < each.day <= last and name:
            by_symbol[name][each.served["emitter_chain"], world.token_key(each.served)].append(each)
    symbols = []
    for name, tokens in by_symbol.items():
        rows = [
            {
                "emitter_chain": chain,
                "token_chain": int(key.split("/")[0]),
                "token_address": key.split("/")[1],
                "volume": plain(usd(world, held)),
                "txs": str(len(held)),
            }
            for (chain, key), held in tokens.items()
        ]
        rows.sort(key=lambda row: (-Decimal(row["volume"]), f"{row['token_chain']}/{row['token_address']}"))
        whole = [each for held in tokens.values() for each in held]
        symbols.append({"symbol": name, "volume": plain(usd(world, whole)), "txs": str(len(whole)), "tokens": rows})
    symbols.sort(key=lambda each: (-Decimal(str(each["volume"])), each["symbol"]))
    until = text(last)[:10]
    params = {"timeSpan": word, "until": until}
    assert (await signed.get(f"{API}/top-symbols-by-volume", params=params)).json() == {"symbols": symbols[:7]}
    assert symbols
    if word == "7d":
        assert (await signed.get(f"{API}/top-symbols-by-volume?until={until}")).json() == {"symbols": symbols[:7]}
    monkeypatch.setattr(token_routes, "TOP_SYMBOLS", 1)
    assert (await signed.get(f"{API}/top-symbols-by-volume", params=params)).json() == {"symbols": symbols[:1]}


@pytest.mark.parametrize(("word", "count"), [("2d", 2), ("7d", 7)])
async def test_corridors_with_most_transfers(signed: httpx.AsyncClient, world: World, word: str, count: int) -> None:
    last = busiest(world)
    counts: Counter[tuple[int, int, str]] = Counter(
        (each.served["emitter_chain"], each.served["decoded"]["to_chain"], world.token_key(each.served))
        for each in world.transfers
        if last - count < each.day <= last
    )
    expected = [
        {
            "emitter_chain": chain,
            "target_chain": to,
            "token_chain": int(key.split("/")[0]),
            "token_address": key.split("/")[1],
            "txs": number,
        }
        for (chain, to, key), number in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    params = {"timeSpan": word, "until": text(last)[:10]}
    assert (await signed.get(f"{API}/top-100-corridors", params=params)).json() == {"corridors": expected}
    assert expected
    answer = await signed.get(f"{API}/top-100-corridors?timeSpan=30d")
    assert answer.json()["message"] == "parameter timeSpan: expected 2d or 7d, found '30d'"


async def test_volumes_of_symbols_of_all_time(signed: httpx.AsyncClient, world: World) -> None:
    volumes: dict[str, Decimal] = defaultdict(Decimal)
    for each in world.transfers:
        name, value = symbol(world, each), world.usd(each)
        if name and value:
            volumes[name] += value
    expected = [
        {"symbol": name, "volume": float(value)}
        for name, value in sorted(volumes.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    assert (await signed.get(f"{API}/tokens-symbol-volume", params={"limit": "100"})).json() == expected
    assert (await signed.get(f"{API}/tokens-symbol-volume")).json() == expected[:10]
    assert (await signed.get(f"{API}/tokens-symbol-volume?limit=1")).json() == expected[:1] != []
    assert (await signed.get(f"{API}/tokens-symbol-volume?limit=101")).status_code == 400


async def test_a_token_by_its_address_in_any_form(signed: httpx.AsyncClient, world: World) -> None:
    for key, meta in world.metas.items():
        chain, address = key.split("/")
        expected = {"symbol": meta["symbol"], "coingeckoId": "", "decimals": meta["decimals"]}
        forms = [address, f"0x{address}"] + ([f"0x{address[24:]}"] if address.startswith("0" * 24) else [])
        for form in forms:
            assert (await signed.get(f"{API}/token/{chain}/{form}")).json() == expected
    answer = await signed.get(f"{API}/token/2/{'ef' * 32}")
    expected = {"code": 5, "message": f"token 2/{'ef' * 32} is not in this archive", "details": []}
    assert (answer.status_code, answer.json()) == (404, expected)
    for chain, named, key in (
        ("8", "31566704", "1e1ab70"),
        ("15", "token.sweat", "67499b7b8f58eaeb3cd81aea1d1ce9f7f722fd7750ceb2bed13e255073c25e2a"),
    ):
        answer = await signed.get(f"{API}/token/{chain}/{named}")
        assert answer.json()["message"] == f"token {chain}/{key.zfill(64)} is not in this archive"
    answer = await signed.get(f"{API}/token/2/nothing")
    assert answer.json()["message"].startswith("parameter token_address: expected up to 64 hex digits")


async def test_the_state_of_the_server(signed: httpx.AsyncClient) -> None:
    assert (await signed.get(f"{API}/health")).json() == {"status": "OK"}
    assert (await signed.get(f"{API}/ready")).json() == {"ready": "OK"}
    expected = {"build_date": "", "build": VERSION, "branch": "", "machine": "", "user": ""}
    assert (await signed.get(f"{API}/version")).json() == expected


MESSAGE = f"2/{'ab' * 32}/7"
UNKNOWABLE = {
    f"{API}/global-tx/{MESSAGE}": "a VAA contains nothing about its transaction on the target chain",
    f"{API}/relays/{MESSAGE}": "a VAA contains nothing about its delivery by a relayer",
    **{
        f"{API}/governor/{where}": "the governor delays messages that guardians have not signed yet"
        for where in (
            "limit",
            "config",
            "config/0x58CC3AE5C097b213cE3c81979e1B9f9570746AA5",
            "status",
            "status/0x58CC3AE5C097b213cE3c81979e1B9f9570746AA5",
            "notional/limit/",
            "notional/limit/2",
            "notional/available/",
            "notional/available/2",
            "notional/max_available/2",
            "enqueued_vaas/",
            "enqueued_vaas/2",
            "vaas",
        )
    },
    **{
        f"/v1/governor/{where}": "the governor delays messages that guardians have not signed yet"
        for where in ("available_notional_by_chain", "enqueued_vaas", "token_list", f"is_vaa_enqueued/{MESSAGE}")
    },
    "/v1/heartbeats": "an archive does not listen to guardians",
}
"""Paths of wormholescan's routes.go and of the guardian's REST API."""


@pytest.mark.parametrize("where", UNKNOWABLE)
async def test_what_no_vaa_contains_is_a_501_with_the_reason(signed: httpx.AsyncClient, where: str) -> None:
    answer = await signed.get(where)
    body = answer.json()
    assert (answer.status_code, body["code"], body["details"]) == (501, 12, [])
    assert body["message"].startswith(UNKNOWABLE[where])


async def test_times_are_those_of_the_clock(signed: httpx.AsyncClient) -> None:
    now = datetime.now(UTC)
    given = {
        "timespan": "1mo",
        "from": "2021-01-01T00:00:00Z",
        "to": f"{now + timedelta(days=4000):%Y-%m-%d}T00:00:00Z",
    }
    data = (await signed.get(f"{API}/application-activity", params=given)).json()
    after = now + timedelta(days=1)
    assert data[0]["time_range_data"][-1]["to"] in (f"{now:%Y-%m}-01T00:00:00Z", f"{after:%Y-%m}-01T00:00:00Z")
