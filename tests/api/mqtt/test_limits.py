"""What clients may not do, and what the server does not do for them."""

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import jwt
import pytest

from api.app import ApiSettings, create_app
from api.events import routes as events
from api.mqtt import client as mqtt_client
from api.mqtt import hub
from api.network import NetworkMount
from db.store import StoreUnavailable, WritableStore
from tests.api.conftest import STORES, Filled, fill, new_store
from tests.api.events.test_events import growing
from tests.api.mqtt import raw
from tests.api.mqtt.raw import CONNACK, connected
from tests.api.oracle import Oracle

PROTOCOL, POLICY, LATER = 1002, 1008, 1013
LATEST = "milestones/latest"


@pytest.fixture(scope="session", params=STORES[:1])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, filled: Filled
) -> WritableStore:
    """One is enough: limits are no matter of the store."""
    if ("api", *request.param) not in filled:
        settings = new_store(request, tmp_path_factory, "api", oracle.expected["network"])
        filled["api", *request.param] = fill(settings, oracle)
    return filled["api", *request.param]


async def test_topics_that_do_not_exist_are_rejected_one_by_one(app: Any, oracle: Oracle) -> None:
    message_id = oracle.entries[0]["id"]
    good = [LATEST, "messages", f"messages/{message_id}/metadata"]
    bad = [
        "", "#", "+", "/", "$SYS/broker/version", "messages/#", "messages/+/metadata", "messages/", "milestones",
        "blocks", f"messages/{message_id.upper()}/metadata", f"messages/0x{message_id}/metadata",
        f"messages/{message_id}", f"outputs/{message_id}", "outputs/unlock/+/x", "messages/indexation/",
        "messages/indexation/abc", "messages/indexation/" + "00" * 65, "x" * 60_000, "messages\n",
        "addresses/+/outputs",
    ]  # fmt: skip
    async with connected(app, begin=raw.connect()) as socket:
        socket.put(raw.subscribe(*good, *bad, qos=2))
        assert await socket.get() == raw.suback(*[0] * len(good), *[0x80] * len(bad))


@pytest.mark.parametrize(
    "topic",
    [
        "milestones", "receipts", "outputs/unlock/+/rms1qqqqqqqqqq", "outputs/unlock/address/rms1qqqqqqqqqq/spent",
        "blocks/transaction/tagged-data/0x00", "outputs/foundry/0x" + "00" * 38,
    ],
)  # fmt: skip
async def test_topics_of_stardust_at_its_path(app: Any, topic: str) -> None:
    wildcards = [f"{topic}/#", f"+/{topic}", "outputs/unlock/+/+", "outputs/unlock/#", "tip-score-updates", LATEST]
    for path in ("/api/mqtt/v1", "/api/testing/mqtt/v1"):
        async with connected(app, path, begin=raw.connect()) as socket:
            socket.put(raw.subscribe(topic, *wildcards))
            assert await socket.get() == raw.suback(0, *[0x80] * len(wildcards))


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (raw.publish("messages", b"x"), PROTOCOL),
        (raw.publish(LATEST, b"x", qos=1), PROTOCOL),
        (raw.publish("a/b", b"x" * 200_000), PROTOCOL),
        (raw.connect(), PROTOCOL),
        (raw.packet(0x82, b"\x00\x01"), PROTOCOL),
        (raw.packet(0x80, b"\x00\x01" + raw.text(LATEST) + b"\x00"), PROTOCOL),
        (raw.subscribe(LATEST, qos=3), PROTOCOL),
        (raw.packet(0xA2, b"\x00\x01"), PROTOCOL),
        (raw.packet(0xF0, b""), PROTOCOL),
        (b"\x82\xff\xff\xff\xff\x01", PROTOCOL),
        (raw.subscribe(*(f"messages/indexation/{number:04x}" for number in range(1_001))), POLICY),
        (raw.DISCONNECT, 1000),
    ],
)
async def test_what_ends_a_connection(app: Any, sent: bytes, code: int) -> None:
    async with connected(app, begin=raw.connect()) as socket:
        socket.put(sent)
        assert await socket.get() == code


async def test_messages_are_binary(app: Any) -> None:
    async with connected(app, begin=raw.connect()) as socket:
        socket.inbox.put_nowait({"type": "websocket.receive", "text": "milestones"})
        assert await socket.get() == PROTOCOL


async def test_random_bytes_end_a_connection_or_are_packets(app: Any) -> None:
    rng = random.Random(5)
    valid = [raw.subscribe(LATEST, "messages"), raw.unsubscribe(LATEST), raw.PINGREQ, raw.connect(password="p")]
    ended = 0
    for number in range(300):
        data = bytearray(rng.choice(valid) if number % 2 else rng.randbytes(rng.randint(1, 40)))
        for _ in range(number % 3 + 1):
            data[rng.randrange(len(data))] = rng.randrange(256)
        async with connected(app, begin=raw.connect() if number % 5 else None) as socket:
            socket.put(bytes(data))
            socket.inbox.put_nowait({"type": "websocket.disconnect"})
            while True:
                event = await asyncio.wait_for(socket.events.get(), raw.WAIT_S)
                if event["type"] == "websocket.close":
                    assert event["code"] in (1000, PROTOCOL, POLICY)
                    ended += event["code"] == PROTOCOL
                    break
    assert ended > 50


async def test_packets_may_be_split_and_joined(app: Any) -> None:
    async with connected(app, begin=raw.connect()) as socket:
        for byte in raw.PINGREQ + raw.subscribe("messages"):
            socket.put(bytes([byte]))
        assert [await socket.get(), await socket.get()] == [raw.PINGRESP, raw.suback(0)]
        socket.put(raw.PINGREQ + raw.unsubscribe("messages", "blocks") + raw.PINGREQ)
        assert [await socket.get() for _ in range(3)] == [raw.PINGRESP, raw.packet(0xB0, b"\x00\x09"), raw.PINGRESP]


@pytest.mark.parametrize(
    ("sent", "return_code"),
    [
        (raw.connect(level=5), 1),
        (raw.packet(0x10, raw.text("MQIsdp") + b"\x03\x02\x00\x3c" + raw.text("a")), 1),
        (raw.connect("", clean=False), 2),
    ],
)
async def test_a_connect_that_is_not_accepted(app: Any, sent: bytes, return_code: int) -> None:
    async with connected(app) as socket:
        await socket.events.get()
        socket.put(sent)
        assert [await socket.get(), await socket.get()] == [bytes([0x20, 2, 0, return_code]), POLICY]


async def test_the_first_packet_is_connect_and_comes_in_time(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqtt_client, "CONNECT_S", 0.05)
    for sent in ([raw.PINGREQ], [raw.connect()[:5]], []):
        async with connected(app) as socket:
            await socket.events.get()
            socket.put(*sent)
            assert await socket.get() == PROTOCOL


@pytest.mark.thorough
async def test_a_client_that_is_silent_for_longer_than_it_said_is_disconnected(app: Any) -> None:
    async with connected(app, begin=raw.connect(keep_alive=1)) as socket:
        assert await socket.get() == PROTOCOL


@pytest.mark.parametrize(
    ("path", "subprotocols", "status"),
    [
        ("/", ["mqtt"], 404),
        ("/api/v1/info", ["mqtt"], 404),
        ("/api/other/mqtt", ["mqtt"], 404),
        ("/api/testing/mqtt/v2", ["mqtt"], 404),
        ("/mqtt", ["chat"], 400),
    ],
)
async def test_a_handshake_that_is_rejected(app: Any, path: str, subprotocols: list[str], status: int) -> None:
    async with connected(app, path, subprotocols=subprotocols) as socket:
        assert (await socket.events.get())["status"] == status
        assert (await socket.events.get())["body"]


@pytest.mark.parametrize("wormhole_store", STORES[:1], indirect=True)
async def test_a_network_of_wormhole_has_no_topics(signed_app: Any) -> None:
    for path in ("/mqtt", "/api/mqtt/v1", "/api/wormhole-mainnet/mqtt"):
        async with connected(signed_app, path) as socket:
            assert (await socket.events.get())["status"] == 404


def app_of(mount: NetworkMount, **settings: Any) -> Any:
    return create_app({"testing": mount}, "testing", ApiSettings(**settings))


async def test_connections_are_limited_and_given_back(mount: NetworkMount) -> None:
    app = app_of(mount, mqtt_connections=1)
    for _ in range(2):
        async with connected(app, begin=raw.connect()), connected(app) as other:
            assert (await other.events.get())["status"] == 503
    async with connected(app_of(mount, mqtt_connections=0)) as socket:
        assert (await socket.events.get())["status"] == 503


async def test_credentials_come_with_the_handshake_or_as_the_password(mount: NetworkMount) -> None:
    secret = "s" * 32
    token = jwt.encode({"exp": time.time() + 60}, secret, algorithm="HS256")
    app = app_of(mount, keys=("first-key",), jwt_secret=secret)
    for headers in ([(b"x-api-key", b"first-key")], [(b"authorization", f"Bearer {token}".encode())]):
        async with connected(app, headers=headers, begin=raw.connect()):
            pass
    for password in ("first-key", token):
        async with connected(app, begin=raw.connect(password=password)):
            pass
    for password in (None, "", "second-key", token[:-4]):
        async with connected(app, headers=[(b"x-api-key", b"other")]) as socket:
            await socket.events.get()
            socket.put(raw.connect(password=password))
            assert [await socket.get(), await socket.get()] == [bytes([0x20, 2, 0, 5]), POLICY]


async def test_handshakes_and_subscriptions_count_as_requests(mount: NetworkMount) -> None:
    app = app_of(mount, rate_limit="3/hour")
    async with connected(app, begin=raw.connect()) as socket:
        socket.put(raw.subscribe("messages"), raw.PINGREQ, raw.subscribe("messages/referenced", number=8))
        assert [await socket.get() for _ in range(3)] == [raw.suback(0), raw.PINGRESP, raw.suback(0, number=8)]
        socket.put(raw.subscribe("receipts"))
        assert await socket.get() == POLICY
    async with connected(app) as socket:
        assert (await socket.events.get())["status"] == 429


class Watched:
    """A store that counts the reads of each table, and can fail."""

    def __init__(self, store: Any) -> None:
        self.store, self.fails = store, False
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.store, name)
        if name not in ("get", "get_many", "slice"):
            return method

        async def watched(table: Any, *arguments: Any, **options: Any) -> Any:
            self.read.add(table.name)
            if self.fails:
                raise StoreUnavailable("away")
            return await method(table, *arguments, **options)

        return watched


@pytest.fixture
def fast_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "POLL_S", 0.01)


@pytest.mark.thorough
@pytest.mark.usefixtures("fast_polls")
async def test_only_what_somebody_subscribed_to_is_read(oracle: Oracle, tmp_path: Path) -> None:
    stages = growing(tmp_path, oracle, 20, 21, 22)
    mount = next(stages).mount
    watched: Any = Watched(mount.store)
    app = app_of(NetworkMount(watched, mount.name, mount.bech32_hrp))
    async with connected(app, begin=raw.connect()) as socket:
        await asyncio.sleep(0.05)
        assert watched.read == set()
        socket.put(raw.subscribe(LATEST))
        assert [await socket.get(), b'"index":20' in await socket.get()] == [raw.suback(0), True]
        next(stages)
        assert b'"index":21' in await socket.get()
        assert not watched.read & {"messages_by_milestone", "messages", "outputs"}
        socket.put(raw.unsubscribe(LATEST))
        await socket.get()
        await asyncio.sleep(0.05)
        watched.read.clear()
        next(stages)
        await asyncio.sleep(0.05)
        assert (watched.read, socket.events.empty()) == (set(), True)
    assert next(stages, None) is None


@pytest.mark.thorough
@pytest.mark.usefixtures("fast_polls")
async def test_a_slow_client_is_cut_off_and_others_miss_nothing(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("SLOW_S", 0.2), ("MESSAGES_AT_ONCE", 5)):
        monkeypatch.setattr(hub, name, value)
    monkeypatch.setattr(mqtt_client, "BACKLOG_MAX_BYTES", 3_000)
    monkeypatch.setattr(mqtt_client, "CLOSE_S", 0.1)
    waiting: list[int] = []
    put = mqtt_client.Client.put

    def measured(client: mqtt_client.Client, packet: bytes) -> None:
        put(client, packet)
        waiting.append(client._backlog)

    monkeypatch.setattr(mqtt_client.Client, "put", measured)
    stages = growing(tmp_path, oracle, 20, 50)
    app = app_of(next(stages).mount)
    async with connected(app, begin=raw.connect()) as slow, connected(app, begin=raw.connect()) as other:
        for each in (slow, other):
            each.put(raw.subscribe("messages"))
            assert await each.get() == raw.suback(0)
        slow.is_reading.clear()
        next(stages)
        expected = [
            raw.publish("messages", bytes.fromhex(entry["bytes_hex"]))
            for line in oracle.milestones[20:50]
            for entry in line["messages"]
        ]
        assert [await other.get() for _ in expected] == expected
        # One page more than the limit, however much there was.
        largest = max(map(len, expected))
        assert 3_000 < max(waiting) < 3_000 + 5 * largest < sum(map(len, expected))
        slow.is_reading.set()
        sent = []
        while not slow.events.empty():
            sent.append(await slow.get())
        assert sum(isinstance(each, bytes) for each in sent) < len(expected)
    assert next(stages, None) is None


@pytest.mark.usefixtures("fast_polls")
async def test_clients_learn_that_the_store_cannot_be_read(oracle: Oracle, tmp_path: Path) -> None:
    stages = growing(tmp_path, oracle, 20, 21)
    mount = next(stages).mount
    watched: Any = Watched(mount.store)
    app = app_of(NetworkMount(watched, mount.name, mount.bech32_hrp))
    async with connected(app, begin=raw.connect()) as following:
        following.put(raw.subscribe("messages"))
        assert await following.get() == raw.suback(0)
        watched.fails = True
        assert await following.get() == LATER
        async with connected(app, begin=raw.connect()) as subscribing:
            subscribing.put(raw.subscribe(LATEST))
            while (answer := await subscribing.get()) == raw.suback(0):
                pass
            assert answer == LATER
        watched.fails = False
        # And the next one is served again.
        async with connected(app, begin=raw.connect()) as again:
            again.put(raw.subscribe("messages"))
            assert await again.get() == raw.suback(0)
            next(stages)
            first = bytes.fromhex(oracle.milestones[20]["messages"][0]["bytes_hex"])
            assert await again.get() == raw.publish("messages", first)
    assert next(stages, None) is None


async def test_the_older_name_of_the_subprotocol_and_none_are_served_too(app: Any) -> None:
    async with connected(app, subprotocols=("mqttv3.1",), begin=raw.connect()):
        pass
    async with connected(app, subprotocols=()) as socket:
        assert await socket.events.get() == {"type": "websocket.accept", "subprotocol": None}
        socket.put(raw.connect())
        assert await socket.get() == CONNACK
