"""The Rust clients of both eras, with this server as their only node: topics of milestones that are loaded meanwhile.

iota-sdk 1.1.4 (PyPI) has the Rust library that `@iota/sdk` has too. The client ends a connection at a packet above
10 KB and cannot read receipts, so the milestones here have neither.
"""

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from db.connect import StoreSettings
from tests import reference, reference_stardust
from tests.api.conftest import filled_with
from tests.api.mqtt.reference_topics import as_json
from tests.api.oracle import Json, Oracle
from tests.api.processes import permanode
from tests.api.stardust import StardustLedger
from tests.clients.installs import HERE, IOTA_CLIENT_WHEELS, IOTA_SDK_WHEELS, Wheel, find_interpreter, python_programs
from tests.reference_rows import write

pytestmark = pytest.mark.clients

GEOMETRY = 100_000, 100_000
BEFORE, AFTER = 25, 33
"""The newest milestones before and after the load."""

WAIT_S = 60


def events(
    python: Path,
    driver: str,
    settings: dict[str, str],
    store: StoreSettings,
    stages: Sequence[Callable[[], Any]],
    topics: Sequence[str],
    counts: Sequence[int],
    log: Path,
) -> list[Json]:
    """What a client shows that listens to these topics: `counts[0]` events, and `counts[1]` more after the load."""
    filled = filled_with(store, stages[0]())
    found: list[Json] = []
    with permanode(Path(store.url.removeprefix("sqlite:///")), store.network, log, **settings) as base:
        command = [str(python / "python"), str(HERE / "drivers" / driver), base, json.dumps(topics)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        lines = process.stdout

        def read() -> None:
            found.extend(event_of(line) for line in lines if line.strip())

        reading = threading.Thread(target=read)
        reading.start()
        try:
            wait_for(found, counts[0])
            assert len(found) == counts[0]
            write(filled, stages[1]())
            wait_for(found, sum(counts))
            # And none twice.
            time.sleep(1)
        finally:
            process.stdin.close()
            process.wait(WAIT_S)
            reading.join()
            lines.close()
    filled.close()
    return found


def wait_for(found: Sequence[Json], count: int) -> None:
    end = time.monotonic() + WAIT_S
    while len(found) < count and time.monotonic() < end:
        time.sleep(0.05)


def event_of(line: str) -> Json:
    """An event; the clients write JSON in JSON texts."""
    value: Any = json.loads(line)
    value = json.loads(value) if isinstance(value, str) else value
    payload = value["payload"]
    return {"topic": value["topic"], "payload": json.loads(payload) if isinstance(payload, str) else payload}


def programs(cache: Path, package: str, name: str, wheels: Sequence[Wheel]) -> Path:
    return python_programs(cache, name, find_interpreter(package, wheels))


def counted(found: Sequence[Json]) -> Counter[tuple[str, str]]:
    return Counter((each["topic"], as_json(each["payload"])) for each in found)


def test_iota_sdk_listens_to_stardust(stardust: StardustLedger, cache: Path, tmp_path: Path) -> None:
    hrp, network = stardust.expected["bech32Hrp"], stardust.network
    (tmp_path / "info.json").write_text(json.dumps(stardust.expected["info"]), "utf-8")
    lines = stardust.milestones[BEFORE:AFTER]
    spent = next(each for line in lines for each in line["milestone"]["utxoChanges"]["consumedOutputs"])
    topics = ["milestone-info/latest", "milestones", "blocks", "block-metadata/referenced", f"outputs/{spent}"]
    before = stardust.milestones[BEFORE - 1]["milestone"]
    expected: list[Json] = []

    def expect(topic: str, payload: Json) -> None:
        expected.append({"topic": topic, "payload": payload})

    for milestone in (before, *(line["milestone"] for line in lines)):
        expect("milestone-info/latest", {name: milestone[name] for name in ("index", "timestamp", "milestoneId")})
    for line in lines:
        expect("milestones", line["milestone"]["payload"])
        for entry in line["blocks"]:
            expect("blocks", entry["block"])
            metadata = entry["metadata"]
            named = {"parentBlockIds" if name == "parents" else name: each for name, each in metadata.items()}
            expect("block-metadata/referenced", named)
    response = stardust.outputs[spent]
    at = response["metadata"]["milestoneIndexSpent"]
    unspent = {name: each for name, each in response["metadata"].items() if not name.endswith("Spent")}
    expect(f"outputs/{spent}", {**response, "metadata": {**unspent, "isSpent": False, "ledgerIndex": BEFORE}})
    expect(f"outputs/{spent}", {**response, "metadata": {**response["metadata"], "ledgerIndex": at}})
    found = events(
        programs(cache, "iota-sdk", "iota_sdk", IOTA_SDK_WHEELS),
        "sdk_mqtt.py",
        {"PERMANODE_STORE_BECH32_HRP": hrp, "PERMANODE_STORE_PROTOCOL_PARAMETERS": str(tmp_path / "info.json")},
        StoreSettings(f"sqlite:///{tmp_path / 'store'}", network, *GEOMETRY, bech32_hrp=hrp),
        [
            lambda end=end: reference_stardust.whole_rows(stardust.milestones[:end], [], *GEOMETRY, network)
            for end in (BEFORE, AFTER)
        ],
        topics,
        (2, len(expected) - 2),
        tmp_path / "log",
    )
    assert counted(found) == counted(expected)


KINDS = {0: "Transaction", 1: "Milestone", 2: "Indexation"}


def known_by(message: Json) -> Json:
    """What a message of the node is compared by: everything but the contents of its payload."""
    payload = message["payload"]
    return {
        "network_id": int(message["networkId"]),
        "nonce": int(message["nonce"]),
        "parents": message["parentMessageIds"],
        "payload": payload and KINDS[payload["type"]],
    }


def test_iota_client_listens_to_chrysalis(oracle: Oracle, cache: Path, tmp_path: Path) -> None:
    network = oracle.expected["network"]
    lines = oracle.milestones[BEFORE:AFTER]
    topics = ["milestones/latest", "messages/referenced", "messages"]
    before = oracle.milestones[BEFORE - 1]["milestone"]
    expected: list[Json] = []
    for milestone in (before, *(line["milestone"] for line in lines)):
        payload = {name: milestone[name] for name in ("index", "timestamp")}
        expected.append({"topic": "milestones/latest", "payload": payload})
    for line in lines:
        for entry in line["messages"]:
            expected.append({"topic": "messages/referenced", "payload": entry["metadata"]})
            expected.append({"topic": "messages", "payload": known_by(entry["message"])})
    found = events(
        programs(cache, "iota-client-python", "iota_client", IOTA_CLIENT_WHEELS),
        "rust_mqtt.py",
        {},
        StoreSettings(f"sqlite:///{tmp_path / 'store'}", network, *GEOMETRY),
        [
            lambda end=end: reference.whole_rows(oracle.milestones[:end], [], *GEOMETRY, network)
            for end in (BEFORE, AFTER)
        ],
        topics,
        (1, len(expected) - 1),
        tmp_path / "log",
    )
    for each in found:
        if each["topic"] == "messages":
            payload = each["payload"].pop("payload")
            each["payload"]["payload"] = payload and payload["type"]
    assert counted(found) == counted(expected)
