"""The coverage page: each cell of its map and each run has the milestones that the archive's intervals say."""

import itertools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cache
from html import unescape

import httpx
import pytest

from tests.api.networks import GAPS, MISSING, TWO_ERAS
from tests.api.oracle import Oracle
from tests.api.web.stubs import shown_with
from tests.api.web.test_explorer import HOSTILE, text_of

Spans = Sequence[tuple[int, int]]

NO_REJECTS = {"items": [], "total": 0, "cursor": None}


def number(text: str) -> int:
    return int(text.replace(",", ""))


def span(text: str) -> tuple[int, int]:
    """First and last milestone of a text such as 1 to 20."""
    ends = [number(each) for each in text.split(" to ")]
    return ends[0], ends[-1]


def cells_of(html: str) -> list[tuple[tuple[int, int], Counter[str], str]]:
    """Milestones, counts by state and link of each cell of the map."""
    body = html.partition('<ul class="map">')[2].partition("</ul>")[0]
    found = []
    for href, text in re.findall(r'<a href="([^"]*)" title="([^"]*)"', body):
        milestones, _, counts = text.partition(": ")
        parts = (each.split(" ") for each in counts.split(", "))
        found.append((span(milestones), Counter({level: number(count) for count, level in parts}), unescape(href)))
    return found


def rows_of(html: str, heading: str) -> list[list[str]]:
    table = html.partition(f'id="{heading}"')[2].partition("<tbody")[2].partition("</tbody>")[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in table.split("</tr>")[:-1]]
    return [[unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in row] for row in rows]


def sync_of(levels: dict[str, Spans], unlogged: Spans = ()) -> dict[str, object]:
    """The JSON of `sync` for these milestones."""

    def half_open(spans: Spans) -> list[dict[str, int]]:
        return [{"start": first, "end": last + 1} for first, last in sorted(spans, reverse=True)]

    proved = {level: half_open(levels.get(level, [])) for level in ("believed", "merkle", "signed", "full")}
    return {"completed": [], "synced_but_unlogged": half_open(unlogged), "gaps": [], "proved": proved}


async def test_the_map_of_an_archive_with_a_gap(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    page = await pages.get(f"/{GAPS}/coverage")
    last = oracle.milestones[-1]["milestone"]["index"]
    cells = cells_of(page.text)
    assert [first for (first, _), _, _ in cells] == list(range(1, last + 1))
    for (first, end), counts, href in cells:
        assert first == end
        assert href == f"/{GAPS}/milestone/{first}"
        assert (counts["missing"] == 1) == (first in MISSING)
    assert f"{len(MISSING)} missing" in text_of(page.text)
    missing = [row for row in rows_of(page.text, "runs") if row[2] == "missing"]
    assert [(span(row[0]), number(row[1])) for row in missing] == [((MISSING[0], MISSING[-1]), len(MISSING))]
    # Each cell has a page, also that of a missing milestone.
    assert (await pages.get(f"/{GAPS}/milestone/{MISSING[0]}")).headers["content-type"].startswith("text/html")


async def test_two_eras_are_complete(pages: httpx.AsyncClient) -> None:
    page = await pages.get(f"/{TWO_ERAS}/coverage", params={"start": "30", "end": "52"})
    assert sum((counts for _, counts, _ in cells_of(page.text)), Counter()).total() == 23
    assert "none missing" in text_of(page.text)


LARGE: dict[str, Spans] = {
    "believed": [(1_000, 1_000), (2_000_000, 2_099_999)],
    "merkle": [(1_001, 900_000)],
    "signed": [(900_002, 1_999_999), *((2_100_000 + 10 * each, 2_100_003 + 10 * each) for each in range(30_000))],
    "full": [(2_500_000, 3_456_789)],
}
"""A million runs' worth of milestones: one milestone is missing at 900,001, six of ten after 2,100,000."""

STARTS = {level: [low for low, _ in spans] for level, spans in LARGE.items()}


@cache
def counted(first: int, last: int) -> Counter[str]:
    """The milestones of each state between two."""
    counts = Counter[str]()
    for level, spans in LARGE.items():
        lows = STARTS[level]
        near = spans[max(0, bisect_right(lows, first) - 1) : bisect_right(lows, last)]
        inside = sum(max(0, min(high, last) + 1 - max(low, first)) for low, high in near)
        if inside:
            counts[level] = inside
    missing = last + 1 - first - counts.total()
    return counts + Counter({"missing": missing})


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("", 1_000, 3_456_789),
        ("?start=900000&end=900499", 900_000, 900_499),
        ("?start=899990&end=900010", 899_990, 900_010),
        ("?start=0&end=99999999999999", 1_000, 3_456_789),
        ("?start=x&end=-1", 1_000, 3_456_789),
        ("?start=3000000&end=5", 3_000_000, 3_000_000),
    ],
)
async def test_the_map_of_a_large_archive(query: str, first: int, last: int) -> None:
    bodies = {"sync": sync_of(LARGE, [(5_000, 7_000)]), "rejects": NO_REJECTS}
    page = await shown_with(bodies, f"/stub/coverage{query}")
    cells = cells_of(page)
    assert 0 < len(cells) <= 240
    assert cells[0][0][0] == first
    assert cells[-1][0][1] == last
    for before, after in itertools.pairwise(cells):
        assert after[0][0] == before[0][1] + 1
    for (low, high), counts, href in cells:
        assert counts == counted(low, high), (low, high)
        assert href == (f"/stub/milestone/{low}" if low == high else f"/stub/coverage?start={low}&end={high}")
    runs = [(span(row[0]), row[2]) for row in rows_of(page, "runs")]
    assert len(runs) <= 200
    at = first
    for (low, high), level in runs:
        assert low == at
        assert counted(low, high) == Counter({level: high + 1 - low})
        at = high + 1
    assert at == last + 1 or len(runs) == 200
    assert len(page) < 200_000


async def test_a_missing_milestone_among_thousands_is_visible() -> None:
    page = await shown_with({"sync": sync_of(LARGE), "rejects": NO_REJECTS}, "/stub/coverage")
    body = page.partition('<ul class="map">')[2].partition("</ul>")[0]
    (cell,) = (each for each in body.split("<li>") if "1 missing" in each)
    height = re.search(r'class="gap"[^>]*height="([\d.]+)"', cell)
    assert height is not None
    assert 10 < float(height[1]) < 20


async def test_unlogged_milestones_and_rejects_of_a_range() -> None:
    rejects = {
        "items": [
            {"milestoneIndex": None, "file": HOSTILE, "line": 0, "item": None, "reason": HOSTILE},
            {"milestoneIndex": 4, "file": "a.log", "line": 1234, "item": "ab" * 32, "reason": "expected an id"},
        ],
        "total": 5,
        "cursor": "x.2",
    }
    sync = sync_of({"full": [(1, 3), (6, 9)]}, [(1, 1), (7, 9)])
    page = await shown_with({"sync": sync, "rejects": rejects}, "/stub/coverage?start=2&end=8")
    assert "<script" not in page.partition("<main")[2]
    assert [row[:3] for row in rows_of(page, "rejects")] == [
        ["unknown", HOSTILE, "the whole file"],
        ["4", "a.log", "1,234"],
    ]
    assert rows_of(page, "rejects")[0][4] == HOSTILE
    assert "cursor=x.2" in page
    unlogged = page.partition('id="unlogged"')[2].partition("</ul>")[0]
    assert [span(each) for each in re.findall(r"<li>(.*?)</li>", unlogged)] == [(7, 8)]
    gaps = page.partition('id="gaps"')[2].partition("</ul>")[0]
    assert [span(each) for each in re.findall(r">([^<]*)</a>", gaps)] == [(4, 5)]


async def test_an_archive_without_milestones() -> None:
    page = await shown_with({"sync": sync_of({}), "rejects": NO_REJECTS}, "/stub/coverage")
    assert "no complete milestone yet" in text_of(page)
    assert 'id="levels"' in page


async def test_each_level_is_explained(pages: httpx.AsyncClient) -> None:
    page = (await pages.get(f"/{TWO_ERAS}/coverage")).text.partition('id="levels"')[2]
    for level in ("full", "signed", "merkle", "believed", "missing"):
        assert f">{level}<" in page
