"""The demo: loads the shipped samples of three networks, serves them and prints example requests.

Invariants:
1. It uses the same functions as every load.
2. It ignores the user's settings, except the engine and those that connect to a store named by --store (password,
   TLS).
3. The ids in the example requests come from the sample files, not from the store.
"""

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import Any

from cli import serving
from cli.bars import shown
from cli.options import HOME, IS_SOURCE_TREE
from cli.progress import present
from cli.settings import Settings, read
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.queries.wormhole.vaas import list_guardian_sets
from db.sync import complete
from etl import runs
from etl.engine.choice import bytes_of
from etl.engine.current import AUTO
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from etl.engine.spans import Span
from etl.report import Progress
from etl.sources.files import archive_files
from etl.sources.lines import lines
from etl.sources.unpacking import open_stream
from etl.transparency.signing_key import create_key
from ledger.crypto.bech32 import format_address
from ledger.networks import find_network
from ledger.transparency.keys import Kind
from ledger.wormhole.payloads import TokenTransfer, decode_payload
from ledger.wormhole.vaa import decode_vaa

FOLDER = (HOME if IS_SOURCE_TREE else Path()) / ".demo"
"""Stores and lakes of the demo: in the source tree, else in the current directory."""
HOST = "127.0.0.1"
ENGINE = "PERMANODE_ETL_ENGINE"


@dataclass(frozen=True, slots=True)
class Sample:
    """A shipped archive: its network and folder, the additional options and files of its load, and the settings that
    its network needs.
    """

    network: str
    name: str
    beside: tuple[tuple[str, str], ...]
    given: tuple[tuple[str, str], ...] = ()

    @property
    def files(self) -> Path:
        """The folder of the sample."""
        return HOME / "sample" / self.name

    def coordinator_keys(self) -> str:
        """The keys that sign its milestones, as the setting writes them. They are in its genesis, if it has one."""
        beside = dict(self.beside)
        if "genesis" not in beside:
            return ""
        genesis = json.loads((self.files / beside["genesis"]).read_text("utf-8"))
        return ",".join(key.removeprefix("0x") for key in genesis["coordinatorPublicKeys"])

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every line of its files, as JSON."""
        for file in archive_files([self.files]):
            with open_stream(str(file)) as stream:
                for _, _, text in lines(stream):
                    yield json.loads(text)

    def milestones(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The index and the line of each milestone."""
        for line in self.lines():
            if "milestone" in line:
                yield line["milestone_index"] if "milestone_index" in line else line["milestone"]["index"], line


CHRYSALIS = Sample("permatest-1", "chrysalis", (("genesis", "genesis.json"),))
STARDUST = Sample(
    "permatest-2",
    "stardust",
    (("genesis", "genesis.json"),),
    (("bech32_hrp", "tst"), ("protocol_parameters", str(HOME / "sample" / "stardust" / "info.json"))),
)
WORMHOLE = Sample("wormhole-mainnet", "wormhole", (("prices", "prices.csv"), ("tokens", "tokens.csv.gz")))
SAMPLES = (CHRYSALIS, STARDUST, WORMHOLE)

EXAMPLE_MILESTONE = 10
"""The milestone whose messages and blocks the example requests return."""


def run(port: int, folder: Path = FOLDER, store: str | None = None) -> None:
    """Loads the samples that are missing in the stores, and serves until it is interrupted. Binds the port first.

    Args:
        port: Port to serve on.
        folder: Folder of the lakes, and of the stores unless `store` is given.
        store: URL of another store.
    """
    listener = serving.listen(HOST, port)
    settings = demo_settings(folder, store)
    for sample in SAMPLES:
        migrate(settings.store(sample.network))
    if missing := [sample for sample in SAMPLES if not is_loaded(settings.store(sample.network), sample)]:
        load(missing, settings, folder / "lake")
    serving.end_on_signals()
    base = f"http://{HOST}:{port}"
    print(f"\nServing. Open {base}/ in a browser, or request JSON of Chrysalis, Stardust and Wormhole:\n")
    for meaning, path in (*chrysalis_requests(), *stardust_requests(), *wormhole_requests()):
        print(f"  # {meaning}\n  curl -s '{base}{path}'\n")
    print(f"All endpoints: {base}/docs\nPress Ctrl-C to stop.", flush=True)
    serving.serve(settings, listener)


def load(samples: Sequence[Sample], settings: Settings, lakes: Path) -> None:
    """Loads the samples one after another. Those that follow each other on the same engine share its session. The last
    session ends in a thread of its own, while the stores are served.
    """
    with closing(open_store(settings.store())) as store:
        cluster = bool(store.nodes())

    def etl_of(sample: Sample) -> EtlSettings:
        etl = settings.build("etl", EtlSettings, lake=str(lakes / sample.network))
        return replace(etl, engine=runs.engine_of(settings.store(sample.network), etl, size=bytes_of([sample.files])))

    ending: Thread | None = None
    for engine, group in groupby(samples, lambda sample: etl_of(sample).engine):
        if ending is not None:
            ending.join()
        with ExitStack() as stack:
            with shown() as notify:
                notify(Progress(engine, 0, None, "starting"))
                etl = replace(settings.build("etl", EtlSettings), engine=engine)
                stack.enter_context(engine_session(etl, span=Span.SECONDS, cluster=cluster))
            for sample in group:
                given: dict[str, Any] = {option: sample.files / name for option, name in sample.beside}
                store_settings, etl = settings.store(sample.network), replace(etl, lake=str(lakes / sample.network))
                create_log_key(store_settings)
                with shown() as notify:
                    done = runs.load(store_settings, etl, [sample.files], notify=notify, **given)
                print(present(done))
            # A machine's first JVM writes its class archive when it ends, which takes ten seconds.
            ending = Thread(target=stack.pop_all().close, name="engine-end")
            ending.start()


def demo_settings(folder: Path, store: str | None) -> Settings:
    """The settings of the samples' networks, with stores in `folder`, or with `store` and two stores next to it. The
    engine is `auto` unless the environment sets it. All other settings have their defaults.
    """
    flags: dict[str, tuple[str, object]] = {
        "network": ("--network", CHRYSALIS.network),
        "api.stardust_network": ("demo", STARDUST.network),
        "api.wormhole_network": ("demo", WORMHOLE.network),
        "etl.engine": (ENGINE, os.environ.get(ENGINE, AUTO)),
    }
    of_store = (
        {name: value for name, value in os.environ.items() if name.startswith("PERMANODE_STORE_")} if store else {}
    )
    for sample in SAMPLES:
        given = {"url": store_of(sample, folder, store), **dict(sample.given)}
        if keys := sample.coordinator_keys():
            given["coordinator_keys"] = keys
        if sample is not WORMHOLE:
            given["log_key"] = str(folder / f"{sample.network}.key")
        given |= {name.removeprefix("PERMANODE_STORE_").lower(): value for name, value in of_store.items()}
        flags |= {f"networks.{sample.network}.{name}": ("--store", value) for name, value in given.items()}
    return read(None, {}, flags)


def create_log_key(settings: StoreSettings) -> None:
    """Creates the key that signs a network's transparency log, unless it exists. A Wormhole network has none."""
    file = Path(settings.log_key)
    if settings.log_key and not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        create_key(file, f"demo/{settings.network}", Kind.SIGNATURE)


def store_of(sample: Sample, folder: Path, store: str | None) -> str:
    """The URL of a sample's store. Chrysalis uses `store` itself; the others append their name to it."""
    if store is None:
        return f"sqlite:///{folder / sample.network}"
    if sample is CHRYSALIS:
        return store
    place, mark, options = store.partition("?")
    return f"{place.rstrip('/')}_{sample.name}{mark}{options}"


def is_loaded(settings: StoreSettings, sample: Sample) -> bool:
    """Whether the store contains the sample: all milestones, or the guardian sets, the last rows of a Wormhole load."""
    with closing(open_store(settings)) as store:
        if sample is WORMHOLE:
            return bool(asyncio.run(list_guardian_sets(store, sample.network)))
        held = asyncio.run(complete(store, sample.network))
    return all(any(first <= index <= last for first, last in held) for index, _ in sample.milestones())


def chrysalis_requests() -> list[tuple[str, str]]:
    """Example requests as (description, path), with ids from the sample."""
    line = dict(CHRYSALIS.milestones())[EXAMPLE_MILESTONE]
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
        ("the children of a message", f"/api/v1/messages/{parent}/children"),
        ("messages by index", f"/api/v1/messages?index={index}"),
        ("outputs of an address", f"/api/v1/addresses/{address}/outputs"),
        ("a milestone", f"/api/v1/milestones/{EXAMPLE_MILESTONE}"),
    ]


def stardust_requests() -> list[tuple[str, str]]:
    """Example requests as (description, path), with ids from the sample."""
    line = dict(STARDUST.milestones())[EXAMPLE_MILESTONE]
    spending = next(each for each in line["blocks"] if (each["block"].get("payload") or {}).get("type") == 6)
    created = line["milestone"]["utxoChanges"]["createdOutputs"]
    return [
        ("a block", f"/api/core/v2/blocks/{spending['id']}"),
        ("the metadata of the block", f"/api/core/v2/blocks/{spending['id']}/metadata"),
        ("an output", f"/api/core/v2/outputs/{created[0]}"),
        ("a milestone by id", f"/api/core/v2/milestones/{line['milestone']['milestoneId']}"),
        ("the proof that a milestone references the block", f"/api/poi/v1/referenced-block/create/{spending['id']}"),
    ]


def wormhole_requests() -> list[tuple[str, str]]:
    """Example requests as (description, path) for the last token transfer of the sample."""
    signed = (decode_vaa(bytes.fromhex(line["hex"])) for line in WORMHOLE.lines() if "hex" in line)
    *_, vaa = (each for each in signed if isinstance(decode_payload("mainnet", each), TokenTransfer))
    path = f"{vaa.emitter_chain}/{vaa.emitter_address.hex()}/{vaa.sequence}"
    of_vaa = f"/api/wormhole/v1/vaas/{path}"
    return [
        ("a signed VAA, in the format of a guardian", f"/v1/signed_vaa/{path}"),
        ("the same VAA with its parsed payload, in the format of wormholescan", f"{of_vaa}?parsedPayload=true"),
        ("its signatures and whether they are valid", f"{of_vaa}/verification"),
        ("the token transfer in the VAA", f"/api/wormhole/v1/operations/{path}"),
        (
            "the VAA's row in the event tables",
            f"/api/wormhole/events/readrow?emitterChain={vaa.emitter_chain}"
            f"&emitterAddress={vaa.emitter_address.hex()}&sequence={vaa.sequence}",
        ),
    ]
