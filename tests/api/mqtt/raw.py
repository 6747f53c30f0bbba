"""A WebSocket of the application in this process, and packets of MQTT 3.1.1 written out by hand."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

WAIT_S = 60

PINGREQ, PINGRESP, DISCONNECT = b"\xc0\x00", b"\xd0\x00", b"\xe0\x00"


def text(value: str) -> bytes:
    data = value.encode()
    return len(data).to_bytes(2, "big") + data


def packet(first: int, body: bytes) -> bytes:
    """A packet with its remaining length (2.2.3)."""
    length, size = b"", len(body)
    while True:
        size, digit = divmod(size, 128)
        length += bytes([digit | (128 if size else 0)])
        if not size:
            return bytes([first]) + length + body


def connect(
    client_id: str = "a", password: str | None = None, *, level: int = 4, clean: bool = True, keep_alive: int = 60
) -> bytes:
    flags = (2 if clean else 0) | (0 if password is None else 0xC0)
    head = text("MQTT") + bytes([level, flags]) + keep_alive.to_bytes(2, "big")
    return packet(0x10, head + text(client_id) + (b"" if password is None else text("user") + text(password)))


def subscribe(*topics: str, qos: int = 0, number: int = 7) -> bytes:
    return packet(0x82, number.to_bytes(2, "big") + b"".join(text(each) + bytes([qos]) for each in topics))


def unsubscribe(*topics: str) -> bytes:
    return packet(0xA2, b"\x00\x09" + b"".join(text(each) for each in topics))


def publish(topic: str, payload: bytes, *, qos: int = 0) -> bytes:
    return packet(0x30 | qos << 1, text(topic) + (b"\x00\x01" if qos else b"") + payload)


def suback(*codes: int, number: int = 7) -> bytes:
    return packet(0x90, number.to_bytes(2, "big") + bytes(codes))


CONNACK = b"\x20\x02\x00\x00"


class Socket:
    """What the application sends, and what it gets. `is_reading` False: the client reads nothing more."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self.inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.is_reading = asyncio.Event()
        self.is_reading.set()

    async def send(self, event: MutableMapping[str, Any]) -> None:
        await self.is_reading.wait()
        await self.events.put(event)

    def put(self, *data: bytes) -> None:
        for each in data:
            self.inbox.put_nowait({"type": "websocket.receive", "bytes": each})

    async def get(self) -> Any:
        """The next message, or the code with which the application closes the connection."""
        event = await asyncio.wait_for(self.events.get(), WAIT_S)
        return event["code"] if event["type"] == "websocket.close" else event["bytes"]


@asynccontextmanager
async def connected(
    app: Any,
    path: str = "/mqtt",
    *,
    subprotocols: Sequence[str] = ("mqtt",),
    headers: Sequence[tuple[bytes, bytes]] = (),
    begin: bytes | None = None,
) -> AsyncIterator[Socket]:
    """A WebSocket. With `begin`, usually CONNECT, it has been accepted and CONNACK is there."""
    socket = Socket()
    socket.inbox.put_nowait({"type": "websocket.connect"})
    scope = {
        "type": "websocket",
        "path": path,
        "headers": list(headers),
        "subprotocols": list(subprotocols),
        "client": ("10.0.0.1", 1),
        "root_path": "",
    }
    serving = asyncio.create_task(app(scope, socket.inbox.get, socket.send))
    try:
        if begin is not None:
            assert (await socket.events.get()) == {"type": "websocket.accept", "subprotocol": subprotocols[0]}
            socket.put(begin)
            assert await socket.get() == CONNACK
        yield socket
    finally:
        for _ in range(2):
            socket.inbox.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(serving, WAIT_S)
