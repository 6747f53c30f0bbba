"""A large store filled in steps: speed and memory of each load, then hot keys, analytics and `rebuild`.

    python -m bench.scale --folder DIR [--protocol stardust] [--messages 20000000] [--step 2000000] [--engine sail]
                          [--free-gb 8] [--no-rebuild] [--cluster] [--continue]

A generated ledger continues from step to step: one tag has a quarter of the messages, one address, like that of an
exchange, a third of all outputs. Each step is generated, loaded by `permanode load` from the genesis on (tables, ledger
state, listings, analytics) and deleted. A new generation needs the space of the store again for a moment. A step that
has no space for this is written into the served generation, and without space for a step and FREE_GB the bench ends
early. Memory is the largest sum of resident sizes of the process and its descendants.

Then `permanode serve` (one worker on loopback, one connection) answers the pages of the hottest tag and address, one
after the other: pages 1 and 10,000 are read again TIMES times. At the end `permanode analytics --all` runs, and
`permanode rebuild` into a second store beside the first. DIR keeps both, and the state of the generator after the last
step: with --continue the ledger grows from there, also if the bench was killed.

With --cluster the store is a keyspace on three Cassandra nodes with three replicas, the engine is Spark on a standalone
cluster of three workers, and `rebuild` writes SSTables. All of them run on loopback and end with the bench.
"""

import argparse
import json
import os
import pickle
import shutil
import statistics
import time
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.generate import SETTINGS, tangle_of, write_archive
from bench.load import Run, check, load, machine, resident, run, show
from bench.scale_stores import GB, Place, clustered, embedded, gigabytes
from bench.servers import Server, serving
from bench.tangle import GeneratorSettings, Tangle
from bench.traffic import HOT_TAG, Wallet
from db.admin.migrate import migrate
from db.connect import StoreSettings
from etl.engine.current import ENGINES, SAIL, SPARK
from ledger.crypto.bech32 import format_address

HOT_TAGS, HOT_OUTPUTS = 0.4, 0.35
"""The shares of tagged data under one tag, and of outputs of one address."""

PAGE_SIZE, FAR, TIMES, SHOWN = 100, 10_000, 50, 8

STATE = "ledger.pickle"


@dataclass
class Ledger:
    """The generated ledger, and how many of its messages are in the store."""

    tangle: Tangle
    messages: int = 0

    def save(self, file: Path) -> None:
        """Replaces the file in one step."""
        part = file.with_suffix(".part")
        part.write_bytes(pickle.dumps(self))
        part.replace(file)

    @classmethod
    def read(cls, file: Path) -> "Ledger":
        """Reads what `save` wrote. As with any pickle, nobody else may have written the file."""
        found: Ledger = pickle.loads(file.read_bytes())  # noqa: S301 (`save` wrote it)
        return found


def filled(options: argparse.Namespace, ledger: Ledger, place: Place, store: StoreSettings, lake: Path) -> None:
    """Loads the steps that the disk has space for."""
    folder, archive = options.folder, options.folder / "step"
    while ledger.messages < options.messages:
        stored = gigabytes(place.files)
        growth = stored * options.step / ledger.messages if ledger.messages else 0.0
        needed, free = 2 * growth + options.free_gb, shutil.disk_usage(folder).free / GB
        if free < needed:
            print(f"ends after {ledger.messages:,} messages: {free:.1f} GB are free, the next step needs {needed:.1f}")
            break
        if free < stored + needed:
            print(f"into the served generation: a new one would need {stored + needed:.1f} GB, {free:.1f} are free")
            os.environ["PERMANODE_ETL_BULK_SHARE"] = "1"
        shutil.rmtree(archive, ignore_errors=True)
        started = time.perf_counter()
        made = write_archive(ledger.tangle, archive, min(options.step, options.messages - ledger.messages))["messages"]
        print(f"generated {made:,} messages in {time.perf_counter() - started:.0f} s", flush=True)
        print(machine())
        genesis = () if ledger.messages else ("--genesis", str(archive / "genesis.json"))
        done = load(store, place.master, archive, *genesis)
        check(done.report, archive)
        ledger.messages += made
        ledger.save(folder / STATE)
        show(f"{ledger.messages:,}", done)
        sizes = (
            f"{name} {size:.2f} GB, {size * GB / ledger.messages:,.0f} bytes per message"
            for name, size in (("store", gigabytes(place.files)), ("lake", gigabytes(lake)))
        )
        print(f"{'':10} {'; '.join(sizes)}", flush=True)
    shutil.rmtree(archive, ignore_errors=True)


class Client:
    """One connection to a server."""

    def __init__(self, server: Server) -> None:
        self._connection = HTTPConnection(urlsplit(server.base).netloc)

    def get(self, path: str) -> tuple[Any, float]:
        """The body of an answer, and the milliseconds it took. Raises SystemExit for another status than 200."""
        started = time.perf_counter()
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        data = answer.read()
        spent = 1e3 * (time.perf_counter() - started)
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {data.decode()}")
        return json.loads(data), spent


def hot_address(made_of: GeneratorSettings) -> str:
    """The address of the wallet with most outputs."""
    genesis = tangle_of(made_of).genesis()
    prefix = genesis.get("bech32Hrp") or genesis["bech32HRP"]
    return format_address(prefix, Wallet(f"{made_of.seed}|wallet|0").address)


def walk(client: Client, name: str, path: str, pages: int) -> None:
    """Reads pages one after the other, then the first and the last again, and prints their medians."""
    at, last, number, started = path, path, 0, time.perf_counter()
    while number < pages:
        body, _ = client.get(at)
        number, last = number + 1, at
        if not body.get("cursor"):
            break
        at = f"{path}&cursor={body['cursor']}"
    spent = time.perf_counter() - started
    near, far = (statistics.median(client.get(each)[1] for _ in range(TIMES)) for each in (path, last))
    print(
        f"{name}: page 1 {near:.2f} ms, page {number:,} {far:.2f} ms, {far / near:.2f} x; "
        f"{number:,} pages in {spent:.0f} s",
        flush=True,
    )


def show_pages(store: StoreSettings, address: str) -> None:
    """Prints the times of the pages of the hottest keys, and the server's memory."""
    with serving(store.url, store.network) as server:
        client, base = Client(server), f"/api/{store.network}/explorer/v2"
        walk(client, "hot tag", f"{base}/blocks?tag=0x{HOT_TAG.hex()}&pageSize={PAGE_SIZE}", FAR)
        walk(client, "hot address", f"{base}/ledger/outputs/by-address/{address}?pageSize={PAGE_SIZE}", FAR)
        print(f"server: {resident(server.pid).total():,} MiB", flush=True)


def shown(name: str, done: Run, messages: int) -> None:
    """Prints a line about a command on the whole store."""
    rate, memory = messages / done.seconds, done.memory.total()
    print(f"{name}: {done.seconds:.0f} s, {rate:,.0f} messages/s; {memory:,} MiB", flush=True)


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--folder", type=Path, required=True, help="where the store is made; exists with --continue only"
    )
    parser.add_argument("--protocol", choices=SETTINGS, default="chrysalis", help="protocol of the ledger")
    parser.add_argument("--messages", type=int, default=20_000_000, help="size of the ledger")
    parser.add_argument("--step", type=int, default=2_000_000, help="messages of a step")
    parser.add_argument("--engine", choices=ENGINES, default=SAIL, help="engine of the loads")
    parser.add_argument("--free-gb", type=float, default=8, help="gigabytes of the disk that stay free")
    parser.add_argument("--rebuild", action=argparse.BooleanOptionalAction, default=True, help="also rebuild the store")
    parser.add_argument("--cluster", action="store_true", help="fill three Cassandra nodes from a Spark cluster")
    parser.add_argument("--continue", dest="goes_on", action="store_true", help="go on with the store in DIR")
    options = parser.parse_args()
    if options.goes_on and options.cluster:
        parser.error("--continue: the nodes of --cluster end with the bench")
    options.folder = options.folder.absolute()
    saved = options.folder / STATE
    if options.goes_on and not saved.exists():
        parser.error(f"--continue: {saved} does not exist; no step was loaded")
    options.folder.mkdir(parents=True, exist_ok=options.goes_on)
    lake, genesis = options.folder / "lake", options.folder / "genesis.json"
    os.environ["PERMANODE_ETL_ENGINE"] = SPARK if options.cluster else options.engine
    os.environ["PERMANODE_ETL_LAKE"] = str(lake)
    made_of = SETTINGS[options.protocol](hot_tag=HOT_TAGS, hot_address=HOT_OUTPUTS)
    ledger = Ledger.read(saved) if options.goes_on else Ledger(tangle_of(made_of))
    genesis.write_text(json.dumps(ledger.tangle.genesis()))
    if options.protocol == "stardust":
        os.environ["PERMANODE_STORE_PROTOCOL_PARAMETERS"] = str(genesis)
    chosen = clustered(options.folder, made_of.network) if options.cluster else embedded(options.folder)
    with chosen as place:
        store = StoreSettings(url=place.url, network=made_of.network)
        migrate(store)
        filled(options, ledger, place, store, lake)
        largest = (f"{name} {size}" for name, size in islice(place.largest().items(), SHOWN))
        print(f"largest partitions: {', '.join(largest)}", flush=True)
        show_pages(store, hot_address(made_of))
        shown("analytics", run(store, place.master, "analytics", "--all", "--json"), ledger.messages)
        if options.rebuild:
            again = replace(store, url=place.again)
            migrate(again)
            shown("rebuild", run(again, place.master, "rebuild", "--json", *place.bulk), ledger.messages)


if __name__ == "__main__":
    main()
