"""One network of both eras: the Chrysalis oracle ledger, followed by Stardust milestones that spend its outputs."""

import json
from pathlib import Path

import pytest

from tests import reference, reference_stardust
from tests.etl.archives import NETWORK, Json, oracle, write
from tests.etl.conftest import CASSANDRA, Stores, on
from tests.etl.ledger_state.test_ledger import state
from tests.etl.ledger_state.test_stardust_ledger import GENESIS as STARDUST_GENESIS
from tests.etl.ledger_state.test_stardust_ledger import snapshot_after
from tests.etl.store_rows import COMPARED, by_key
from tests.etl.test_oracle import check
from tests.etl.test_stardust_oracle import MIXED
from tests.etl.two_eras import COORDINATOR_KEY, FIRST, stardust_lines
from tests.reference_ledger import ledger_rows
from tests.reference_rows import table_rows

pytestmark = pytest.mark.spark

GENESIS = reference.ORACLE / "genesis.json"
KEYS = (
    *(f"{key}:0:{FIRST - 1}" for key in reference.read_json(GENESIS)["coordinatorPublicKeys"]),
    f"{COORDINATOR_KEY.hex()}:{FIRST}",
)
ERAS = {"stardust_from": FIRST, "coordinator_keys": KEYS}


def expected(geometry: tuple[int, int]) -> dict[str, list[Json]]:
    """The expected rows of one load of both eras."""
    facts = [reference.milestone_fact(line) for line in oracle()]
    facts += [reference_stardust.milestone_fact(line) for line in stardust_lines()]
    rows = table_rows(facts, [], *geometry, NETWORK)
    ledger_rows(rows, facts, reference.genesis_fact(reference.read_json(GENESIS)), NETWORK, *geometry)
    return {table.name: by_key(table, rows.get(table.name, [])) for table in COMPARED}


def files(folder: Path) -> tuple[Path, Path]:
    return write(folder / "chrysalis.jsonl", oracle()), write(folder / "stardust.jsonl", stardust_lines())


@pytest.mark.slow
@on(CASSANDRA)
def test_both_eras_in_one_load_give_the_replay_s_rows(everywhere: Stores, tmp_path: Path) -> None:
    loading = everywhere((7, 3), eras=ERAS, ledger_near=10_000)
    report = loading.load(*files(tmp_path), genesis=GENESIS)
    assert (report.exit_code, report.ledger_index, report.held, report.differences) == (0, FIRST + 2, "", [])
    assert report.unreconciled == ""
    rows = loading.rows()
    check(rows, expected((7, 3)))
    spent = {row["output_kind"] for row in rows["outputs"] if (row["spent_milestone_index"] or 0) >= FIRST}
    assert spent == {"legacy", "basic"}
    assert [row["conflict_reason"] for row in rows["messages"] if row["version"] == 2 and row["conflict_reason"]] == [1]


@pytest.mark.slow
def test_the_second_era_follows_in_a_load_of_its_own(stores: Stores, tmp_path: Path) -> None:
    """The ledger state is built from the lake."""
    loading = stores((100_000, 100_000), eras=ERAS, ledger_near=0)
    first, second = files(tmp_path)
    assert loading.load(first, genesis=GENESIS).ledger_index == FIRST - 1
    report = loading.load(second)
    assert (report.exit_code, report.ledger_index, report.held) == (0, FIRST + 2, "")
    assert state(loading.rows()) == state(expected((100_000, 100_000)))


@pytest.mark.slow
def test_a_lake_has_one_beginning_and_it_is_of_the_era_behind_it(stores: Stores, tmp_path: Path) -> None:
    """Stardust begins with milestone 21."""
    loading = stores(eras=MIXED)
    snapshot, late = tmp_path / "full.bin", tmp_path / "late.json"
    snapshot.write_bytes(snapshot_after(24))
    late.write_text(json.dumps(reference.read_json(GENESIS) | {"ledgerIndex": 24}))
    for file, expected_era, first, found in (
        (STARDUST_GENESIS, "Chrysalis", 1, "Stardust"),
        (late, "Stardust", 25, "Chrysalis"),
    ):
        reason = f"{file}: a ledger of {expected_era} expected before milestone {first}, .*, found one of {found}"
        with pytest.raises(ValueError, match=reason):
            loading.load(genesis=file)
    assert loading.load(genesis=GENESIS).exit_code == 0
    reason = f"{snapshot}: another genesis than the lake's: .* after milestone 24, .* A lake holds one beginning"
    with pytest.raises(ValueError, match=reason):
        loading.load(genesis=snapshot)
