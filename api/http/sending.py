"""Sends large responses in parts, and bounds the memory of those whose clients do not read.

A server buffers what an application sends. So a part is sent when the one before it has left the buffer, and the rest
waits here. If more bytes wait than allowed, the client that has taken nothing for the longest time is disconnected.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import Message, Scope, Send

log = logging.getLogger("permanode.api")

PART_BYTES = 65_536

ABORT = "permanode.abort"
"""ASGI extension of a server that can close a connection without sending what it has buffered."""

RECENT_S = 0.25
"""A client that took something within this time is disconnected only if twice the allowed bytes wait."""


class ClientTooSlow(Exception):
    """The client reads nothing, or less than others while too much waits for all of them."""


@dataclass(eq=False, slots=True)
class Waiting:
    """A response that is being sent: bytes that are left, since when the client has taken none, its timeout."""

    left: int
    since: float
    timeout: asyncio.Timeout


class Sending:
    """The large responses of a process.

    Args:
        send_s: seconds after which a client that takes nothing is disconnected.
        unsent_bytes: the bytes that may wait for clients.
    """

    def __init__(self, send_s: float, unsent_bytes: int) -> None:
        self._send_s, self._allowed = send_s, unsent_bytes
        self._responses: set[Waiting] = set()
        self._unsent = 0

    async def send(self, scope: Scope, send: Send, message: Message) -> None:
        """Sends a body in parts. Raises ClientTooSlow if the server cannot close the connection by itself."""
        body: bytes = message["body"]
        more_body: bool = message.get("more_body", False)
        now = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(self._send_s) as timeout:
                waiting = Waiting(0, now(), timeout)
                self._add(waiting, len(body))
                try:
                    for start in range(0, len(body), PART_BYTES):
                        end = start + PART_BYTES
                        part = body[start:end]
                        await send(
                            {"type": "http.response.body", "body": part, "more_body": more_body or end < len(body)}
                        )
                        self._took(waiting, len(part), now())
                finally:
                    self._remove(waiting)
        except TimeoutError:
            log.warning("a client read too slowly and was disconnected")
            abort: Callable[[], None] | None = scope.get("extensions", {}).get(ABORT, {}).get("call")
            if abort is None:
                raise ClientTooSlow from None
            abort()

    def _add(self, waiting: Waiting, size: int) -> None:
        self._make_room(size, waiting.since)
        waiting.left = size
        self._responses.add(waiting)
        self._unsent += size

    def _took(self, waiting: Waiting, size: int, now: float) -> None:
        if waiting in self._responses:
            waiting.left -= size
            self._unsent -= size
            waiting.since = now
            waiting.timeout.reschedule(now + self._send_s)

    def _remove(self, waiting: Waiting) -> None:
        if waiting in self._responses:
            self._responses.discard(waiting)
            self._unsent -= waiting.left

    def _make_room(self, size: int, now: float) -> None:
        while self._responses and self._unsent + size > self._allowed:
            slowest = min(self._responses, key=lambda each: each.since)
            if now - slowest.since < RECENT_S and self._unsent + size <= 2 * self._allowed:
                return
            self._remove(slowest)
            slowest.timeout.reschedule(now)
