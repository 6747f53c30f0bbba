"""A proxy between `permanode fetch` and its node that injects faults into responses.

A fault depends only on the path and on the number of earlier requests for that path, so a test states exactly which
request fails.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import httpx

SLOW_S = 30.0
"""Longer than the timeout of any client here."""

LATE_S = 0.02
"""Long enough for other requests to arrive."""

Spoil: TypeAlias = Callable[[str, int], str | None]
"""(path, number of the request for it, from 1) → the fault, one of the names in _answer; None: no fault."""

Edit: TypeAlias = Callable[[str, int, bytes], tuple[int, bytes]]
"""(path, status, body) → the response to send instead."""


@dataclass
class Proxy:
    """`asked` counts the requests by path; `most` is the highest number of concurrent requests."""

    upstream: str
    spoil: Spoil
    edit: Edit
    requested: Counter[str] = field(default_factory=Counter)
    under_way: int = 0
    most: int = 0
    url: str = ""

    async def serve(self, started: threading.Event, stop: asyncio.Event) -> None:
        connections: set[asyncio.Task[None]] = set()
        async with httpx.AsyncClient() as client:

            async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = asyncio.current_task()
                assert task is not None
                connections.add(task)
                try:
                    await self._connection(client, reader, writer)
                except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                    pass
                finally:
                    connections.discard(task)
                    writer.close()

            server = await asyncio.start_server(connected, "127.0.0.1", 0)
            async with server:
                self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
                started.set()
                await stop.wait()
                for task in connections:
                    task.cancel()
                await asyncio.gather(*connections, return_exceptions=True)

    async def _connection(
        self, client: httpx.AsyncClient, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            request, *headers = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            path = request.split(" ")[1]
            accept = next(each[7:].strip() for each in headers if each.lower().startswith("accept:"))
            self.requested[path] += 1
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            fault = self.spoil(path, self.requested[path])
            answer = await client.get(f"{self.upstream}{path}", headers={"accept": accept})
            status, body = self.edit(path, answer.status_code, answer.content)
            if fault == "timeout":
                await asyncio.sleep(SLOW_S)
            if fault == "late":
                await asyncio.sleep(LATE_S)
            self.under_way -= 1
            if fault == "503":
                status, body = 503, b"busy"
            if fault == "404":
                status, body = 404, b"{}"
            if fault == "wrong id":
                body = body[:-1] + bytes([body[-1] ^ 1])
            if fault == "half":
                body = body[: len(body) // 2]
            writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\n\r\n".encode())
            if fault == "truncated":
                writer.write(body[: len(body) // 2])
                await writer.drain()
                return
            writer.write(body)
            await writer.drain()


@contextmanager
def proxied(
    upstream: str,
    spoil: Spoil = lambda path, nth: None,
    edit: Edit = lambda path, status, body: (status, body),
) -> Iterator[Proxy]:
    """A proxy in front of that server, in its own thread."""
    proxy, started = Proxy(upstream, spoil, edit), threading.Event()
    ends: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        stop = asyncio.Event()
        ends.append((asyncio.get_running_loop(), stop))
        await proxy.serve(started, stop)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert started.wait(10)
        yield proxy
    finally:
        loop, stop = ends[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join()
