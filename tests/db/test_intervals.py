"""Interval arithmetic, compared with sets of integers."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.intervals import (
    add,
    contains,
    format_intervals,
    gaps,
    in_words,
    intersect,
    intervals,
    nth,
    of_indices,
    parse_intervals,
    size,
    span,
    subtract,
)

sets = st.sets(st.integers(0, 40))


def members(value):
    return {index for first, last in value for index in range(first, last + 1)}


def is_in_the_one_form(value):
    return all(first <= last for first, last in value) and all(
        left[1] + 1 < right[0] for left, right in pairwise(value)
    )


@given(sets)
def test_the_nth_is_counted_from_the_lowest(indices):
    value = of_indices(indices)
    assert [nth(value, position) for position in range(size(value))] == sorted(indices)
    with pytest.raises(IndexError):
        nth(value, size(value))


@given(sets, st.none() | st.integers(0, 42), st.none() | st.integers(0, 42))
def test_a_span_has_all_milestones_between_its_ends(indices, first, last):
    start = min(indices, default=99) if first is None else first
    end = max(indices, default=-99) + 1 if last is None else last
    assert members(span(of_indices(indices), first, last)) == set(range(start, end)) - {0}


@given(sets, sets)
def test_they_are_sets(left, right):
    a, b = of_indices(left), of_indices(right)
    for value, wanted in (
        (a, left),
        (add(a, b), left | right),
        (intersect(a, b), left & right),
        (subtract(a, b), left - right),
        (gaps(a, 5, 30), set(range(5, 31)) - left),
    ):
        assert members(value) == wanted
        assert is_in_the_one_form(value)
    assert size(a) == len(left)
    assert all(contains(a, index) == (index in left) for index in range(42))
    assert parse_intervals(format_intervals(a)) == a


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair)))))
def test_any_parts_come_into_one_form(parts):
    assert members(intervals(parts)) == members(parts)
    assert is_in_the_one_form(intervals(parts))


def test_the_text_is_json():
    assert json.loads(format_intervals([(0, 0), (3, 5)])) == [[0, 0], [3, 5]]
    assert parse_intervals("[]") == []


@pytest.mark.parametrize(("first", "last", "wanted"), [(0, 0, []), (1, 1, [(1, 1)]), (0, 9, [(1, 2), (6, 9)])])
def test_gaps_end_where_requested(first, last, wanted):
    assert gaps([(0, 0), (3, 5)], first, last) == wanted


def test_in_words_there_are_twenty_at_most():
    assert in_words([]) == "none"
    assert in_words([(1, 20), (22, 22)]) == "1:21, 22"
    assert in_words([(3 * index, 3 * index) for index in range(25)]).endswith(", 57 and 5 more")
