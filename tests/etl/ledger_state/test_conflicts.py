"""Conflict reasons that archives do not contain: computed, compared with node JSON that has them,
kept by later loads.
"""

import copy
import random
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from cli.progress import report_lines
from db.connect import open_store
from etl.engine.session import Session
from etl.lake.delta import few_rows
from etl.ledger_state.conflict_reasons import AT, DUST_STEPS, dust_before
from tests.conftest import SAMPLE
from tests.etl.archives import Json, dump, of_state, oracle, sample, write
from tests.etl.conftest import Loading, Stores
from tests.reference import ORACLE, read_json

pytestmark = pytest.mark.loads

GENESIS = SAMPLE / "genesis.json"
FAR, NEAR = 0, 10_000


def expected() -> dict[str, int]:
    """Message id → reason, from the oracle's summary."""
    found = {each["id"]: each["conflictReason"] for each in read_json(ORACLE / "expected.json")["conflicts"]}
    assert len(found) == 22
    assert set(found.values()) == {1, 2, 3, 4, 5, 6}
    return found


def reasons(loading: Loading) -> dict[str, int]:
    """Message id → reason, where the store has one."""
    rows = loading.rows()["messages"]
    return {row["message_id"]: row["conflict_reason"] for row in rows if row["conflict_reason"] is not None}


@pytest.fixture(scope="module")
def from_archive(stores: Stores) -> Loading:
    loading, report = stores.loaded("chrysalis from genesis", ledger_near=FAR)
    assert (report.exit_code, report.differing, report.differences) == (0, 0, [])
    return loading


def test_every_reason_is_the_oracle_s(from_archive: Loading) -> None:
    assert reasons(from_archive) == expected()


async def test_every_metadata_of_a_store_loaded_from_archives_is_the_node_s(from_archive: Loading) -> None:
    store = open_store(from_archive.store)
    app = create_app({"testing": NetworkMount(store, "permatest-1", "atoi")}, "testing", ApiSettings())
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            for entry in (entry for line in oracle() for entry in line["messages"]):
                answer = await client.get(f"/api/v1/messages/{entry['id']}/metadata")
                assert answer.json() == {"data": entry["metadata"]}
    finally:
        store.close()


def test_read_again_a_silent_source_erases_nothing(from_archive: Loading, tmp_path: Path) -> None:
    before = from_archive.rows()
    number = next(line["milestone"]["index"] for line in oracle() if any(map(conflicting, line["messages"])))
    from_archive.load(write(tmp_path / "again.log", [dump(sample()[number - 1])]), force=True)
    assert from_archive.rows() == before


def test_read_again_a_silent_source_leaves_what_another_contained(stores: Stores, tmp_path: Path) -> None:
    """Wrong in the store and in the lake: a rebuild reports it again."""
    lines = copy.deepcopy(oracle()[:3])
    (wrong,) = filter(conflicting, lines[2]["messages"])
    wrong["metadata"]["conflictReason"] = 5
    loading = stores()
    first = loading.load(write(tmp_path / "milestones.jsonl", lines), genesis=GENESIS)
    before = loading.rows()
    assert reasons(loading) == {wrong["id"]: 5}
    assert loading.load(write(tmp_path / "again.log", [dump(sample()[2])]), force=True).milestones == 1
    assert loading.rows() == before
    rebuilt = loading.rebuild()
    assert loading.rows() == before
    assert rebuilt.differences == first.differences == [f"{wrong['id']}: the source's 5, computed 2"]


def conflicting(entry: Json) -> bool:
    return bool(entry["metadata"]["ledgerInclusionState"] == "conflicting")


@pytest.mark.parametrize("ledger_near", [pytest.param(FAR, marks=pytest.mark.slow), NEAR], ids=["far", "near"])
def test_a_differing_reason_is_named_and_the_source_s_stays(stores: Stores, tmp_path: Path, ledger_near: int) -> None:
    """Lines of node JSON with one wrong reason and one missing reason."""
    lines = copy.deepcopy(oracle())
    wrong, missing, *_ = [entry for line in lines for entry in line["messages"] if conflicting(entry)]
    reported = wrong["metadata"]["conflictReason"]
    wrong["metadata"]["conflictReason"] = 5
    del missing["metadata"]["conflictReason"]
    assert reported != 5
    loading = stores((7, 3), ledger_near=ledger_near)
    report = loading.load(write(tmp_path / "milestones.jsonl", lines), genesis=GENESIS)
    assert (report.exit_code, report.ledger_index, report.differing) == (0, 50, 1)
    line = f"{wrong['id']}: the source's 5, computed {reported}"
    assert report.differences == [line]
    assert f"  {line}" in report_lines(report)
    assert reasons(loading) == expected() | {wrong["id"]: 5}


@pytest.mark.parametrize("ledger_near", [FAR, pytest.param(NEAR, marks=pytest.mark.slow)], ids=["far", "near"])
def test_a_transaction_that_does_not_conflict_gets_no_reason_and_its_source_is_rejected(
    stores: Stores, tmp_path: Path, ledger_near: int
) -> None:
    """The last included transaction of an archive, marked as conflicting: the Merkle root contradicts that."""
    lines = sample()[:3]
    last = [entry["id"] for entry in oracle()[2]["messages"] if entry["id"] in of_state(lines[2], "included")][-1]
    lines[2]["messages"][last][1]["ledgerInclusionState"] = "conflicting"
    file = write(tmp_path / "three.log", map(dump, lines))
    loading = stores(ledger_near=ledger_near)
    report = loading.load(file, genesis=GENESIS)
    assert (report.exit_code, report.ledger_index, report.differing) == (3, 3, 0)
    assert report.rejected == [f"{file}:3: {last}: inclusion state: included expected, as is proved, found conflicting"]
    known = {entry["id"] for line in oracle()[:3] for entry in line["messages"]}
    assert reasons(loading) == {key: each for key, each in expected().items() if key in known}


def test_dust_before_a_message_is_the_sum_of_what_precedes_it(session: Session) -> None:
    """Events of some addresses, in the order of milestone and white-flag index; genesis and the
    frontier have no index.
    """
    rng = random.Random(5)
    addresses = [bytes([each]) * 33 for each in range(4)]
    places = [(milestone, position) for milestone in range(1, 6) for position in range(8)]
    asking = set(rng.sample(places, 12))
    steps: list[tuple[Any, ...]] = [(address, 0, None, 2_000_000, 3) for address in addresses[:2]]
    steps += [
        (rng.choice(addresses), *place, rng.randrange(-9, 9), rng.randrange(-2, 3))
        for place in places
        if place not in asking
        for _ in range(3)
    ]
    requested = [(*place, bytes(place), address) for place in asking for address in rng.sample(addresses, 2)]
    rng.shuffle(steps)
    queries = session.createDataFrame(
        requested, "milestone_index INT, white_flag_index INT, message_id BINARY, address BINARY"
    )
    found = dust_before(queries, few_rows(session, DUST_STEPS, steps)).select(*AT, "address", *DUST_STEPS.names[3:])
    sums = {
        (milestone, position, message_id, address): tuple(
            sum(
                step[column] for step in steps if step[0] == address and (step[1], step[2] or 0) < (milestone, position)
            )
            for column in (3, 4)
        )
        for milestone, position, message_id, address in requested
    }
    rows = {(row[0], row[1], bytes(row[2]), bytes(row[3])): tuple(row[4:]) for row in found.collect()}
    assert len(rows) == 24
    assert rows == sums
