"""What is numbered, milestones or an emitter's messages, fetched into the files of a folder in that order.

Rules of this file: several are on their way at once, and as many are in memory; one that cannot be had costs no other.
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
"""Further ones make no wait longer, and a thousand no float."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How nodes and guardians are asked. A try that brought something new is not counted among `tries`."""

    requests: int = 16
    milestones: int = 4
    timeout_s: float = 10.0
    tries: int = 6
    backoff_s: float = BACKOFF_S
    max_bytes: int = MAX_FILE_BYTES


@dataclass(slots=True)
class Fetched:
    """What a fetch wrote: `count` of `unit`, by their numbers; `held`: what the folder had already, `lacking`: what
    could not be had, the first of it with its reason, `left`: what was not begun before a signal came. `faults` are all
    that were counted on the way, by kind.
    """

    unit: str = "milestones"
    count: int = 0
    held: int = 0
    left: int = 0
    lacking: Intervals = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)

    def failed(self, number: int, fault: Fault) -> None:
        """Notes what could not be had."""
        self.lacking = add(self.lacking, [(number, number)])
        if len(self.failures) < FAILURES_SHOWN:
            insort(self.failures, f"{number}: {fault.kind}: {fault}", key=_number)

    def forget(self, numbers: Intervals) -> None:
        """Notes no longer that those could not be had: they are asked for once more."""
        self.lacking = subtract(self.lacking, numbers)
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
    """Fetches the lines of those numbers and writes them, ascending. `stop` set, nothing new is begun."""
    total = size(missing)
    written, lacked = done.count, size(done.lacking)
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
            passed = done.count - written + size(done.lacking) - lacked
            notify(Progress("fetch", passed, total, done.unit))
    finally:
        for _, task in under_way:
            task.cancel()
        # Of one that fails as it is given up asyncio would tell, if nobody asked for it.
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)


def stopped_by_signals() -> asyncio.Event:
    """Is set by SIGINT and SIGTERM, so that what is under way ends well."""
    stop = asyncio.Event()
    if threading.current_thread() is threading.main_thread():
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, stop.set)
    return stop


async def retry(ask: Callable[[], Awaitable[T]], settings: FetchSettings) -> T:
    """Sends a request again until it succeeds or the attempts are used up; then raises its Fault."""
    tried = 0
    while True:
        try:
            return await ask()
        except Fault as fault:
            tried += 1
            if tried >= settings.tries:
                raise
            await asyncio.sleep(wait_s(settings, tried - 1, fault))


async def answered(asking: Mapping[str, Coroutine[Any, Any, T]]) -> dict[str, T]:
    """What servers answer, by their URLs; one that does not is left out, and named. Raises Fault where none does."""
    said: dict[str, T] = {}
    silent: dict[str, Fault] = {}
    for url, answer in zip(asking, await asyncio.gather(*asking.values(), return_exceptions=True), strict=True):
        if isinstance(answer, Fault):
            silent[url] = answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            said[url] = answer
    if not said:
        raise next(iter(silent.values()))
    for url, fault in silent.items():
        log.warning("%s is left out: %s: %s", url, fault.kind, fault)
    return said


async def stopped_within(stop: asyncio.Event, seconds: float) -> bool:
    """Waits that long, or until a signal comes; whether one came."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
    return stop.is_set()


def wait_s(settings: FetchSettings, tries: int, fault: Fault) -> float:
    """How long to wait after so many tries: twice as long each time, or as long as the node asks."""
    return max(fault.wait_s, min(settings.backoff_s * 2.0 ** min(tries, DOUBLINGS_MOST), BACKOFF_MOST_S))
