"""The demo: the shipped sample, loaded through Spark and served, with five questions to ask.

Rules of this file: it uses what every load uses, nothing of its own; settings of the user's do not reach it, but for
what a store that is named on the command line needs to be reached (password, TLS); what the five questions ask for is
read from the sample's files, not from what we made of them.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import serving
from db.connect import open_store
from db.migrate import migrate
from db.sync import complete
from etl import jobs
from etl.session import EtlSettings
from ledger.bech32 import format_address
from ledger.networks import find_network
from progress import present, shown
from settings import Settings, read

HOME = Path(__file__).parent
SAMPLE = HOME / "sample" / "chrysalis"
NETWORK = "permatest-1"
HOST = "127.0.0.1"


def run(port: int, folder: Path = HOME / ".demo", store: str | None = None) -> None:
    """Loads what the store does not hold yet and serves until interrupted; the port is taken before anything else.

    The lake is in `folder`, and so is the store where no other is named by its URL.
    """
    listener = serving.listen(HOST, port)
    settings = demo_settings(folder, store)
    migrate(settings.store())
    if not is_loaded(settings):
        with shown() as notify:
            done = jobs.load(
                settings.store(),
                settings.build("etl", EtlSettings),
                [SAMPLE],
                genesis=SAMPLE / "genesis.json",
                notify=notify,
            )
        print(present(done))
    base = f"http://{HOST}:{port}"
    print("\nServing. Five questions to ask:\n")
    for meaning, path in questions():
        print(f"  # {meaning}\n  curl -s '{base}{path}'\n")
    print(f"Every endpoint: {base}/docs\nCtrl-C ends it.", flush=True)
    serving.serve(settings, listener)


def demo_settings(folder: Path, store: str | None) -> Settings:
    """The sample's network, kept in that folder or in the store named; everything else as by default."""
    flags: dict[str, tuple[str, object]] = {
        "network": ("--network", NETWORK),
        "store.url": ("--store", store or f"sqlite:///{folder}"),
        "etl.lake": ("--lake", str(folder / "lake")),
    }
    of_store = {name: value for name, value in os.environ.items() if name.startswith("PERMANODE_STORE_")}
    return read(None, of_store if store else {}, flags)


def is_loaded(settings: Settings) -> bool:
    """Whether the store holds every milestone of the sample already."""
    store = open_store(settings.store())
    try:
        held = asyncio.run(complete(store, NETWORK))
    finally:
        store.close()
    return all(any(first <= line["milestone_index"] <= last for first, last in held) for line in sample_lines())


def sample_lines() -> Iterator[dict[str, Any]]:
    """The sample's archive lines; each is a milestone."""
    for file in sorted(SAMPLE.glob("*to*.log*")) + sorted(SAMPLE.glob("*.part")):
        with file.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def questions() -> list[tuple[str, str]]:
    """One question of each kind, as (what it asks, path), with ids that the sample holds."""
    line = next(line for line in sample_lines() if line["milestone_index"] == 10)
    messages = {message_id: message for message_id, (message, _) in line["messages"].items()}

    def first(kind: str) -> tuple[str, Any]:
        found = (pair for pair in messages.items() if (pair[1]["payload"] or {}).get("type") == kind)
        return next(found)

    tagged_id, tagged = first("Indexation")
    _, transfer = first("Transaction")
    parent = next(parent for message in messages.values() for parent in message["parents"] if parent in messages)
    index = bytes(tagged["payload"]["data"]["index"]).hex()
    output = transfer["payload"]["data"]["essence"]["data"]["outputs"][0]
    owner = bytes.fromhex("00" + output["data"]["address"]["data"])
    address = format_address(find_network(NETWORK).bech32_hrp, owner)
    return [
        ("a message", f"/api/v1/messages/{tagged_id}"),
        ("the messages that approve another", f"/api/v1/messages/{parent}/children"),
        ("messages by index", f"/api/v1/messages?index={index}"),
        ("an address's outputs", f"/api/v1/addresses/{address}/outputs"),
        ("a milestone", f"/api/v1/milestones/{line['milestone_index']}"),
    ]
