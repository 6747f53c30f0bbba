"""Hornet 2.x snapshot files: those of its integration tests, generated ones in both directions, and damaged ones."""

from io import BytesIO

import pytest
from hypothesis import strategies as st

from ledger.chrysalis.snapshot import SolidEntryPoint, Treasury
from ledger.reader import CodecError
from ledger.stardust.protocol_parameters import decode_parameters
from ledger.stardust.snapshot import (
    BookedOutput,
    BookedSpent,
    DeltaHeader,
    Diff,
    FullHeader,
    Header,
    Part,
    decode_snapshot,
    encode_header,
    encode_part,
)
from ledger.stardust.values import ParametersOption, ReceiptOption
from tests.ledger.cases import load
from tests.ledger.stardust.test_stardust_properties import IDS, MILESTONES, OUTPUTS, U8, U32, U64, exactly

FILES = {each["source"]: bytes.fromhex(each["bytes_hex"]) for each in load("snapshots", "stardust")["snapshots"]}
FOLDER = "stardust/snapshots"
FULL, DELTA = (FILES[f"{FOLDER}/snapshot_{kind}_snapshot.bin"] for kind in ("full", "delta"))
SUPPLY = 2_779_530_283_277_761


def decode(data: bytes) -> tuple[Header, list[Part]]:
    header, parts = decode_snapshot(BytesIO(data))
    return header, list(parts)


def encode(header: Header, parts: list[Part]) -> bytes:
    return encode_header(header) + b"".join(map(encode_part, parts))


@pytest.mark.parametrize("source", FILES)
def test_a_file_is_written_again_byte_for_byte(source: str) -> None:
    header, parts = decode(FILES[source])
    outputs = header.output_count if isinstance(header, FullHeader) else 0
    kinds = [BookedOutput] * outputs + [Diff] * header.diff_count + [SolidEntryPoint] * header.sep_count
    assert [type(each) for each in parts] == kinds
    assert encode(header, parts) == FILES[source]


def test_the_header_of_a_full_snapshot() -> None:
    header, _ = decode(FULL)
    assert isinstance(header, FullHeader)
    assert (header.genesis_milestone_index, header.target_milestone_index, header.ledger_milestone_index) == (0, 1, 3)
    assert header.treasury == Treasury(bytes(32), SUPPLY - 30_000_000)
    parameters = decode_parameters(header.parameters.params)
    assert (parameters.network_name, parameters.bech32_hrp, parameters.token_supply) == ("alphanet1", "atoi", SUPPLY)


def test_the_ledger_that_hornets_integration_test_expects() -> None:
    """Full from milestone 3 back to 1, delta up to 5; the supply is the same at each, and one output is left."""
    full, parts = decode(FULL)
    assert isinstance(full, FullHeader)
    ledger = {part.output_id: part.output.amount for part in parts if isinstance(part, BookedOutput)}
    treasury, index = full.treasury.amount, full.ledger_milestone_index
    for part in parts:
        if isinstance(part, Diff):
            assert part.milestone.index == index
            for output in part.created:
                assert ledger.pop(output.output_id) == output.output.amount
            ledger |= {each.spent.output_id: each.spent.output.amount for each in part.consumed}
            index -= 1
            assert sum(ledger.values()) + treasury == SUPPLY
    assert index == full.target_milestone_index
    delta, parts = decode(DELTA)
    for part in parts:
        if isinstance(part, Diff):
            index += 1
            assert part.milestone.index == index
            ledger |= {each.output_id: each.output.amount for each in part.created}
            for each in part.consumed:
                assert ledger.pop(each.spent.output_id) == each.spent.output.amount
            receipts = [each for each in part.milestone.options if isinstance(each, ReceiptOption)]
            assert (part.spent_treasury is None) == (not receipts)
            if part.spent_treasury:
                assert part.spent_treasury.amount == treasury
                treasury = receipts[0].transaction.output.amount
            assert sum(ledger.values()) + treasury == SUPPLY
    assert index == delta.target_milestone_index == 5
    assert (len(ledger), treasury) == (1, SUPPLY - 40_000_000)


@pytest.mark.parametrize("source", FILES)
def test_a_file_that_is_cut_off_at_any_byte_is_rejected_there(source: str) -> None:
    data = FILES[source]
    for size in range(len(data)):
        with pytest.raises(CodecError, match="expected") as rejected:
            decode(data[:size])
        assert rejected.value.offset <= size


OPTION_AT = 2 + 48 + 40  # of FULL: head, milestones, treasury
OUTPUT_AT = OPTION_AT + 2 + 43 + 14  # length, option, counts


@pytest.mark.parametrize(
    ("data", "offset", "value", "rejected_at", "expected"),
    [
        (FULL, 0, b"\1", 0, r"version 2 of a Hornet snapshot \(Stardust\), found version 1"),
        (FULL, 1, b"\2", 1, r"snapshot type 0 \(full\) or 1 \(delta\), found 2"),
        (FULL, OPTION_AT, b"\x2c", OPTION_AT + 45, "the end, found 1 more bytes"),
        (FULL, OPTION_AT + 2, b"\0", OPTION_AT + 2, r"milestone option type 1 \(protocol parameters\), found 0"),
        (
            FULL,
            OUTPUT_AT + 74,
            b"\xff" * 4,
            OUTPUT_AT + 74,
            "a transfer output of at most 32768 bytes",
        ),
        (FULL, OUTPUT_AT + 78, b"\0", OUTPUT_AT + 78, "output type 3 .*, found 0"),
        (FULL, OPTION_AT + 45, b"\xff" * 8, None, "output"),
        (DELTA, 42, b"\0", 3912, "the solid entry points at byte 3840, as the header says"),
        (DELTA, 56, b"\0", 56, "a milestone diff's size, which is 948, found 768"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(
    data: bytes, offset: int, value: bytes, rejected_at: int | None, expected: str
) -> None:
    with pytest.raises(CodecError, match=expected) as rejected:
        decode(data[:offset] + value + data[offset + len(value) :])
    assert rejected_at in (None, rejected.value.offset)


BOOKED = st.builds(BookedOutput, exactly(34), IDS, U32, U32, OUTPUTS)
TREASURIES = st.builds(Treasury, IDS, U64)
PARAMETERS = st.builds(ParametersOption, U32, U8, st.binary(max_size=60))
SEPS = st.lists(st.builds(SolidEntryPoint, IDS), max_size=3)


@st.composite
def diffs(draw: st.DrawFn) -> Diff:
    milestone = draw(MILESTONES)
    has_receipt = any(isinstance(each, ReceiptOption) for each in milestone.options)
    treasury = draw(TREASURIES) if has_receipt else None
    created = draw(st.lists(BOOKED, max_size=2).map(tuple))
    return Diff(
        milestone, treasury, created, draw(st.lists(st.builds(BookedSpent, BOOKED, IDS), max_size=2).map(tuple))
    )


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[Header, list[Part]]:
    outputs, changes, seps = draw(st.lists(BOOKED, max_size=3)), draw(st.lists(diffs(), max_size=2)), draw(SEPS)
    if draw(st.booleans()):
        counts = (len(outputs), len(changes), len(seps))
        header = FullHeader(
            draw(U32), draw(U32), draw(U32), draw(IDS), draw(U32), draw(TREASURIES), draw(PARAMETERS), *counts
        )
        return header, [*outputs, *changes, *seps]
    target = draw(U32), draw(U32), draw(IDS)
    at = len(encode_header(DeltaHeader(*target, 0, 0, 0))) + sum(len(encode_part(each)) for each in changes)
    return DeltaHeader(*target, at, len(changes), len(seps)), [*changes, *seps]
