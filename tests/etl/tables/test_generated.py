"""A generated archive with times that repeat and fall, a hot tag and a hot address over many partitions, and pending
messages that occur repeatedly. Expectations are read from the archive's own JSON.
"""

import asyncio
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bench.generate import generate
from bench.tangle import GeneratorSettings, MilestoneLine
from db.connect import open_store
from db.queries import messages, milestones, outputs
from tests.etl.archives import Json, dump, oracle, pending, sample, write
from tests.etl.conftest import Loading, Stores
from tests.etl.listings import check

pytestmark = pytest.mark.loads

CHUNK_SIZE, PARTITION_SIZE = 10, 6
FIRST, COUNT = 95, 30


@pytest.fixture(scope="module")
def lines() -> list[MilestoneLine]:
    settings = GeneratorSettings(
        seed="etl", network="permabench-1", first_milestone=FIRST, milestone_size=25, hot_tag=0.4
    )
    return list(islice(generate(settings), COUNT))


@pytest.fixture(scope="module")
def loaded(stores: Stores, lines: list[MilestoneLine], tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """The archive in three loads: its middle, its end, then its beginning."""
    folder = tmp_path_factory.mktemp("generated")
    loading = stores((CHUNK_SIZE, PARTITION_SIZE), network="permabench-1")
    for name, part in (("b", lines[8:20]), ("c", lines[20:]), ("a", lines[:8])):
        report = loading.load(write(folder / f"{name}.log", [line.form for line in part]))
        assert (report.exit_code, report.complete) == (0, len(part))
    return loading


def tag_of(message: Json) -> str | None:
    payload = message["payload"]
    if payload is not None and payload["type"] == "Transaction":
        payload = payload["data"]["essence"]["data"]["payload"]
    return bytes(payload["data"]["index"]).hex() if payload is not None and payload["type"] == "Indexation" else None


def newest_first(found: dict[str, list[tuple[int, str]]]) -> dict[str, list[str]]:
    return {key: [each for _, each in sorted(set(rows), reverse=True)] for key, rows in found.items()}


def listed(lines: list[MilestoneLine]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Messages by tag, and children by parent, newest first."""
    tagged: dict[str, list[tuple[int, str]]] = {}
    children: dict[str, list[tuple[int, str]]] = {}
    for line in lines:
        for message_id, (message, _) in line.form["messages"].items():
            if tag := tag_of(message):
                tagged.setdefault(tag, []).append((line.index, message_id))
            for parent in message["parents"]:
                children.setdefault(parent, []).append((line.index, message_id))
    return newest_first(tagged), newest_first(children)


def test_time_does_not_rise_and_milestones_are_ordered_by_index(loaded: Loading, lines: list[MilestoneLine]) -> None:
    times = {line.index: line.form["milestone"]["essence"]["timestamp"] for line in lines}
    steps = [times[index + 1] - times[index] for index in range(FIRST, FIRST + COUNT - 1)]
    assert 0 in steps
    assert min(steps) < 0
    rows = loaded.rows()
    assert {row["milestone_index"]: row["timestamp"] for row in rows["milestones"]} == times
    assert len(rows["ranges"]) == len({index // CHUNK_SIZE for index in times})
    for row in rows["ranges"]:
        inside = [1000 * each for index, each in sorted(times.items()) if index // CHUNK_SIZE == row["ms_range_id"]]
        assert (row["min_timestamp"], row["max_timestamp"]) == (min(inside), max(inside))
        assert row["rising"] == (inside == sorted(inside))
    assert not all(row["rising"] for row in rows["ranges"])


def test_listings_are_naive_ones(loaded: Loading, lines: list[MilestoneLine]) -> None:
    tagged, _ = listed(lines)
    rows = loaded.rows()["tags"]
    hot = max(tagged, key=lambda tag: len(tagged[tag]))
    partitions = {(row["ms_range_id"], row["partition_id"]) for row in rows if row["tag"] == hot}
    assert len(partitions) > 2 * len({ms_range_id for ms_range_id, _ in partitions})
    asyncio.run(check_naively(loaded, lines))


async def check_naively(loaded: Loading, lines: list[MilestoneLine]) -> None:
    tagged, children = listed(lines)
    store = open_store(loaded.store)
    try:
        for tag, ids in tagged.items():
            await check(messages.list_tagged, store, tag, "message_id", ids)
        for parent, ids in list(children.items())[::7]:
            await check(messages.list_children, store, parent, "message_id", ids)
        for line in lines:
            ids = [each.hex() for each in reversed(line.order)]
            await check(milestones.list_milestone_messages, store, line.index, "message_id", ids)
        for address, ids in included_outputs(loaded.rows(), lines).items():
            await check(outputs.list_outputs_by_address, store, address, "output_id", ids)
    finally:
        store.close()


def included_outputs(rows: dict[str, list[Json]], lines: list[MilestoneLine]) -> dict[str, list[str]]:
    """Outputs of included transactions by address. Transaction ids are hashes, taken from the table of states."""
    transaction_of = {row["message_id"]: row["transaction_id"] for row in rows["transactions_by_state"]}
    found: dict[str, list[tuple[int, str]]] = {}
    for line in lines:
        for each in line.included:
            message = line.form["messages"][each.hex()][0]
            for position, output in enumerate(message["payload"]["data"]["essence"]["data"]["outputs"]):
                output_id = transaction_of[each.hex()] + position.to_bytes(2, "little").hex()
                address = f"00{output['data']['address']['data']}"
                found.setdefault(address, []).append((line.index, output_id))
    return newest_first(found)


def test_inclusion_states_are_those_settled(loaded: Loading, lines: list[MilestoneLine]) -> None:
    included = {each.hex() for line in lines for each in line.included}
    rows = loaded.rows()["messages"]
    assert {row["message_id"] for row in rows if row["inclusion_state"] == 1} == included
    assert {row["message_id"] for row in rows} == {each.hex() for line in lines for each in line.raw}
    for line in lines:
        mine = [row for row in rows if row["milestone_index"] == line.index]
        assert [each.hex() for each in line.order] == [
            row["message_id"] for row in sorted(mine, key=lambda row: row["white_flag_index"])
        ]


def test_pending_messages_seen_again_later_are_listed_once(stores: Stores, tmp_path: Path) -> None:
    loading = stores()
    file = write(tmp_path / "pending.jsonl", pending())
    assert loading.load(file).pending == len(pending())
    loading.load(write(tmp_path / "a.log", [dump(line) for line in sample()[:3]]))
    assert loading.load(file).exit_code == 0
    children: dict[str, Any] = {}
    for each in pending():
        for parent in each["message"]["parentMessageIds"]:
            children.setdefault(parent, set()).add(each["id"])
    known = {
        each["id"]
        for line in oracle()[:3]
        for each in line["messages"]
        if set(each["message"]["parentMessageIds"]) & children.keys()
    }
    store = open_store(loading.store)
    try:
        for parent, ids in children.items():
            page = asyncio.run(messages.list_children(store, parent, newest=True, page_size=100, cursor=None))
            found = [row["message_id"] for row in page.rows if row["message_id"] not in known]
            assert sorted(found) == sorted(ids)
    finally:
        store.close()
