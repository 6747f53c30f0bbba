"""The Stardust ledger state after loads, as whole rows, compared with a plain replay of the oracle ledger and with the
oracle's expectations.
"""

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from db import schema
from tests.etl.archives import Json, write
from tests.etl.conftest import AS_BULK, LATER_CASSANDRA, Loading, Stores, mounted, on
from tests.etl.ledger_state.test_ledger import state
from tests.etl.stardust_archives import line_of
from tests.etl.store_rows import COMPARED, by_key
from tests.etl.test_oracle import check
from tests.etl.test_stardust_oracle import NETWORK, oracle
from tests.reference import read_json
from tests.reference_stardust import ORACLE, output_bytes, raw, whole_rows

pytestmark = pytest.mark.loads

GENESIS = ORACLE / "genesis.json"
FAR, NEAR = 0, 10_000


@cache
def expected() -> Json:
    """The oracle's summary after its last milestone."""
    found: Json = read_json(ORACLE / "expected.json")
    return found


def reference(geometry: tuple[int, int], last: int = 50) -> dict[str, list[Json]]:
    """The expected contents of a store after one load of the milestones to `last`, beside genesis."""
    rows = whole_rows(oracle()[:last], [], *geometry, NETWORK)
    return {table.name: by_key(table, rows.get(table.name, [])) for table in COMPARED}


def milestones(folder: Path, *numbers: int) -> list[Path]:
    """One file per milestone."""
    return [write(folder / f"{number}.jsonl", [line_of(number)]) for number in numbers]


@pytest.fixture(scope="module")
def near_load(everywhere: Stores) -> Loading:
    """The oracle ledger, with the ledger state from the store."""
    loading, report = everywhere.kept("stardust from genesis", (7, 3), ledger_near=NEAR, analytics=True)
    assert (report.exit_code, report.ledger_index, report.held, report.differences) == (0, 50, "", [])
    return loading


@pytest.fixture(scope="module")
def rows(near_load: Loading) -> dict[str, list[Json]]:
    return near_load.rows()


def test_one_load_gives_the_replay_s_rows(rows: dict[str, list[Json]]) -> None:
    check(rows, reference((7, 3)))


def test_every_output_s_end_is_the_oracle_s(rows: dict[str, list[Json]]) -> None:
    outputs = {f"0x{row['output_id']}": row for row in rows["outputs"]}
    assert outputs.keys() == expected()["outputs"].keys()
    for output_id, each in expected()["outputs"].items():
        stated, row = each["metadata"], outputs[output_id]
        assert stated["milestoneIndexBooked"] == row["created_milestone_index"]
        assert stated["blockId"] == f"0x{row['created_message_id']}"
        assert stated["isSpent"] == (row["spent_milestone_index"] is not None)
        assert stated.get("milestoneIndexSpent") == row["spent_milestone_index"]
        assert stated.get("transactionIdSpent", "0x") == f"0x{row['spent_transaction_id'] or ''}"
    kinds = Counter(row["output_kind"] for row in rows["outputs"])
    assert kinds.keys() == {"basic", "alias", "foundry", "nft"}


def test_utxo_changes_and_unspent_outputs_are_the_oracle_s(rows: dict[str, list[Json]]) -> None:
    changes = {
        (line["milestone"]["index"], output_id, is_spent)
        for line in oracle()
        for kind, is_spent in (("createdOutputs", False), ("consumedOutputs", True))
        for output_id in line["milestone"]["utxoChanges"][kind]
    }
    for table in ("ledger_updates_by_milestone", "ledger_updates_by_address"):
        found = [(row["milestone_index"], f"0x{row['output_id']}", row["is_spent"]) for row in rows[table]]
        assert set(found) == changes
        assert len(found) == len(changes) > 1_000
    left = {output_id for output_id, each in expected()["outputs"].items() if not each["metadata"]["isSpent"]}
    for lookups in ({"address", "state_controller"}, {""}):
        unspent = [row for row in rows["unspent_outputs"] if row["lookup"] in lookups]
        assert {f"0x{row['output_id']}" for row in unspent if row["spent_milestone_index"] is None} == left


def test_what_has_expired_is_spent_by_the_address_it_returned_to(rows: dict[str, list[Json]]) -> None:
    """The oracle says so in a note. The first owner never gets a row for that output; its balance excludes it."""
    named = {row["output_id"]: row["address"] for row in rows["outputs"]}
    returned = [
        row
        for row in rows["ledger_updates_by_address"]
        if row["is_spent"] and row["address"] != named[row["output_id"]]
    ]
    assert returned
    times = {line["milestone"]["index"]: line["milestone"]["timestamp"] for line in oracle()}
    for row in returned:
        output = expected()["outputs"][f"0x{row['output_id']}"]["output"]
        (expiration,) = [each for each in output["unlockConditions"] if each["type"] == 3]
        assert row["address"] == f"00{expiration['returnAddress']['pubKeyHash'][2:]}"
        assert times[row["milestone_index"]] >= expiration["unixTime"]


def owner(output: Json) -> str:
    """The address in the first of the conditions that name an owner."""
    (address,) = [each["address"] for each in output["unlockConditions"] if each["type"] in (0, 4, 6)]
    return f"{address['type']:02x}{address.get('pubKeyHash', address.get('aliasId', address.get('nftId')))[2:]}"


def test_balances_treasury_and_receipts_are_the_oracle_s(rows: dict[str, list[Json]]) -> None:
    balances = Counter[str]()
    for each in expected()["outputs"].values():
        if not each["metadata"]["isSpent"]:
            balances[owner(each["output"])] += int(each["output"]["amount"])
    last = {row["address"]: row["balance"] for row in rows["address_balances"]}  # ascending
    assert {address: balance for address, balance in last.items() if balance} == dict(balances)
    richest = [(row["address"], row["balance"]) for row in rows["rich_list"] if row["ledger_index"] == 50]
    assert richest == sorted(balances.items(), key=lambda item: (-item[1], item[0]))
    treasury = rows["treasury"][-1]
    found = {"milestoneId": f"0x{treasury['milestone_id']}", "amount": str(treasury["amount"])}
    assert found == expected()["treasury"]
    spread = sum(row["amount"] for row in rows["distribution"] if row["ledger_index"] == 50)
    assert spread + treasury["amount"] == int(expected()["tokenSupply"])
    receipts = [(row["milestone_index"], row["migrated_at"]) for row in rows["receipts"]]
    assert receipts == [(each["milestoneIndex"], each["receipt"]["migratedAt"]) for each in expected()["receipts"]]


@on(LATER_CASSANDRA, AS_BULK)
def test_a_rebuild_from_the_lake_alone_cuts_as_its_own_store_says(everywhere: Stores, tmp_path: Path) -> None:
    loading = everywhere((100_000, 100_000), NETWORK, ledger_near=FAR)
    loading.load(write(tmp_path / "milestones.jsonl", oracle()), genesis=GENESIS)
    check(loading.rows(), reference((100_000, 100_000)))
    other = everywhere((9, 2), NETWORK, lake=str(loading.folder / "lake"), ledger_near=FAR)
    assert other.rebuild().ledger_index == 50
    check(other.rows(), reference((9, 2)))


@pytest.mark.slow
def test_both_ways_to_the_same_state_at_random_cuts(stores: Stores, tmp_path: Path) -> None:
    """Some milestones at a time, with inputs resolved from the store and from the lake in turn."""
    rng = random.Random(7)
    loading = stores((7, 3), NETWORK)
    files = milestones(tmp_path, *range(1, 51))
    ends = [0, *sorted(rng.sample(range(1, 50), 2)), 50]
    for turn, (start, end) in enumerate(pairwise(ends)):
        options = {"genesis": GENESIS} if turn == 0 else {}
        settings = replace(loading.settings, ledger_near=(NEAR, FAR)[turn % 2])
        report = replace(loading, settings=settings).load(*files[start:end], **options)
        assert (report.exit_code, report.ledger_index) == (0, end)
        assert state(loading.rows()) == state(reference((7, 3), end))


def reasons(loading: Loading) -> dict[str, int]:
    """Block id → reason, where the store has one."""
    found = loading.rows()["messages"]
    return {f"0x{row['message_id']}": row["conflict_reason"] for row in found if row["conflict_reason"] is not None}


@pytest.mark.parametrize("ledger_near", [FAR, pytest.param(NEAR, marks=pytest.mark.slow)], ids=["far", "near"])
def test_reasons_missing_in_the_source_are_the_oracle_s_and_a_wrong_one_is_named(
    stores: Stores, tmp_path: Path, ledger_near: int
) -> None:
    lines: list[Any] = oracle()
    stated = {each["id"]: each["conflictReason"] for each in expected()["conflicts"]}
    assert len(stated) == 28
    assert set(stated.values()) == {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
    conflicting = [each for line in lines for each in line["blocks"] if each["id"] in stated]
    for each in conflicting:
        del each["metadata"]["conflictReason"]
    wrong = conflicting[7]
    wrong["metadata"]["conflictReason"] = 255
    loading = stores((7, 3), NETWORK, ledger_near=ledger_near)
    report = loading.load(write(tmp_path / "milestones.jsonl", lines), genesis=GENESIS)
    assert (report.exit_code, report.ledger_index, report.differing) == (0, 50, 1)
    assert report.differences == [f"{raw(wrong['id']).hex()}: the source's 255, computed {stated[wrong['id']]}"]
    assert reasons(loading) == stated | {wrong["id"]: 255}


def test_a_snapshot_of_the_second_kind_is_a_beginning(stores: Stores, tmp_path: Path) -> None:
    """The ledger after milestone 24 in the form that Hornet 2 would write, and the milestones that follow."""
    file = tmp_path / "full.bin"
    file.write_bytes(snapshot_after(24))
    loading = stores((7, 3), NETWORK)
    report = loading.load(*milestones(tmp_path, *range(20, 51)), genesis=file)
    assert (report.exit_code, report.ledger_index, report.held) == (0, 50, "")
    found, whole = loading.rows(), reference((7, 3))
    last = {
        table: [row for row in whole[table] if row["ledger_index"] == 50] for table in ("rich_list", "distribution")
    }
    assert {table: [row for row in found[table] if row["ledger_index"] == 50] for table in last} == last
    updates = schema.ledger_updates_by_milestone.name
    assert found[updates] == [row for row in whole[updates] if row["milestone_index"] > 24]
    unspent = [
        {row["output_id"] for row in each["unspent_outputs"] if row["spent_milestone_index"] is None}
        for each in (found, whole)
    ]
    assert unspent[0] == unspent[1]


def test_a_network_without_settings_takes_prefix_and_parameters_from_its_genesis(
    stores: Stores, tmp_path: Path
) -> None:
    file = tmp_path / "full.bin"
    file.write_bytes(snapshot_after(24))
    loading = stores((7, 3), "elsewhere-9", eras={"stardust_name": NETWORK})
    assert loading.load(genesis=file).ledger_index == 24
    with mounted(loading.store) as network:
        assert network.bech32_hrp == expected()["bech32Hrp"] == "tst"
        assert network.parameters is not None
        assert str(network.parameters.token_supply) == expected()["info"]["protocol"]["tokenSupply"]


def snapshot_after(index: int) -> bytes:
    """A full snapshot of Hornet 2, written here, with the outputs that were unspent then according to the oracle."""
    left = {
        output_id: each
        for output_id, each in expected()["outputs"].items()
        if each["metadata"]["milestoneIndexBooked"] <= index
        and (not each["metadata"]["isSpent"] or each["metadata"]["milestoneIndexSpent"] > index)
    }
    milestone = line_of(index)["milestone"]
    option = next(
        each for line in oracle() for each in line["milestone"]["payload"].get("options", ()) if each["type"] == 1
    )
    params = raw(option["params"])
    parameters = b"\x01" + u32(0) + b"\x02" + len(params).to_bytes(2, "little") + params
    treasury = milestone["treasury"]
    head = b"\x02\x00" + u32(0) + u32(index) + u32(milestone["timestamp"]) + raw(milestone["milestoneId"]) + u32(index)
    head += raw(treasury["milestoneId"]) + int(treasury["amount"]).to_bytes(8, "little")
    head += len(parameters).to_bytes(2, "little") + parameters
    head += len(left).to_bytes(8, "little") + u32(0) + (1).to_bytes(2, "little")
    return head + b"".join(booked(output_id, each) for output_id, each in left.items()) + bytes(32)


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def booked(output_id: str, each: Json) -> bytes:
    metadata, data = each["metadata"], output_bytes(each["output"])
    when = u32(metadata["milestoneIndexBooked"]) + u32(metadata["milestoneTimestampBooked"])
    return raw(output_id) + raw(metadata["blockId"]) + when + u32(len(data)) + data
