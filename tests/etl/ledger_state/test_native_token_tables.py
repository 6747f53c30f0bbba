"""Native tokens in the tables of the ledger state, of loads of a generated ledger with many foundries and NFTs: whole
rows, compared with a plain replay of its lines.
"""

import json
import random
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from db import schema
from etl.engine.arrow_frames import arrow_frame, collected
from etl.engine.session import Session
from etl.expectations.comparison import WrongRows
from etl.expectations.native_tokens import expected_native_tokens
from etl.ledger_state.changes import CHANGES
from etl.ledger_state.native_tokens import token_updates
from etl.tables.lookups import listed
from etl.writers import few_rows
from tests.api.token_ledger import COUNT, NETWORK, Json, lines, reference
from tests.etl.archives import write
from tests.etl.conftest import AS_BULK, LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.expectations.faults import Fault, in_small_run, in_store, mixed, without_first
from tests.etl.store_rows import COMPARED, by_key
from tests.etl.test_oracle import check, parsed
from tests.generated_stardust import made_genesis, output_id

pytestmark = pytest.mark.loads

FAR, NEAR = 0, 10_000
GEOMETRY = (7, 3)
AT = 20
"""A milestone after which the ledger has native tokens."""


@pytest.fixture(scope="module")
def genesis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("generated") / "genesis.json"
    file.write_text(json.dumps(made_genesis()), "utf-8")
    return file


@cache
def wanted(geometry: tuple[int, int] = GEOMETRY, last: int = COUNT) -> dict[str, list[Json]]:
    rows = reference(*geometry, last=last)
    assert len(rows["native_token_updates"]) > 40
    assert len({row["token_id"] for row in rows["native_token_updates"]}) > 10
    assert len({row["partition_id"] for row in rows["native_token_updates"]}) > 1 or geometry != GEOMETRY
    return {table.name: by_key(table, rows.get(table.name, [])) for table in COMPARED}


def of_tokens(rows: dict[str, list[Json]]) -> dict[str, list[Json]]:
    """The rows of native tokens, and what places them."""
    hints = [row for row in rows["addresses_hints"] if row["output_kind"] == "native_token"]
    unspent = [row for row in rows["unspent_outputs"] if row["lookup"] == "native_token"]
    unspent_hints = [row for row in rows["unspent_hints"] if row["lookup"] == "native_token"]
    splits = [parsed(row) for row in rows["splits"] if row["lookup"] in ("native_token_updates", "unspent_outputs")]
    return {
        "updates": rows["native_token_updates"],
        "hints": hints,
        "unspent": unspent,
        "unspent_hints": unspent_hints,
        "splits": splits,
    }


@pytest.mark.parametrize(
    ("everywhere", "ledger_near"),
    [
        pytest.param("sqlite", FAR, id="sqlite-far", marks=pytest.mark.slow),
        pytest.param("sqlite", NEAR, id="sqlite-near"),
        pytest.param("cassandra", FAR, id="cassandra-far", marks=LATER_CASSANDRA.marks),
        pytest.param("cassandra", NEAR, id="cassandra-near", marks=LATER_CASSANDRA.marks),
    ],
    indirect=["everywhere"],
)
def test_one_load(everywhere: Stores, genesis: Path, tmp_path: Path, ledger_near: int) -> None:
    loading = everywhere(GEOMETRY, NETWORK, ledger_near=ledger_near)
    report = loading.load(write(tmp_path / "milestones.jsonl", lines()), genesis=genesis)
    assert (report.exit_code, report.ledger_index, report.held, report.differences) == (0, COUNT, "", [])
    check(loading.rows(), wanted())


@on(SQLITE, LATER_CASSANDRA, AS_BULK)
def test_loads_of_some_milestones_and_a_rebuild(everywhere: Stores, genesis: Path, tmp_path: Path) -> None:
    """Each load resolves inputs in another way. The second one is repeated."""
    loading = everywhere(GEOMETRY, NETWORK)
    ends = [0, *sorted(random.Random(5).sample(range(1, COUNT), 2)), COUNT]
    for turn, (start, end) in enumerate(pairwise(ends)):
        file = write(tmp_path / f"{turn}.jsonl", lines()[start:end])
        settings = replace(loading.settings, ledger_near=(NEAR, FAR)[turn % 2])
        for _ in range(1 + (turn == 1)):
            report = replace(loading, settings=settings).load(file, genesis=genesis)
            assert (report.exit_code, report.ledger_index) == (0, end)
    assert of_tokens(loading.rows()) == of_tokens(wanted())
    other = everywhere((100, 50), NETWORK, lake=loading.settings.lake or str(loading.folder / "lake"))
    assert other.rebuild().ledger_index == COUNT
    assert of_tokens(other.rows()) == of_tokens(wanted((100, 50)))


def test_a_genesis_with_native_tokens(stores: Stores, tmp_path: Path) -> None:
    """The ledger begins with the state after milestone AT. Its outputs have rows as if AT had created them."""
    rows = wanted()
    held = [
        row
        for row in rows["unspent_outputs"]
        if row["lookup"] == "" and row["milestone_index"] <= AT and not 0 < (row["spent_milestone_index"] or 99) <= AT
    ]
    outputs = all_outputs()
    start = made_genesis() | {
        "ledgerIndex": AT,
        "outputs": [{"outputId": f"0x{row['output_id']}", "output": outputs[f"0x{row['output_id']}"]} for row in held],
    }
    genesis = tmp_path / "genesis.json"
    genesis.write_text(json.dumps(start), "utf-8")
    loading = stores((100, 50), NETWORK)
    report = loading.load(write(tmp_path / "later.jsonl", lines()[AT:]), genesis=genesis)
    assert (report.exit_code, report.ledger_index, report.held) == (0, COUNT, "")
    expected = []
    kept = {row["output_id"] for row in held}
    for row in wanted((100, 50))["native_token_updates"]:
        if row["milestone_index"] > AT:
            expected.append(row)
        elif not row["is_spent"] and row["output_id"] in kept:
            no_message = {"message_id": "00" * 32, "ms_timestamp": None}
            expected.append(row | {"milestone_index": AT, "ms_range_id": 0, "partition_id": 0} | no_message)
    assert len([row for row in expected if row["milestone_index"] == AT]) > 3
    found = of_tokens(loading.rows())
    assert found["updates"] == by_key(schema.native_token_updates, expected)
    tokens = {row["token_id"] for row in expected}
    assert {row["address"] for row in found["hints"]} == tokens
    amounts = {(row["key"], row["output_id"]): row["token_amount"] for row in found["unspent"]}
    unspent = {(row["key"], row["output_id"]): row["token_amount"] for row in of_tokens(rows)["unspent"]}
    later = {
        key for key in unspent if key[1] in kept or key in {(row["token_id"], row["output_id"]) for row in expected}
    }
    assert amounts == {key: unspent[key] for key in later}


def all_outputs() -> dict[str, Json]:
    """Every output of the generated ledger."""
    found = {each["outputId"]: each["output"] for each in made_genesis()["outputs"]}
    for line in lines():
        for entry in line["blocks"]:
            if entry["metadata"].get("ledgerInclusionState") == "included":
                essence = entry["block"]["payload"]["essence"]
                found |= {output_id(entry["transactionId"], at): each for at, each in enumerate(essence["outputs"])}
    return found


BIGGEST = 2**256 - 1
OWNER, OTHER = b"\0" + b"a" * 32, b"\0" + b"b" * 32


def changes_with(counts: list[int]) -> pa.Table:
    """CHANGES of basic outputs with so many native tokens, the amounts from BIGGEST down."""
    rows = []
    for number, count in enumerate(counts):
        tokens = b"".join(bytes([each]) * 38 + (BIGGEST - each).to_bytes(32, "little") for each in range(count))
        row = dict.fromkeys(CHANGES.names) | {
            "milestone_index": 5 + number,
            "ms_timestamp": 1_000,
            "white_flag_index": 0,
            "transaction_id": bytes([1]) * 32,
            "message_id": bytes([2]) * 32,
            "is_spent": number % 2 == 1,
            "output_id": bytes([number]) * 34,
            "output_type": 3,
            "address": OWNER,
            "owner": OTHER,
            "stardust": {"native_tokens": count},
            "data": b"\3" + bytes(8) + bytes([count]) + tokens + bytes(40),
        }
        rows.append(row)
    # A Chrysalis output.
    rows.append(rows[0] | {"stardust": None, "data": None, "output_type": 0})
    return pa.Table.from_pylist(rows, CHANGES)


def test_any_number_of_tokens_and_any_amount(session: Session) -> None:
    counts = [0, 1, 64, 2]
    made = changes_with(counts)
    frame = token_updates()
    found = collected(frame.rows(listed(arrow_frame(session, made)), frame.own_columns)).to_pylist()
    expected = [
        (5 + number, bytes([number]) * 34, number % 2 == 1, OTHER, bytes([each]) * 38, BIGGEST - each)
        for number, count in enumerate(counts)
        for each in range(count)
    ]
    names = ("milestone_index", "output_id", "is_spent", "address", "token_id")
    rows = [(*(row[name] for name in names), int.from_bytes(row["token_amount"], "little")) for row in found]
    assert sorted(rows) == sorted(expected)
    assert expected_native_tokens(made, 4, 99).rows == len(expected)
    assert expected_native_tokens(made, 5, 7).rows == 65


def with_rows(fault: Fault) -> Fault:
    """The fault in frames that have rows: that of genesis has none."""
    return lambda table: fault(table) if table.num_rows else table


def shortened(name: str) -> Fault:
    """Every value of a column of bytes lacks its last byte."""

    def fault(table: pa.Table) -> pa.Table:
        position = table.schema.get_field_index(name)
        values = [value and value[:-1] for value in table.column(name).to_pylist()]
        return table.set_column(position, table.schema.field(name), pa.array(values, pa.binary()))

    return fault


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(without_first, id="lost", marks=pytest.mark.slow),
        pytest.param(mixed("token_amount"), id="mixed"),
        pytest.param(shortened("address"), id="short", marks=pytest.mark.slow),
    ],
)
def test_wrong_rows_keep_the_frontier(
    stores: Stores, genesis: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    in_store(monkeypatch, "native_token_updates", with_rows(fault))
    fails(stores(network=NETWORK, ledger_near=FAR), genesis, tmp_path)


def test_wrong_rows_of_small_runs_keep_the_frontier(
    stores: Stores, genesis: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_small_run(monkeypatch, few_rows, "address_2", shortened("address_2"))
    fails(stores(network=NETWORK, ledger_near=NEAR), genesis, tmp_path)


def fails(loading: Loading, genesis: Path, folder: Path) -> None:
    file = write(folder / "milestones.jsonl", lines()[:AT])
    with pytest.raises(WrongRows, match=r"native_token_updates, .* engine sail .*expected .* found "):
        loading.load(file, genesis=genesis)
    assert [row["ledger_index"] for row in loading.rows()["ledger_frontier"]] == [0]
