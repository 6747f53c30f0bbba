"""Encodings of records, written byte by byte."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.completeness.intervals import Interval, cover
from ledger.completeness.trees import cover_record
from ledger.transparency.errors import LogError
from ledger.transparency.positions import Cover
from ledger.transparency.records import CoverRecord, IntervalRecord, MilestoneRecord, Record, parse_record

HASHES = st.binary(min_size=32, max_size=32)

U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)

RECORDS = (
    st.builds(
        MilestoneRecord,
        index=U32,
        milestone_id=HASHES,
        unix_time=U64,
        message_count=U32,
        messages_root=HASHES,
        changes_root=HASHES,
    )
    | st.builds(IntervalRecord, interval=st.builds(Interval, st.integers(0, 7), U32), key_count=U64, root=HASHES)
    | st.builds(CoverRecord, cover=st.builds(Cover, U32), interval_count=U64, root=HASHES)
)

MILESTONE = MilestoneRecord(258, b"m" * 32, 1_600_000_000, 7, b"a" * 32, b"b" * 32)

INTERVAL = IntervalRecord(Interval(3, 258), 2**40, b"r" * 32)


def test_records_have_the_documented_layout() -> None:
    assert bytes(MILESTONE) == (
        b"\xfe" + b"\0\0\1\2" + b"m" * 32 + bytes.fromhex("000000005f5e1000") + b"\0\0\0\7" + b"a" * 32 + b"b" * 32
    )
    assert bytes(INTERVAL) == b"\3" + b"\0\0\1\2" + bytes.fromhex("0000010000000000") + b"r" * 32
    assert bytes(CoverRecord(Cover(258), 3, b"r" * 32)) == b"\xff" + b"\0\0\1\2" + bytes(7) + b"\3" + b"r" * 32


@given(RECORDS)
def test_each_record_has_one_encoding(record: Record) -> None:
    assert parse_record(bytes(record)) == record


@given(RECORDS, st.data())
def test_changed_bytes_are_another_record_or_none(record: Record, data: st.DataObject) -> None:
    encoded = bytearray(bytes(record))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        found = parse_record(bytes(encoded))
    except LogError:
        return
    assert found != record
    assert bytes(found) == encoded


@pytest.mark.parametrize(
    "data",
    [b"", b"\xfe", bytes(MILESTONE)[:-1], bytes(MILESTONE) + b"\0", b"\3" + bytes(MILESTONE)[1:],
     b"\xfe" + bytes(INTERVAL)[1:], b"\x08" + bytes(INTERVAL)[1:], b"\xfd" + bytes(INTERVAL)[1:], bytes(INTERVAL)[:-1]],
)  # fmt: skip
def test_other_data_are_no_records(data: bytes) -> None:
    with pytest.raises(LogError):
        parse_record(data)


def test_proofs_of_listings_lead_to_these_records() -> None:
    trees = [IntervalRecord(interval, 2**40, b"r" * 32) for interval in cover(1, 1_299)]
    record = cover_record(trees)
    assert (record.cover, record.interval_count) == (Cover(12), 4)
    assert parse_record(bytes(record)) == record


def test_hashes_of_other_lengths_are_not_encoded() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        bytes(replace(MILESTONE, milestone_id=bytes(31)))
    with pytest.raises(ValueError, match="32 bytes"):
        bytes(replace(INTERVAL, root=bytes(33)))
