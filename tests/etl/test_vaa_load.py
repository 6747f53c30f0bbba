"""VAAs and cells of the event tables, loaded whole, in pieces and again, into both stores; held against the records."""

import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from db.schema_wormhole import OWN
from etl.vaas.load import VaaLoad
from tests.etl.conftest import Stores
from tests.etl.vaas import cell_line, expected_days, records, row_line, vaa_line, write_lines, write_prices

pytestmark = pytest.mark.spark

NETWORK = "wormhole-mainnet"
OTHERS = ("unknown",)
TRANSACTION = "0x" + "Ab" * 32


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("vaas")
    good, bad = records("mainnet"), records(*OTHERS)
    first = next(each for each in good if each["payload_kind"] == "token_transfer" and each["quorum"])
    lines = [vaa_line(each) for each in good[1:] + bad]
    lines += [
        cell_line(first["row_key"], "MessagePublication", "InitiatingTxID", TRANSACTION, 1_632_000_000_000),
        cell_line(first["row_key"], "ChainDetails", "SenderAddress", "late", 1_632_000_000_001),
        cell_line(first["row_key"], "ChainDetails", "SenderAddress", "early", "2021-09-18T21:20:00Z"),
        cell_line("2:" + "ab" * 32 + ":7", "TokenTransferPayload", "TargetAdress", "cd" * 32),
        row_line(
            first["row_key"],
            ("Signatures", "0x" + "11" * 20, b"s" * 65, 5),
            ("VAAState", "Signatures:1", b"\x01\x00" + b"a" * 65, 6),
            ("VAAState", "Signatures", b"\x02\x00" + b"a" * 65 + b"\x01" + b"b" * 65, 7),
        ),
    ]
    (folder / "one.vaa").write_bytes(bytes.fromhex(good[0]["hex"]))
    random.Random(9).shuffle(lines)
    half = len(lines) // 2
    broken = ["{}", '{"vaa": "00"}', cell_line(first["row_key"], "ChainDetails", "Colour", "red")]
    return {
        "raw": folder / "one.vaa",
        "first": write_lines(folder / "first.jsonl", lines[:half]),
        "second": write_lines(folder / "second.jsonl", lines[half:] + broken),
        "prices": write_prices(folder / "prices.csv", good),
    }


Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def whole(stores: Stores, inputs: dict[str, Path]) -> Tables:
    loading = stores(network=NETWORK)
    report = loading.load(inputs["raw"], inputs["first"], inputs["second"], prices=inputs["prices"])
    assert (report.rejects, report.exit_code) == (3, 3)
    return loading.rows()


def test_every_message_is_there_with_the_verdict_that_its_record_states(whole: Tables) -> None:
    rows = {(row["row_key"], row["digest"]): row for row in whole["vaas"]}
    for record in records("mainnet"):
        row = rows[record["row_key"], record["digest"]]
        same = [each for each in records("mainnet") if each["digest"] == record["digest"]]
        assert row["verified"] is any(each["quorum"] for each in same), record["row_key"]
        assert row["signature_count"] == max(
            each["num_signatures"] for each in same if each["quorum"] == row["verified"]
        )
        assert (row["timestamp"], row["nonce"]) == (record["timestamp"], record["nonce"])
        assert row["sequence_key"] == f"{record['sequence']:020d}"
    assert Counter(row["digests"] for row in whole["vaas"] if row["verified"]) == {
        1: sum(1 for row in whole["vaas"] if row["verified"])
    }


def test_what_nobody_known_signed_is_stored_as_unverified_with_the_reason(whole: Tables) -> None:
    rows = {row["digest"]: row for row in whole["vaas"]}
    for record in records(*OTHERS):
        row = rows[record["digest"]]
        assert not row["verified"]
        assert row["fault"] in ("unknown_set", "order", "index", "signer", "repeated", "quorum")
        assert row["reason"]
    assert len(records(*OTHERS)) > 5


def test_sums_of_days_are_those_of_the_records(whole: Tables, inputs: dict[str, Path]) -> None:
    expected = expected_days(records("mainnet"), inputs["prices"])
    names = ("measure", "day", "emitter_chain", "emitter_address", "target_chain", "token_key", "address")
    found = {tuple(row[name] for name in names): row for row in whole["vaa_daily"]}
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert found[key]["message_count"] == row["message_count"], key
        for name in ("amount", "notional_usd"):
            told = found[key][name]
            assert (None if told is None else Decimal(told)) == row[name], (key, name)
    assert any(row["notional_usd"] for row in expected.values())


def test_cells_that_were_written_stand_in_the_row_without_a_digest(whole: Tables) -> None:
    first = next(each for each in records("mainnet") if each["payload_kind"] == "token_transfer" and each["quorum"])
    (publication,) = [row for row in whole["vaas"] if row["digest"] == "" and row["row_key"] == first["row_key"]]
    assert publication["initiating_tx_id"] == TRANSACTION
    written = {row["row_key"]: row for row in whole["vaa_payloads"] if row["digest"] == ""}
    assert written[first["row_key"]]["chain_sender_address"] == "early"
    assert written["2:" + "ab" * 32 + ":0000000000000007"]["transfer_target_address"] == "cd" * 32
    (alone,) = [row for row in whole["vaa_signatures"] if row["digest"] == ""]
    assert (alone["guardian_address"], alone["observed_at"]) == ("11" * 20, 5)
    states = [(row["guardian_set_index"], row["updated_at"], row["signature_count"]) for row in whole["vaa_states"]]
    assert states == [(-1, 7, 2), (1, 6, 1)]
    (by_transaction,) = [row for row in whole["vaa_lookups"] if row["kind"] == "transaction"]
    assert (by_transaction["key"], by_transaction["row_key"]) == ("ab" * 32, first["row_key"])


def test_what_cannot_be_read_is_rejected_by_file_and_line(whole: Tables) -> None:
    reasons = sorted(row["reason"] for row in whole["rejects"])
    expected = ("ChainDetails:Colour: no such column", "expected a VAA as `vaa`", "vaa: ")
    assert len(reasons) == len(expected)
    assert all(reason.startswith(each) for reason, each in zip(reasons, expected, strict=True)), reasons
    assert {Path(row["file"]).name for row in whole["rejects"]} == {"second.jsonl"}


def test_in_pieces_killed_shuffled_and_twice_the_tables_are_the_same(
    stores: Stores, inputs: dict[str, Path], whole: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = stores(network=NETWORK)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(VaaLoad, "_write", die)
        with pytest.raises(KeyboardInterrupt):
            loading.load(inputs["second"])
    for sources in ([inputs["first"], inputs["raw"]], [inputs["second"]]):
        loading.load(*sources)
    loading.load(prices=inputs["prices"])
    assert_same(loading.rows(), whole)
    loading.rebuild()
    assert_same(loading.rows(), whole)


@pytest.mark.cassandra
def test_a_cluster_holds_the_same(
    spark: object, cassandra: Any, tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Path], whole: Tables
) -> None:
    loading = Stores(tmp_path_factory.mktemp("vaas_cluster"), cassandra)(network=NETWORK)
    loading.load(inputs["raw"], inputs["first"], inputs["second"], prices=inputs["prices"])
    assert_same(loading.rows(), whole)


def assert_same(found: Tables, whole: Tables) -> None:
    for table in OWN:
        assert found[table.name] == whole[table.name], table.name
    assert [row["reason"] for row in found["rejects"]] == [row["reason"] for row in whole["rejects"]]
