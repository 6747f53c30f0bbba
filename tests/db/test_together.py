"""Coroutines of one request at the same time: none of them outlasts it."""

import asyncio

import pytest

from db.together import together


async def test_results_are_in_the_order_of_the_coroutines() -> None:
    async def after(turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    assert await together(after(3), after(0), after(1)) == [3, 0, 1]
    assert await together() == []


async def test_when_one_raises_the_others_have_ended() -> None:
    ended = []

    async def endless(name: str) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    async def wrong() -> None:
        await asyncio.sleep(0)
        raise KeyError("wrong")

    with pytest.raises(KeyError, match="wrong"):
        await together(endless("one"), wrong(), endless("other"))
    assert sorted(ended) == ["one", "other"]


async def test_who_waits_is_cancelled_with_them() -> None:
    ended = []

    async def endless() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(True)

    waiting = asyncio.create_task(together(endless(), endless()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == [True, True]
