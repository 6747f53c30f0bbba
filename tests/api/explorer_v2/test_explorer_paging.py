"""Explorer v2's lists in pages of every size, on both stores, with partitions cut at every possible place.

Each list belongs to a key with about WALKED rows, so that reading it in pages of every size stays cheap.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from api.app import ApiSettings, create_app
from db.connect import StoreSettings
from db.store import WritableStore
from tests.api.asgi import ask
from tests.api.conftest import GEOMETRIES, Filled, fill_stardust
from tests.api.explorer import Explorer
from tests.api.stardust import StardustLedger

WALKED = 16

T = TypeVar("T")


ON_CASSANDRA = pytest.param("cassandra", marks=[pytest.mark.cassandra, pytest.mark.slow])


@pytest.fixture(scope="session", params=["sqlite", ON_CASSANDRA])
def cut_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, stardust: StardustLedger, filled: Filled
) -> WritableStore:
    """The Stardust oracle ledger in partitions of a few rows."""
    found = filled.get(("stardust", request.param, "tiny"))
    if found is None:
        folder: Path = tmp_path_factory.mktemp("explorer_tiny")
        url = f"sqlite:///{folder}"
        if request.param == "cassandra":
            url = f"cassandra://{request.getfixturevalue('cassandra').contact}/explorertiny?rf=1"
        found = fill_stardust(StoreSettings(url, stardust.network, *GEOMETRIES["tiny"]), stardust)
        filled["stardust", request.param, "tiny"] = found
    return found


@pytest.fixture(scope="module")
def explorer(stardust: StardustLedger) -> Explorer:
    return Explorer(stardust)


@pytest.fixture(scope="module")
def cut_app(stardust: StardustLedger, cut_store: WritableStore) -> Any:
    return create_app({"shimmering": stardust.mount(cut_store)}, "shimmering", ApiSettings())


def middling(keys: Iterable[T], rows: Callable[[T], list[Any]]) -> T:
    """The key whose number of rows is closest to WALKED."""
    return min(keys, key=lambda each: abs(len(rows(each)) - WALKED))


def children(explorer: Explorer) -> tuple[str, str, list[Any]]:
    """Children of a block that pending blocks approve too."""
    pending = {
        entry["id"] for entry in explorer.ledger.entries if "referencedByMilestoneIndex" not in entry["metadata"]
    }
    mixed = [each for each, found in explorer.children.items() if pending & {*found} and not pending >= {*found}]
    parent = middling(mixed, lambda each: explorer.children[each])
    return f"blocks/{parent}/children", "children", explorer.children[parent]


def tagged(explorer: Explorer) -> tuple[str, str, list[Any]]:
    tag = middling(explorer.tagged, lambda each: explorer.tagged[each])
    return f"blocks?tag={tag}", "items", explorer.tagged[tag]


def milestones(explorer: Explorer) -> tuple[str, str, list[Any]]:
    inside = explorer.ledger.milestones[12 : 12 + WALKED]
    wanted = [
        {"milestoneId": each["milestone"]["milestoneId"], "index": each["milestone"]["index"]} for each in inside[::-1]
    ]
    times = [explorer.time_of[each["index"]] for each in (wanted[-1], wanted[0])]
    return f"milestones?startTimestamp={times[0]}&endTimestamp={times[1]}", "items", wanted


def blocks(explorer: Explorer) -> tuple[str, str, list[Any]]:
    line = middling(range(50), lambda each: explorer.ledger.milestones[each]["blocks"])
    found = explorer.ledger.milestones[line]["blocks"]
    wanted = [{"blockId": each["id"], "payloadType": payload_type(each)} for each in found[::-1]]
    return f"milestones/by-index/{line + 1}/blocks", "blocks", wanted


def payload_type(entry: Any) -> int | None:
    payload = entry["block"].get("payload")
    return None if payload is None else payload["type"]


def updates(explorer: Explorer) -> tuple[str, str, list[Any]]:
    address = middling(explorer.addresses, explorer.updates_of)
    return f"ledger/updates/by-address/{address}", "items", explorer.updates_of(address)


def changes(explorer: Explorer) -> tuple[str, str, list[Any]]:
    index = middling(range(1, 51), explorer.updates_in)
    milestone_id = explorer.ledger.milestones[index - 1]["milestone"]["milestoneId"]
    return f"ledger/updates/by-milestone/{milestone_id}", "items", explorer.updates_in(index)


def outputs(explorer: Explorer) -> tuple[str, str, list[Any]]:
    """Outputs of an address in several roles."""
    several = [
        each for each in explorer.addresses if len({tuple(item["roles"]) for item in explorer.outputs_of(each)}) > 1
    ]
    address = middling(several, explorer.outputs_of)
    return f"ledger/outputs/by-address/{address}", "items", explorer.outputs_of(address)


@pytest.mark.thorough
@pytest.mark.parametrize("listing", [children, tagged, milestones, blocks, updates, changes, outputs])
async def test_pages_of_every_size_hold_each_row_once(cut_app: Any, explorer: Explorer, listing: Any) -> None:
    path, items, wanted = listing(explorer)
    assert len(wanted) >= 5
    path, _, text = path.partition("?")
    query = dict(each.split("=") for each in text.split("&") if each)
    for page_size in range(1, len(wanted) + 2):
        for order in ({}, {"sort": "oldest"}) if listing not in (children, changes) else ({},):
            found: list[Any] = []
            requested: dict[str, Any] = {"pageSize": page_size}
            while requested:
                status, body = await ask(cut_app, f"/api/explorer/v2/{path}", query | order | requested)
                assert status == 200, body
                assert 0 < len(body[items]) <= page_size
                found += body[items]
                assert len(found) <= len(wanted), (page_size, order)
                requested = {} if body["cursor"] is None else {"cursor": body["cursor"]}
            assert found == (wanted[::-1] if order else wanted), (page_size, order)
