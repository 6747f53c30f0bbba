"""Fetches numbered items (milestones, or messages of an emitter) and writes them to files in order.

Several requests run concurrently and their results are held in memory. An item that cannot be fetched does not affect
the others.
"""

import asyncio
import logging
import signal
import threading
from bisect import insort
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from db.intervals import Intervals, add, contains, size, subtract
from etl.archive import MAX_FILE_BYTES
from etl.archive.writer import ArchiveWriter
from etl.fetch.http import Fault
from etl.report import Notify, Progress

T = TypeVar("T")

log = logging.getLogger("permanode")

FAILURES_SHOWN = 20

BACKOFF_S, BACKOFF_MOST_S = 0.5, 30.0

DOUBLINGS_MOST = 64
"""Limit of doublings: more would not increase the wait, and a thousand would overflow a float."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Options of requests to nodes and guardians. Attempts that returned something new do not count as `tries`."""

    requests: int = 16
    milestones: int = 4
    timeout_s: float = 10.0
    tries: int = 6
    backoff_s: float = BACKOFF_S
    max_bytes: int = MAX_FILE_BYTES


@dataclass(slots=True)
class Fetched:
    """Result of a fetch: `count` of `unit` by number; `held`: already in the folder; `missing`: could not be fetched;
    `failures`: the first of these, each with its reason; `left`: not started before a signal. `faults` counts all
    faults by kind.
    """

    unit: str = "milestones"
    count: int = 0
    held: int = 0
    left: int = 0
    missing: Intervals = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)

    def failed(self, number: int, fault: Fault) -> None:
        """Records an item that could not be fetched."""
        self.missing = add(self.missing, [(number, number)])
        if len(self.failures) < FAILURES_SHOWN:
            insort(self.failures, f"{number}: {fault.kind}: {fault}", key=_number)

    def forget(self, numbers: Intervals) -> None:
        """Removes items from the missing ones, because they will be requested again."""
        self.missing = subtract(self.missing, numbers)
        self.failures = [each for each in self.failures if not contains(numbers, _number(each))]


def _number(failure: str) -> int:
    return int(failure.partition(":")[0])


async def fill(
    writer: ArchiveWriter,
    missing: Intervals,
    fetch_one: Callable[[int], Coroutine[Any, Any, bytes]],
    at_once: int,
    stop: asyncio.Event,
    done: Fetched,
    notify: Notify,
) -> None:
    """Fetches the lines of these numbers and writes them in ascending order. Starts nothing new once `stop` is set."""
    total = size(missing)
    written, missing_before = done.count, size(done.missing)
    rest = (number for first, last in missing for number in range(first, last + 1))
    under_way: deque[tuple[int, asyncio.Task[bytes]]] = deque()
    try:
        while True:
            free = 0 if stop.is_set() else at_once - len(under_way)
            for number in islice(rest, free):
                under_way.append((number, asyncio.create_task(fetch_one(number))))
            if not under_way:
                return
            number, task = under_way.popleft()
            try:
                writer.append(number, await task)
                done.count += 1
            except Fault as fault:
                done.failed(number, fault)
            passed = done.count - written + size(done.missing) - missing_before
            notify(Progress("fetch", passed, total, done.unit))
    finally:
        for _, task in under_way:
            task.cancel()
        # asyncio would log the exception of a cancelled task if nothing retrieved it.
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)


def stopped_by_signals() -> asyncio.Event:
    """An event that SIGINT and SIGTERM set, so that open requests can finish."""
    stop = asyncio.Event()
    if threading.current_thread() is threading.main_thread():
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, stop.set)
    return stop


async def retry(request: Callable[[], Awaitable[T]], settings: FetchSettings) -> T:
    """Sends the first request to a server again until it succeeds or the attempts are used up; then raises its Fault.
    If nothing listens at its port, it is raised at once.
    """
    tried = 0
    while True:
        try:
            return await request()
        except Fault as fault:
            tried += 1
            if tried >= settings.tries or fault.has_no_listener:
                raise
            await asyncio.sleep(wait_s(settings, tried - 1, fault))


async def answered(requests: Mapping[str, Coroutine[Any, Any, T]]) -> dict[str, T]:
    """The responses of servers by URL. Logs and omits servers without a response. Raises Fault if no server
    responds.
    """
    answers: dict[str, T] = {}
    silent: dict[str, Fault] = {}
    for url, answer in zip(requests, await asyncio.gather(*requests.values(), return_exceptions=True), strict=True):
        if isinstance(answer, Fault):
            silent[url] = answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            answers[url] = answer
    if not answers:
        raise next(iter(silent.values()))
    for url, fault in silent.items():
        log.warning("%s is not used: %s: %s", url, fault.kind, fault)
    return answers


async def stopped_within(stop: asyncio.Event, seconds: float) -> bool:
    """Waits for `seconds` or until a signal. Returns whether there was a signal."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
    return stop.is_set()


def wait_s(settings: FetchSettings, tries: int, fault: Fault) -> float:
    """The wait before a retry: doubled with each attempt, or as long as the node requests."""
    return max(fault.wait_s, min(settings.backoff_s * 2.0 ** min(tries, DOUBLINGS_MOST), BACKOFF_MOST_S))
