"""Packets of MQTT 3.1.1 in the binary messages of a WebSocket. amqtt encodes and decodes them.

A packet may span several messages, and a message may contain several packets. Each packet is read whole, within
PACKET_MAX_BYTES, before it is decoded.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from amqtt.adapters import BufferReader
from amqtt.errors import AMQTTError, CodecError, MQTTError, NoDataError
from amqtt.mqtt import packet_class
from amqtt.mqtt.connack import ConnackPacket
from amqtt.mqtt.packet import MQTTFixedHeader
from amqtt.mqtt.pingresp import PingRespPacket
from amqtt.mqtt.publish import PublishPacket, PublishVariableHeader
from amqtt.mqtt.suback import SubackPacket
from amqtt.mqtt.unsuback import UnsubackPacket
from starlette.types import Receive

PACKET_MAX_BYTES = 131_072
"""Maximum size of a packet from a client: a SUBSCRIBE of 1000 of the longest topics."""

HEADER_MAX_BYTES = 5

Packet: TypeAlias = Any
"""A packet of amqtt, which ships no types."""


class Disconnected(Exception):
    """The client has closed the connection."""


class ProtocolError(Exception):
    """The client has sent what MQTT 3.1.1 does not allow. The message states what."""


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

    async def next(self) -> Packet:
        """Returns the next packet. Raises Disconnected or ProtocolError."""
        try:
            header = await MQTTFixedHeader.from_stream(self)
            if header.remaining_length > PACKET_MAX_BYTES:
                raise ProtocolError(f"a packet has at most {PACKET_MAX_BYTES} bytes")
            body = BufferReader(await self.read(header.remaining_length))
            return await packet_class(header).from_stream(body, fixed_header=header)
        except (AMQTTError, CodecError, MQTTError, NoDataError, ValueError) as error:
            raise ProtocolError("a packet of MQTT 3.1.1 is expected") from error


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


def pingresp() -> bytes:
    """Returns the answer to a PINGREQ."""
    data: bytes = PingRespPacket.build().to_bytes()
    return data


def publish(topic: str, payload: bytes) -> bytes:
    """Returns a PUBLISH of QoS 0."""
    packet = PublishPacket.build("", payload, None, dup_flag=False, qos=0, retain=False)
    # Not by the constructor: it rejects the `+` of outputs/unlock/+/{address}, which nodes publish.
    packet.variable_header = PublishVariableHeader("")
    packet.variable_header.topic_name = topic
    data: bytes = packet.to_bytes()
    return data
