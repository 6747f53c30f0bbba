"""All topics of both eras from a real server, by Eclipse Paho: what was there, then new milestones, each once."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from api.network import NetworkMount
from db.connect import StoreSettings
from tests import reference, reference_stardust
from tests.api.conftest import filled_with
from tests.api.mqtt.listener import Listener, listening, nothing_more
from tests.api.mqtt.reference_topics import Json, Published, initial, of_chrysalis, of_stardust
from tests.api.oracle import Oracle
from tests.api.processes import each_server, permanode
from tests.api.stardust import StardustLedger
from tests.reference_rows import write

BEFORE, AFTER = 20, 46
"""The newest milestones before and after the load. There are receipts among them."""

TOPICS_AT_ONCE = 900


@dataclass(frozen=True)
class Era:
    """A ledger, its paths and what it publishes."""

    network: str
    hrp: str
    lines: Sequence[Json]
    outputs: Json
    paths: Sequence[str]
    publications: Callable[[Json, Json, Callable[[str], str]], Iterator[Published]]
    rows: Callable[..., Json]
    ordered: Sequence[str]


@pytest.fixture
def chrysalis(oracle: Oracle) -> Era:
    network = oracle.expected["network"]
    paths = ("/mqtt", f"/api/{network}/mqtt")
    return Era(
        network, oracle.expected["bech32Hrp"], oracle.milestones, oracle.outputs, paths, of_chrysalis,
        reference.whole_rows, ("messages", "messages/referenced", "milestones/latest"),
    )  # fmt: skip


@pytest.fixture
def in_stardust(stardust: StardustLedger) -> Era:
    paths = ("/api/mqtt/v1", f"/api/{stardust.network}/mqtt/v1")
    return Era(
        stardust.network, stardust.expected["bech32Hrp"], stardust.milestones, stardust.outputs, paths, of_stardust,
        reference_stardust.whole_rows, ("blocks", "block-metadata/referenced", "milestone-info/latest", "milestones"),
    )  # fmt: skip


def check(era: Era, folder: Path, http_server: str) -> None:
    """Subscribes to every topic of the milestones that a load adds while a server runs, and compares all payloads."""
    geometry = 100_000, 100_000
    store = filled_with(
        StoreSettings(f"sqlite:///{folder / 'store'}", era.network, *geometry, bech32_hrp=era.hrp),
        era.rows(era.lines[:BEFORE], [], *geometry, era.network),
    )
    bech32 = NetworkMount(store, era.network, era.hrp).bech32
    expected = [each for line in era.lines[BEFORE:AFTER] for each in era.publications(line, era.outputs, bech32)]
    topics = sorted({each.topic for each in expected})
    known = initial(BEFORE, era.lines, era.outputs, expected)
    with ExitStack() as stack:
        settings = {"PERMANODE_STORE_BECH32_HRP": era.hrp, "PERMANODE_API_SERVER": http_server}
        base = stack.enter_context(permanode(folder / "store", era.network, folder / "log", **settings))
        port = int(base.rpartition(":")[2])
        clients: list[Listener] = []
        for start in range(0, len(topics), TOPICS_AT_ONCE):
            wanted, path = topics[start : start + TOPICS_AT_ONCE], era.paths[len(clients) % 2]
            clients.append(stack.enter_context(listening(port, path, wanted)))
        assert Counter(received(clients, topics, known)) == Counter(known)
        write(store, era.rows(era.lines[:AFTER], [], *geometry, era.network))
        found = received(clients, topics, expected)
        assert nothing_more(clients)
    store.close()
    assert Counter(found) == Counter(expected)
    by_topic = {name: [each.payload for each in expected if each.topic == name] for name in era.ordered}
    assert {name: [each.payload for each in found if each.topic == name] for name in era.ordered} == by_topic


def received(clients: Sequence[Listener], topics: Sequence[str], expected: Sequence[Published]) -> list[Published]:
    """What each client received, as much as it has to."""
    found = []
    for number, client in enumerate(clients):
        own = set(topics[number * TOPICS_AT_ONCE : (number + 1) * TOPICS_AT_ONCE])
        found += client.take(sum(each.topic in own for each in expected))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("http_server", each_server("uvicorn"))
def test_the_topics_of_chrysalis(chrysalis: Era, tmp_path: Path, http_server: str) -> None:
    check(chrysalis, tmp_path, http_server)


@pytest.mark.thorough
@pytest.mark.parametrize("http_server", each_server("granian"))
def test_the_topics_of_stardust(in_stardust: Era, tmp_path: Path, http_server: str) -> None:
    check(in_stardust, tmp_path, http_server)
