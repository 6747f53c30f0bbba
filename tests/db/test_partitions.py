"""Partitions and hints after every history: a simulated loader is killed between any two of its writes.

The simulator writes in the order of a load (lake, splits, tails, rows, hints, sync) into dicts. The invariants refer to
those dicts and to the loaded data, never to the loader's own bookkeeping.
"""

import random
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.partitions import hot_threshold, limit, lookup_key_text, ms_range_id, place, window, window_size
from tests import partition_model
from tests.partition_model import Splits, advance, grow

KEYS = ("hot", "warm", "cold")


class Crash(Exception):
    """The loader was killed."""


class Loader:
    """One lookup of one store, and the lake."""

    def __init__(self, chunk_size, partition_size):
        self.chunk_size, self.partition_size = chunk_size, partition_size
        self.lake = {}
        self.splits = {}
        self.tails = {}
        self.rows = {}
        self.hints = set()
        self.synced = set()

    def load(self, history, run, writes=10**9):
        """Loads the run's milestones; raises Crash instead of write number `writes` + 1."""
        budget = iter(range(writes))

        def write(do, *args):
            if next(budget, None) is None:
                raise Crash
            do(*args)

        run = sorted(run)
        write(self.lake.update, {index: history[index] for index in run})
        for range_id in sorted({ms_range_id(index, self.chunk_size) for index in run}):
            begun = [index for index in run if ms_range_id(index, self.chunk_size) == range_id]
            windows = {window(index, self.chunk_size) for index in begun}
            tail = self.tails.get(range_id, -1)
            for key in KEYS:
                inside = [
                    (index, counts[key])
                    for index, counts in sorted(self.lake.items())
                    if window(index, self.chunk_size) in windows and counts[key]
                ]
                grown = grow(
                    self.splits.get((range_id, key)),
                    inside,
                    begun,
                    tail,
                    chunk_size=self.chunk_size,
                    partition_size=self.partition_size,
                )
                if grown != self.splits.get((range_id, key)):
                    write(self.splits.__setitem__, (range_id, key), grown)
            write(self.tails.__setitem__, range_id, max(tail, begun[-1]))
        for index in run:
            for key in KEYS:
                for number in range(history[index][key]):
                    write(self.put_row, key, index, number)
        for index in run:
            for key in KEYS:
                if history[index][key]:
                    write(self.hints.add, (key, *self.place(key, index)))
        for index in run:
            write(self.synced.add, index)

    def place(self, key, index):
        range_id = ms_range_id(index, self.chunk_size)
        splits = self.splits.get((range_id, key))
        return range_id, place(splits.first_milestones if splits else (), index)

    def put_row(self, key, index, number):
        self.rows.setdefault((key, *self.place(key, index)), set()).add((index, number))

    def listing(self, key):
        """What a reader finds: hints, then partitions, then rows, newest first."""
        found = []
        for _, range_id, partition in sorted((hint for hint in self.hints if hint[0] == key), reverse=True):
            found += sorted(self.rows.get((key, range_id, partition), ()), reverse=True)
        return found


def check(loader, history, loaded):
    """All invariants once `loaded` has been loaded completely, whatever happened before."""
    for (key, range_id, partition), rows in loader.rows.items():
        for index, _ in rows:
            assert loader.place(key, index) == (range_id, partition), "a row stands only where place says"
    for key in KEYS:
        whole = sorted(((index, n) for index in loaded for n in range(history[index][key])), reverse=True)
        assert loader.listing(key) == whole, "a listing is the sorted set"
    assert loader.hints == set(loader.rows), "a hint stands exactly where rows do"
    assert loader.synced == set(loaded)


def partition_sizes(loader):
    return {place: len(rows) for place, rows in loader.rows.items()}


histories = st.lists(
    st.fixed_dictionaries(
        {"hot": st.integers(0, 6), "warm": st.integers(0, 1), "cold": st.sampled_from([0, 0, 0, 0, 1])}
    ),
    min_size=1,
    max_size=45,
)
sizes = {"chunk_size": st.integers(1, 20), "partition_size": st.integers(1, 6)}


@pytest.mark.thorough
@given(history=histories, seed=st.integers(0, 2**32), **sizes)
@settings(max_examples=300, deadline=None)
def test_any_history_ends_with_every_row_in_its_place(history, seed, chunk_size, partition_size):
    """Runs of any milestones in any order: overlapping, repeated, shuffled, killed between any two writes."""
    chance = random.Random(seed)
    loader = Loader(chunk_size, partition_size)
    left = set(range(len(history)))
    loaded = set()
    while left:
        size = chance.randint(1, 17)
        pool = range(len(history)) if chance.random() < 0.3 else sorted(left)
        start = chance.randrange(len(pool))
        run = pool[start : start + size] if chance.random() < 0.6 else chance.sample(list(pool), min(size, len(pool)))
        try:
            loader.load(history, run, chance.randint(0, 60) if chance.random() < 0.4 else 10**9)
        except Crash:
            if chance.random() < 0.5:
                continue
            loader.load(history, run)
        loaded |= set(run)
        left -= set(run)
    crashed = set(loader.lake) - loader.synced
    loader.load(history, sorted(crashed | {0}))
    check(loader, history, range(len(history)))


@given(history=histories, seed=st.integers(0, 2**32), **sizes)
@settings(max_examples=200, deadline=None)
def test_ascending_loads_keep_the_bound_however_they_are_cut(history, seed, chunk_size, partition_size):
    chance = random.Random(seed)
    loader = Loader(chunk_size, partition_size)
    first = 0
    while first < len(history):
        last = min(first + chance.randint(1, 17), len(history))
        while True:
            try:
                loader.load(history, range(first, last), chance.randint(0, 80) if chance.random() < 0.4 else 10**9)
                break
            except Crash:
                continue
        if chance.random() < 0.3:
            loader.load(history, range(chance.randint(0, first), last))
        first = last
    check(loader, history, range(len(history)))
    largest = {key: max((counts[key] for counts in history), default=0) for key in KEYS}
    for (key, *_), rows in partition_sizes(loader).items():
        assert rows <= partition_size + largest[key]


@given(history=histories, seed=st.integers(0, 2**32), **sizes)
@settings(max_examples=100, deadline=None)
def test_answers_do_not_depend_on_load_order_and_one_order_gives_one_layout(history, seed, chunk_size, partition_size):
    chance = random.Random(seed)
    at_once, again, shuffled = (Loader(chunk_size, partition_size) for _ in range(3))
    everything = list(range(len(history)))
    at_once.load(history, everything)
    for _ in range(2):
        again.load(history, everything)
    order = chance.sample(everything, len(everything))
    for index in order:
        shuffled.load(history, [index])
    assert [shuffled.listing(key) for key in KEYS] == [at_once.listing(key) for key in KEYS]
    assert again.__dict__ == at_once.__dict__


@given(history=histories, **sizes)
@settings(max_examples=60, deadline=None)
def test_a_run_that_was_killed_and_repeated_leaves_what_one_clean_run_leaves(history, chunk_size, partition_size):
    """Killed before each of the first writes, which include lake, splits and tails, and before some later ones."""
    clean = Loader(chunk_size, partition_size)
    everything = list(range(len(history)))
    clean.load(history, everything)
    for writes in [*range(12), 20, 40, 80]:
        killed = Loader(chunk_size, partition_size)
        try:
            killed.load(history, everything, writes)
        except Crash:
            killed.load(history, everything)
        assert killed.__dict__ == clean.__dict__


def test_a_hot_key_at_the_default_size_is_cut_near_half_of_it():
    """100 rows per milestone in one range of 100 000: partitions of 50 000 rows, 500 milestones each."""
    rows = [(index, 100) for index in range(2_000)]
    splits = grow(None, rows, range(2_000), -1, chunk_size=100_000, partition_size=100_000)
    assert splits == Splits((500, 1000, 1500), 50_000, 1_999)


def test_a_key_below_the_threshold_is_never_split():
    """49 rows a window, in each of the 1000 windows of a range: 49 000 rows in one partition."""
    rows = [(index, 49 if index % 100 == 0 else 0) for index in range(100_000)]
    assert grow(None, rows, range(100_000), -1, chunk_size=100_000, partition_size=100_000) is None
    assert hot_threshold(100_000, 100_000) == 50


def test_a_newly_hot_key_starts_with_the_earlier_rows_of_its_window():
    rows = [(3, 40), (7, 8), (11, 5)]
    splits = grow(None, rows, [11], 7, chunk_size=100_000, partition_size=100_000)
    assert splits == Splits((), 53, 11)


def test_a_gap_filled_later_changes_no_split():
    before = Splits((5,), 3, 9)
    rows = [(index, 9) for index in range(10)]
    assert grow(before, rows, [2, 3, 6], 9, chunk_size=10, partition_size=4) == before


@pytest.mark.parametrize(
    ("firsts", "milestone", "partition"),
    [((), 0, 0), ((), 99, 0), ((5, 9), 4, 0), ((5, 9), 5, 5), ((5, 9), 8, 5), ((5, 9), 9, 9), ((5, 9), 1000, 9)],
)
def test_place_is_the_greatest_split_at_or_below(firsts, milestone, partition):
    assert place(firsts, milestone) == partition


@given(firsts=st.sets(st.integers(1, 300)), milestone=st.integers(0, 400))
def test_place_is_the_model_s(firsts, milestone):
    assert place(sorted(firsts), milestone) == partition_model.place(sorted(firsts), milestone)


def test_advance_splits_only_where_rows_come_and_the_open_partition_is_full():
    assert advance((), 0, [(1, 2), (2, 0), (3, 1), (4, 5), (5, 0), (6, 1)], 3) == ((4, 6), 1)
    assert advance((4,), 3, [], 3) == ((4,), 3)


@given(chunk_size=st.integers(1, 1000), milestone=st.integers(0, 10**6))
def test_windows_are_aligned_inside_their_range_and_no_longer_than_100(chunk_size, milestone):
    first = window(milestone, chunk_size)
    assert first <= milestone < first + window_size(chunk_size)
    assert 1 <= window_size(chunk_size) <= min(100, chunk_size)
    assert ms_range_id(first, chunk_size) == ms_range_id(milestone, chunk_size)
    assert (first - ms_range_id(first, chunk_size) * chunk_size) % window_size(chunk_size) == 0


@given(chunk_size=st.integers(1, 100_000), partition_size=st.integers(1, 10**6))
def test_windows_that_are_not_hot_hold_less_than_the_limit_together(chunk_size, partition_size):
    windows = -(-chunk_size // window_size(chunk_size))
    assert windows * (hot_threshold(partition_size, chunk_size) - 1) < limit(partition_size)
    assert hot_threshold(partition_size, chunk_size) >= 1


def test_the_defaults_are_those_of_the_design():
    assert (window_size(100_000), limit(100_000), hot_threshold(100_000, 100_000)) == (100, 50_000, 50)


def test_key_texts_are_joined_by_colons():
    assert lookup_key_text((b"\x00\xab", "legacy", "address", True)) == "00ab:legacy:address:true"
    assert lookup_key_text(("00ab", "", False, 7)) == "00ab::false:7"
    assert lookup_key_text((b"",)) == ""


def test_the_simulator_itself_notices_a_row_out_of_place():
    loader = Loader(5, 2)
    history = [{"hot": 3, "warm": 0, "cold": 0} for _ in range(5)]
    loader.load(history, range(5))
    check(loader, history, range(5))
    assert Counter(key for key, *_ in loader.rows)["hot"] > 1
    misplaced = defaultdict(set, loader.rows)
    misplaced["hot", 0, 0].add((4, 0))
    loader.rows = dict(misplaced)
    with pytest.raises(AssertionError, match="only where place says"):
        check(loader, history, range(5))
