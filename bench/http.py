"""Requests per second of the API beside a bare FastAPI route and Datasette, in one run on one machine.

    python -m bench.http [--store DIR] [--seconds 3]

Every server is one uvicorn worker (uvloop, httptools) on loopback, asked by wrk with 32 connections over the same ids,
one after another. The FastAPI route returns the very bytes that our answer has, from memory: it is what FastAPI costs
before any work is done. Datasette answers with the row as JSON from the same SQLite file. Figures are ratios of one
run; without --store the oracle ledger is written into a temporary store. Only processes that this program started are
ended.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

CONNECTIONS = 32
SAMPLE = 1000
"""Ids asked in turn."""

PATHS_LUA = """
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local at = 0
request = function()
  at = at %% #paths + 1
  return wrk.format("GET", paths[at])
end
"""


@dataclass(frozen=True)
class Figure:
    """What wrk saw."""

    per_second: float
    p50_ms: float
    p99_ms: float
    errors: int


# --- servers ----------------------------------------------------------------------------------------------------------


def ours() -> Any:
    """The API over the store of BENCH_STORE, as `permanode serve` makes it."""
    from api.app import ApiSettings, create_app
    from api.network import NetworkMount

    network = os.environ["BENCH_NETWORK"]
    store = open_bench_store(Path(os.environ["BENCH_STORE"]), network)
    return create_app({"bench": NetworkMount(store, network, "atoi")}, "bench", ApiSettings())


def bare() -> Any:
    """A FastAPI route for every path of ours, whose bodies were recorded: no store, no rendering."""
    from fastapi import FastAPI, Response

    with Path(os.environ["BENCH_BODIES"]).open() as lines:
        bodies = {path: body.encode() for path, body in map(json.loads, lines)}
    app = FastAPI()

    @app.get("/api/v1/messages/{message_id}")
    async def message(message_id: str) -> Response:
        return Response(bodies[f"/api/v1/messages/{message_id}"], media_type="application/json")

    @app.get("/api/v1/messages/{message_id}/{what}")
    async def below(message_id: str, what: str) -> Response:
        return Response(bodies[f"/api/v1/messages/{message_id}/{what}"], media_type="application/json")

    @app.get("/api/v1/messages")
    async def tagged(index: str, page_size: int) -> Response:
        return Response(bodies[f"/api/v1/messages?index={index}&page_size={page_size}"], media_type="application/json")

    return app


def open_bench_store(folder: Path, network: str) -> Any:
    """The store, for reading."""
    from db.connect import StoreSettings, open_store

    return open_store(StoreSettings(url=f"sqlite:///{folder}", network=network))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[str]:
    """Its base URL while that server runs; it is ended by its own process id."""
    process = subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            time.sleep(0.1)
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None:
                raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
        yield base
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(10)


def uvicorn(factory: str, **environment: str) -> Any:
    """One uvicorn worker over a factory of this module."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", f"bench.http:{factory}", "--factory", "--port", str(port)]
    command += ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
    return running(command, port, **environment)


# --- questions --------------------------------------------------------------------------------------------------------


def questions(database: Path) -> dict[str, list[str]]:
    """Kind of question → paths, over ids drawn from the file's own mix."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    ids = [row[0].hex() for row in connection.execute("SELECT message_id FROM messages")]
    tags = [
        row[0].hex() for row in connection.execute("SELECT tag FROM tags GROUP BY tag ORDER BY count(*) DESC LIMIT 8")
    ]
    connection.close()
    chosen = random.Random(4).sample(ids, min(SAMPLE, len(ids)))
    return {
        "message by id": [f"/api/v1/messages/{each}" for each in chosen],
        "metadata": [f"/api/v1/messages/{each}/metadata" for each in chosen],
        "children": [f"/api/v1/messages/{each}/children" for each in chosen],
        "index, page of 100": [f"/api/v1/messages?index={tag}&page_size=100" for tag in tags],
    }


def datasette_paths(database: Path, paths: list[str]) -> list[str]:
    """The same messages as rows of Datasette, by SQL, as its own row addresses cannot spell a key that is bytes."""
    sql = "select * from messages where message_id = x'{}'"
    ids = [path.rpartition("/")[2] for path in paths]
    return [f"/{database.stem}.json?" + urlencode({"sql": sql.format(each), "_shape": "objects"}) for each in ids]


def measure(base: str, paths: list[str], seconds: int, folder: Path) -> Figure:
    """Wrk over those paths, after a second of warming up."""
    listed, script = folder / "paths.txt", folder / "paths.lua"
    listed.write_text("\n".join(paths) + "\n")
    script.write_text(PATHS_LUA % listed)
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", "--latency", "-s", str(script)]
    subprocess.run([*command, "-d1s", base], check=True, stdout=subprocess.DEVNULL)
    text = subprocess.run([*command, f"-d{seconds}s", base], check=True, capture_output=True, text=True).stdout
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return Figure(
        float(found(r"Requests/sec:\s+([\d.]+)", text)[0]),
        milliseconds(*found(r"50%\s+([\d.]+)(us|ms|s)", text)),
        milliseconds(*found(r"99%\s+([\d.]+)(us|ms|s)", text)),
        int(wrong[1]) if wrong else 0,
    )


def found(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of a pattern that has to be there."""
    match = re.search(pattern, text)
    if match is None:
        raise RuntimeError(f"wrk said nothing like {pattern}: {text}")
    return match.groups()


def milliseconds(value: str, unit: str) -> float:
    """A time of wrk's."""
    return float(value) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]


# --- the run ----------------------------------------------------------------------------------------------------------


def record(base: str, asked: dict[str, list[str]], target: Path) -> dict[str, float]:
    """Writes our body for every path, so that the bare route can return it; mean size in bytes by kind."""
    sizes = {}
    with target.open("w") as lines:
        for kind, paths in asked.items():
            bodies = [urllib.request.urlopen(base + path).read().decode() for path in paths]  # noqa: S310  (loopback)
            lines.writelines(json.dumps(pair) + "\n" for pair in zip(paths, bodies, strict=True))
            sizes[kind] = sum(map(len, bodies)) / len(bodies)
    return sizes


def oracle_store(folder: Path) -> str:
    """Fills a store with the oracle ledger; its network."""
    from db.connect import StoreSettings, open_store
    from db.migrate import migrate
    from tests.conftest import SHARED
    from tests.reference import read_lines, reference_rows, write

    source = SHARED / "iota" / "ledger" / "chrysalis"
    network = json.loads((source / "expected.json").read_text())["network"]
    settings = StoreSettings(url=f"sqlite:///{folder}", network=network)
    migrate(settings)
    lines, pending = read_lines(source / "milestones.jsonl"), read_lines(source / "pending.jsonl")
    store = open_store(settings, writable=True)
    write(store, reference_rows(lines, pending, settings.chunk_size, settings.partition_size, network))
    store.close()
    return str(network)


def run(store: Path, network: str, seconds: int, folder: Path) -> dict[str, dict[str, Figure]]:
    """Server → kind of question → figure; prints the table on the way."""
    database = store / (store / "CURRENT").read_text().strip()
    asked, bodies = questions(database), folder / "bodies.jsonl"
    figures: dict[str, dict[str, Figure]] = {"ours": {}, "bare FastAPI": {}, "Datasette": {}}
    with uvicorn("ours", BENCH_STORE=str(store), BENCH_NETWORK=network) as base:
        sizes = record(base, asked, bodies)
        for kind, paths in asked.items():
            figures["ours"][kind] = measure(base, paths, seconds, folder)
    with uvicorn("bare", BENCH_BODIES=str(bodies)) as base:
        for kind, paths in asked.items():
            figures["bare FastAPI"][kind] = measure(base, paths, seconds, folder)
    port = free_port()
    command = [sys.executable, "-m", "datasette", "serve", "-i", str(database), "--port", str(port)]
    with running(command, port) as base:
        figures["Datasette"]["message by id"] = measure(
            base, datasette_paths(database, asked["message by id"]), seconds, folder
        )
    report(figures, sizes)
    return figures


def report(figures: dict[str, dict[str, Figure]], sizes: dict[str, float]) -> None:
    """One line a question and server, with our rate over its."""
    print(
        f"{'question':20} {'bytes':>6} {'server':14} {'req/s':>8} {'p50 ms':>7} {'p99 ms':>7} {'errors':>6} {'ours is':>8}"
    )
    for kind, own in figures["ours"].items():
        for server, kinds in figures.items():
            if kind in kinds:
                each = kinds[kind]
                ratio = "" if each is own else f"{own.per_second / each.per_second:.2f} x"
                print(
                    f"{kind:20} {sizes[kind]:6.0f} {server:14} {each.per_second:8.0f} {each.p50_ms:7.2f} "
                    f"{each.p99_ms:7.2f} {each.errors:6d} {ratio:>8}"
                )


def main() -> int:
    """Runs all of it; 1 when a bar of the project is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--store", type=Path, help="directory of a SQLite store; default: the oracle ledger, written anew"
    )
    parser.add_argument("--network", default="", help="network of that store")
    parser.add_argument("--seconds", type=int, default=3, choices=range(1, 6), help="how long each question is asked")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk is missing: apt-get install wrk")
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = options.store or folder / "store"
        network = options.network if options.store else oracle_store(store)
        figures = run(store, network, options.seconds, folder)
    own = figures["ours"]["message by id"].per_second
    others = (("bare FastAPI", 1.0), ("Datasette", 5.0))
    missed = [name for name, bar in others if own < bar * figures[name]["message by id"].per_second]
    print(
        f"message by id, bars: 1.0 x bare FastAPI, 5 x Datasette: {'missed ' + ', '.join(missed) if missed else 'met'}"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
