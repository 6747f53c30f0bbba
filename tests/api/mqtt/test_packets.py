"""Packets that cost a server much: many in one message, with many topics, or before the credentials are known."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from api.mqtt import client as mqtt_client
from api.mqtt import packets
from api.network import NetworkMount
from tests.api.mqtt import raw
from tests.api.mqtt.raw import connected
from tests.api.mqtt.test_limits import LATEST, POLICY, PROTOCOL, app_of, store

__all__ = ["store"]


@pytest.mark.parametrize(
    ("begin", "sent", "code"),
    [
        (None, raw.subscribe(*[""] * 30_000), PROTOCOL),
        (None, raw.unsubscribe(LATEST), PROTOCOL),
        (None, raw.publish(LATEST, b"x"), PROTOCOL),
        (None, raw.connect("a" * 8_192), PROTOCOL),
        (raw.connect(), raw.connect(), PROTOCOL),
        (raw.connect(), raw.publish(LATEST, b"x"), PROTOCOL),
        (raw.connect(), raw.packet(0xC0, b"x"), PROTOCOL),
        (raw.connect(), raw.subscribe(*[""] * 1_001), POLICY),
        (raw.connect(), raw.subscribe(*[""] * 32_760), POLICY),
        (raw.connect(), raw.unsubscribe(*[LATEST] * 1_001), POLICY),
    ],
)
async def test_packets_that_are_rejected_without_decoding(
    app: Any, monkeypatch: pytest.MonkeyPatch, begin: bytes | None, sent: bytes, code: int
) -> None:
    async with connected(app, begin=begin) as socket:
        if begin is None:
            await socket.events.get()
        monkeypatch.delattr(packets, "packet_class")
        socket.put(sent)
        assert await socket.get() == code


async def test_packets_of_as_many_topics_as_are_allowed(app: Any) -> None:
    topics = [f"messages/indexation/{number:04x}" for number in range(1_000)]
    async with connected(app, begin=raw.connect("a" * 8_000)) as socket:
        socket.put(raw.subscribe(*topics), raw.unsubscribe(*topics))
        assert [await socket.get(), await socket.get()] == [raw.suback(*[0] * 1_000), raw.packet(0xB0, b"\x00\x09")]


async def test_one_packet_of_a_message_is_handled_in_each_turn_of_the_event_loop(
    mount: NetworkMount, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0
    handled: Counter[int] = Counter()
    put = mqtt_client.Client.put

    def counted(client: mqtt_client.Client, packet: bytes) -> None:
        handled[turns] += 1
        put(client, packet)

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    # The limit ends the test after 1000 packets of the message.
    async with connected(app_of(mount, rate_limit="100/hour"), begin=raw.connect()) as socket:
        monkeypatch.setattr(mqtt_client.Client, "put", counted)
        parallel = asyncio.create_task(count_turns())
        socket.put(raw.PINGREQ * 131_072)
        assert [await socket.get() for _ in range(1_000)] == [raw.PINGRESP] * 999 + [POLICY]
        parallel.cancel()
    assert (sum(handled.values()), max(handled.values()) <= 2) == (999, True)


async def test_unsubscriptions_and_every_tenth_ping_count_as_requests(mount: NetworkMount) -> None:
    for sent, answers in ((raw.unsubscribe(LATEST), 2), (raw.PINGREQ, 29)):
        async with connected(app_of(mount, rate_limit="3/hour"), begin=raw.connect()) as socket:
            socket.put(sent * 40)
            for _ in range(answers):
                assert isinstance(await socket.get(), bytes)
            assert await socket.get() == POLICY
