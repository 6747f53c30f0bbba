"""The Stardust oracle ledger after loads, as whole rows, table by table, compared with a plain reading of its node
JSON.
"""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from tests import reference, reference_stardust
from tests.etl.archives import COMPRESSIONS, write
from tests.etl.archives import oracle as chrysalis_oracle
from tests.etl.conftest import AS_BULK, CASSANDRA, LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.stardust_archives import (
    FORMS,
    NETWORK,
    STATELESS,
    has_conflicts,
    line_of,
    oracle,
    pending,
)
from tests.etl.store_rows import COMPARED, by_key
from tests.etl.test_oracle import PENDING_TABLES, check, uncut
from tests.reference_rows import Rows, table_rows

pytestmark = pytest.mark.spark

GEOMETRIES = [(100_000, 100_000), (7, 3)]
STARDUST_FROM = 21
MIXED = {"stardust_from": STARDUST_FROM, "chrysalis_name": "permatest-1", "stardust_name": NETWORK}


def expected(geometry: tuple[int, int], numbers: range = range(1, 51), *, waiting: bool = True) -> Rows:
    """The expected contents of a store; `waiting`: pending blocks were loaded too."""
    lines, rest = oracle()[numbers.start - 1 : numbers.stop - 1], pending() if waiting else []
    return compared(reference_stardust.reference_rows(lines, rest, *geometry, NETWORK))


def compared(rows: Rows) -> Rows:
    return {table.name: by_key(table, rows.get(table.name, [])) for table in COMPARED}


NodeJson: TypeAlias = Callable[[tuple[int, int]], Loading]
"""A store into which everything was loaded at once, by its geometry."""


@pytest.fixture(scope="module")
def loads() -> dict[tuple[str, tuple[int, int]], Loading]:
    """What node_json loaded into stores of each kind. pytest makes `everywhere` anew whenever the kind changes."""
    return {}


@pytest.fixture
def node_json(
    everywhere: Stores, loads: dict[tuple[str, tuple[int, int]], Loading], tmp_path_factory: pytest.TempPathFactory
) -> NodeJson:
    def loaded(geometry: tuple[int, int]) -> Loading:
        key = everywhere.kind, geometry
        if key in loads:
            return loads[key]
        folder = tmp_path_factory.mktemp("node")
        write(folder / "milestones.jsonl", oracle())
        write(folder / "pending.jsonl", pending())
        loading = loads[key] = everywhere(geometry, NETWORK)
        report = loading.load(folder)
        assert (report.exit_code, report.complete, report.pending, report.rejects) == (0, 50, len(pending()), 0)
        assert report.messages == sum(report.messages_by_kind.values()) == 836
        return loading

    return loaded


@pytest.mark.parametrize(
    ("everywhere", "geometry"),
    [
        pytest.param("sqlite", GEOMETRIES[0], marks=pytest.mark.slow),
        pytest.param("sqlite", GEOMETRIES[1], marks=pytest.mark.slow),
        pytest.param("cassandra", GEOMETRIES[0], marks=LATER_CASSANDRA.marks),
        pytest.param("cassandra", GEOMETRIES[1], marks=CASSANDRA.marks),
        pytest.param("bulk", GEOMETRIES[0], marks=AS_BULK.marks),
        pytest.param("bulk", GEOMETRIES[1], marks=AS_BULK.marks),
    ],
    indirect=["everywhere"],
)
def test_node_json_gives_the_reference_s_rows(node_json: NodeJson, geometry: tuple[int, int]) -> None:
    check(node_json(geometry).rows(), expected(geometry))


@pytest.mark.slow
@on(SQLITE)
def test_white_flag_index_is_the_oracle_s(node_json: NodeJson) -> None:
    reported = {each["id"][2:]: each["metadata"]["whiteFlagIndex"] for line in oracle() for each in line["blocks"]}
    rows = node_json(GEOMETRIES[1]).rows()["messages"]
    assert {row["message_id"]: row["white_flag_index"] for row in rows} == reported


@pytest.mark.slow
@on(SQLITE, LATER_CASSANDRA)
def test_a_rebuild_is_the_load(node_json: NodeJson) -> None:
    loading = node_json(GEOMETRIES[1])
    before = loading.rows()
    assert loading.rebuild().complete == 50
    check(loading.rows(), before)


@cache
def forms_of(number: int) -> list[str]:
    """Forms that contain everything about a milestone."""
    line = line_of(number)
    untold = STATELESS if has_conflicts(line) else set()
    return sorted(set(FORMS) - untold)


@pytest.mark.slow
def test_split_by_milestone_shuffled_and_twice(stores: Stores, tmp_path: Path) -> None:
    """Several loads, each of some milestones in some form and packing, all of them twice."""
    rng = random.Random(5)
    loading = stores((7, 3), NETWORK, bulk_share=0.5)
    numbers = rng.sample(range(1, 51), 50) * 2
    rng.shuffle(numbers)
    files = []
    for position, number in enumerate(numbers):
        data = FORMS[rng.choice(forms_of(number))](line_of(number))
        files.append(write(tmp_path / f"{position}.log", [COMPRESSIONS[rng.choice(sorted(COMPRESSIONS))](data)]))
    loaded: set[int] = set()
    for start, end in ((0, 30), (30, 34), (34, 100)):
        report = loading.load(*files[start:end])
        mine = set(numbers[start:end])
        assert (report.exit_code, report.skipped, report.complete) == (0, len(mine & loaded), len(mine - loaded))
        loaded |= mine
    rows, awaited = loading.rows(), expected((7, 3), waiting=False)
    for each in (rows, awaited):
        for name in PENDING_TABLES:
            assert each.pop(name) == []
    untold(rows)
    untold(awaited)
    check(uncut(rows), uncut(awaited))


def untold(rows: Rows) -> None:
    """Removes what not every form contains."""
    rows["messages"] = [row | {"conflict_reason": None} for row in rows["messages"]]


@pytest.mark.slow
def test_one_store_holds_both_eras(stores: Stores, tmp_path: Path) -> None:
    """Chrysalis and the Stardust milestones after it in one run; each line is read only in its era."""
    geometry = GEOMETRIES[1]
    lines = chrysalis_oracle()[: STARDUST_FROM - 1] + oracle()[STARDUST_FROM - 1 :]
    loading = stores(geometry, "mixed", eras=MIXED)
    report = loading.load(write(tmp_path / "both.jsonl", lines))
    assert (report.exit_code, report.complete, report.rejects) == (0, 50, 0)
    facts = [reference.milestone_fact(line) for line in chrysalis_oracle()[: STARDUST_FROM - 1]]
    facts += [reference_stardust.milestone_fact(line) for line in oracle()[STARDUST_FROM - 1 :]]
    check(loading.rows(), compared(table_rows(facts, [], *geometry, "mixed")))
