"""Turns of requests that need much time of this process, so that none of them delays the others.

A request that has worked for SLICE_S waits until the event loop has served everything else that is ready, and until
the others that wait had their turn: one of them goes on in each turn of the loop. So a short request waits for one
slice, however many long ones there are. Whoever works gives way between parts of the work that are short themselves.

After SHORT_SLICES a request is long. At most LONG_AT_ONCE of them are under way, because each may need much memory; the
others wait until one of them ends, or until their deadline.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextvars import ContextVar
from typing import TypeVar
from weakref import WeakKeyDictionary

from db.listing.deadline import DEADLINE, remaining_s
from db.store import DeadlinePassed

SLICE_S = 0.005

LONG_AT_ONCE, SHORT_SLICES = 3, 4

AT_ONCE = 200
"""Items between two looks at the clock."""

T = TypeVar("T")


class Slice:
    """When the present slice of a request ends, in seconds of time.monotonic(), and how many more it has before it is
    long. `is_counted`: it is one of LONG_AT_ONCE once it `is_long`.
    """

    __slots__ = ("end", "is_counted", "is_long", "left")

    def __init__(self, end: float, *, is_counted: bool) -> None:
        self.end, self.left = end, SHORT_SLICES
        self.is_counted, self.is_long = is_counted, False


SLICE: ContextVar[Slice | None] = ContextVar("SLICE", default=None)
"""The slice of this request. Tasks that it starts share it."""


class _Queue:
    """The long requests of an event loop, in the order in which they go on or begin."""

    def __init__(self) -> None:
        # Without its loop, which would be kept as long as this queue, which is kept as long as its loop.
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._later: dict[Slice, asyncio.Event] = {}
        self._long = 0

    async def wait(self, present: Slice) -> None:
        """Returns when it is this request's turn. Raises DeadlinePassed."""
        present.left -= 1
        if present.is_counted and not present.is_long and present.left < 0:
            if self._long < LONG_AT_ONCE:
                self._begin(present)
            else:
                await self._begun(present)
        await self._turn()

    async def _begun(self, present: Slice) -> None:
        begun = self._later.setdefault(present, asyncio.Event())
        try:
            async with asyncio.timeout(remaining_s()):
                await begun.wait()
        except TimeoutError:
            raise DeadlinePassed("waiting for other long requests") from None
        finally:
            if not begun.is_set():
                self._later.pop(present, None)

    def close(self, present: Slice) -> None:
        """Ends a request that had several slices."""
        begun = self._later.pop(present, None)
        if begun is not None:
            begun.set()
        if present.is_long:
            self.end(present)

    def end(self, present: Slice) -> None:
        """Ends the work of a long request, and lets the next one begin."""
        present.is_long = False
        self._long -= 1
        if self._later and self._long < LONG_AT_ONCE:
            following = next(iter(self._later))
            begun = self._later.pop(following)
            self._begin(following)
            begun.set()

    def _begin(self, present: Slice) -> None:
        present.is_long = True
        self._long += 1

    def _turn(self) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._next)
        turn = loop.create_future()
        self._waiting.append(turn)
        return turn

    def _next(self) -> None:
        turn = self._waiting.popleft()
        if not turn.done():
            turn.set_result(None)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._next)


_QUEUES: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()


def begin(now: float) -> Slice:
    """Begins the slice of a request, which the tasks that it starts share. `close` must follow."""
    present = Slice(now + SLICE_S, is_counted=True)
    SLICE.set(present)
    return present


def end() -> None:
    """Ends the work of this request for now, because it waits for its client."""
    present = SLICE.get()
    if present is not None and present.is_long:
        _queue().end(present)


def close(present: Slice) -> None:
    """Ends a request for good. What tasks that it started still do never makes it long again."""
    present.is_counted = False
    if present.left < SHORT_SLICES:
        _queue().close(present)


def must_give_way() -> bool:
    """Whether `give_way` is due. A point read is so short that a call of a coroutine before each one would show."""
    now = time.monotonic()
    present = SLICE.get()
    if present is None:
        SLICE.set(Slice(now + SLICE_S, is_counted=False))
        return False
    return now >= present.end


async def give_way() -> None:
    """Lets others go on if this request has worked for SLICE_S. Raises DeadlinePassed after the request's deadline."""
    if not must_give_way():
        return
    if time.monotonic() > DEADLINE.get():
        raise DeadlinePassed("working")
    present = SLICE.get()
    assert present is not None
    await _queue().wait(present)
    present.end = time.monotonic() + SLICE_S


def _queue() -> _Queue:
    loop = asyncio.get_running_loop()
    queue = _QUEUES.get(loop)
    if queue is None:
        queue = _QUEUES[loop] = _Queue()
    return queue


async def in_turns(items: Iterable[T]) -> AsyncIterator[T]:
    """Yields the items and gives way between them."""
    left = 0
    for item in items:
        if not left:
            await give_way()
            left = AT_ONCE
        left -= 1
        yield item
