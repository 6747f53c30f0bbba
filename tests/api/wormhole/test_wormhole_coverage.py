"""The days that the archive holds and the gaps of every emitter, compared with the records."""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import Any

import httpx
import pytest

from db.queries.wormhole import periods
from tests.api.wormhole_network import DAY_S, UNSIGNED, WRITTEN, World

Json = dict[str, Any]

API = "/api/wormhole/v1"
GOVERNANCE = (1, f"{4:064d}")
END = 2**64


def date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()


async def test_days_with_verified_messages(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = Counter(each.day for each in world.verified)
    undated = days.pop(0, 0)
    starts = [day for day in sorted(days) if day - 1 not in days]
    ends = [day for day in sorted(days) if day + 1 not in days]
    expected = {
        "days": [{"first": date(first), "last": date(last)} for first, last in zip(starts, ends, strict=True)],
        "messages": len(world.verified),
        "undated": undated,
    }
    assert (await signed.get(f"{API}/coverage")).json() == expected
    assert len(starts) > 3
    monkeypatch.setattr(periods, "ROWS_MAX", 1)
    assert (await signed.get(f"{API}/coverage")).status_code == 501
    answer = await signed.get(f"{API}/coverage?days=1")
    assert (answer.status_code, answer.json()["code"]) == (400, 3)


def classified(world: World) -> list[tuple[int, str, int, int, str]]:
    """Every gap, from the sequences of all records: each sequence's kind, then runs of the same kind."""
    verified: dict[tuple[int, str], set[int]] = defaultdict(set)
    traces: dict[tuple[int, str], set[int]] = defaultdict(set)
    for each in world.observed:
        record = each.record
        at = record["emitter_chain"], record["emitter_address"]
        (verified if record["quorum"] else traces)[at].add(record["sequence"])
    for key in (UNSIGNED, WRITTEN):
        chain, emitter, sequence = key.split(":")
        traces[int(chain), emitter].add(int(sequence))
    found = []
    for at in sorted(verified.keys() | traces.keys()):
        known = sorted(verified[at] | traces[at])
        last = max(verified[at], default=-1)
        # Where the kind can change: at each known sequence, after it, and after the last verified one.
        edges = sorted({0, END, last + 1, *known, *(each + 1 for each in known)})
        pieces = []
        for first, end in pairwise(edges):
            if first in verified[at]:
                continue
            kind = "unverified" if first in traces[at] else "missing" if first < last else "notYetEmitted"
            if at == GOVERNANCE and kind != "unverified":
                kind = "random"
            pieces.append((first, end - 1, kind))
        runs = groupby(enumerate(pieces), key=lambda pair: (pair[1][2], is_new(pieces, pair[0])))
        for (kind, _), run in runs:
            parts = [piece for _, piece in run]
            found.append((*at, parts[0][0], parts[-1][1], kind))
    return found


def is_new(pieces: list[tuple[int, int, str]], number: int) -> int:
    """The number of the run that a piece belongs to: it continues the one before it if it follows it directly."""
    while number and pieces[number - 1][1] + 1 == pieces[number][0] and pieces[number - 1][2] == pieces[number][2]:
        number -= 1
    return number


async def gaps_of(client: httpx.AsyncClient, size: int) -> list[Json]:
    found: list[Json] = []
    cursor = None
    while True:
        params = {"pageSize": size} | ({} if cursor is None else {"cursor": cursor})
        page = (await client.get(f"{API}/gaps", params=params)).json()
        found += page["gaps"]
        cursor = page["cursor"]
        if cursor is None:
            return found


def joined(gaps: list[Json]) -> list[tuple[int, str, int, int, str]]:
    """Gaps as tuples; those of the same kind that follow each other directly, as at the end of a page, are one."""
    found: list[tuple[int, str, int, int, str]] = []
    for each in gaps:
        chain, emitter, kind = each["emitterChain"], each["emitterAddr"], each["classification"]
        first, last = int(each["first"]), int(each["last"])
        if found and found[-1][:2] == (chain, emitter) and found[-1][3] + 1 == first and found[-1][4] == kind:
            first = found.pop()[2]
        found.append((chain, emitter, first, last, kind))
    return found


@pytest.mark.parametrize("size", [3, 1000])
async def test_every_gap_of_every_emitter_is_classified(signed: httpx.AsyncClient, world: World, size: int) -> None:
    expected = classified(world)
    assert joined(await gaps_of(signed, size)) == expected
    assert {kind for *_, kind in expected} == {"missing", "unverified", "random", "notYetEmitted"}


async def test_gaps_and_verified_messages_cover_all_sequences(signed: httpx.AsyncClient, world: World) -> None:
    covered: dict[tuple[int, str], int] = defaultdict(int)
    for each in await gaps_of(signed, 1000):
        covered[each["emitterChain"], each["emitterAddr"]] += int(each["last"]) - int(each["first"]) + 1
    verified = Counter((each.served["emitter_chain"], each.served["emitter_address"]) for each in world.verified)
    assert {at: count + verified[at] for at, count in covered.items()} == dict.fromkeys(covered, END)
    assert verified.keys() <= covered.keys()


@pytest.mark.parametrize(("size", "order"), [(1, "DESC"), (7, "ASC"), (1_000, "DESC")])
async def test_pages_of_an_emitter_name_the_sequences_that_are_missing(
    signed: httpx.AsyncClient, world: World, size: int, order: str
) -> None:
    held: dict[tuple[int, str], set[int]] = defaultdict(set)
    for each in world.verified:
        held[each.served["emitter_chain"], each.served["emitter_address"]].add(each.served["sequence"])
    complete = Counter[bool]()
    for (chain, emitter), here in held.items():
        query, cursor = {"pageSize": size, "sortOrder": order, "proof": "complete"}, ""
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = (await signed.get(f"{API}/vaas/{chain}/{emitter}", params=query | more)).json()
            shown = [each["sequence"] for each in page["data"]]
            first = max((each + 1 for each in here if each < min(shown)), default=0)
            between = sorted({first - 1, max(shown) + 1, *(each for each in here if first <= each <= max(shown))})
            expected = [(low + 1, high - 1) for low, high in pairwise(between) if high > low + 1]
            assert page["sequences"] == {
                "first": str(first),
                "last": str(max(shown)),
                "missing": [{"first": str(low), "last": str(high)} for low, high in expected],
                "isComplete": not expected,
            }
            complete[not expected] += 1
            cursor = page["pagination"]["next"]
            if not cursor:
                break
    assert complete[False] > 3
    assert complete[True] > 3 or size > 1


async def test_a_listing_without_messages_or_with_a_filter_is_not_complete(signed: httpx.AsyncClient) -> None:
    path, query = f"{API}/vaas/2/{'ef' * 32}", {"proof": "complete"}
    page = (await signed.get(path, params=query)).json()
    assert page["sequences"] == {"first": None, "last": None, "missing": [], "isComplete": False}
    filtered = await signed.get(path, params=query | {"toChain": "1"})
    assert (filtered.status_code, "no toChain" in filtered.text) == (400, True)


async def test_a_cursor_of_gaps_is_checked(signed: httpx.AsyncClient) -> None:
    answer = await signed.get(f"{API}/gaps?cursor=abc")
    assert answer.json()["message"].startswith("parameter cursor: expected the cursor of the previous page")
