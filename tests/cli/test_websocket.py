"""The protocol of a WebSocket without a server: frames in, and what it writes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from uvicorn.server import ServerState

from cli.connection_limits import Limits
from cli.connections import LimitedConfig
from cli.inbox import Inbox
from cli.websocket import LimitedWebSocket

HANDSHAKE = (
    b"GET / HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Written(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.is_reading = True

    def write(self, data: Any) -> None:
        self.data += data

    def close(self) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True


def frame(kind: int, payload: bytes) -> bytes:
    return bytes([kind, 0x80 | len(payload)]) + b"\0\0\0\0" + payload


def ping(number: int) -> bytes:
    return frame(0x89, b"%d" % number)


def pong(number: int) -> bytes:
    payload = b"%d" % number
    return bytes([0x8A, len(payload)]) + payload


@pytest.fixture
async def taken() -> "asyncio.Queue[Any]":
    """What the application takes of the messages: one for each item."""
    return asyncio.Queue()


@pytest.fixture
async def open_one(taken: "asyncio.Queue[Any]") -> AsyncIterator[tuple[LimitedWebSocket, Written]]:
    """A WebSocket after its handshake."""

    async def app(_: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while await taken.get():
            await receive()

    config = LimitedConfig(app, Limits(10, 65_536, 10, 10), log_config=None)
    config.load()
    protocol, transport = LimitedWebSocket(config, ServerState(), {}), Written()
    protocol.connection_made(transport)
    protocol.data_received(HANDSHAKE)
    while b"101" not in transport.data:
        await asyncio.sleep(0)
    transport.data = b""
    yield protocol, transport
    protocol.stop_keepalive()
    taken.put_nowait(None)
    await asyncio.gather(*protocol.tasks)


async def test_a_client_that_does_not_read_gets_the_answer_to_its_last_ping(
    open_one: tuple[LimitedWebSocket, Written],
) -> None:
    protocol, transport = open_one
    protocol.data_received(ping(1))
    assert transport.data == pong(1)
    protocol.pause_writing()
    for number in range(2, 1_000):
        protocol.data_received(ping(number))
    assert transport.data == pong(1)
    protocol.resume_writing()
    assert transport.data == pong(1) + pong(999)
    protocol.data_received(ping(1_000))
    assert transport.data == pong(1) + pong(999) + pong(1_000)


async def test_messages_are_parsed_when_the_application_has_taken_those_before(
    open_one: tuple[LimitedWebSocket, Written], taken: "asyncio.Queue[Any]"
) -> None:
    protocol, transport = open_one
    message = frame(0x82, b"ab")
    protocol.data_received(message * 10_000)
    for _ in range(100):
        await asyncio.sleep(0)
    assert protocol.queue.qsize() <= 1_024 // len(message)
    assert not transport.is_reading
    for _ in range(10_000):
        taken.put_nowait("one")
    while not transport.is_reading:
        await asyncio.sleep(0)
    assert taken.empty()
    assert protocol.queue.empty()


async def test_one_part_is_parsed_in_each_turn() -> None:
    parsed: list[bytes] = []
    transport, is_free = Written(), True
    inbox = Inbox(transport, asyncio.get_running_loop(), parsed.append, lambda: is_free, 4)
    inbox.put(b"abcd")
    assert (parsed, transport.is_reading) == ([b"abcd"], True)
    inbox.put(b"efghijklmnop")
    inbox.put(b"q")
    assert (parsed, transport.is_reading) == ([b"abcd", b"efgh"], False)
    await asyncio.sleep(0)
    assert parsed[2:] == [b"ijkl"]
    is_free = False
    for _ in range(3):
        await asyncio.sleep(0)
    assert parsed[2:] == [b"ijkl"]
    is_free = True
    inbox.go_on()
    for _ in range(3):
        await asyncio.sleep(0)
    assert (parsed[3:], transport.is_reading) == ([b"mnop", b"q"], True)
