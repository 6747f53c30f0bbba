"""The start of a ledger: the oracle's genesis.json, Hornet's snapshots, and rejected files."""

import gzip
import hashlib
import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from etl.sources.genesis import Genesis, GenesisError, GenesisOutput, open_genesis
from ledger.chrysalis.codec import SigLockedDustAllowance, SigLockedSingle, decode_output
from ledger.chrysalis.snapshot import (
    MilestoneDiff,
    SnapshotHeader,
    SnapshotOutput,
    Treasury,
    decode_snapshot,
    encode_header,
    encode_part,
)
from ledger.stardust import codec as stardust
from ledger.stardust import values as stardust_values
from tests.conftest import ROOT
from tests.reference import ORACLE, output_bytes, read_text
from tests.reference_stardust import ORACLE as STARDUST_ORACLE
from tests.reference_stardust import output_bytes as stardust_output_bytes

SUPPLY = 2_779_530_283_277_761
STATED: dict[str, Any] = json.loads(read_text(ORACLE / "genesis.json"))
SNAPSHOTS = {
    each["source"]: bytes.fromhex(each["bytes_hex"])
    for era in ("chrysalis", "stardust")
    for each in json.loads((ROOT / "tests" / "vectors" / era / "snapshots.json").read_text())["snapshots"]
}
FOLDER, STARDUST_FOLDER = "chrysalis/snapshots", "stardust/snapshots"
FULL = SNAPSHOTS[f"{FOLDER}/test_full_snapshot.bin"]


def read(path: Path) -> tuple[Genesis, list[GenesisOutput]]:
    with open_genesis(path) as genesis:
        return genesis, list(genesis.outputs)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def rejection(path: Path) -> str:
    """The reason for rejecting a file; it starts with the file's name, and the context is never entered."""
    with pytest.raises(GenesisError) as rejected, open_genesis(path):
        pytest.fail("entered")
    name, found, reason = str(rejected.value).partition(": ")
    assert (name, found) == (str(path), ": ")
    return reason


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_the_oracles_genesis(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    # Recognized by content: the name does not matter.
    genesis, outputs = read(written(tmp_path / "start.bin", pack(read_text(ORACLE / "genesis.json").encode())))
    assert genesis.ledger_index == 0
    assert genesis.treasury == (bytes(32), 1_000_000_000_000)
    assert genesis.network_id == int(STATED["networkId"])
    assert genesis.timestamp is None
    assert [key.hex() for key in genesis.coordinator_public_keys] == STATED["coordinatorPublicKeys"]
    assert outputs == [
        GenesisOutput(bytes.fromhex(each["outputId"]), bytes(32), decode_output(output_bytes(each["output"])))
        for each in STATED["outputs"]
    ]
    assert len(outputs) == 8


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_a_full_snapshot_of_hornets(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    genesis, outputs = read(written(tmp_path / "genesis.json", pack(FULL)))
    assert genesis.ledger_index == 3
    assert genesis.treasury == (bytes(32), SUPPLY - 30_000_000)
    assert genesis.network_id == 6530425480034647824
    assert genesis.timestamp == 1617695174
    assert genesis.coordinator_public_keys == ()
    # The file cut within each field: message id, output id, type, address, amount.
    stated = [FULL[at : at + 108] for at in (26 + 24 + 40 + 320, 26 + 24 + 40 + 320 + 108)]
    assert outputs == [
        GenesisOutput(row[32:66], row[:32], SigLockedSingle(row[67:100], int.from_bytes(row[100:], "little")))
        for row in stated
    ]
    assert [each.output.amount for each in outputs] == [10_000_000, 20_000_000]


@pytest.mark.parametrize("name", ["full_snapshot.bin", "migration_full_snapshot.bin"])
def test_a_snapshot_of_a_network_that_has_not_begun(tmp_path: Path, name: str) -> None:
    genesis, outputs = read(written(tmp_path / name, SNAPSHOTS[f"{FOLDER}/{name}"]))
    assert genesis.ledger_index == 0
    (output,) = outputs
    assert output.output_id == bytes(34)
    assert genesis.treasury is not None
    assert output.output.amount + genesis.treasury[1] == SUPPLY


@pytest.mark.thorough
def test_a_snapshot_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    count = 40_000
    path = tmp_path / "large.bin"
    with path.open("wb") as file:
        file.write(encode_header(SnapshotHeader(0, 1, 7, 7, 0, count, 0, Treasury(bytes(32), SUPPLY - count))))
        for number in range(count):
            identity = number.to_bytes(32, "big")
            file.write(encode_part(SnapshotOutput(identity + b"\0\0", identity, SigLockedSingle(bytes(33), 1))))
    with open_genesis(path):
        pass  # modules and caches
    tracemalloc.start()
    try:
        with open_genesis(path) as genesis:
            assert sum(1 for _ in genesis.outputs) == count
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 4
    finally:
        tracemalloc.stop()


def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
    document = json.loads(json.dumps(STATED))
    change(document)
    return json.dumps(document).encode()


def put(*place: Any) -> Callable[[dict[str, Any]], None]:
    """Sets the value with the last path in `place` at the keys before it."""
    *keys, last, value = place

    def change(document: Any) -> None:
        for key in keys:
            document = document[key]
        document[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            put("outputs", 3, "output", "amount", 100_000_000_000_001),
            f"expected outputs and treasury of {SUPPLY} in all",
        ),
        (put("outputs", 3, "output", "amount", 0), f"{STATED['outputs'][3]['outputId']}: expected an amount from 1 to"),
        (put("outputs", 3, "output", "amount", SUPPLY + 1), "found 2779530283277762"),
        (put("outputs", 3, "output", "amount", "1"), "outputs[3].output.amount: expected a whole number"),
        (put("outputs", 3, "output", "amount", -1), "outputs[3].output.amount: expected a whole number"),
        (put("outputs", 3, "output", "type", 2), "outputs[3].output.type: expected 0 or 1"),
        (put("outputs", 3, "output", "address", "type", 8), "outputs[3].output.address.type: expected 0"),
        (put("outputs", 3, "output", "address", "address", "00"), "outputs[3].output.address.address: expected 64 hex"),
        (put("outputs", 3, "outputId", "00" * 33), "outputs[3].outputId: expected 68 hex digits"),
        (put("outputs", 3, "outputId", "00" * 34), "outputs[3].outputId: expected each output once, found 0000"),
        (put("outputs", []), "outputs: expected a list of 1 to"),
        (put("treasury", None), f"expected outputs and treasury of {SUPPLY} in all, found {SUPPLY - 10**12}"),
        (put("treasury", "amount", "1"), "treasury.amount: expected a whole number"),
        (put("treasury", "milestoneId", "zz"), "treasury.milestoneId: expected 64 hex digits"),
        (put("ledgerIndex", -1), "ledgerIndex: expected a milestone index, found -1"),
        (put("ledgerIndex", True), "ledgerIndex: expected a milestone index, found True"),
        (put("networkId", "x"), "networkId: expected decimal digits"),
        (put("coordinatorPublicKeys", ["00"]), "coordinatorPublicKeys[0]: expected 64 hex digits"),
        (lambda document: document.pop("ledgerIndex"), "ledgerIndex: expected a value, found none"),
        (lambda document: document.pop("outputs"), "outputs: expected a value, found none"),
        (lambda document: document.pop("coordinatorPublicKeys"), "coordinatorPublicKeys: expected a value, found none"),
    ],
)
def test_a_wrong_field_of_a_genesis_json_is_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    assert reason in rejection(written(tmp_path / "genesis.json", changed(change)))


def test_the_sums_that_differ_are_both_named(tmp_path: Path) -> None:
    data = changed(put("outputs", 0, "output", "amount", 99_999_999_999_999))
    reason = rejection(written(tmp_path / "genesis.json", data))
    assert reason == f"expected outputs and treasury of {SUPPLY} in all, found {SUPPLY - 1}"


def test_a_dust_allowance_has_its_least_amount(tmp_path: Path) -> None:
    def change(amount: int) -> bytes:
        document = json.loads(json.dumps(STATED))
        document["outputs"][0]["output"] |= {"type": 1, "amount": amount}
        document["outputs"][1]["output"]["amount"] += 100_000_000_000_000 - amount
        return json.dumps(document).encode()

    _, outputs = read(written(tmp_path / "good.json", change(1_000_000)))
    assert isinstance(outputs[0].output, SigLockedDustAllowance)
    reason = rejection(written(tmp_path / "bad.json", change(999_999)))
    assert reason == f"output {'00' * 34}: expected an amount from 1000000 to {SUPPLY}, found 999999"


def test_a_genesis_json_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    data = read_text(ORACLE / "genesis.json").encode()
    marked, outputs = read(written(tmp_path / "marked.json", b"\xef\xbb\xbf" + data))
    assert (marked.network_id, outputs) == (int(STATED["networkId"]), read(written(tmp_path / "a.json", data))[1])


@pytest.mark.parametrize("size", [1, 100, 2000])
def test_a_genesis_json_that_is_cut_off_is_rejected_with_its_line(tmp_path: Path, size: int) -> None:
    text = read_text(ORACLE / "genesis.json")[:size]
    assert f"line {text.count(chr(10)) + 1} column" in rejection(written(tmp_path / "genesis.json", text.encode()))


def test_outputs_of_both_eras_in_one_genesis_json_are_rejected(tmp_path: Path) -> None:
    prefixed = changed(put("outputs", 1, "outputId", "0x" + "00" * 34))
    assert "outputs[1].outputId: expected 68 hex digits" in rejection(written(tmp_path / "genesis.json", prefixed))
    first = changed(put("outputs", 0, "outputId", "0x" + "00" * 34))
    assert "outputs[0].output.type: expected 2 or 3 or" in rejection(written(tmp_path / "genesis.json", first))


STARDUST_STATED: dict[str, Any] = json.loads(read_text(STARDUST_ORACLE / "genesis.json"))


def test_the_genesis_of_the_stardust_oracle(tmp_path: Path) -> None:
    genesis, outputs = read(written(tmp_path / "start.bin", read_text(STARDUST_ORACLE / "genesis.json").encode()))
    assert (genesis.ledger_index, genesis.treasury) == (0, (bytes(32), 1_000_000_000_000))
    assert (genesis.network_id, genesis.timestamp) == (int(STARDUST_STATED["networkId"]), None)
    assert ["0x" + key.hex() for key in genesis.coordinator_public_keys] == STARDUST_STATED["coordinatorPublicKeys"]
    assert [("0x" + each.output_id.hex(), data_of(each)) for each in outputs] == [
        (each["outputId"], stardust_output_bytes(each["output"])) for each in STARDUST_STATED["outputs"]
    ]
    assert {each.message_id for each in outputs} == {bytes(32)}
    assert len(outputs) == 8


def data_of(each: GenesisOutput) -> bytes:
    assert isinstance(each.output, stardust_values.BasicOutput)
    return stardust.encode_output(each.output)


def test_a_full_snapshot_of_stardust(tmp_path: Path) -> None:
    """Supply and network are those of its protocol parameters; its outputs are those at its ledger index."""
    data = SNAPSHOTS[f"{STARDUST_FOLDER}/snapshot_full_snapshot.bin"]
    genesis, outputs = read(written(tmp_path / "genesis.json", zstandard.compress(data)))
    assert (genesis.ledger_index, genesis.timestamp) == (3, None)
    assert (genesis.treasury, genesis.token_supply) == ((bytes(32), SUPPLY - 30_000_000), SUPPLY)
    name = hashlib.blake2b(b"alphanet1", digest_size=32).digest()
    assert genesis.network_id == int.from_bytes(name[:8], "little")
    assert [each.output.amount for each in outputs] == [10_000_000, 20_000_000]
    # The file cut within each field: output id, block id; three numbers are between them and the bytes of the output.
    at = 2 + 48 + 40 + 2 + 43 + 14
    rows = [data[start : start + 124] for start in (at, at + 124)]
    assert [(each.output_id, each.message_id, data_of(each)) for each in outputs] == [
        (row[:34], row[34:66], row[78:]) for row in rows
    ]


def test_a_snapshot_of_stardust_whose_sums_differ_is_rejected(tmp_path: Path) -> None:
    data = bytearray(SNAPSHOTS[f"{STARDUST_FOLDER}/full_snapshot.bin"])
    assert read(written(tmp_path / "full.bin", bytes(data)))[0].token_supply == SUPPLY
    supply = data.index(SUPPLY.to_bytes(8, "little"))  # of the protocol parameters; the output follows them
    data[supply : supply + 8] = (SUPPLY + 1).to_bytes(8, "little")
    reason = rejection(written(tmp_path / "full.bin", bytes(data)))
    assert reason == f"expected outputs and treasury of {SUPPLY + 1} in all, found {SUPPLY}"


def test_a_genesis_json_of_stardust_has_the_supply_that_is_known(tmp_path: Path) -> None:
    path = written(tmp_path / "genesis.json", json.dumps(STARDUST_STATED).encode())
    stated = 10**12 + sum(int(each["output"]["amount"]) for each in STARDUST_STATED["outputs"])
    with open_genesis(path, stated) as genesis:
        assert genesis.token_supply == stated
    with pytest.raises(GenesisError, match=f"of {stated + 1} in all, found {stated}"), open_genesis(path, stated + 1):
        pytest.fail("entered")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("outputs", 3, "output", "amount", "x"), "outputs[3].output.amount: expected decimal digits"),
        (put("outputs", 3, "output", "amount", str(2**63)), f"expected an amount from 1 to {2**63 - 1}"),
        (put("outputs", 3, "output", "amount", str(2**63 - 1)), f"of at most {2**63 - 1} in all, found"),
        (put("outputs", 3, "output", {"type": 2, "amount": "1"}), "outputs[3].output.type: expected an output"),
        (put("treasury", "amount", "-1"), "treasury.amount: expected decimal digits"),
        (put("coordinatorPublicKeys", ["00"]), "coordinatorPublicKeys[0]: expected 0x and 64 hex digits"),
    ],
)
def test_a_wrong_field_of_a_stardust_genesis_json_is_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    document = json.loads(json.dumps(STARDUST_STATED))
    change(document)
    assert reason in rejection(written(tmp_path / "genesis.json", json.dumps(document).encode()))


@pytest.mark.thorough
def test_a_snapshot_that_is_cut_off_at_any_byte_is_rejected(tmp_path: Path) -> None:
    for size in range(len(FULL)):
        reason = rejection(written(tmp_path / "full.bin", FULL[:size]))
        assert reason.startswith("at byte ")
        assert int(reason.split()[2].rstrip(":")) <= size


def test_a_snapshot_that_goes_on_is_rejected(tmp_path: Path) -> None:
    reason = rejection(written(tmp_path / "full.bin", FULL + b"{"))
    assert reason == f"at byte {len(FULL)}: expected the end, found more bytes"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_snapshot_that_is_cut_off_is_rejected(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    assert "cut off" in rejection(written(tmp_path / "full.bin.packed", pack(FULL)[:-9]))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            SNAPSHOTS[f"{FOLDER}/test_delta_snapshot.bin"],
            r"at byte 1: expected snapshot type 0 (full), found 1 (delta)",
        ),
        (
            SNAPSHOTS[f"{STARDUST_FOLDER}/snapshot_delta_snapshot.bin"],
            r"at byte 1: expected snapshot type 0 (full), found 1 (delta)",
        ),
        (b"\3" + FULL[1:], "at byte 0: expected version 1 of a Hornet snapshot (Chrysalis), found version 3"),
        (b"", "at byte 0: expected snapshot version and type (2 bytes), found 0 bytes"),
        (b"[]", "at byte 0: expected version 1 of a Hornet snapshot (Chrysalis), found version 91"),
        (b"  {} ", "outputs: expected a value, found none"),
    ],
)
def test_another_file_is_rejected(tmp_path: Path, data: bytes, reason: str) -> None:
    assert reason in rejection(written(tmp_path / "file", data))


def altered(amount: int) -> bytes:
    """FULL with that amount in its first output."""
    header, parts = decode_snapshot(io.BytesIO(FULL))
    listed = list(parts)
    at = 26 + 24 + 40 + 320 + 100
    assert len(listed) == header.sep_count + header.output_count + header.diff_count
    assert isinstance(listed[-1], MilestoneDiff)
    return FULL[:at] + amount.to_bytes(8, "little") + FULL[at + 8 :]


def test_a_snapshot_whose_sums_differ_is_rejected(tmp_path: Path) -> None:
    reason = rejection(written(tmp_path / "full.bin", altered(10_000_001)))
    assert reason == f"expected outputs and treasury of {SUPPLY} in all, found {SUPPLY + 1}"
    assert "found 0" in rejection(written(tmp_path / "full.bin", altered(0)))
    assert f"found {2**64 - 1}" in rejection(written(tmp_path / "full.bin", altered(2**64 - 1)))


def test_a_ledger_index_beyond_the_tables_is_rejected(tmp_path: Path) -> None:
    data = FULL[:22] + (1 << 31).to_bytes(4, "little") + FULL[26:]
    assert rejection(written(tmp_path / "full.bin", data)).startswith(
        "ledger milestone index: expected a milestone index"
    )


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"), open_genesis(tmp_path / "nothing.json"):
        pytest.fail("entered")


class Stopped(OSError):
    pass


def stop_reading(path: Path) -> None:
    with open_genesis(path) as genesis:
        next(genesis.outputs)
        raise Stopped


def test_an_error_of_the_one_who_reads_is_left_as_it_is(tmp_path: Path) -> None:
    for name, data in (("genesis.json", changed(lambda _: None)), ("full.bin", FULL)):
        with pytest.raises(Stopped):
            stop_reading(written(tmp_path / name, data))
