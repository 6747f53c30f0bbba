"""A client that sends requests at a fixed rate regardless of the answers, and records what it receives.

It compares every whole body with the expected one. The time of a request counts from the moment it was due, so a slow
request delays no other.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

import httpx

ApiRequest: TypeAlias = Callable[["Client"], Awaitable[None]]


class Wrong(Exception):
    """A response differs from the expected one."""


@dataclass
class Seen:
    """The results: statuses, milliseconds of each request in the order of sending, and errors."""

    statuses: Counter[int] = field(default_factory=Counter)
    times_ms: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """The latency in milliseconds that this share of the requests did not exceed."""
        ordered = sorted(self.times_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def __str__(self) -> str:
        p50, p99 = self.percentile(0.5), self.percentile(0.99)
        return f"{len(self.times_ms)} requests, statuses {dict(self.statuses)}, p50 {p50:.0f} ms, p99 {p99:.0f} ms"


class Client:
    """Sends `requests` in random order, `rate` per second."""

    def __init__(self, base: str, requests: Sequence[ApiRequest], rate: float, seed: int) -> None:
        self.seen = Seen()
        self._http = httpx.AsyncClient(base_url=base, timeout=30)
        self._requests, self._rate, self._chance = requests, rate, Random(seed)

    async def get(self, path: str, expected_status: int = 200) -> httpx.Response:
        """A response with that status; httpx.HTTPStatusError for a 503, Wrong for any other."""
        answer = await self._http.get(path)
        self.seen.statuses[answer.status_code] += 1
        if answer.status_code == 503:
            answer.raise_for_status()
        if answer.status_code != expected_status:
            raise Wrong(f"{path}: {answer.status_code} {answer.text[:200]}")
        return answer

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[Seen]:
        """Sends requests during the block; the results are complete afterwards."""
        self.seen = Seen()
        asking = asyncio.create_task(self._ask_all())
        try:
            yield self.seen
        finally:
            asking.cancel()
            await asyncio.wait([asking])

    async def ask(self, seconds: float) -> Seen:
        """The results of that period."""
        async with self.asking() as seen:
            await asyncio.sleep(seconds)
        return seen

    async def _ask_all(self) -> None:
        begun, count = time.monotonic(), 0
        async with asyncio.TaskGroup() as group:
            try:
                while True:
                    due = begun + count / self._rate
                    await asyncio.sleep(due - time.monotonic())
                    group.create_task(self._ask(self._chance.choice(self._requests), due))
                    count += 1
            except asyncio.CancelledError:
                # Requests already sent still get their responses.
                return

    async def _ask(self, request: ApiRequest, due: float) -> None:
        try:
            await request(self)
        except httpx.HTTPStatusError:
            pass
        except (Wrong, httpx.TransportError) as error:
            self.seen.wrong.append(repr(error))
        self.seen.times_ms.append(1000 * (time.monotonic() - due))

    async def close(self) -> None:
        """Closes its connections."""
        await self._http.aclose()
