"""Limits of WebSockets that uvicorn has no settings for: handshakes, frames without messages, pongs.

Invariants:
1. A connection whose handshake is invalid is closed. uvicorn would keep it for any time.
2. What a client sent is parsed in parts, and only while the application has taken all messages before.
3. A client that sends WEBSOCKET_MAX_BYTES without ending a message is disconnected, whatever frames they are.
4. While a client does not read, only one answer to its pings is kept (RFC 6455 5.5.3).
"""

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from api.mqtt.packets import PACKET_MAX_BYTES
from cli.inbox import Inbox

log = logging.getLogger("permanode.connections")

WEBSOCKET_MAX_BYTES = 4 * PACKET_MAX_BYTES
"""Maximum of bytes from a client without a whole message."""

PART_BYTES = 1_024
"""Bytes of frames that a connection parses in one turn. As empty frames they take about a millisecond."""


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's protocol of a WebSocket, with limits, and with the time when its client takes something."""

    resumed_at = 0.0
    unended_bytes = 0
    """Bytes that came since the last whole message."""
    pong = b""
    """The answer to the latest pings, while the client does not read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Counts the connection."""
        super().connection_made(transport)
        self.inbox = Inbox(self.transport, self.loop, super().data_received, lambda: not self.read_paused, PART_BYTES)

    def data_received(self, data: bytes) -> None:
        """Takes the head of the handshake, which comes first and whole, or a part of what follows it."""
        if not self.handshake_initiated:
            super().data_received(data)
            if not self.handshake_initiated:
                self.transport.write(STATUS_LINE[400] + b"content-length: 0\r\nconnection: close\r\n\r\n")
                self.transport.close()
            return
        self.unended_bytes += len(data)
        if self.unended_bytes > WEBSOCKET_MAX_BYTES:
            log.warning("a WebSocket sent more than %d bytes without a message", WEBSOCKET_MAX_BYTES)
            self.transport.abort()
        else:
            self.inbox.put(data)

    def send_receive_event_to_app(self) -> None:
        """Passes a whole message on."""
        self.unended_bytes = 0
        super().send_receive_event_to_app()

    async def receive(self) -> Any:
        """Returns the next event for the application (ASGI)."""
        event = await super().receive()
        self.inbox.go_on()
        return event

    def handle_ping(self) -> None:
        """Answers pings, or keeps the answer until the client reads."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.pong = b"".join(self.conn.data_to_send()) or self.pong

    def resume_writing(self) -> None:
        """Notes that the client takes what waits for it."""
        self.resumed_at = self.loop.time()
        if self.pong and not self.transport.is_closing():
            self.transport.write(self.pong)
        self.pong = b""
        super().resume_writing()
