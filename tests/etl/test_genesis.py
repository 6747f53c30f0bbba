"""What a ledger starts from: the oracle's genesis.json and Hornet's snapshots, and every file that is neither."""

import gzip
import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from etl.sources.genesis import Genesis, GenesisError, GenesisOutput, open_genesis
from ledger.chrysalis import SigLockedDustAllowance, SigLockedSingle, decode_output
from ledger.hornet_snapshot import (
    MilestoneDiff,
    SnapshotHeader,
    SnapshotOutput,
    Treasury,
    decode_snapshot,
    encode_header,
    encode_part,
)
from tests.conftest import ROOT
from tests.reference import ORACLE, output_bytes, read_text

SUPPLY = 2_779_530_283_277_761
STATED: dict[str, Any] = json.loads(read_text(ORACLE / "genesis.json"))
SNAPSHOTS = {
    each["source"]: bytes.fromhex(each["bytes_hex"])
    for each in json.loads((ROOT / "tests" / "vectors" / "chrysalis" / "snapshots.json").read_text())["snapshots"]
}
FOLDER = "chrysalis/snapshots"
FULL = SNAPSHOTS[f"{FOLDER}/test_full_snapshot.bin"]


def read(path: Path) -> tuple[Genesis, list[GenesisOutput]]:
    with open_genesis(path) as genesis:
        return genesis, list(genesis.outputs)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def refusal(path: Path) -> str:
    """Why a file is refused; its name comes first, and the context is never entered."""
    with pytest.raises(GenesisError) as refused, open_genesis(path):
        pytest.fail("entered")
    name, found, reason = str(refused.value).partition(": ")
    assert (name, found) == (str(path), ": ")
    return reason


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_the_oracles_genesis(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    # Told by content: the name says nothing.
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
    # Each field cut out of the file: message id, output id, type, address, amount.
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
    """Sets the value that stands last in `place` at the keys before it."""
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
    assert reason in refusal(written(tmp_path / "genesis.json", changed(change)))


def test_the_sums_that_differ_are_both_named(tmp_path: Path) -> None:
    data = changed(put("outputs", 0, "output", "amount", 99_999_999_999_999))
    reason = refusal(written(tmp_path / "genesis.json", data))
    assert reason == f"expected outputs and treasury of {SUPPLY} in all, found {SUPPLY - 1}"


def test_a_dust_allowance_has_its_least_amount(tmp_path: Path) -> None:
    def change(amount: int) -> bytes:
        document = json.loads(json.dumps(STATED))
        document["outputs"][0]["output"] |= {"type": 1, "amount": amount}
        document["outputs"][1]["output"]["amount"] += 100_000_000_000_000 - amount
        return json.dumps(document).encode()

    _, outputs = read(written(tmp_path / "good.json", change(1_000_000)))
    assert isinstance(outputs[0].output, SigLockedDustAllowance)
    reason = refusal(written(tmp_path / "bad.json", change(999_999)))
    assert reason == f"output {'00' * 34}: expected an amount from 1000000 to {SUPPLY}, found 999999"


@pytest.mark.parametrize("size", [1, 100, 2000])
def test_a_genesis_json_that_is_cut_off_is_refused_with_its_line(tmp_path: Path, size: int) -> None:
    text = read_text(ORACLE / "genesis.json")[:size]
    assert f"line {text.count(chr(10)) + 1} column" in refusal(written(tmp_path / "genesis.json", text.encode()))


def test_another_eras_genesis_json_is_refused(tmp_path: Path) -> None:
    stardust = changed(put("outputs", 0, "outputId", "0x" + "00" * 34))
    assert "outputs[0].outputId: expected 68 hex digits" in refusal(written(tmp_path / "genesis.json", stardust))


def test_a_snapshot_that_is_cut_off_at_any_byte_is_refused(tmp_path: Path) -> None:
    for size in range(len(FULL)):
        reason = refusal(written(tmp_path / "full.bin", FULL[:size]))
        assert reason.startswith("at byte ")
        assert int(reason.split()[2].rstrip(":")) <= size


def test_a_snapshot_that_goes_on_is_refused(tmp_path: Path) -> None:
    reason = refusal(written(tmp_path / "full.bin", FULL + b"{"))
    assert reason == f"at byte {len(FULL)}: expected the end, found more bytes"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_snapshot_that_is_cut_off_is_refused(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    assert "cut off" in refusal(written(tmp_path / "full.bin.packed", pack(FULL)[:-9]))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            SNAPSHOTS[f"{FOLDER}/test_delta_snapshot.bin"],
            r"at byte 1: expected snapshot type 0 (full), found 1 (delta)",
        ),
        (SNAPSHOTS["stardust/snapshots/full_snapshot.bin"], "at byte 0: expected version 1 of a Hornet snapshot"),
        (b"", "at byte 0: expected snapshot version and type (2 bytes), found 0 bytes"),
        (b"[]", "at byte 0: expected version 1 of a Hornet snapshot (Chrysalis), found version 91"),
        (b"  {} ", "outputs: expected a value, found none"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    assert reason in refusal(written(tmp_path / "file", data))


def altered(amount: int) -> bytes:
    """FULL with that amount in its first output."""
    header, parts = decode_snapshot(io.BytesIO(FULL))
    listed = list(parts)
    at = 26 + 24 + 40 + 320 + 100
    assert len(listed) == header.sep_count + header.output_count + header.diff_count
    assert isinstance(listed[-1], MilestoneDiff)
    return FULL[:at] + amount.to_bytes(8, "little") + FULL[at + 8 :]


def test_a_snapshot_whose_sums_differ_is_refused(tmp_path: Path) -> None:
    reason = refusal(written(tmp_path / "full.bin", altered(10_000_001)))
    assert reason == f"expected outputs and treasury of {SUPPLY} in all, found {SUPPLY + 1}"
    assert "found 0" in refusal(written(tmp_path / "full.bin", altered(0)))
    assert f"found {2**64 - 1}" in refusal(written(tmp_path / "full.bin", altered(2**64 - 1)))


def test_a_ledger_index_beyond_the_tables_is_refused(tmp_path: Path) -> None:
    data = FULL[:22] + (1 << 31).to_bytes(4, "little") + FULL[26:]
    assert refusal(written(tmp_path / "full.bin", data)).startswith(
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
