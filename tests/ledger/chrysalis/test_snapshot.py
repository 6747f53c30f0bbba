"""Hornet 1.x snapshot files: those of its integration tests, generated ones in both directions, and damaged ones."""

from io import BytesIO

import pytest
from hypothesis import strategies as st

from ledger.chrysalis.snapshot import (
    MilestoneDiff,
    SnapshotHeader,
    SnapshotOutput,
    SnapshotPart,
    SnapshotSpent,
    SolidEntryPoint,
    Treasury,
    decode_snapshot,
    encode_header,
    encode_part,
)
from ledger.networks import TOKEN_SUPPLY
from ledger.reader import CodecError
from tests.ledger.cases import load
from tests.ledger.chrysalis.test_properties import IDS, OUTPUTS, U32, U64, exactly, milestones

FILES = {each["source"]: bytes.fromhex(each["bytes_hex"]) for each in load("snapshots")["snapshots"]}
FOLDER = "chrysalis/snapshots"
FULL, DELTA = FILES[f"{FOLDER}/test_full_snapshot.bin"], FILES[f"{FOLDER}/test_delta_snapshot.bin"]


def decode(data: bytes) -> tuple[SnapshotHeader, list[SnapshotPart]]:
    header, parts = decode_snapshot(BytesIO(data))
    return header, list(parts)


def encode(header: SnapshotHeader, parts: list[SnapshotPart]) -> bytes:
    return encode_header(header) + b"".join(map(encode_part, parts))


@pytest.mark.parametrize("source", FILES)
def test_a_file_is_written_again_byte_for_byte(source: str) -> None:
    header, parts = decode(FILES[source])
    kinds = [SolidEntryPoint] * header.sep_count + [SnapshotOutput] * header.output_count
    assert [type(each) for each in parts] == kinds + [MilestoneDiff] * header.diff_count
    assert encode(header, parts) == FILES[source]


def test_the_header_of_a_full_snapshot() -> None:
    assert decode(FULL)[0] == SnapshotHeader(
        timestamp=1617695174,
        network_id=6530425480034647824,
        sep_milestone_index=1,
        ledger_milestone_index=3,
        sep_count=10,
        output_count=2,
        diff_count=2,
        treasury=Treasury(bytes(32), TOKEN_SUPPLY - 30_000_000),
    )


def unspent(parts: list[SnapshotPart]) -> dict[bytes, int]:
    return {part.output_id: part.output.amount for part in parts if isinstance(part, SnapshotOutput)}


def test_the_ledger_that_hornets_integration_test_expects() -> None:
    """Hornet's TestSnapshot: full from milestone 3 back to 1, delta up to 5; then output 0909… holds 40 000 000."""
    full, parts = decode(FULL)
    ledger = unspent(parts)
    assert full.treasury
    treasury = full.treasury.amount
    index = full.ledger_milestone_index
    for part in parts:
        if isinstance(part, MilestoneDiff):
            assert part.milestone.index == index
            for output in part.created:
                assert ledger.pop(output.output_id) == output.output.amount
            ledger |= {each.spent.output_id: each.spent.output.amount for each in part.consumed}
            index -= 1
            assert sum(ledger.values()) + treasury == TOKEN_SUPPLY
    delta, parts = decode(DELTA)
    assert index == full.sep_milestone_index == delta.ledger_milestone_index
    assert (delta.treasury, delta.output_count) == (None, 0)
    for part in parts:
        if isinstance(part, MilestoneDiff):
            index += 1
            assert part.milestone.index == index
            ledger |= {each.output_id: each.output.amount for each in part.created}
            for each in part.consumed:
                assert ledger.pop(each.spent.output_id) == each.spent.output.amount
                assert len(each.target_transaction_id) == 32
            assert (part.spent_treasury is None) == (part.milestone.receipt is None)
            if part.spent_treasury and part.milestone.receipt:
                assert part.spent_treasury.amount == treasury
                treasury = part.milestone.receipt.transaction.output.amount
            assert sum(ledger.values()) + treasury == TOKEN_SUPPLY
    assert index == delta.sep_milestone_index
    assert (ledger, treasury) == ({b"\x09" * 34: 40_000_000}, TOKEN_SUPPLY - 40_000_000)


@pytest.mark.parametrize("source", FILES)
def test_a_file_that_is_cut_off_at_any_byte_is_rejected_there(source: str) -> None:
    data = FILES[source]
    for size in range(len(data)):
        with pytest.raises(CodecError, match="expected") as rejected:
            decode(data[:size])
        error = rejected.value
        # The offset is where the cut field starts, so only existing bytes come before it.
        assert error.offset <= size
        assert f"found {size - error.offset} bytes" in error.expected


def test_a_stardust_snapshot_is_rejected_by_its_version() -> None:
    with pytest.raises(CodecError, match=r"at byte 0: expected version 1 .*\(Chrysalis\), found version 2"):
        decode(b"\2" + FULL[1:])


OUTPUT_AT = 26 + 24 + 40 + 10 * 32  # of FULL: heads, counts, treasury, solid entry points
DIFF_AT = 26 + 16 + 10 * 32  # of DELTA


@pytest.mark.parametrize(
    ("data", "offset", "value", "rejected_at", "expected"),
    [
        (FULL, 1, b"\2", 1, r"snapshot type 0 \(full\) or 1 \(delta\), found 2"),
        (FULL, OUTPUT_AT + 66, b"\2", OUTPUT_AT + 66, "output type 0 .* or 1 .*, found 2"),
        (FULL, OUTPUT_AT + 67, b"\x08", OUTPUT_AT + 67, r"address type 0 \(Ed25519\), found 8"),
        (FULL, OUTPUT_AT + 108 + 67, b"\x08", OUTPUT_AT + 108 + 67, r"address type 0 \(Ed25519\), found 8"),
        (DELTA, DIFF_AT, b"\xff" * 4, DIFF_AT, "a milestone payload of at most 32768 bytes, found 4294967295"),
        (DELTA, DIFF_AT + 4, b"\2", DIFF_AT + 4, r"payload type 1 \(milestone\), found 2"),
        (DELTA, DIFF_AT + 20, b"\0", DIFF_AT + 20, "1 to 8 parents, found 0"),
        # A count larger than the file: no memory is allocated for the claimed number.
        (FULL, 26, b"\xff" * 8, len(FULL) - len(FULL[90:]) % 32, "solid entry point"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(
    data: bytes, offset: int, value: bytes, rejected_at: int, expected: str
) -> None:
    with pytest.raises(CodecError, match=expected) as rejected:
        decode(data[:offset] + value + data[offset + len(value) :])
    assert rejected.value.offset == rejected_at


def test_parts_are_read_as_they_are_requested() -> None:
    """A file far larger than memory: parts that were not requested are not read."""

    class Endless(BytesIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert 0 < size <= 1 << 16
            self.reads += 1
            return super().read(size) or bytes(size)

    head = SnapshotHeader(0, 1, 0, 0, 0, 2**63, 0, Treasury(bytes(32), 0))
    file = Endless(encode_header(head))
    header, parts = decode_snapshot(file)
    assert header == head
    before = file.reads
    for _ in range(1000):
        assert isinstance(next(parts), SnapshotOutput)
    assert file.reads == before + 1000


SNAPSHOT_OUTPUTS = st.builds(SnapshotOutput, exactly(34), IDS, OUTPUTS)
TREASURIES = st.builds(Treasury, IDS, U64)


@st.composite
def diffs(draw: st.DrawFn) -> MilestoneDiff:
    milestone = draw(milestones())
    treasury = None if milestone.receipt is None else draw(TREASURIES)
    created = draw(st.lists(SNAPSHOT_OUTPUTS, max_size=3).map(tuple))
    consumed = draw(st.lists(st.builds(SnapshotSpent, SNAPSHOT_OUTPUTS, IDS), max_size=3).map(tuple))
    return MilestoneDiff(milestone, treasury, created, consumed)


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[SnapshotHeader, list[SnapshotPart]]:
    treasury = draw(st.none() | TREASURIES)
    seps = draw(st.lists(st.builds(SolidEntryPoint, IDS), max_size=3))
    outputs = draw(st.lists(SNAPSHOT_OUTPUTS, max_size=3)) if treasury else []
    changes = draw(st.lists(diffs(), max_size=2))
    counts = (len(seps), len(outputs), len(changes))
    return SnapshotHeader(draw(U64), draw(U64), draw(U32), draw(U32), *counts, treasury), [*seps, *outputs, *changes]
