"""Packets of MQTT 3.1.1 in the binary messages of a WebSocket. amqtt encodes and decodes them.

A packet may span several messages, and a message may contain several packets. The fixed header decides whether a packet
may come now, and with how many bytes, before its body is read. Topics are counted before the body is decoded.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from amqtt.adapters import BufferReader
from amqtt.errors import AMQTTError, CodecError, MQTTError, NoDataError
from amqtt.mqtt import packet_class
from amqtt.mqtt.connack import ConnackPacket
from amqtt.mqtt.packet import CONNECT, DISCONNECT, PINGREQ, SUBSCRIBE, UNSUBSCRIBE, MQTTFixedHeader
from amqtt.mqtt.pingresp import PingRespPacket
from amqtt.mqtt.publish import PublishPacket, PublishVariableHeader
from amqtt.mqtt.suback import SubackPacket
from amqtt.mqtt.unsuback import UnsubackPacket
from starlette.types import Receive

PACKET_MAX_BYTES = 131_072
"""Maximum size of a packet from a client: a SUBSCRIBE of 1000 of the longest topics."""

CONNECT_MAX_BYTES = 8_192
"""Maximum size of CONNECT, which comes before the credentials are known. A token and a name fit."""

TOPICS_MAX = 1_000
"""Maximum of subscriptions of a client, as inx-mqtt's default, and of topics of a packet."""

FIRST: Mapping[int, int] = {CONNECT: CONNECT_MAX_BYTES}
"""Type of the first packet → maximum size of its body."""

LATER: Mapping[int, int] = {SUBSCRIBE: PACKET_MAX_BYTES, UNSUBSCRIBE: PACKET_MAX_BYTES, PINGREQ: 0, DISCONNECT: 0}
"""Types of later packets → maximum sizes of their bodies."""

NAMES = {
    CONNECT: "CONNECT",
    SUBSCRIBE: "SUBSCRIBE",
    UNSUBSCRIBE: "UNSUBSCRIBE",
    PINGREQ: "PINGREQ",
    DISCONNECT: "DISCONNECT",
}

QOS_BYTES: Mapping[int, int] = {SUBSCRIBE: 1, UNSUBSCRIBE: 0}
"""Types of packets with topics → the bytes after each topic."""

PINGRESP: bytes = PingRespPacket.build().to_bytes()
"""The answer to a PINGREQ."""

Packet: TypeAlias = Any
"""A packet of amqtt, which ships no types."""


class Disconnected(Exception):
    """The client has closed the connection."""


class ProtocolError(Exception):
    """The client has sent what MQTT 3.1.1 does not allow. The message states what."""


class Rejected(Exception):
    """The server ends the connection because of a limit. The message states which."""


class PacketReader:
    """Reads packets from a WebSocket. It has the method `read` of amqtt's readers."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._buffer = bytearray()

    async def read(self, size: int) -> bytes:
        """Returns the next `size` bytes. Raises Disconnected, or ProtocolError for a text message."""
        while len(self._buffer) < size:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                raise Disconnected
            if not message.get("bytes"):
                raise ProtocolError("MQTT packets are binary messages")
            self._buffer += message["bytes"]
        found = bytes(self._buffer[:size])
        del self._buffer[:size]
        return found

    async def next(self, sizes: Mapping[int, int]) -> Packet:
        """Returns the next packet, of one of these types. It does not suspend while its buffer contains a packet.

        Args:
            sizes: type → maximum size of the body: FIRST or LATER.

        Raises:
            Disconnected: the client has closed the connection.
            ProtocolError: it sent something else, or a larger packet.
            Rejected: it sent more than TOPICS_MAX topics.
        """
        try:
            header = await MQTTFixedHeader.from_stream(self)
            kind = header.packet_type
            if kind not in sizes:
                raise ProtocolError(f"{' or '.join(NAMES[each] for each in sizes)} is expected")
            if header.remaining_length > sizes[kind]:
                raise ProtocolError(f"{NAMES[kind]} has at most {sizes[kind]} bytes")
            body = await self.read(header.remaining_length)
            if kind in QOS_BYTES and _has_too_many_topics(body, QOS_BYTES[kind]):
                raise Rejected(f"{NAMES[kind]} has at most {TOPICS_MAX} topics")
            return await packet_class(header).from_stream(BufferReader(body), fixed_header=header)
        except (AMQTTError, CodecError, MQTTError, NoDataError, ValueError) as error:
            raise ProtocolError("a packet of MQTT 3.1.1 is expected") from error


def _has_too_many_topics(body: bytes, qos_bytes: int) -> bool:
    """Whether more than TOPICS_MAX topics follow the packet id. It looks at their lengths only."""
    position = 2
    for _ in range(TOPICS_MAX):
        position += 2 + int.from_bytes(body[position : position + 2], "big") + qos_bytes
    return position < len(body)


def connack(return_code: int) -> bytes:
    """Returns the answer to a CONNECT. No session is ever present."""
    data: bytes = ConnackPacket.build(0, return_code).to_bytes()
    return data


def suback(packet_id: int, return_codes: Sequence[int]) -> bytes:
    """Returns the answer to a SUBSCRIBE, with a code for each of its topics."""
    data: bytes = SubackPacket.build(packet_id, list(return_codes)).to_bytes()
    return data


def unsuback(packet_id: int) -> bytes:
    """Returns the answer to an UNSUBSCRIBE."""
    data: bytes = UnsubackPacket.build(packet_id).to_bytes()
    return data


def publish(topic: str, payload: bytes) -> bytes:
    """Returns a PUBLISH of QoS 0."""
    packet = PublishPacket.build("", payload, None, dup_flag=False, qos=0, retain=False)
    # Not by the constructor: it rejects the `+` of outputs/unlock/+/{address}, which nodes publish.
    packet.variable_header = PublishVariableHeader("")
    packet.variable_header.topic_name = topic
    data: bytes = packet.to_bytes()
    return data
