"""Every response of analytics v2 as a whole body, for each oracle ledger and for one followed by the other, on both
stores; pagination, exports, errors.
"""

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from api.analytics_v2 import responses as answers
from api.analytics_v2 import routes as analytics_v2
from api.app import ApiSettings, create_app
from api.chronicle_v1.responses import AnalyticsResponse
from api.fields.rich_list_responses import RichestAddresses, TokenDistribution
from api.http.responses import FlatErrorResponse
from api.network import NetworkMount
from db.connect import StoreSettings
from db.queries import series, spans
from db.store import Row
from db.times import Window
from ledger.stardust.protocol_parameters import parse_parameters_json
from tests import reference_stardust
from tests.api.analytics import (
    FALLING,
    OF_PROTOCOL,
    Figures,
    date_of,
    in_two_years,
    of_both_eras,
    of_chrysalis,
    of_stardust,
)
from tests.api.conftest import STORES, filled_store, filled_with, new_store
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.etl.two_eras import FIRST
from tests.reference_analytics import analytics_rows, cone_of, created_by
from tests.reference_ledger import ledger_rows
from tests.reference_rows import Rows, intervals, table_rows

BASE = "/api/analytics/v2"
SPANS = [(1, 51), (7, 8), (10, 30), (30, 30), (49, 1000), (60, 70)]
"""The start (included) and the end (excluded)."""


@dataclass(frozen=True)
class Served:
    """A served ledger with its expected responses."""

    client: httpx.AsyncClient
    figures: Figures

    async def body(self, path: str, model: type[BaseModel], **query: Any) -> Json:
        """A successful response, which also matches the contract."""
        answer = await self.client.get(f"{BASE}/{path}", params=query)
        assert answer.status_code == 200, (path, answer.text)
        assert answer.headers["content-type"] == "application/json"
        found: Json = answer.json()
        model.model_validate(found, strict=True, extra="forbid")
        return found

    async def rejected(self, path: str, status: int, **query: Any) -> str:
        """The message of an error response."""
        answer = await self.client.get(f"{BASE}/{path}", params=query)
        assert answer.status_code == status, (path, answer.text)
        found = FlatErrorResponse.model_validate(answer.json(), strict=True, extra="forbid")
        assert found.code == status
        return found.message

    async def walk(self, path: str, model: type[BaseModel], page_size: int, **query: Any) -> list[Json]:
        """The items of all pages; after the first, the cursor alone determines the page size."""
        page = await self.body(path, model, pageSize=page_size, **query)
        found = list(page["items"])
        while page["cursor"] is not None:
            assert len(page["items"]) == page_size
            page = await self.body(path, model, cursor=page["cursor"], **query)
            assert 0 < len(page["items"]) <= page_size
            found += page["items"]
        return found

    async def exported(self, path: str, **query: str) -> list[Json]:
        """The items of NDJSON. CSV has the same items, with empty fields for null."""
        url = f"{BASE}/{path}"
        answer = await self.client.get(url, params=query, headers={"accept": "application/x-ndjson"})
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
        items = [json.loads(line) for line in answer.text.splitlines()]
        answer = await self.client.get(url, params=query, headers={"accept": "text/csv"})
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        lines = list(csv.DictReader(io.StringIO(answer.text)))
        assert lines == [{name: "" if value is None else str(value) for name, value in item.items()} for item in items]
        return items


def served(mount: NetworkMount, figures: Figures) -> Served:
    app = create_app({"testing": mount}, "testing", ApiSettings())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")
    return Served(client, figures)


def rows_of(figures: Figures, settings: StoreSettings) -> Rows:
    """All tables, including analytics."""
    geometry = settings.chunk_size, settings.partition_size
    rows = defaultdict(list, table_rows(figures.milestones, [], *geometry, settings.network))
    ledger_rows(rows, figures.milestones, figures.genesis, settings.network, *geometry)
    return rows | analytics_rows(figures.milestones, figures.genesis, settings.network, settings.chunk_size)


@pytest.fixture(scope="module")
def spread_figures(oracle: Oracle) -> Figures:
    figures = of_chrysalis(oracle)
    milestones = in_two_years(figures.milestones)
    assert len({date_of(each.timestamp) for each in milestones}) == 4
    assert milestones[FALLING - 1].timestamp > milestones[FALLING].timestamp
    return replace(figures, milestones=milestones)


@pytest.fixture(scope="module", params=STORES)
def spread(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, spread_figures: Figures
) -> Iterator[Served]:
    settings = new_store(request, tmp_path_factory, "spread", spread_figures.network)
    store = filled_with(settings, rows_of(spread_figures, settings))
    mount = NetworkMount(store, settings.network, oracle.expected["bech32Hrp"])
    yield served(mount, spread_figures)
    store.close()


@pytest.fixture(scope="module")
def stardust_figures(stardust: StardustLedger) -> Figures:
    return of_stardust(stardust)


@pytest.fixture(scope="module")
def as_it_is(stardust_store: Any, stardust: StardustLedger, stardust_figures: Figures) -> Served:
    return served(stardust.mount(stardust_store), stardust_figures)


@pytest.fixture(scope="module", params=STORES)
def mixed(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    oracle: Oracle,
    stardust: StardustLedger,
) -> Iterator[Served]:
    protocol = stardust.expected["info"]["protocol"]
    figures = of_both_eras(oracle, protocol)
    settings = new_store(request, tmp_path_factory, "both_eras", figures.network)
    store = filled_with(settings, rows_of(figures, settings))
    parameters, hrp = parse_parameters_json(protocol), oracle.expected["bech32Hrp"]
    yield served(NetworkMount(store, figures.network, hrp, parameters=parameters, stardust_from=FIRST), figures)
    store.close()


REPORTED: dict[Any, list[tuple[int, bytes]]] = {}
"""Test (without its store) → status and bytes of each response, in order."""

IN_STORES = [each.values[0] for each in STORES]


class Answers:
    """Tests that apply to every ledger."""

    @pytest.fixture(autouse=True)
    def every_store_gives_the_same_bytes(self, request: pytest.FixtureRequest, ledger: Served) -> Iterator[None]:
        as_item: list[tuple[int, bytes]] = []

        async def note(response: httpx.Response) -> None:
            as_item.append((response.status_code, await response.aread()))

        ledger.client.event_hooks = {"response": [note]}
        yield
        ledger.client.event_hooks = {}
        params = {name: value for name, value in request.node.callspec.params.items() if value not in IN_STORES}
        assert as_item
        assert REPORTED.setdefault((type(self), request.node.originalname, *sorted(params.items())), as_item) == as_item

    async def test_the_ledger_at_every_index(self, ledger: Served) -> None:
        figures = ledger.figures
        for index in figures.by_index:
            of_outputs, at = answers.OutputStatistics, {"ledgerIndex": index}
            assert await ledger.body("ledger/native-tokens", of_outputs, **at) == figures.unspent(index, "foundry")
            assert await ledger.body("ledger/nfts", of_outputs, **at) == figures.unspent(index, "nft")
            assert await ledger.body("activity/claimed-tokens", answers.Claimed, **at) == figures.claimed(index)
            protocol = figures.protocol_at(index)
            if protocol is None:
                rejection = await ledger.rejected("ledger/storage-deposit", 501, **at)
                assert f"unknown protocol parameters of milestone {index}" in rejection
            else:
                found = await ledger.body("ledger/storage-deposit", answers.StorageDepositStatistics, **at)
                assert found == figures.deposits(index, protocol["rentStructure"])
        assert await ledger.body("activity/claimed-tokens", answers.Claimed) == figures.claimed(None)
        assert int(figures.claimed(None)["count"]) > len(figures.by_index)
        if protocol is not None:
            assert await ledger.body("ledger/storage-deposit", answers.StorageDepositStatistics) == found
        behind = figures.last + 1
        assert str(behind) in await ledger.rejected("ledger/nfts", 404, ledgerIndex=behind)

    async def test_who_owns_most_as_explorer_v2_returns_it(self, ledger: Served) -> None:
        for path, model in (("richest-addresses", RichestAddresses), ("token-distribution", TokenDistribution)):
            found = await ledger.body(f"ledger/{path}", model, ledgerIndex=ledger.figures.last)
            assert found == (await ledger.client.get(f"/api/explorer/v2/ledger/{path}")).json()
            assert found["ledgerIndex"] == ledger.figures.last
        richest = await ledger.body("ledger/richest-addresses", RichestAddresses, top=1000)
        balances = {each["address"]: each["balance"] for each in richest["top"]}
        assert balances == ledger.figures.owners
        assert len(balances) > 10
        owned = [int(each["balance"]) for each in richest["top"]]
        assert owned == sorted(owned, reverse=True)
        assert await ledger.exported("ledger/richest-addresses", top="1000") == richest["top"]
        assert await ledger.exported("ledger/richest-addresses", top="3") == richest["top"][:3]
        found = await ledger.body("ledger/token-distribution", TokenDistribution)
        for each in found["distribution"]:
            inside = [amount for amount in owned if each["range"]["start"] <= amount < each["range"]["end"]]
            assert each["range"]["end"] == 10 * each["range"]["start"] == 10 ** len(str(each["range"]["start"]))
            assert (each["addressCount"], each["totalBalance"]) == (str(len(inside)), str(sum(inside)))
        assert sum(int(each["addressCount"]) for each in found["distribution"]) == len(owned)
        powers = [each.pop("range") | each for each in found["distribution"]]
        assert await ledger.exported("ledger/token-distribution") == powers
        assert len(powers) > 1

    async def test_activity_in_a_span(self, ledger: Served) -> None:
        figures = ledger.figures
        for start, end in SPANS:
            span = {"startIndex": start, "endIndex": end}
            found = await ledger.body("activity/addresses", answers.AddressStatistics, **span)
            assert found == figures.addresses(start, end)
            kinds = ("basic", "alias", "nft", "foundry")
            for path, requested in (("", ("legacy", *kinds)), *((f"/{kind}", (kind,)) for kind in kinds)):
                found = await ledger.body(f"activity/outputs{path}", answers.OutputStatistics, **span)
                assert found == figures.created(start, end, *requested)
            for path, kind in (("native-tokens", "foundry"), ("nfts", "nft")):
                found = await ledger.body(f"activity/{path}", answers.ObjectStatistics, **span)
                assert found == figures.became_of(start, end, kind)
        whole = await ledger.body("activity/outputs", answers.OutputStatistics)
        span = {"startIndex": 1, "endIndex": figures.last + 1}
        assert whole == await ledger.body("activity/outputs", answers.OutputStatistics, **span)
        assert int(whole["count"]) > 100

    async def test_what_chronicle_summed_of_a_span(self, ledger: Served) -> None:
        summed = ("message_count", "transaction_count", "transferred_tokens")
        for start, end in SPANS:
            answer = await ledger.client.get("/api/testing/analytics", params={"start": start, "end": end})
            AnalyticsResponse.model_validate(answer.json(), strict=True, extra="forbid")
            runs = intervals(each.index for each in ledger.figures.inside(start, end))
            assert answer.json()["data"]["ranges"] == [
                {"start": first, "end": last + 1}
                | {name: ledger.figures.sums(first, last + 1, name) for name in summed}
                for first, last in reversed(runs)
            ]
        assert ledger.figures.sums(1, 51, "transferred_tokens") > 0

    async def test_every_milestone(self, ledger: Served) -> None:
        for milestone in ledger.figures.milestones:
            expected = ledger.figures.blocks(milestone)
            for path in (f"0x{milestone.milestone_id}", f"by-index/{milestone.index}"):
                assert await ledger.body(f"activity/milestones/{path}", answers.MilestoneStatistics) == expected
        await ledger.rejected(f"activity/milestones/by-index/{ledger.figures.last + 1}", 404)
        await ledger.rejected("activity/milestones/by-index/4294967295", 404)
        await ledger.rejected(f"activity/milestones/0x{'ab' * 32}", 404)

    @pytest.mark.thorough
    @pytest.mark.parametrize("page_size", [1, 7, 1000])
    @pytest.mark.parametrize("interval", ["milestone", "hour", "day"])
    async def test_series_of_every_measure_in_both_orders(self, ledger: Served, interval: str, page_size: int) -> None:
        figures, model = ledger.figures, SERIES[interval]
        names = measures_of(figures, interval)
        expected = items_of(figures, interval, names)
        query = {"measures": ",".join(names)}
        assert await ledger.walk(f"series/{interval}", model, page_size, **query) == expected
        newest = await ledger.walk(f"series/{interval}", model, page_size, sort="newest", **query)
        assert newest == expected[::-1]
        few = await ledger.walk(f"series/{interval}", model, page_size)
        assert few == items_of(figures, interval, ["messageCount", "transactionCount", "transferredTokens"])
        totals = await ledger.walk(f"series/{interval}", model, page_size, measures="holders,basicAmount,holders")
        assert totals == items_of(figures, interval, ["holders", "basicAmount"])

    @pytest.mark.parametrize("interval", ["milestone", "hour", "day"])
    async def test_series_between_milestones_times_and_dates(self, ledger: Served, interval: str) -> None:
        figures = ledger.figures
        whole = items_of(figures, interval, ["messageCount"])
        time_of = {each.index: each.timestamp for each in figures.milestones}
        rising = sorted(time_of.values())
        days = sorted({date_of(each) for each in rising})
        step = {"milestone": 1, "hour": 3600, "day": 86400}[interval]
        latest = 2**62
        edges: list[tuple[Any, Any, int, int]] = [
            (rising[5], rising[20], rising[5], rising[20]),
            (rising[5] + 1, rising[20] - 1, rising[5] + 1, rising[20] - 1),
            (rising[30], None, rising[30], latest),
            (None, rising[30], 0, rising[30]),
            (days[0], days[0], midnight(days[0]), midnight(days[0]) + 86399),
            (days[-1], None, midnight(days[-1]), latest),
            (None, days[0], 0, midnight(days[0]) + 86399),
            (2_000_000_000, None, 2_000_000_000, latest),
            ("1969-12-31", "2100-01-01", -86400, latest),
        ]
        for start, end, first, last in edges:
            query = {name: value for name, value in (("start", start), ("end", end)) if value is not None}
            inside = [each for each in whole if first < each["timestamp"] + step and each["timestamp"] <= last]
            for sort, wanted in (("oldest", inside), ("newest", inside[::-1])):
                requested = query | {"measures": "messageCount", "sort": sort}
                assert await ledger.walk(f"series/{interval}", SERIES[interval], 5, **requested) == wanted, (
                    query,
                    sort,
                )
        for first, last in ((1, figures.last), (13, 13), (9, 17), (30, 99), (FIRST, 60), (figures.last + 1, 60)):
            held = [index for index in time_of if first <= index <= last]
            found = await ledger.walk(
                f"series/{interval}", SERIES[interval], 5, start=first, end=last, measures="messageCount"
            )
            if interval == "milestone":
                assert found == [each for each in whole if each["milestoneIndex"] in held]
            elif held:
                low, high = time_of[held[0]], time_of[held[-1]]
                assert found == [each for each in whole if low < each["timestamp"] + step and each["timestamp"] <= high]
            else:
                assert found == []
        mixed = {"start": 9, "end": rising[30], "measures": "messageCount"}
        found = await ledger.walk(f"series/{interval}", SERIES[interval], 5, **mixed)
        inside = [each for each in whole if each["timestamp"] <= rising[30]]
        if interval == "milestone":
            assert found == [each for each in inside if each["milestoneIndex"] >= 9]
        else:
            assert found == [each for each in inside if each["timestamp"] + step > time_of[9]]
        backwards = {"start": days[-1], "end": "1999-01-01"}
        assert "end" in await ledger.rejected(f"series/{interval}", 400, **backwards)
        assert "end" in await ledger.rejected(f"series/{interval}", 400, start=5, end=4)

    @pytest.mark.parametrize("page_size", [1, 7, 1000])
    async def test_what_every_address_sent_and_received(self, ledger: Served, page_size: int) -> None:
        histories = ledger.figures.histories
        assert sum(map(len, histories.values())) > 300
        for address in list(histories)[:: 1 if page_size == 1000 else 6]:
            path, expected = f"addresses/{address}", histories[address]
            page = await ledger.body(path, answers.AddressSeries, pageSize=page_size)
            assert page | {"cursor": None} == {
                "address": address,
                "items": expected[::-1][:page_size],
                "cursor": None,
                "ledgerIndex": ledger.figures.last,
            }
            assert await ledger.walk(path, answers.AddressSeries, page_size) == expected[::-1]
            if page_size != 1000:
                oldest = await ledger.walk(path, answers.AddressSeries, page_size, sort="oldest", start=9, end=40)
                assert oldest == [each for each in expected if 9 <= each["milestoneIndex"] <= 40]
                late = {"start": expected[0]["timestamp"], "end": date_of(expected[0]["timestamp"])}
                last = midnight(late["end"]) + 86399
                found = await ledger.walk(path, answers.AddressSeries, page_size, sort="oldest", **late)
                assert found == [each for each in expected if late["start"] <= each["timestamp"] <= last]
        nobody = ledger.figures.bech32("00" + "ab" * 32)
        found = await ledger.body(f"addresses/{nobody}", answers.AddressSeries)
        assert found == {"address": nobody, "items": [], "cursor": None, "ledgerIndex": ledger.figures.last}

    @pytest.mark.parametrize("interval", ["milestone", "hour", "day"])
    async def test_whole_series_as_csv_and_ndjson(self, ledger: Served, interval: str) -> None:
        names = ["messageCount", "holders", "transferredTokens"]
        expected = items_of(ledger.figures, interval, names)[::-1]
        query = {"measures": ",".join(names), "sort": "newest", "pageSize": "2"}
        assert await ledger.exported(f"series/{interval}", **query) == expected
        nothing = {"start": "2100-01-01"}
        answer = await ledger.client.get(f"{BASE}/series/{interval}", params=nothing, headers={"accept": "text/csv"})
        head = list(items_of(ledger.figures, interval, ["messageCount", "transactionCount", "transferredTokens"])[0])
        assert answer.text == ",".join(f'"{name}"' for name in head) + "\n"

    async def test_a_page_that_looked_at_enough_ends_early(
        self, ledger: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(series, "EXAMINED", 2)
        for interval in ("hour", "day"):
            expected = items_of(ledger.figures, interval, ["nftNewCount"])
            for sort, wanted in (("oldest", expected), ("newest", expected[::-1])):
                query = {"measures": "nftNewCount", "sort": sort}
                page = await ledger.body(f"series/{interval}", SERIES[interval], **query)
                found, pages = list(page["items"]), 1
                while page["cursor"] is not None:
                    page = await ledger.body(f"series/{interval}", SERIES[interval], cursor=page["cursor"], **query)
                    found += page["items"]
                    pages += 1
                assert found == wanted
                assert pages == len({date_of(each["timestamp"]) for each in expected})

    async def test_what_is_rejected(self, ledger: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        page = await ledger.body("series/milestone", answers.MilestoneSeries, pageSize=1)
        for path, query in (
            ("series/milestone", {"cursor": page["cursor"], "sort": "newest"}),
            ("series/milestone", {"cursor": page["cursor"], "start": 1}),
            ("series/milestone", {"cursor": page["cursor"], "measures": "holders"}),
            ("series/hour", {"cursor": page["cursor"]}),
            ("series/day", {"cursor": "1.100"}),
            ("series/day", {"cursor": f"{page['cursor'][:-5]}A.100"}),
        ):
            assert (await ledger.rejected(path, 400, **query)).startswith("parameter cursor: ")
        for name, values in (
            ("start", ("", "-1", "4294967296", "2022-02-30", "2022-1-1", "now")),
            ("measures", ("", "message_count", "messageCount,", "totalAddresses")),
        ):
            for value in values:
                message = await ledger.rejected("series/hour", 400, **{name: value})
                assert message.startswith(f"parameter {name}: ")
        await ledger.rejected("series/hour", 400, measures="activeAddresses")
        await ledger.rejected("series/day", 400, interval="day")
        for path in ("addresses", "outputs/nft", "nfts"):
            message = await ledger.rejected(f"activity/{path}", 400, startIndex=30, endIndex=10)
            assert message == "parameter endIndex: expected startIndex (30) or later, found '10'"
        monkeypatch.setattr(analytics_v2, "SUMMED_MAX", 10)
        assert str(ledger.figures.last) in await ledger.rejected("activity/outputs", 501)
        for end, status in ((15, 200), (16, 501)):
            answer = await ledger.client.get(f"{BASE}/activity/nfts", params={"startIndex": 5, "endIndex": end})
            assert answer.status_code == status
        monkeypatch.setattr(analytics_v2, "CHANGES_MAX", 3)
        assert "3 changes" in await ledger.rejected("activity/addresses", 501, startIndex=5, endIndex=15)

    async def test_a_whole_address_as_csv_and_ndjson(self, ledger: Served) -> None:
        address, expected = max(ledger.figures.histories.items(), key=lambda each: len(each[1]))
        assert len(expected) > 10
        assert await ledger.exported(f"addresses/{address}", sort="oldest") == expected


SERIES: dict[str, type[BaseModel]] = {
    "milestone": answers.MilestoneSeries,
    "hour": answers.HourSeries,
    "day": answers.DaySeries,
}


def items_of(figures: Figures, interval: str, measures: Sequence[str]) -> list[Json]:
    made = {"milestone": figures.by_milestone, "hour": figures.by_hour, "day": figures.by_day}
    return made[interval](measures)


def measures_of(figures: Figures, interval: str) -> list[str]:
    return {
        "milestone": figures.milestone_measures,
        "hour": figures.hour_measures,
        "day": figures.day_measures,
    }[interval]


def midnight(date: str) -> int:
    return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp())


class TestChrysalis(Answers):
    """Its milestones over four days of two years, with times that fall once."""

    @pytest.fixture
    def ledger(self, spread: Served) -> Served:
        return spread


BEHIND = (20, 50)
"""Milestones that are loaded but not analysed: one among others of its hour, and the last."""


@pytest.fixture(scope="module", params=STORES)
def behind(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, spread_figures: Figures
) -> Iterator[Served]:
    """Served as during a load, which writes the analytics last."""
    settings = new_store(request, tmp_path_factory, "behind", spread_figures.network)
    rows = rows_of(spread_figures, settings)
    rows["ms_analytics"] = [row for row in rows["ms_analytics"] if row["milestone_index"] not in BEHIND]
    store = filled_with(settings, rows)
    yield served(NetworkMount(store, settings.network, oracle.expected["bech32Hrp"]), spread_figures)
    store.close()


@pytest.mark.parametrize("names", [["vByteCost"], ["holders"], ["milestoneCount", "holders", "messageBytes"]])
@pytest.mark.parametrize("interval", ["hour", "day"])
async def test_what_is_not_analysed_yet_is_not_known(behind: Served, interval: str, names: list[str]) -> None:
    figures, seconds = behind.figures, {"hour": 3600, "day": 86400}[interval]
    assert figures.last == max(BEHIND)
    expected = items_of(figures, interval, names)
    unknown = Counter[str]()
    for item in expected:
        parts = [each.index for each in figures.milestones if 0 <= each.timestamp - item["timestamp"] < seconds]
        missing = {"messageBytes": {*parts}, "holders": {max(parts)}}
        for name in missing.keys() & item.keys():
            if missing[name].intersection(BEHIND):
                item[name] = None
                unknown[name] += 1
    assert unknown.keys() == {"holders", "messageBytes"} & {*names}
    assert await behind.walk(f"series/{interval}", SERIES[interval], 2, measures=",".join(names)) == expected
    assert await behind.exported(f"series/{interval}", measures=",".join(names)) == expected


async def test_milestones_outside_a_span_are_read_by_the_hundred(
    spread: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where times do not rise, a page may have to read all milestones to find that none matches."""

    async def nowhere(*_: Any) -> Window:
        return Window(0, 1, [(1, spread.figures.last)])

    read = list[int]()
    within = series._of_window

    def seen(rows: list[Row], window: Window) -> series.Batch:
        read.append(len(rows))
        return within(rows, window)

    monkeypatch.setattr(spans, "find_window", nowhere)
    monkeypatch.setattr(series, "_of_window", seen)
    histories = spread.figures.histories
    busiest = max(histories, key=lambda each: len(histories[each]))
    for path in ("series/milestone", f"addresses/{busiest}"):
        read.clear()
        page = (await spread.client.get(f"{BASE}/{path}", params={"pageSize": 1, "start": 10**9})).json()
        assert (page["items"], page["cursor"]) == ([], None)
        assert len(read) == 1
        assert read[0] > 1


KNOWN_TO = 40
"""The ledger index of a store in which more milestones are loaded."""


@pytest.fixture(scope="module")
def lagging(
    stardust: StardustLedger, stardust_figures: Figures, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """Served with a ledger state for only some milestones; checks the responses for the others."""
    settings = StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('lagging')}", stardust.network)
    rows = reference_stardust.whole_rows(
        stardust.milestones, [], settings.chunk_size, settings.partition_size, settings.network
    )
    some = stardust_figures.milestones[0]
    as_item = {"ms_range_id", "milestone_index", "ms_timestamp", *cone_of(some), *created_by(some)}
    for row in rows["ms_analytics"]:
        if row["milestone_index"] > KNOWN_TO:
            for name in row.keys() - as_item:
                del row[name]
    store = filled_with(settings, rows)
    yield served(stardust.mount(store), stardust_figures)
    store.close()


@pytest.mark.thorough
@pytest.mark.parametrize("interval", ["milestone", "hour", "day"])
async def test_what_the_ledger_state_does_not_contain_is_null(lagging: Served, interval: str) -> None:
    names = ["messageCount", "nftCreatedCount", "nftNewCount", "holders", "basicAmount", "treasuryAmount"]
    expected = items_of(lagging.figures, interval, names)
    for each in expected:
        if each.get("milestoneIndex", 50) > KNOWN_TO:
            each |= dict.fromkeys(names[2:])
    assert await lagging.walk(f"series/{interval}", SERIES[interval], 1000, measures=",".join(names)) == expected
    if interval == "milestone":
        sums = await lagging.body("activity/nfts", answers.ObjectStatistics)
        assert sums == lagging.figures.became_of(1, KNOWN_TO + 1, "nft")
        await lagging.rejected("ledger/nfts", 404, ledgerIndex=KNOWN_TO + 1)


@pytest.mark.thorough
async def test_bytes_cost_what_the_parameters_of_their_milestone_say(
    stardust: StardustLedger, stardust_figures: Figures, tmp_path: Path
) -> None:
    """Milestone 30 announces another rent from 40 on. Without the setting, no rent is known before."""
    settings = StoreSettings(f"sqlite:///{tmp_path}", stardust.network)
    rows = reference_stardust.whole_rows(
        stardust.milestones, [], settings.chunk_size, settings.partition_size, settings.network
    )
    before = {"vByteCost": 100, "vByteFactorKey": 10, "vByteFactorData": 1}
    after = {"vByteCost": 250, "vByteFactorKey": 7, "vByteFactorData": 3}
    (announced,) = rows["protocol_parameters"]
    assert announced["milestone_index"] == KNOWN_TO
    # The rent consists of byte cost, data factor and key factor; the token supply is the last eight bytes.
    params = bytearray(announced["params"])
    at = len(params) - 8 - 6
    assert (int.from_bytes(params[at : at + 4], "little"), params[at + 4], params[at + 5]) == (100, 1, 10)
    params[at : at + 6] = (250).to_bytes(4, "little") + bytes((3, 7))
    announced["params"] = bytes(params)
    store = filled_with(settings, rows)
    mount = stardust.mount(store)
    known, unknown = (served(each, stardust_figures) for each in (mount, replace(mount, parameters=None)))
    for index in (1, KNOWN_TO - 1, KNOWN_TO, 50):
        rent = before if index < KNOWN_TO else after
        wanted = stardust_figures.deposits(index, rent)
        path, at_index = "ledger/storage-deposit", {"ledgerIndex": index}
        assert await known.body(path, answers.StorageDepositStatistics, **at_index) == wanted
        if index < KNOWN_TO:
            assert f"milestone {index}:" in await unknown.rejected(path, 501, **at_index)
        else:
            assert await unknown.body(path, answers.StorageDepositStatistics, **at_index) == wanted
    protocol = stardust.expected["info"]["protocol"]
    changed = protocol | {"rentStructure": after}
    names = ["byteCost", *OF_PROTOCOL, "keyBytes", "bookedAmount"]
    for requested, as_item in ((known, {0: protocol, KNOWN_TO: changed}), (unknown, {KNOWN_TO: changed})):
        figures = replace(stardust_figures, protocol=as_item)
        for interval, model in SERIES.items():
            expected = items_of(figures, interval, names)
            assert await requested.walk(f"series/{interval}", model, 7, measures=",".join(names)) == expected
    costs = {each["vByteCost"] for each in items_of(figures, "milestone", names)}
    assert costs == {None, 250}
    late = served(replace(mount, stardust_from=10), stardust_figures)
    assert "a Chrysalis milestone" in await late.rejected("ledger/storage-deposit", 501, ledgerIndex=9)
    expected = items_of(replace(stardust_figures, protocol={10: protocol, KNOWN_TO: changed}), "milestone", names)
    assert await late.walk("series/milestone", answers.MilestoneSeries, 7, measures=",".join(names)) == expected
    store.close()


async def test_without_genesis_there_is_no_ledger_state(oracle: Oracle, tmp_path: Path) -> None:
    store = filled_store(tmp_path, oracle, 100_000, 100_000, with_genesis=False)
    mount = NetworkMount(store, oracle.expected["network"], oracle.expected["bech32Hrp"])
    address = oracle.expected["addresses"][0]["bech32"]
    app = create_app({"testing": mount}, "testing", ApiSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        for path in ("ledger/nfts", "activity/claimed-tokens", "activity/addresses", f"addresses/{address}"):
            assert (await client.get(f"{BASE}/{path}")).status_code == 501
        for interval in SERIES:
            answer = await client.get(f"{BASE}/series/{interval}")
            assert answer.json() == {"items": [], "cursor": None}
    store.close()


class TestStardust(Answers):
    """The unchanged ledger."""

    @pytest.fixture
    def ledger(self, as_it_is: Served) -> Served:
        return as_it_is

    async def test_bytes_have_a_price(self, ledger: Served) -> None:
        found = await ledger.body("ledger/storage-deposit", answers.StorageDepositStatistics)
        assert int(found["totalByteCost"]) > 10**6
        assert int(found["storageDepositReturnCount"]) > 0


class TestBothEras(Answers):
    """Stardust after Chrysalis; Stardust transactions spend Chrysalis outputs."""

    @pytest.fixture
    def ledger(self, mixed: Served) -> Served:
        return mixed

    async def test_bytes_have_a_price_from_stardust_on(self, ledger: Served) -> None:
        path, names = "ledger/storage-deposit", ("byteCost", *OF_PROTOCOL)
        items = await ledger.walk("series/milestone", answers.MilestoneSeries, 1000, measures=",".join(names))
        for each in items:
            as_item = {each[name] is not None for name in names}
            assert as_item == {each["milestoneIndex"] >= FIRST}
        rejection = await ledger.rejected(path, 501, ledgerIndex=FIRST - 1)
        assert f"milestone {FIRST - 1}: it is a Chrysalis milestone" in rejection
        found = await ledger.body(path, answers.StorageDepositStatistics, ledgerIndex=FIRST)
        assert found["totalByteCost"] == items[FIRST - 1]["byteCost"] != "0"
