"""Indexes of records, compared with a log that is written record by record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.completeness.intervals import MILESTONE_MOST, Interval
from ledger.transparency.positions import (
    Cover,
    closed_by,
    index_of_cover,
    index_of_interval,
    index_of_milestone,
    position_at,
    size_after,
)


def written(first: int, last: int) -> list[int | Interval | Cover]:
    """The log by its definition: an interval follows its last milestone if the log has all its milestones. A cover
    follows the intervals.
    """
    found: list[int | Interval | Cover] = []
    for milestone in range(first, last + 1):
        found.append(milestone)
        for level, size in enumerate((100, 400, 1_600, 6_400, 25_600)):
            begins = milestone + 1 - size
            if (milestone + 1) % size == 0 and (begins >= first or (begins == 0 and first == 1)):
                found.append(Interval(level, begins // size))
        if not isinstance(found[-1], int):
            found.append(Cover(milestone // 100))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("first", [1, 2, 99, 100, 101, 950, 1_000, 1_001, 9_000, 10_000])
def test_every_record_is_at_its_index(first: int) -> None:
    log = written(first, 21_500)
    for index, record in enumerate(log):
        if isinstance(record, int):
            assert index_of_milestone(first, record) == index
        else:
            place = index_of_cover(first, record) if isinstance(record, Cover) else index_of_interval(first, record)
            assert place == index
            assert record in closed_by(first, record.end)
    assert size_after(first, 21_500) == len(log)
    for index in {*range(0, len(log), 37), *range(len(log) - 130, len(log))}:
        assert position_at(first, index) == log[index]


def test_smaller_intervals_come_first_and_a_cover_last() -> None:
    assert written(1, 400)[-6:] == [398, 399, Interval(0, 3), Interval(1, 0), Cover(3), 400]
    assert closed_by(1, 3_199) == [Interval(0, 31), Interval(1, 7), Interval(2, 1), Cover(31)]
    assert closed_by(1, 3_198) == []
    assert closed_by(3_150, 3_199) == []
    assert closed_by(3_100, 3_199) == [Interval(0, 31), Cover(31)]


@given(st.integers(1, MILESTONE_MOST), st.data())
def test_positions_of_large_ledgers_are_inverse_to_indexes(first: int, data: st.DataObject) -> None:
    milestone = data.draw(st.integers(first, MILESTONE_MOST))
    index = index_of_milestone(first, milestone)
    assert position_at(first, index) == milestone
    for behind, record in enumerate(closed_by(first, milestone), start=1):
        place = index_of_cover(first, record) if isinstance(record, Cover) else index_of_interval(first, record)
        assert place == index + behind
        assert position_at(first, index + behind) == record
    assert size_after(first, milestone) == index + 1 + len(closed_by(first, milestone))


def test_there_are_no_indexes_outside_a_log() -> None:
    for milestone in (9, MILESTONE_MOST + 1):
        with pytest.raises(ValueError, match="expected a milestone from 10"):
            index_of_milestone(10, milestone)
    for first, milestone in ((10, 8), (0, 5)):
        with pytest.raises(ValueError, match="expected a milestone from"):
            size_after(first, milestone)
    assert size_after(10, 9) == 0
    with pytest.raises(ValueError, match="begins with milestone 101"):
        index_of_interval(101, Interval(0, 1))
    with pytest.raises(ValueError, match="from milestone 101 on"):
        index_of_cover(101, Cover(1))
    for index in (-1, size_after(1, MILESTONE_MOST)):
        with pytest.raises(ValueError, match="expected an index"):
            position_at(1, index)
