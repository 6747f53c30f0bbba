"""One client of MQTT 3.1.1: CONNECT, subscriptions, pings, and the packets that wait for it.

A connection is a session: nothing is kept after it, and clients with the same id do not affect each other. Delivery is
QoS 0, as from nodes. A client that publishes is disconnected (MQTT-3.3.5-2); its will is ignored.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable

from amqtt.mqtt.connack import IDENTIFIER_REJECTED, NOT_AUTHORIZED, UNACCEPTABLE_PROTOCOL_VERSION
from amqtt.mqtt.packet import DISCONNECT, PINGREQ, SUBSCRIBE
from starlette.types import Receive, Send

from api.http.errors import OtherEra, status_of
from api.mqtt.hub import BACKLOG_MAX_BYTES, Hub
from api.mqtt.packets import (
    FIRST,
    LATER,
    PINGRESP,
    TOPICS_MAX,
    Disconnected,
    Packet,
    PacketReader,
    ProtocolError,
    Rejected,
    connack,
    publish,
    suback,
    unsuback,
)
from api.mqtt.topics import Need
from db.listing.deadline import DEADLINE
from db.store import NotFound

PINGS_PER_REQUEST = 10
"""This number of PINGREQs counts as one request against the rate limit."""

CONNECT_S = 10.0
"""Seconds in which a client must send CONNECT."""

CLOSE_S = 1.0
REJECTED = 0x80
RESERVED_FLAGS = 0x02
PROTOCOL_LEVEL = 4

NORMAL, PROTOCOL, POLICY, TRY_AGAIN = 1000, 1002, 1008, 1013
"""Close codes of WebSocket (RFC 6455, 7.4)."""


class Client:
    """Serves one connection.

    Args:
        hub: where to subscribe.
        receive, send: the accepted WebSocket.
        is_allowed: whether the password of CONNECT, None without one, gives access.
        count: counts a request. Raises Rejected at the rate limit.
    """

    def __init__(
        self,
        hub: Hub,
        receive: Receive,
        send: Send,
        is_allowed: Callable[[str | None], bool],
        count: Callable[[], None],
    ) -> None:
        self._hub, self._send = hub, send
        self._packets = PacketReader(receive)
        self._is_allowed, self._count = is_allowed, count
        self._topics: dict[str, Need] = {}
        self._pings = 0
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue()
        self._backlog = 0
        self._is_drained = asyncio.Event()
        self._is_drained.set()
        self._cut: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def put(self, packet: bytes) -> None:
        """Adds a packet to those that wait for the client."""
        self._backlog += len(packet)
        if self._backlog > BACKLOG_MAX_BYTES:
            self._is_drained.clear()
        self._waiting.put_nowait(packet)

    async def drained(self) -> None:
        """Waits until at most BACKLOG_MAX_BYTES wait for the client."""
        await self._is_drained.wait()

    def cut(self, reason: str) -> None:
        """Disconnects the client."""
        if not self._cut.done():
            self._cut.set_result(reason)

    async def run(self) -> None:
        """Serves until one side ends the connection, then closes it with a code and a reason."""
        reading, sending = asyncio.create_task(self._read()), asyncio.create_task(self._send_waiting())
        try:
            await asyncio.wait((reading, sending, self._cut), return_when=asyncio.FIRST_COMPLETED)
            code, reason = self._ended(reading)
        finally:
            # Nobody waits for it any more.
            self._is_drained.set()
            for topic, need in self._topics.items():
                self._hub.unsubscribe(self, topic, need)
            for task in (reading, sending):
                task.cancel()
            await asyncio.gather(reading, sending, return_exceptions=True)
        # A client that does not read does not take the close frame either.
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(CLOSE_S):
                await self._send({"type": "websocket.close", "code": code, "reason": reason})

    def _ended(self, reading: "asyncio.Task[None]") -> tuple[int, str]:
        if self._cut.done():
            return TRY_AGAIN, self._cut.result()
        error = reading.exception() if reading.done() else None
        match error:
            case ProtocolError():
                return PROTOCOL, str(error)
            case Rejected():
                return POLICY, str(error)
            case None | Disconnected() | OSError():
                return NORMAL, ""
        if isinstance(error, Exception) and status_of(error) == 503:
            return TRY_AGAIN, "the store cannot be read"
        raise error

    async def _send_waiting(self) -> None:
        while True:
            packet = await self._waiting.get()
            await self._send({"type": "websocket.send", "bytes": packet})
            self._backlog -= len(packet)
            if self._backlog <= BACKLOG_MAX_BYTES:
                self._is_drained.set()

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_S):
                quiet_s = await self._connect(await self._packets.next(FIRST))
        except TimeoutError as error:
            raise ProtocolError(f"CONNECT is expected within {CONNECT_S:.0f} s") from error
        while True:
            try:
                async with asyncio.timeout(quiet_s):
                    packet = await self._packets.next(LATER)
            except TimeoutError as error:
                raise ProtocolError("nothing came within the keep-alive time") from error
            kind = packet.fixed_header.packet_type
            if kind == DISCONNECT:
                return
            if kind == PINGREQ:
                self._ping()
            elif kind == SUBSCRIBE:
                await self._subscribe(packet)
            else:
                self._unsubscribe(packet)
            # What waits for the client stays bounded, however much it sends without reading.
            await self.drained()
            # One packet in each turn of the event loop, however many one message contains.
            await asyncio.sleep(0)

    async def _connect(self, packet: Packet) -> float | None:
        """Answers CONNECT. Returns the seconds after which a quiet client is lost; None: it may be quiet."""
        if (packet.proto_name, packet.proto_level) != ("MQTT", PROTOCOL_LEVEL):
            await self._reject(UNACCEPTABLE_PROTOCOL_VERSION, "only MQTT 3.1.1 is supported")
        if packet.payload.client_id_is_random and not packet.clean_session_flag:
            await self._reject(IDENTIFIER_REJECTED, "a client without an id has a clean session")
        if not self._is_allowed(packet.payload.password):
            await self._reject(NOT_AUTHORIZED, "a key or token of this server is required")
        self.put(connack(0))
        return 1.5 * packet.keep_alive or None

    async def _reject(self, return_code: int, reason: str) -> None:
        await self._send({"type": "websocket.send", "bytes": connack(return_code)})
        raise Rejected(reason)

    def _ping(self) -> None:
        self._pings += 1
        if self._pings % PINGS_PER_REQUEST == 0:
            self._count()
        self.put(PINGRESP)

    async def _subscribe(self, packet: Packet) -> None:
        """Answers SUBSCRIBE, then sends what the topics have now, each if there is something."""
        requested = packet.payload.topics
        if packet.fixed_header.flags != RESERVED_FLAGS or not requested or any(qos > 2 for _, qos in requested):
            raise ProtocolError("SUBSCRIBE has topics, each with a QoS up to 2")
        self._count()
        codes, found = [], []
        for topic, _ in requested:
            need = self._hub.dialect.need_of(topic)
            codes.append(REJECTED if need is None else 0)
            if need is None:
                continue
            if topic not in self._topics and len(self._topics) == TOPICS_MAX:
                raise Rejected(f"a client has at most {TOPICS_MAX} subscriptions")
            self._topics[topic] = need
            await self._hub.subscribe(self, topic, need)
            found.append(topic)
        self.put(suback(packet.variable_header.packet_id, codes))
        for topic in found:
            DEADLINE.set(time.monotonic() + self._hub.deadline_s)
            with contextlib.suppress(NotFound, OtherEra):
                async for name, payload in self._hub.dialect.current(self._hub.network, topic, self._hub.newest):
                    self.put(publish(name, payload))
            await self.drained()

    def _unsubscribe(self, packet: Packet) -> None:
        if packet.fixed_header.flags != RESERVED_FLAGS or not packet.payload.topics:
            raise ProtocolError("UNSUBSCRIBE has topics")
        self._count()
        for topic in packet.payload.topics:
            need = self._topics.pop(topic, None)
            if need is not None:
                self._hub.unsubscribe(self, topic, need)
        self.put(unsuback(packet.variable_header.packet_id))
