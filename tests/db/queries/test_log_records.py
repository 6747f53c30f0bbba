"""The records of the transparency log on both stores, compared with the log's order by its definition."""

from hashlib import sha256

import pytest

from db import schema
from db.queries.log_records import PROVED_FROM, PROVED_TO, closed_records, find_proved, find_records, get_cover_record
from db.store import WritableStore
from ledger.completeness.intervals import Interval, cover
from ledger.completeness.records import IntervalRecord
from ledger.completeness.trees import cover_record
from ledger.transparency.positions import Cover, closed_by
from ledger.transparency.records import MilestoneRecord, Record
from tests.db.stores import CHUNK_SIZE

FIRST, LAST = 3, 1_207


def hashed(*parts: object) -> bytes:
    return sha256(repr(parts).encode()).digest()


def milestone(index: int) -> MilestoneRecord:
    return MilestoneRecord(
        index, hashed("id", index), 1_600_000_000 + index, index % 5, hashed("m", index), hashed("c", index)
    )


def interval_record(interval: Interval) -> IntervalRecord:
    return IntervalRecord(interval, interval.number + 1, hashed(interval))


def expected(first: int, last: int) -> list[list[Record]]:
    """The records that the log gets with each milestone."""
    found: list[list[Record]] = []
    for index in range(first, last + 1):
        records: list[Record] = [milestone(index)]
        for each in closed_by(first, index):
            if isinstance(each, Cover):
                records.append(cover_record([interval_record(one) for one in cover(first, each.end)]))
            else:
                records.append(interval_record(each))
        found.append(records)
    return found


@pytest.fixture
def filled(store: WritableStore) -> WritableStore:
    milestones = [milestone(index) for index in range(FIRST, LAST + 1)]
    intervals = [
        each for index in range(FIRST, LAST + 1) for each in closed_by(FIRST, index) if isinstance(each, Interval)
    ]
    with store.batch() as batch:
        batch.upsert(
            schema.milestone_roots,
            schema.milestone_roots.names,
            [
                (
                    each.index // CHUNK_SIZE,
                    each.index,
                    each.milestone_id,
                    each.unix_time,
                    each.message_count,
                    each.messages_root,
                    each.changes_root,
                )
                for each in milestones
            ],
        )
        batch.upsert(
            schema.interval_roots,
            schema.interval_roots.names,
            [
                (
                    each.interval.end // CHUNK_SIZE,
                    each.interval.end,
                    each.interval.level,
                    each.key_count,
                    each.root,
                    b"",
                )
                for each in map(interval_record, intervals)
            ],
        )
        batch.upsert(
            schema.keyspace_info, schema.keyspace_info.names, [(PROVED_FROM, str(FIRST)), (PROVED_TO, str(LAST))]
        )
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [("chunk_size", str(CHUNK_SIZE))])
    return store


async def test_records_come_in_the_order_of_the_log(filled: WritableStore) -> None:
    assert await find_proved(filled) == range(FIRST, LAST + 1)
    wanted = expected(FIRST, LAST)
    for after, to in (
        (FIRST - 1, LAST),
        (FIRST - 1, FIRST),
        (99, 99),
        (198, 199),
        (199, 400),
        (398, 399),
        (807, 1_200),
        (LAST, LAST),
    ):
        found = [each async for each in closed_records(filled, FIRST, after, to)]
        assert found == [each for records in wanted[after + 1 - FIRST : to + 1 - FIRST] for each in records]


async def test_a_cover_has_the_record_of_the_log(filled: WritableStore) -> None:
    assert await get_cover_record(filled, FIRST, 1_199) == expected(FIRST, LAST)[1_199 - FIRST][-1]
    assert await find_records(filled, [Interval(1, 1)]) == [interval_record(Interval(1, 1))]


async def test_a_store_without_records_has_none(store: WritableStore) -> None:
    with store.batch() as batch:
        for name in (PROVED_FROM, PROVED_TO):
            batch.delete(schema.keyspace_info, (name,))
    assert await find_proved(store) is None
