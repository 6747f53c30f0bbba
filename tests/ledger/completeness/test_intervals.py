"""Intervals of milestones, their covers, and their places in a log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.completeness.intervals import (
    Interval,
    closing,
    complete_from,
    complete_to,
    cover,
    is_end,
    log_place,
    log_place_of_cover,
)

FIRSTS = st.integers(1, 3_000)


def milestones(interval: Interval) -> range:
    return range(interval.start, interval.end + 1)


@given(FIRSTS, st.integers(0, 60))
def test_a_cover_has_every_milestone_once_and_the_largest_intervals(first: int, more: int) -> None:
    end = complete_from(first) + 100 * (more + 1) - 1
    intervals = cover(first, end)
    found = [milestone for each in intervals for milestone in milestones(each)]
    assert found == list(range(complete_from(first), end + 1))
    for level, number in intervals:
        parent = Interval(level + 1, number // 4)
        assert parent.start < complete_from(first) or parent.end > end


def test_eight_million_milestones_have_at_most_23_intervals() -> None:
    assert cover(1, 6_553_599) == [Interval(7, number) for number in range(4)]
    assert max(len(cover(1, end)) for end in range(7_800_099, 8_000_000, 100)) == 23


@pytest.mark.parametrize(
    ("first", "frontier", "end"),
    [(1, 98, None), (1, 99, 99), (1, 198, 99), (1, 199, 199), (2, 99, None), (2, 199, 199), (100, 199, 199)],
)
def test_listings_are_complete_up_to_the_last_complete_interval(first: int, frontier: int, end: int | None) -> None:
    assert complete_to(first, frontier) == end
    assert end is None or is_end(first, end)


@pytest.mark.parametrize(("first", "end"), [(1, 98), (1, 100), (2, 99), (101, 199), (0, 99), (1, (1 << 32) + 3)])
def test_other_ends_have_no_cover(first: int, end: int) -> None:
    with pytest.raises(ValueError, match="last milestone of an interval"):
        cover(first, end)


@given(FIRSTS, st.lists(st.integers(1, 2_500), min_size=1, max_size=4))
def test_what_closes_and_its_place_in_the_log_do_not_depend_on_the_steps(first: int, steps: list[int]) -> None:
    frontier = first - 1
    found = []
    for step in steps:
        found += closing(first, frontier, frontier + step)
        frontier += step
    assert found == list(closing(first, first - 1, frontier))
    log: list[object] = []
    for milestone in range(first, frontier + 1):
        log.append(milestone)
        closed = [
            Interval(level, milestone // size)
            for level, size in enumerate((100, 400, 1_600, 6_400, 25_600))
            if (milestone + 1) % size == 0 and milestone + 1 - size >= (first if first > 1 else 0)
        ]
        log += closed
        if closed:
            log.append(("cover", milestone))
            assert log[log_place_of_cover(first, milestone)] == ("cover", milestone)
    assert [each for each in log if isinstance(each, Interval)] == found
    assert [log[log_place(first, each)] for each in found] == found


def test_the_greatest_milestones_have_intervals() -> None:
    end = (1 << 32) - 96 - 1
    assert end % 100 == 99
    assert [each.level for each in cover(1, end)][-4:] == [2, 2, 1, 1]
    assert log_place_of_cover(1, end) < 1 << 33
