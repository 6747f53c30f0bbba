"""`sync` of a span of milestones: what `sync` of all of them has in the span, wherever ranges end."""

from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from tests.api.asgi import ask
from tests.api.conftest import Filled, filled_with, new_store
from tests.api.networks import MISSING
from tests.api.oracle import Json, Oracle
from tests.reference import reference_rows

END = 2**31 - 1

STORES = [
    pytest.param(("sqlite", "tiny"), id="sqlite"),
    pytest.param(("cassandra", ""), id="cassandra", marks=[pytest.mark.cassandra, pytest.mark.slow]),
]


@pytest.fixture(scope="module", params=STORES)
def app(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, filled: Filled
) -> Any:
    """A network without the milestones MISSING."""
    key = ("spans", *request.param)
    if key not in filled:
        present = [line for line in oracle.milestones if line["milestone"]["index"] not in MISSING]
        settings = new_store(request, tmp_path_factory, "spans", "spans-1")
        rows = reference_rows(present, [], settings.chunk_size, settings.partition_size, "spans-1")
        filled[key] = filled_with(settings, rows)
    return create_app({"testing": NetworkMount(filled[key], "spans-1", "atoi")}, "testing", ApiSettings())


def clipped(value: Any, start: int, end: int) -> Any:
    """The lists in a response, without what is outside of a span."""
    if isinstance(value, dict):
        return {name: clipped(each, start, end) for name, each in value.items()}
    parts = [{"start": max(each["start"], start), "end": min(each["end"], end)} for each in value]
    return [each for each in parts if each["start"] < each["end"]]


async def test_a_span_has_what_the_whole_has_in_it(app: Any) -> None:
    _, whole = await ask(app, "/api/testing/sync")
    assert whole["gaps"] == [{"start": 51, "end": END}, {"start": MISSING.start, "end": MISSING.stop}]
    edges = (1, 2, 6, 7, 8, 14, MISSING.start, 25, MISSING.stop, 49, 50, 51, 52, 1000, END)
    for start in edges:
        for end in edges:
            query: Json = {"start": start, "end": end}
            status, found = await ask(app, "/api/testing/sync", query)
            assert status == 200, found
            assert found == clipped(whole, start, end), query


async def test_one_milestone(app: Any) -> None:
    _, found = await ask(app, "/api/testing/sync", {"start": 20, "end": 21})
    assert found["completed"] == [{"start": 20, "end": 21}]
    assert found["gaps"] == []
    assert [level for level, milestones in found["proved"].items() if milestones] == ["merkle"]
