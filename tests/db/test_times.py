"""Listings between two times: the same rows as a plain filter, whatever the milestones' times."""

import asyncio
import itertools
import random

import pytest
from hypothesis import strategies as st

from db import schema, sync
from db.listing.cursor import CursorError
from db.partitions import place
from db.queries import messages, outputs
from db.times import FOREVER, find_window
from tests.db.examples import examples
from tests.db.listing.test_chronicle_state import state
from tests.db.listing.test_paging import CHUNK_SIZE, Counting, fresh_tags, message_id, pages, put_pending

LAST = 30
STATES = ("complete", "incomplete", "missing")


def put_milestones(store, network, clock, states):
    """sync and ranges of milestones 0…: their times, and whether each is complete, has rejects or is missing."""
    rows = [
        dict.fromkeys(schema.sync.names)
        | {
            "ms_range_id": index // CHUNK_SIZE,
            "milestone_index": index,
            "ms_timestamp": time,
            "synced_by": 0 if state == "complete" else None,
            "layout": schema.LAYOUT if state == "complete" else None,
        }
        for index, (time, state) in enumerate(zip(clock, states, strict=True))
        if state != "missing"
    ]
    ranges = [
        sync.range_row(network, range_id, list(members))
        for range_id, members in itertools.groupby(rows, key=lambda row: row["ms_range_id"])
    ]
    with store.batch() as batch:
        for table, members in ((schema.sync, rows), (schema.ranges, ranges)):
            batch.upsert(table, table.names, [tuple(row[name] for name in table.names) for row in members])


def put_tagged(store, key, rows, clock, firsts):
    placed = [(m // CHUNK_SIZE, _place(firsts, m), m, i) for m, i in rows]
    with store.batch() as batch:
        columns = (*schema.tags.key, "ms_timestamp")
        batch.upsert(schema.tags, columns, [(key, *row, clock[row[2]]) for row in placed])
        batch.upsert(schema.tag_hints, schema.tag_hints.names, {(key, "message", *row[:2]) for row in placed})


def put_children(store, key, rows, clock, firsts):
    with store.batch() as batch:
        columns = (*schema.parents.key, "ms_timestamp")
        batch.upsert(schema.parents, columns, [(key, m, i, clock[m]) for m, i in rows])


def put_outputs(store, key, rows, clock, firsts):
    """Half of them are included, the others belong to transactions that never were."""
    lookup = (key, "legacy", "address")
    placed = [(*lookup, n % 2 == 0, m // CHUNK_SIZE, _place(firsts, m), m, i) for n, (m, i) in enumerate(rows)]
    with store.batch() as batch:
        columns = (*schema.outputs_by_address.key, "ms_timestamp")
        batch.upsert(
            schema.outputs_by_address,
            columns,
            [(*row, message_id + b"\0\0", message_id, clock[row[-1]]) for *row, message_id in placed],
        )
        batch.upsert(schema.addresses_hints, schema.addresses_hints.names, {row[:6] for row in placed})


def _place(firsts, m):
    return place([f for f in firsts if f // CHUNK_SIZE == m // CHUNK_SIZE], m)


def list_all_outputs(store, address, **page):
    return outputs.list_outputs_by_address(store, address, included=False, **page)


LISTINGS = {
    "tags": (put_tagged, messages.list_tagged),
    "children": (put_children, messages.list_children),
    "outputs": (put_outputs, list_all_outputs),
}


@st.composite
def clocks(draw):
    """Times of milestones 0…LAST that mostly rise, sometimes repeat and sometimes fall."""
    steps = draw(st.lists(st.sampled_from((-4, -1, 0, 0, 1, 1, 2, 3)), min_size=LAST + 1, max_size=LAST + 1))
    return [100 + each for each in itertools.accumulate(steps)]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", LISTINGS)
@examples(data=st.data(), clock=clocks(), newest=st.booleans())
def test_a_listing_between_two_times_is_what_a_plain_filter_gives(store, kind, data, clock, newest):
    put, ask_for = LISTINGS[kind]
    key = next(fresh_tags)
    network = key.hex()
    states = data.draw(st.lists(st.sampled_from(STATES), min_size=LAST + 1, max_size=LAST + 1))
    if data.draw(st.booleans()):
        states = ["complete"] * len(states)
    known = [index for index, state in enumerate(states) if state != "missing"]
    chosen = data.draw(st.lists(st.sampled_from(known), max_size=25)) if known else []
    rows = [(m, message_id((key, n))) for n, m in enumerate(chosen)]
    put_milestones(store, network, clock, states)
    put(store, key, rows, clock, sorted(data.draw(st.sets(st.integers(0, LAST), max_size=6))))
    bound = st.integers(min(clock) - 2, max(clock) + 2)
    start, end = data.draw(st.tuples(st.just(0) | bound, st.just(FOREVER) | bound))
    wanted = [i.hex() for m, i in sorted(rows, reverse=newest) if start <= clock[m] < end]

    async def check():
        window = await find_window(store, network, start, end)

        async def ask(**page):
            return await ask_for(store, key.hex(), window=window, **page)

        for page_size in [*range(1, len(wanted) + 2), 1000]:
            found = await pages(ask, page_size, newest)
            assert [row["message_id"] for page in found for row in page.rows] == wanted
            assert [len(page.rows) for page in found[:-1]] == [page_size] * (len(found) - 1)
            assert found[-1].rows or not wanted

    asyncio.run(check())


async def test_only_ranges_that_a_window_cannot_meet_are_dropped(store):
    clock = [10, 20, 30, 40, 50, 60, 70] + [90, 80, 90, 100, 100, 110, 75] + [80] * 7 + [1, 120, 130, 140]
    states = ["complete"] * 21 + ["incomplete"] + ["complete"] * 3
    put_milestones(store, "n", clock, states)

    async def milestones(*window):
        return (await find_window(store, "n", *window)).milestones

    assert await milestones() == [(0, 24)]
    assert await milestones(20, 41) == [(1, 3), (21, 24)], "a rising range is cut, one with rejects is not judged"
    assert await milestones(15, 16) == [(21, 24)], "no milestone between two others"
    assert await milestones(70, 76) == [(6, 13), (21, 24)], "a range whose clock falls is taken whole"
    assert await milestones(80, 81) == [(7, 24)], "standing still is rising"
    assert await milestones(81, 90) == [(7, 13), (21, 24)]
    assert await milestones(80, 80) == [], "half-open"
    assert await milestones(200) == [(21, 24)]
    assert (await find_window(store, "another")).milestones == []


async def test_a_window_far_back_reads_what_it_shows_and_searches_by_halving(store):
    """A thousand rows are newer than the window and as many are older: the listing reads none of them."""
    count, key = 2100, b"popular"
    clock = list(range(count))
    put_milestones(store, "n", clock, ["complete"] * count)
    put_tagged(store, key, [(m, message_id(m)) for m in range(count)], clock, [])
    for newest in (True, False):
        counting = Searching(store)
        window = await find_window(counting, "n", 1003, 1033)
        assert counting.searched <= 2 * 3, "seven milestones a range, two ranges cut"
        page = await messages.list_tagged(counting, key.hex(), window=window, newest=newest, page_size=10, cursor=None)
        assert len(page.rows) == 10
        assert page.rows[0]["milestone_index"] == (1032 if newest else 1003)
        assert counting.rows["tags"] <= 3 * 11
        assert counting.rows["tag_hints"] <= 51
        whole = await messages.list_tagged(
            counting, key.hex(), window=window, newest=newest, page_size=100, cursor=page.cursor
        )
        assert (len(whole.rows), whole.cursor) == (20, None)
        assert counting.rows["tags"] <= 3 * 11 + 20 + 7, "not a range beyond the window's end"


class Searching(Counting):
    """Also counts the single rows of `sync`."""

    searched = 0

    async def get(self, table, key):
        self.searched += table is schema.sync
        return await super().get(table, key)


async def test_a_clock_that_jumps_is_still_bounded_work(store):
    """Where times fall inside each range, no rows can be skipped, so a page ends after that many rows with a cursor."""
    count, key = 3500, b"jumping"
    clock = [10 if m % 7 else 1000 for m in range(count)]
    put_milestones(store, "n", clock, ["complete"] * count)
    put_tagged(store, key, [(m, message_id(m)) for m in range(count)], clock, [])
    window = await find_window(store, "n", 500, 900)
    cursor, read = None, []
    for _ in range(13):
        counting = Counting(store)
        page = await messages.list_tagged(counting, key.hex(), window=window, newest=True, page_size=1, cursor=cursor)
        assert page.rows == []
        read.append(counting.rows["tags"])
        cursor = page.cursor
        if cursor is None:
            break
    assert cursor is None
    assert max(read) <= 400
    assert sum(read) >= count


async def test_pending_rows_lie_in_no_window(store):
    key = b"waiting"
    put_milestones(store, "n", [10, 20], ["complete"] * 2)
    put_tagged(store, key, [(0, message_id(0)), (1, message_id(1))], [10, 20], [])
    put_pending(store, "tags", key.hex(), [(2, message_id(2))])
    plain = await messages.list_tagged(store, key.hex(), newest=True, page_size=9, cursor=None)
    assert [row["message_id"] for row in plain.rows] == [message_id(n).hex() for n in (2, 1, 0)]
    window = await find_window(store, "n")
    page = await messages.list_tagged(store, key.hex(), window=window, newest=True, page_size=9, cursor=None)
    assert [row["message_id"] for row in page.rows] == [message_id(n).hex() for n in (1, 0)]


async def test_a_state_of_chronicle_s_goes_on_inside_a_window(store):
    key, clock = b"both", list(range(LAST))
    put_milestones(store, "n", clock, ["complete"] * LAST)
    put_tagged(store, key, [(m, message_id(m)) for m in range(LAST)], clock, [])
    window = await find_window(store, "n", 5, 20)
    for milestone, wanted in ((25, range(19, 4, -1)), (20, range(19, 4, -1)), (12, range(12, 4, -1)), (4, [])):
        text = state(milestone=milestone)
        page = await messages.list_tagged(store, key.hex(), window=window, newest=True, page_size=99, cursor=text)
        assert [row["milestone_index"] for row in page.rows] == [*wanted]


async def test_a_cursor_serves_its_own_window_only(store):
    key, chance = b"windows", random.Random(1)
    clock = sorted(chance.randint(0, 50) for _ in range(LAST))
    put_milestones(store, "n", clock, ["complete"] * LAST)
    put_tagged(store, key, [(m, message_id(m)) for m in range(LAST)], clock, [])

    async def ask(cursor, *window):
        span = await find_window(store, "n", *window) if window else None
        return await messages.list_tagged(store, key.hex(), window=span, newest=True, page_size=1, cursor=cursor)

    cursor = (await ask(None, 0, 40)).cursor
    assert (await ask(cursor, 0, 40)).rows
    for other in ((), (0, 41), (1, 40), (0,)):
        with pytest.raises(CursorError):
            await ask(cursor, *other)
