"""A client of Eclipse Paho over WebSocket, and what it received."""

import json
import queue
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.api.mqtt.reference_topics import Published, as_json

WAIT_S = 60


class Listener:
    """A connected client.

    Attributes:
        return_codes: of its subscriptions, in their order.
        received: its messages.
        ended: the reason of the end of its connection, once it ended.
    """

    def __init__(self, port: int, path: str, password: str | None = None, protocol: int = paho.MQTTv311) -> None:
        self.received: queue.Queue[Published] = queue.Queue()
        self.answers: queue.Queue[Any] = queue.Queue()
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2, transport="websockets", protocol=protocol, reconnect_on_failure=False
        )
        self.client.ws_set_options(path=path)
        if password is not None:
            self.client.username_pw_set("permanode", password)
        self.client.on_connect = lambda *event: self.answers.put(event[3].value)
        self.client.on_subscribe = lambda *event: self.answers.put([each.value for each in event[3]])
        self.client.on_disconnect = lambda *event: self.answers.put(("ended", event[3].value))
        self.client.on_message = lambda _client, _data, message: self.received.put(
            Published(message.topic, text_of(message.payload))
        )
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()

    def subscribe(self, topics: Sequence[str], qos: int = 1) -> list[int]:
        """Subscribes; returns the return codes."""
        self.client.subscribe([(topic, qos) for topic in topics])
        codes: list[int] = self.answer()
        return codes

    def answer(self) -> Any:
        return self.answers.get(timeout=WAIT_S)

    def take(self, count: int) -> list[Published]:
        """The next messages; fewer if nothing comes for a while."""
        found: list[Published] = []
        while len(found) < count:
            try:
                found.append(self.received.get(timeout=WAIT_S))
            except queue.Empty:
                break
        return found


def text_of(payload: bytes) -> str | bytes:
    """A payload in JSON as the text of its value, any other as it is."""
    return as_json(json.loads(payload)) if payload.startswith(b"{") else payload


@contextmanager
def listening(port: int, path: str, topics: Sequence[str], **options: Any) -> Iterator[Listener]:
    """A client that has subscribed to these topics."""
    listener = Listener(port, path, **options)
    try:
        assert listener.answer() == 0
        if topics:
            assert listener.subscribe(topics) == [0] * len(topics)
        yield listener
    finally:
        listener.client.disconnect()
        listener.client.loop_stop()


def nothing_more(listeners: Sequence[Listener], seconds: float = 1.2) -> bool:
    """Whether no client receives anything for longer than the server waits between two looks."""
    time.sleep(seconds)
    return all(listener.received.empty() for listener in listeners)
