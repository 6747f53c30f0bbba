"""Every Stardust format gives the oracle's blocks, and errors name what is wrong with a block."""

import io
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from etl.sources import milestones_of, read_cone, read_cones
from etl.sources.cone import Cone
from etl.sources.files import archive_files
from etl.sources.lines import lines
from etl.sources.unpacking import open_stream
from ledger.eras import STARDUST
from ledger.json_reader import JsonError
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from tests.conftest import SHARED, needs_shared
from tests.etl.archives import Json, blake, dump, gzipped, zstd
from tests.etl.stardust_archives import (
    FORMS,
    STATELESS,
    archive_d,
    binary,
    bytes_of,
    chronicle_json,
    line_of,
    oracle,
    packed,
    pending,
    write_folder,
)
from tests.reference import STATES

NUMBER = 5


def units(path: Path) -> list[tuple[int, list[int], bytes]]:
    """A load's plan for a file: number, milestones, bytes."""
    with open_stream(str(path)) as stream:
        return [(number, milestones_of(data), data) for number, _, data in lines(stream)]


def bodies(cone: Cone) -> dict[bytes, bytes]:
    return {entry.message_id: cone.codec.encode(entry.message) for entry in cone.entries}


@pytest.mark.parametrize("form", FORMS)
def test_every_milestone_reads_as_the_oracle_says(form: str, tmp_path: Path) -> None:
    for number, line in enumerate(oracle(), 1):
        path = tmp_path / f"{number}"
        path.write_bytes(FORMS[form](line))
        ((first, indices, data),) = units(path)
        cone = read_cone(data, number)
        assert (first, indices, cone.milestone_index, cone.codec.protocol_version) == (1, [number], number, 2)
        assert cone.rejected == []
        assert bodies(cone) == bytes_of(number)
        assert cone.milestone is not None
        assert f"0x{stardust.milestone_id(cone.milestone).hex()}" == line["milestone"]["milestoneId"]
        reported = {each["id"][2:]: each["metadata"] for each in line["blocks"]}
        for entry in cone.entries:
            metadata = reported[entry.message_id.hex()]
            assert entry.referenced_by == number
            if form not in STATELESS:
                assert entry.inclusion_state == STATES[metadata["ledgerInclusionState"]]
                assert entry.conflict_reason == metadata.get("conflictReason")


def test_pending_lines_and_pending_records() -> None:
    for each in pending():
        data = bytes.fromhex(each["bytes_hex"])
        for line in (dump(each), struct.pack("<I", len(data)) + data):
            assert milestones_of(line) == []
            cone = read_cone(line)
            assert bodies(cone) == {bytes.fromhex(each["id"][2:]): data}
            assert [entry.referenced_by for entry in cone.entries] == [None]


@pytest.mark.parametrize("packing", [bytes, gzipped, zstd])
def test_packed_milestones_one_behind_the_other(packing: Any, tmp_path: Path) -> None:
    loose = bytes.fromhex(pending()[0]["bytes_hex"])
    path = tmp_path / "some.blocks"
    data = [packed(line) for line in oracle()]
    path.write_bytes(packing(struct.pack("<I", len(loose)) + loose + b"".join(data)))
    found = units(path)
    assert [indices for _, indices, _ in found] == [[], *([number] for number in range(1, 51))]
    assert [data for _, _, data in found[1:]] == data
    sizes = [1 + len(line["blocks"]) for line in oracle()]
    assert [number for number, _, _ in found] == [1, *(2 + sum(sizes[:number]) for number in range(50))]


def test_a_folder_of_single_blocks_is_cut_into_cones(tmp_path: Path) -> None:
    loose = [bytes.fromhex(each["bytes_hex"]) for each in pending()]
    folder = write_folder(tmp_path / "raw", oracle(), *loose, b"\2\1no block")
    assert archive_files([tmp_path]) == [folder]
    first, *rest = units(folder)
    assert set(bodies(read_cone(first[2])).values()) == set(loose)
    assert [rejected.item for rejected in read_cone(first[2]).rejected] == [blake(b"\2\1no block")]
    for number, (_, indices, data) in enumerate(rest, 1):
        assert indices == [number]
        assert bodies(read_cone(data)) == bytes_of(number)


def test_an_invalid_payload_is_rejected_and_nothing_else(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "raw", [line_of(1), line_of(2)])
    (folder / "3.milestone").write_bytes(b"\7\0\0\0 not a milestone")
    numbers = [units_of(data) for _, data in cut(folder)]
    assert sorted(numbers, key=str) == [[1], [2], "refused"]


def cut(path: Path) -> Iterator[tuple[int, bytes]]:
    with open_stream(str(path)) as stream:
        yield from ((number, data) for number, _, data in lines(stream))


def units_of(data: bytes) -> list[int] | str:
    try:
        return milestones_of(data)
    except CodecError:
        return "refused"


def test_what_is_cut_off_or_no_record_is_an_error() -> None:
    data = packed(line_of(1)) + packed(line_of(2))
    for size in (len(data) - 1, len(packed(line_of(1))) + 2):
        with pytest.raises(EOFError, match="cut off inside"):
            list(lines(io.BufferedReader(io.BytesIO(data[:size]))))
    whole = len(packed(line_of(1)))
    with pytest.raises(ValueError, match="a record of 1 to 32768 bytes expected, found 4294967295"):
        list(lines(io.BufferedReader(io.BytesIO(data[:whole] + b"\xff" * 8))))


@needs_shared
def test_real_shimmer_documents_as_they_are() -> None:
    folder = SHARED / "iota" / "shimmer"
    ((number, indices, data),) = units(folder / "in_memory_data.json")
    assert (number, indices) == (1, [17339, 17340, 17341])
    assert [len(read_cone(data, index).entries) for index in indices] == [38, 43, 31]
    ((number, indices, data),) = units(folder / "blocks_ms_2418187.json")
    cone = read_cone(data, 2418187)
    assert (number, indices, len(cone.entries), cone.milestone, cone.rejected) == (1, [2418187], 88, None, [])
    documents = json.loads((folder / "blocks_ms_2418187.json").read_bytes())
    states = {"no_transaction": 0, "included": 1}
    assert [entry.inclusion_state for entry in cone.entries] == [
        states[each["metadata"]["inclusion_state"]] for each in documents
    ]


OPTION_FAULTS: list[tuple[tuple[Any, ...], Any, str]] = [
    (("milestone_id",), binary("0x" + "5d" * 32), "milestone: milestone_id: expected "),
    (("payload", "signatures", 0, "signature"), 5, "milestone: signature: expected "),
    (("payload", "essence", "timestamp"), 1 << 32, "milestone: timestamp: expected a whole number"),
    (("payload", "essence", "options"), None, "milestone: this format's keys expected, TypeError"),
    (("payload", "essence", "options", 0, "kind"), "other", "milestone: options.kind: expected receipt or parameters"),
    (("payload", "essence", "options", 0, "funds", 0, "amount"), "x", "milestone: options[0].funds[0].deposit: "),
    (("payload", "essence", "options", 0, "funds", 0, "address"), {"e": 5}, "milestone: funds.address: expected"),
    (("payload", "essence", "options", 0, "last"), "x", "milestone: options[0].final: expected"),
]


@pytest.mark.parametrize(("path", "value", "reason"), OPTION_FAULTS)
def test_a_fault_in_a_document_s_milestone_is_that_milestone_s(path: tuple[Any, ...], value: Any, reason: str) -> None:
    """The one of two documents that contains a receipt is changed."""
    (number, *_) = [each for each, line in enumerate(oracle(), 1) if line["milestone"]["payload"].get("options")]
    whole = orjson.loads(chronicle_json(line_of(number))) | orjson.loads(chronicle_json(line_of(number + 1)))
    changed, other = read_cones(dump(change(whole, str(number), "milestone_data", *path, to=value)))
    (rejected,) = changed.rejected
    assert rejected.item == ""
    assert rejected.reason.startswith(reason)
    assert bodies(changed) == bytes_of(number)
    assert (other.rejected, bodies(other)) == ([], bytes_of(number + 1))


def test_a_block_s_fault_in_a_document_is_its_own() -> None:
    document = orjson.loads(chronicle_json(line_of(NUMBER)))
    del document[str(NUMBER)]["cone"]["0"]["metadata"]
    cone = read_cone(dump(document))
    assert [(each.item, each.reason) for each in cone.rejected] == [
        (line_of(NUMBER)["blocks"][0]["id"][2:], "this format's keys expected, KeyError: 'metadata'")
    ]
    assert len(cone.entries) == len(line_of(NUMBER)["blocks"]) - 1


@needs_shared
def test_a_document_s_other_milestones_are_not_a_line_s() -> None:
    data = (SHARED / "iota" / "shimmer" / "in_memory_data.json").read_bytes()
    with pytest.raises(JsonError, match="line: expected a cone of milestone 5"):
        read_cone(data, 5)


def change(line: Json, *path: Any, to: Any) -> Json:
    place: Any = line
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return line


ZERO = "0x" + "00" * 32

MILESTONE_FAULTS: list[tuple[tuple[Any, ...], Any, str]] = [
    (("milestoneId",), ZERO, "milestone: milestoneId: expected 0x"),
    (("milestoneId",), "5d", "milestone: milestoneId: expected 0x and 64 hex digits"),
    (("blockId",), ZERO, "milestone: blockId: expected 0x"),
    (("bytes_hex",), "00", "milestone: bytes_hex: expected the bytes of the block that carries the payload"),
    (("payload",), None, "milestone: "),
    (("payload", "parents"), [], "milestone: parents: expected"),
    (("payload", "type"), 5, "milestone: type: expected 7"),
]


@pytest.mark.parametrize(("path", "value", "reason"), MILESTONE_FAULTS)
def test_a_milestone_s_fault_is_the_line_s_and_its_blocks_are_kept(
    path: tuple[Any, ...], value: Any, reason: str
) -> None:
    cone = read_cone(dump(change(line_of(NUMBER), "milestone", *path, to=value)))
    (rejected,) = cone.rejected
    assert rejected.item == ""
    assert rejected.reason.startswith(reason)
    assert bodies(cone) == bytes_of(NUMBER)


BLOCK_FAULTS: list[tuple[tuple[Any, ...], Any, str]] = [
    (("id",), "5d", "id: expected 0x and 64 hex digits"),
    (("metadata", "blockId"), ZERO, "metadata.blockId: expected 0x"),
    (("bytes_hex",), "00", "bytes_hex: expected the bytes of the block's JSON"),
    (("metadata",), [], "metadata: expected an object, found list"),
    (("metadata", "ledgerInclusionState"), 5, "metadata.ledgerInclusionState: expected"),
    (("metadata", "conflictReason"), 256, "metadata.conflictReason: expected"),
    (("block", "nonce"), "x", "nonce: expected"),
    (("block", "protocolVersion"), 1, "at byte 0: expected protocol version 2 (Stardust), found 1"),
]


@pytest.mark.parametrize(("path", "value", "reason"), BLOCK_FAULTS)
def test_a_block_s_fault_is_its_own(path: tuple[Any, ...], value: Any, reason: str) -> None:
    line = line_of(NUMBER)
    if path[0] == "block":
        del line["blocks"][0]["bytes_hex"]
    cone = read_cone(dump(change(line, "blocks", 0, *path, to=value)))
    (rejected,) = cone.rejected
    assert rejected.item == ("5d" if value == "5d" else line_of(NUMBER)["blocks"][0]["id"][2:])
    assert rejected.reason.startswith(reason)
    assert len(cone.entries) == len(line["blocks"]) - 1


def test_a_record_of_another_protocol_is_rejected() -> None:
    document = orjson.loads(archive_d(line_of(NUMBER)))
    first = document["messages"][0]
    first["message"] = {"Chrysalis": first["message"]["Shimmer"]}
    cone = read_cone(dump(document))
    assert [(each.item, each.reason) for each in cone.rejected] == [
        (first["message_id"]["Shimmer"][2:], "message: expected a block tagged Shimmer, as the milestone is")
    ]


def test_an_empty_cone_is_one() -> None:
    line = line_of(NUMBER) | {"blocks": []}
    for data in (dump(line), archive_d(line), packed(line)):
        cone = read_cone(data)
        assert (cone.milestone_index, cone.entries, cone.rejected) == (NUMBER, [], [])
        assert cone.codec.protocol_version == STARDUST.protocol_version


@pytest.mark.parametrize("document", [[], [5], {}, {"milestone": 5, "blocks": []}, [{"raw": 5, "metadata": 6}]])
def test_what_no_source_claims_or_reads_is_an_error(document: Any) -> None:
    with pytest.raises(JsonError):
        read_cones(dump(document))
