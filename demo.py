"""The demo: the shipped samples of both eras, loaded through Spark and served, with questions to ask.

Rules of this file: it uses what every load uses, nothing of its own; settings of the user's do not reach it, but for
what a store that is named on the command line needs to be reached (password, TLS); what the questions ask for is read
from the samples' files, not from what we made of them.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import serving
from db.connect import StoreSettings, open_store
from db.migrate import migrate
from db.sync import complete
from etl import jobs
from etl.session import EtlSettings
from etl.sources.files import archive_files, lines, open_stream
from ledger.bech32 import format_address
from ledger.networks import find_network
from progress import present, shown
from settings import Settings, read

HOME = Path(__file__).parent
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Sample:
    """A shipped ledger: its network, its files and their genesis, and the settings that the network needs."""

    network: str
    files: Path
    given: tuple[tuple[str, str], ...] = ()

    def milestones(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Index and line of each milestone."""
        for file in archive_files([self.files]):
            with open_stream(str(file)) as stream:
                for _, _, text in lines(stream):
                    line = json.loads(text)
                    if "milestone" in line:
                        yield line["milestone_index"] if "milestone_index" in line else line["milestone"]["index"], line


CHRYSALIS = Sample("permatest-1", HOME / "sample" / "chrysalis")
STARDUST = Sample(
    "permatest-2",
    HOME / "sample" / "stardust",
    (("bech32_hrp", "tst"), ("protocol_parameters", str(HOME / "sample" / "stardust" / "info.json"))),
)

ASKED_MILESTONE = 10
"""Whose messages and blocks the questions are about."""


def run(port: int, folder: Path = HOME / ".demo", store: str | None = None) -> None:
    """Loads what the stores do not hold yet and serves until interrupted; the port is taken before anything else.

    The lakes are in `folder`, and so are the stores where no other is named by its URL.
    """
    listener = serving.listen(HOST, port)
    settings = demo_settings(folder, store)
    for sample in (CHRYSALIS, STARDUST):
        of_sample = settings.store(sample.network)
        migrate(of_sample)
        if not is_loaded(of_sample, sample):
            etl = settings.build("etl", EtlSettings, lake=str(folder / "lake" / sample.network))
            with shown() as notify:
                done = jobs.load(of_sample, etl, [sample.files], genesis=sample.files / "genesis.json", notify=notify)
            print(present(done))
    base = f"http://{HOST}:{port}"
    print("\nServing. Questions to ask, of Chrysalis first, then of Stardust:\n")
    for meaning, path in (*chrysalis_questions(), *stardust_questions()):
        print(f"  # {meaning}\n  curl -s '{base}{path}'\n")
    print(f"Every endpoint: {base}/docs\nCtrl-C ends it.", flush=True)
    serving.serve(settings, listener)


def demo_settings(folder: Path, store: str | None) -> Settings:
    """The samples' networks, kept in that folder, or in the store named and one beside it; all else as by default."""
    flags: dict[str, tuple[str, object]] = {
        "network": ("--network", CHRYSALIS.network),
        "api.stardust_network": ("demo", STARDUST.network),
    }
    of_store = (
        {name: value for name, value in os.environ.items() if name.startswith("PERMANODE_STORE_")} if store else {}
    )
    for sample in (CHRYSALIS, STARDUST):
        given = {"url": store_of(sample, folder, store), **dict(sample.given)}
        given |= {name.removeprefix("PERMANODE_STORE_").lower(): value for name, value in of_store.items()}
        flags |= {f"networks.{sample.network}.{name}": ("--store", value) for name, value in given.items()}
    return read(None, {}, flags)


def store_of(sample: Sample, folder: Path, store: str | None) -> str:
    """The URL of its store: the one named is Chrysalis's, Stardust's has a name that goes on with its era."""
    if store is None:
        return f"sqlite:///{folder / sample.network}"
    if sample is CHRYSALIS:
        return store
    place, mark, options = store.partition("?")
    return f"{place.rstrip('/')}_stardust{mark}{options}"


def is_loaded(settings: StoreSettings, sample: Sample) -> bool:
    """Whether the store holds every milestone of the sample already."""
    store = open_store(settings)
    try:
        held = asyncio.run(complete(store, sample.network))
    finally:
        store.close()
    return all(any(first <= index <= last for first, last in held) for index, _ in sample.milestones())


def chrysalis_questions() -> list[tuple[str, str]]:
    """One question of each kind, as (what it asks, path), with ids that the sample holds."""
    line = dict(CHRYSALIS.milestones())[ASKED_MILESTONE]
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
    address = format_address(find_network(CHRYSALIS.network).bech32_hrp, owner)
    return [
        ("a message", f"/api/v1/messages/{tagged_id}"),
        ("the messages that approve another", f"/api/v1/messages/{parent}/children"),
        ("messages by index", f"/api/v1/messages?index={index}"),
        ("an address's outputs", f"/api/v1/addresses/{address}/outputs"),
        ("a milestone", f"/api/v1/milestones/{ASKED_MILESTONE}"),
    ]


def stardust_questions() -> list[tuple[str, str]]:
    """As chrysalis_questions."""
    line = dict(STARDUST.milestones())[ASKED_MILESTONE]
    spending = next(each for each in line["blocks"] if (each["block"].get("payload") or {}).get("type") == 6)
    created = line["milestone"]["utxoChanges"]["createdOutputs"]
    return [
        ("a block", f"/api/core/v2/blocks/{spending['id']}"),
        ("what the ledger made of it", f"/api/core/v2/blocks/{spending['id']}/metadata"),
        ("an output", f"/api/core/v2/outputs/{created[0]}"),
        ("a milestone by its id", f"/api/core/v2/milestones/{line['milestone']['milestoneId']}"),
        ("the proof that a milestone references a block", f"/api/poi/v1/referenced-block/create/{spending['id']}"),
    ]
