"""The report of `permanode status` for a Wormhole network, compared with the records; on every kind of store."""

import dataclasses
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest

from cli.status_text import status_lines
from db.admin import wormhole_status as status_wormhole
from db.admin.status import get_status
from tests.api.wormhole_network import DAY_S, NETWORK, World

GOVERNANCE = (1, f"{4:064d}")


def date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()


async def test_messages_by_day_and_verdict_and_what_is_missing(wormhole_store: Any, world: World) -> None:
    status = await get_status(wormhole_store, NETWORK)
    found = status.vaas
    assert found is not None
    days = Counter(each.day for each in world.verified)
    assert (found.verified, found.undated) == (len(world.verified), days.pop(0, 0))
    observed = {day for first, last in found.days for day in (first, last)}
    assert observed <= set(map(date, days))
    assert [first for first, _ in found.days] == [date(day) for day in sorted(days) if day - 1 not in days]
    assert [last for _, last in found.days] == [date(day) for day in sorted(days) if day + 1 not in days]
    unverified = [each for each in world.canonical.values() if not each.served["quorum"]]
    assert found.verdicts["verified"] == len(world.verified)
    assert sum(found.verdicts.values()) == len(world.verified) + len(unverified)
    assert found.verdicts.keys() <= {"verified", "unknown_set", "order", "index", "signer", "repeated", "quorum"}
    assert (found.written_alone, found.duplicates, found.is_whole) == (2, 0, True)

    emitters = {(each.record["emitter_chain"], each.record["emitter_address"]) for each in world.observed}
    assert found.emitters == len(emitters) + 1
    sequences: dict[tuple[int, str], list[int]] = defaultdict(list)
    for each in world.verified:
        sequences[each.served["emitter_chain"], each.served["emitter_address"]].append(each.served["sequence"])
    expected = {}
    for emitter, held in sequences.items():
        missing = max(held) - min(held) + 1 - len(held)
        gaps = sum(each + 1 not in held for each in held) - 1
        if missing and emitter != GOVERNANCE:
            expected[emitter] = (min(held), max(held), missing, gaps)
    assert expected
    assert len(sequences[GOVERNANCE]) > 2
    assert {tuple(dataclasses.astuple(each)[:2]): dataclasses.astuple(each)[2:] for each in found.gaps} == expected
    assert [each.missing for each in found.gaps] == sorted((each[2] for each in expected.values()), reverse=True)
    assert found.missing == sum(each[2] for each in expected.values())
    assert found.gap_count == sum(each[3] for each in expected.values())
    assert (found.unverified, found.day_count) == (len(unverified), len(days))

    text = status_lines(status)
    assert text[0] == f"network     {NETWORK}"
    assert text[1] == f"messages    {len(world.verified):,} verified, of {len(emitters) + 1:,} emitters"
    assert f"missing     {found.missing:,} sequences" in text
    assert found.newest_s == max(each.served["timestamp"] for each in world.verified)
    newest = f"{datetime.fromtimestamp(found.newest_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    assert text[2].startswith(f"newest      message of {newest}, ")
    assert text[4].startswith(f"verdicts    verified {len(world.verified)}, ")
    assert text[4].replace("\n", "").endswith("; without a VAA 2")
    lines = "\n".join(text).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert not any(line.startswith(("complete", "coverage")) for line in text)
    assert json.loads(json.dumps(dataclasses.asdict(found)))["days"][0][0] == date(min(days))


async def test_of_many_rows_the_first_are_looked_at_and_that_is_reported(
    wormhole_store: Any, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await status_wormhole.get_holdings(wormhole_store)
    monkeypatch.setattr(status_wormhole, "EXAMINED", whole.examined)
    assert await status_wormhole.get_holdings(wormhole_store) == whole
    monkeypatch.setattr(status_wormhole, "EXAMINED", whole.examined - 1)
    cut = await status_wormhole.get_holdings(wormhole_store)
    assert (cut.examined, cut.is_whole) == (whole.examined - 1, False)
    assert (cut.verified, cut.days, cut.emitters) == (whole.verified, whole.days, whole.emitters)
    status = await get_status(wormhole_store, NETWORK)
    assert f"duplicates  0, in the first {whole.examined - 1:,} rows" in status_lines(status)
