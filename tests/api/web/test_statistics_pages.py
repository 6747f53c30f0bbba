"""Statistics, days and rich lists: displayed numbers are those that tests.api.analytics computes from the ledgers."""

import csv
import io
import re
from collections.abc import Mapping
from decimal import Decimal
from html import unescape
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.api import analytics
from tests.api.networks import GAPS, TWO_ERAS
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.web.test_address_pages import MICRO, rows_of, titles_of
from tests.api.web.test_explorer import HOSTILE, text_of

CHART = re.compile(r'<figure class="chart"[^>]*data-times="([^"]*)">(.*?)</figure>', re.DOTALL)


def charts_of(html: str) -> list[tuple[list[int], dict[str, list[str]]]]:
    """Times and series (label → values) of each chart on a page."""
    return [
        (
            [int(each) for each in times.split(",")],
            {
                unescape(label): values.split(",")
                for values, label in re.findall(r'class="series" value="([^"]*)" data-name="([^"]*)"', body)
            },
        )
        for times, body in CHART.findall(html)
    ]


def label_of(name: str) -> str:
    words = re.sub(r"([A-Z]|\d+)", lambda found: f" {found[0].lower()}", name).replace("nft", "NFT")
    return words[0].upper() + words[1:]


def as_drawn(name: str, item: Mapping[str, Any]) -> Decimal | None:
    """A value as charts have it: amounts, which are texts, in base tokens."""
    value = item[name]
    return None if value is None else Decimal(value) / MICRO if isinstance(value, str) else Decimal(value)


@pytest.mark.thorough
@pytest.mark.parametrize("interval", ["milestone", "hour", "day"])
async def test_every_measure_has_a_chart(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger, interval: str
) -> None:
    for network, figures in (
        (oracle.expected["network"], analytics.of_chrysalis(oracle)),
        (stardust.network, analytics.of_stardust(stardust)),
    ):
        names = getattr(figures, f"{interval}_measures")
        expected = getattr(figures, f"by_{interval}")(names)
        index = (await pages.get(f"/{network}/statistics", params={"by": interval})).text
        groups = dict.fromkeys(re.findall(r'\?group=([^&"]*)&amp;by=', index))
        drawn: dict[str, list[str]] = {}
        for group in groups:
            page = (await pages.get(f"/{network}/statistics?group={group}&by={interval}")).text
            for times, series in charts_of(page):
                assert times == [each["timestamp"] for each in expected]
                drawn |= series
        assert drawn.keys() == {label_of(name) for name in names}
        for name in names:
            values = [None if each == "" else Decimal(each) for each in drawn[label_of(name)]]
            assert values == [as_drawn(name, item) for item in expected], name


async def test_two_measures_of_a_range_and_their_csv(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network, figures = oracle.expected["network"], analytics.of_chrysalis(oracle)
    expected = [
        each for each in figures.by_milestone(["holders", "transferredTokens"]) if 10 <= each["milestoneIndex"] <= 19
    ]
    query = {"measure": "transferredTokens", "with": "holders", "by": "milestone", "start": "10", "end": "19"}
    page = await pages.get(f"/{network}/statistics", params=query)
    ((times, series),) = charts_of(page.text)
    assert times == [each["timestamp"] for each in expected]
    assert [int(each) for each in series["Holders"]] == [each["holders"] for each in expected]
    link = re.search(r'href="([^"]*format=csv)"', page.text)
    assert link is not None
    table = list(csv.DictReader(io.StringIO((await pages.get(unescape(link[1]))).text)))
    assert [each["transferredTokens"] for each in table] == [each["transferredTokens"] for each in expected]
    assert [int(each["holders"]) for each in table] == [each["holders"] for each in expected]


async def test_a_range_without_data_and_unknown_measures(pages: httpx.AsyncClient) -> None:
    page = await pages.get(f"/{TWO_ERAS}/statistics", params={"start": "2001-01-01", "end": "2001-01-02"})
    assert "of this range is analysed" in text_of(page.text)
    page = await pages.get(f"/{TWO_ERAS}/statistics", params=dict.fromkeys(("measure", "with", "by", "group"), HOSTILE))
    assert [list(series) for _, series in charts_of(page.text)] == [["Message count"]]
    assert "<script" not in page.text.partition("<main")[2]
    rejected = await pages.get(f"/{TWO_ERAS}/statistics", params={"start": HOSTILE})
    assert rejected.status_code == 400


async def test_a_day_has_its_measures_and_milestones(pages: httpx.AsyncClient, stardust: StardustLedger) -> None:
    figures = analytics.of_stardust(stardust)
    (item,) = figures.by_day(figures.day_measures)
    url, seen = f"/{stardust.network}/day/{item['date']}", []
    page = (await pages.get(url)).text
    shown = dict(re.findall(r'measure=(\w+)" title="[^"]*">[^<]*</a></th><td class="right">(.*?)</td>', page))
    for name in figures.day_measures:
        value = item[name]
        if value in {None, 0, "0"}:
            assert name not in shown
        elif isinstance(value, str):
            assert f'value="{value}"' in shown[name]
        else:
            assert int(shown[name].replace(",", "")) == value
    while url:
        page = (await pages.get(url)).text
        seen += [(int(row[0]), int(row[2]), int(row[3])) for row in rows_of(page)]
        more = re.search(r'class="more".*?hx-get="([^"]*)"', page, re.DOTALL)
        url = unescape(more[1]) if more else ""
    expected = figures.by_milestone(["messageCount", "transactionCount"])
    assert seen == [(each["milestoneIndex"], each["messageCount"], each["transactionCount"]) for each in expected]


async def test_days_lead_to_the_days_around_them(pages: httpx.AsyncClient) -> None:
    days = sorted(
        re.findall(r"<tr><td>(\d{4}-\d\d-\d\d)</td>", (await pages.get(f"/{TWO_ERAS}/statistics?by=day")).text)
    )
    assert len(days) > 1
    first = (await pages.get(f"/{TWO_ERAS}/day/{days[0]}")).text
    assert 'rel="prev"' not in first
    assert f'rel="next" href="/{TWO_ERAS}/day/{days[1]}"' in first
    assert f'rel="prev" href="/{TWO_ERAS}/day/{days[-2]}"' in (await pages.get(f"/{TWO_ERAS}/day/{days[-1]}")).text
    assert (await pages.get(f"/{TWO_ERAS}/day/2001-01-01")).status_code == 404
    assert (await pages.get(f"/{TWO_ERAS}/day/{quote(HOSTILE.replace('/', ''))}")).status_code == 400


@pytest.mark.parametrize("at", ["", "date"])
async def test_the_rich_list_and_the_distribution(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger, at: str
) -> None:
    for network, figures in (
        (oracle.expected["network"], analytics.of_chrysalis(oracle)),
        (stardust.network, analytics.of_stardust(stardust)),
    ):
        query = {"at": analytics.date_of(figures.milestones[-1].timestamp)} if at else {}
        page = (await pages.get(f"/{network}/richest", params=query)).text
        balances = sorted((int(each) for each in figures.owners.values()), reverse=True)
        rows = rows_of(page)
        assert [int(row[0]) for row in rows] == list(range(1, len(balances) + 1))
        listed = page.partition('id="rows">')[2]
        assert [int(each) for each in re.findall(r'class="amount" value="(\d+)"', listed)] == balances
        assert {address: figures.owners[address] for address in titles_of(listed, "address")} == figures.owners
        ranges = page.partition('id="distribution"')[2].partition("</table>")[0].split("<tr>")[2:]
        counted = [
            (int(start), int(count))
            for row in ranges
            for start, count in re.findall(r'value="(\d+)".*?class="right">(\d+)<', row)[:1]
        ]
        tens = [10 ** (len(str(each)) - 1) for each in balances]
        assert counted == sorted((start, tens.count(start)) for start in set(tens))


async def test_rich_lists_that_are_not_kept(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    assert "does not follow the ledger state" in text_of((await pages.get(f"/{GAPS}/richest")).text)
    network = oracle.expected["network"]
    assert (await pages.get(f"/{network}/richest", params={"at": "1000"})).status_code == 404
    assert (await pages.get(f"/{network}/richest", params={"at": HOSTILE})).status_code == 400
