"""The first and last milestone of each UTC day, over milestones that are spread over days and whose times fall, too."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.explorer_v2.responses import MilestonesOfDay
from api.network import NetworkMount
from tests import reference, reference_stardust
from tests.api.asgi import ask
from tests.api.conftest import filled_with, new_store
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.reference_facts import Milestone
from tests.reference_rows import table_rows

EVERY_STORE = [
    pytest.param(("sqlite", "tiny"), id="sqlite"),
    pytest.param(("cassandra", ""), id="cassandra", marks=[pytest.mark.cassandra, pytest.mark.slow]),
]
HOURS = 5
BASE = 1_672_531_200
"""The first second of 2023."""


@pytest.fixture(scope="module")
def spread(oracle: Oracle, stardust: StardustLedger) -> list[Milestone]:
    """20 milestones of each era, five hours apart; every fourth is a day and a half earlier."""
    facts = [reference.milestone_fact(line) for line in oracle.milestones[:20]]
    facts += [
        dataclasses.replace(fact, index=fact.index + 20)
        for fact in map(reference_stardust.milestone_fact, stardust.milestones[:20])
    ]
    return [
        dataclasses.replace(fact, timestamp=BASE + 3600 * (HOURS * number - (36 if number % 4 == 3 else 0)))
        for number, fact in enumerate(facts)
    ]


@pytest.fixture(scope="module", params=EVERY_STORE)
def dated_app(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spread: list[Milestone]
) -> Iterator[Any]:
    settings = new_store(request, tmp_path_factory, "dates", "dates-1")
    geometry = settings.chunk_size, settings.partition_size
    store = filled_with(settings, table_rows(spread, [], *geometry, "dates-1"))
    yield create_app({"testing": NetworkMount(store, "dates-1", "tst")}, "testing", ApiSettings())
    store.close()


def shown(fact: Milestone) -> Json:
    return {"milestoneId": f"0x{fact.milestone_id}", "index": fact.index, "timestamp": fact.timestamp}


@pytest.mark.thorough
async def test_every_day_has_its_first_and_last_milestone(dated_app: Any, spread: list[Milestone]) -> None:
    days = defaultdict(list)
    for fact in spread:
        days[datetime.fromtimestamp(fact.timestamp, UTC).date().isoformat()].append(fact)
    assert len(days) > 8
    for day, facts in days.items():
        first, last = (end(facts, key=lambda fact: fact.index) for end in (min, max))
        for base in ("/api/explorer/v2", "/api/testing/explorer/v2"):
            status, body = await ask(dated_app, f"{base}/milestones/by-date/{day}", {})
            assert (status, body) == (
                200,
                {"date": day, "firstMilestone": shown(first), "lastMilestone": shown(last)},
            )
        MilestonesOfDay.model_validate(body, strict=True, extra="forbid")


async def test_a_day_without_milestones_is_not_found(dated_app: Any) -> None:
    status, body = await ask(dated_app, "/api/explorer/v2/milestones/by-date/2022-06-01", {})
    assert (status, body) == (
        404,
        {"code": 404, "message": "a complete milestone of 2022-06-01 is not in this archive"},
    )
