"""Requests with much work give way, one of them in each turn of the event loop, and end at their deadline."""

import asyncio
import gc
import time
import weakref

import pytest

from db.listing import turns
from db.listing.deadline import DEADLINE
from db.store import DeadlinePassed

LONG, STEPS = 20, 50


@pytest.fixture(autouse=True)
def shortest(monkeypatch):
    """Every look at the clock ends a slice."""
    monkeypatch.setattr(turns, "SLICE_S", -1.0)


async def work(steps, done, name):
    for _ in range(steps):
        await turns.give_way()
        done.append(name)


async def test_a_short_request_waits_for_one_step_in_each_turn_however_many_long_ones_there_are():
    turns.SLICE.set(None)
    done = []
    long = [asyncio.create_task(work(STEPS, done, number)) for number in range(LONG)]
    for _ in range(10):
        await asyncio.sleep(0)
    before, turns_of_short = len(done), 5
    for _ in range(turns_of_short):
        await asyncio.sleep(0)
    assert len(done) - before <= turns_of_short
    await asyncio.gather(*long)
    assert len(done) == LONG * STEPS


async def test_long_requests_go_on_in_turn():
    turns.SLICE.set(None)
    done = []
    await asyncio.gather(*(asyncio.create_task(work(STEPS, done, number)) for number in range(LONG)))
    # The first step of each needs no turn.
    for start in range(LONG, LONG * STEPS, LONG):
        assert sorted(done[start : start + LONG]) == list(range(LONG))


async def test_who_has_a_slice_left_does_not_wait(monkeypatch):
    turns.SLICE.set(None)
    monkeypatch.setattr(turns, "SLICE_S", 60.0)
    done = []
    other = asyncio.create_task(work(1, done, "other"))
    await work(STEPS, done, "own")
    assert "other" not in done
    await other


async def test_items_come_in_order_and_in_turns():
    turns.SLICE.set(None)
    done, items = [], range(3 * turns.AT_ONCE + 1)
    other = asyncio.create_task(work(2, done, "other"))
    assert [each async for each in turns.in_turns(items)] == list(items)
    assert "other" in done
    await other


async def test_the_deadline_ends_work_without_a_store():
    turns.SLICE.set(None)
    token = DEADLINE.set(time.monotonic() - 1)
    try:
        with pytest.raises(DeadlinePassed):
            await work(2, [], "own")
    finally:
        DEADLINE.reset(token)


async def test_a_request_that_is_given_up_holds_nobody_up():
    turns.SLICE.set(None)
    done = []
    tasks = [asyncio.create_task(work(STEPS, done, number)) for number in range(3)]
    for _ in range(5):
        await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert done.count(2) == STEPS


async def test_only_some_long_requests_are_under_way(monkeypatch):
    monkeypatch.setattr(turns, "LONG_AT_ONCE", 3)
    monkeypatch.setattr(turns, "SHORT_SLICES", 2)
    under_way, most, done = set(), 0, []

    async def request(name):
        nonlocal most
        present = turns.begin(time.monotonic())
        try:
            for step in range(STEPS):
                await turns.give_way()
                if step > 2:
                    under_way.add(name)
                    most = max(most, len(under_way))
        finally:
            under_way.discard(name)
            turns.close(present)
            done.append(name)

    tasks = [asyncio.create_task(request(number)) for number in range(LONG)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[10].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most == 3
    assert sorted(done) == list(range(LONG))


async def test_tasks_that_a_request_leaves_behind_never_count_as_long(monkeypatch):
    """A request may end while tasks that it started still work, before it was long, as one, and waiting to be one."""
    monkeypatch.setattr(turns, "SHORT_SLICES", 2)
    done = []

    async def request(name, steps):
        present = turns.begin(time.monotonic())
        left = asyncio.create_task(work(STEPS, done, name))
        for _ in range(steps):
            await asyncio.sleep(0)
        turns.close(present)
        await left

    for steps in (0, 1, LONG, 5 * LONG):
        await asyncio.gather(*(asyncio.create_task(request(number, steps)) for number in range(LONG)))
        assert turns._QUEUES[asyncio.get_running_loop()]._long == 0
    assert len(done) == 4 * LONG * STEPS
    await asyncio.create_task(request("next", 10 * STEPS))
    assert done.count("next") == STEPS


async def test_a_long_request_that_does_not_begin_ends_at_its_deadline(monkeypatch):
    monkeypatch.setattr(turns, "LONG_AT_ONCE", 0)
    monkeypatch.setattr(turns, "SHORT_SLICES", 0)

    async def request():
        turns.begin(time.monotonic())
        DEADLINE.set(time.monotonic() + 0.05)
        await turns.give_way()

    with pytest.raises(DeadlinePassed):
        await asyncio.create_task(request())


def test_an_event_loop_that_ended_is_freed():
    async def waited():
        turns.SLICE.set(None)
        await work(STEPS, [], "own")
        assert asyncio.get_running_loop() in turns._QUEUES
        return weakref.ref(asyncio.get_running_loop())

    ended = asyncio.run(waited())
    gc.collect()
    assert ended() is None
