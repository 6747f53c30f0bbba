"""What clients sent and nobody has parsed yet: each connection parses one part in each turn of the event loop.

An event loop gives all that a socket has to its protocol, and reads on as long as more comes. Thousands of chunks or
frames of a few bytes take long to parse, so without parts one client that never stops sending would stop all others.
"""

import asyncio
from collections.abc import Callable


class Inbox:
    """The bytes of one connection that wait to be parsed. Nothing else is read until they are.

    For uvicorn's flow control it is the transport whose reading is paused and resumed.

    Args:
        transport: the connection.
        loop: its event loop.
        parse: parses a part.
        is_free: whether the protocol takes another part now. When that changes, it must call `go_on`.
        part_bytes: maximum size of a part.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        parse: Callable[[bytes], None],
        is_free: Callable[[], bool],
        part_bytes: int,
    ) -> None:
        self._transport, self._loop, self._parse, self._is_free = transport, loop, parse, is_free
        self._part_bytes = part_bytes
        self._waiting = bytearray()
        self._is_scheduled = False

    def put(self, data: bytes) -> None:
        """Parses what came, or a part of it now and the rest in later turns."""
        if not self._waiting and len(data) <= self._part_bytes:
            self._parse(data)
            return
        self._waiting += data
        if self._is_scheduled or not self._is_free():
            self.go_on()
        else:
            self._parse_part()

    def go_on(self) -> None:
        """Parses the next part in the next turn, or reads on if nothing waits, as far as the protocol is free."""
        if self._transport.is_closing():
            self._waiting.clear()
            return
        is_free = self._is_free()
        if self._waiting and is_free and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._parse_next)
        if self._waiting or not is_free:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    pause_reading = resume_reading = go_on

    def _parse_next(self) -> None:
        self._is_scheduled = False
        if self._waiting and self._is_free() and not self._transport.is_closing():
            self._parse_part()
        else:
            self.go_on()

    def _parse_part(self) -> None:
        part = bytes(self._waiting[: self._part_bytes])
        del self._waiting[: self._part_bytes]
        self._parse(part)
        self.go_on()
