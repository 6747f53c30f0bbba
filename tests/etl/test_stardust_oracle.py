"""The Stardust oracle ledger after loads, as whole rows, table by table, compared with a plain reading of its node
JSON.
"""

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from db.store import StoreMismatch
from tests import reference, reference_stardust
from tests.conftest import SHARED, needs_shared
from tests.etl.archives import COMPRESSIONS, dump, write
from tests.etl.archives import oracle as chrysalis_oracle
from tests.etl.conftest import AS_BULK, CASSANDRA, LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.stardust_archives import (
    FORMS,
    NETWORK,
    STATELESS,
    has_conflicts,
    line_of,
    of_state,
    oracle,
    pending,
    write_folder,
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


@pytest.fixture(scope="module")
def node_json(everywhere: Stores, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int], Loading]:
    """Everything loaded at once, by geometry."""
    folder = tmp_path_factory.mktemp("node")
    write(folder / "milestones.jsonl", oracle())
    write(folder / "pending.jsonl", pending())
    loaded = {}
    for geometry in GEOMETRIES:
        loaded[geometry] = everywhere(geometry, NETWORK)
        report = loaded[geometry].load(folder)
        assert (report.exit_code, report.complete, report.pending, report.rejects) == (0, 50, len(pending()), 0)
        assert report.messages == sum(report.messages_by_kind.values()) == 836
    return loaded


@on(SQLITE, CASSANDRA, AS_BULK)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_node_json_gives_the_reference_s_rows(
    node_json: dict[tuple[int, int], Loading], geometry: tuple[int, int]
) -> None:
    check(node_json[geometry].rows(), expected(geometry))


def test_white_flag_index_is_the_oracle_s(node_json: dict[tuple[int, int], Loading]) -> None:
    reported = {each["id"][2:]: each["metadata"]["whiteFlagIndex"] for line in oracle() for each in line["blocks"]}
    rows = node_json[GEOMETRIES[0]].rows()["messages"]
    assert {row["message_id"]: row["white_flag_index"] for row in rows} == reported


@on(SQLITE, LATER_CASSANDRA)
def test_a_rebuild_is_the_load(node_json: dict[tuple[int, int], Loading]) -> None:
    loading = node_json[7, 3]
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


def test_a_folder_of_single_blocks(stores: Stores, tmp_path: Path) -> None:
    numbers = [number for number in range(1, 51) if not has_conflicts(line_of(number))][:4]
    loading = stores(network=NETWORK)
    loose = [bytes.fromhex(each["bytes_hex"]) for each in pending()]
    report = loading.load(write_folder(tmp_path / "raw", [line_of(each) for each in numbers], *loose))
    assert (report.exit_code, report.complete, report.pending) == (0, len(numbers), 1)
    rows = loading.rows()
    for name in ("messages", "messages_by_milestone", "outputs", "transactions", "milestones"):
        awaited = [
            row
            for row in expected((100_000, 100_000))[name]
            if {row.get("milestone_index"), row.get("created_milestone_index")} & set(numbers)
        ]
        assert awaited
        if name != "outputs":
            assert rows[name] == awaited
        else:
            found = {row["output_id"]: row for row in rows[name] if row["created_milestone_index"] is not None}
            assert found.keys() == {row["output_id"] for row in awaited}
    assert {row["message_id"] for row in rows["pending_messages"]} == {each["id"][2:] for each in pending()}


def test_what_was_rejected_is_repaired_by_what_comes_later(stores: Stores, tmp_path: Path) -> None:
    """Two loads of a milestone, each with a different invalid block: the rows in the lake of the first one complete
    both.
    """
    loading = stores(network=NETWORK)
    victims = []
    for position, state in enumerate(("included", "noTransaction")):
        line = line_of(7)
        victim = of_state(line, state)[-1]
        victim["block"]["nonce"] = str(int(victim["block"]["nonce"]) ^ 1)
        del victim["bytes_hex"]
        victims.append(victim["id"][2:])
        report = loading.load(write(tmp_path / f"{position}.jsonl", [line_of(6), line, line_of(8)]))
        if position == 0:
            assert (report.exit_code, report.complete, report.rejects) == (3, 2, 1)
            (reject,) = loading.rows()["rejects"]
            assert (reject["milestone_index"], reject["item"], reject["line"]) == (7, victims[0], 2)
            assert reject["reason"].startswith("message id: the bytes hash to ")
    assert (report.exit_code, report.complete, report.rejects) == (0, 1, 0)
    check(uncut(loading.rows()), uncut(expected((100_000, 100_000), range(6, 9), waiting=False)))


@needs_shared
def test_real_shimmer_as_it_is(stores: Stores) -> None:
    loading = stores(network="shimmer")
    folder = SHARED / "iota" / "shimmer"
    report = loading.load(folder / "in_memory_data.json", folder / "blocks_ms_2418187.json")
    assert (report.milestones, report.complete, report.messages, report.rejects) == (4, 3, 38 + 43 + 31 + 88, 1)
    rows = loading.rows()
    assert [(row["milestone_index"], row["verified"]) for row in rows["sync"] if row["synced_by"] == 0] == [
        (17339, "signed"),
        (17340, "signed"),
        (17341, "signed"),
    ]
    own = {row["milestone_index"]: row["message_id"] for row in rows["milestones"]}
    held = {row["message_id"]: row["milestone_index"] for row in rows["messages"]}
    assert [held[own[index]] for index in (17339, 17340)] == [17340, 17341]


@pytest.mark.parametrize("geometry", GEOMETRIES[1:])
def test_one_store_holds_both_eras(stores: Stores, tmp_path: Path, geometry: tuple[int, int]) -> None:
    """Chrysalis and the Stardust milestones after it in one run; each line is read only in its era."""
    lines = chrysalis_oracle()[: STARDUST_FROM - 1] + oracle()[STARDUST_FROM - 1 :]
    loading = stores(geometry, "mixed", eras=MIXED)
    report = loading.load(write(tmp_path / "both.jsonl", lines))
    assert (report.exit_code, report.complete, report.rejects) == (0, 50, 0)
    facts = [reference.milestone_fact(line) for line in chrysalis_oracle()[: STARDUST_FROM - 1]]
    facts += [reference_stardust.milestone_fact(line) for line in oracle()[STARDUST_FROM - 1 :]]
    check(loading.rows(), compared(table_rows(facts, [], *geometry, "mixed")))


def test_a_line_of_the_wrong_era_is_a_reject(stores: Stores, tmp_path: Path) -> None:
    loading = stores(network="mixed", eras=MIXED)
    wrong = [oracle()[STARDUST_FROM - 2], chrysalis_oracle()[STARDUST_FROM - 1]]
    report = loading.load(write(tmp_path / "wrong.jsonl", wrong))
    assert (report.complete, report.rejects) == (0, 2)
    found = [(row["milestone_index"], row["line"], row["item"], row["reason"]) for row in loading.rows()["rejects"]]
    assert found == [
        (20, 1, "", "protocol: milestone 20 is of Chrysalis, found a line of Stardust"),
        (21, 2, "", "protocol: milestone 21 is of Stardust, found a line of Chrysalis"),
    ]


def test_a_store_of_one_era_stays_one_until_configured_where_the_next_begins(stores: Stores, tmp_path: Path) -> None:
    loading = stores(network=NETWORK)
    stardust = write(tmp_path / "stardust.jsonl", [dump(line_of(1)), dump(line_of(2))])
    assert loading.load(stardust).complete == 2
    chrysalis: list[Any] = chrysalis_oracle()[2:3]
    report = loading.load(write(tmp_path / "chrysalis.jsonl", chrysalis))
    assert report.rejected[0].endswith("protocol: milestone 3 is of Stardust, found a line of Chrysalis")
    configured = Loading(
        loading.folder, type(loading.store)(loading.store.url, NETWORK, stardust_from=10), loading.settings
    )
    with pytest.raises(StoreMismatch, match="stardust_from: 10 makes milestone 2 one of Chrysalis, and the store has"):
        configured.load(stardust)
