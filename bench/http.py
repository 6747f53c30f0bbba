"""Requests per second of the API with each HTTP server, compared with bare routes and with Datasette, in one run.

    python -m bench.http [--store DIR --network NAME] [--seconds 2]

Every server is one process on loopback. The API is `permanode serve`, once with uvicorn (uvloop, httptools) and once
with granian. wrk requests the same ids from each with 32 connections. The servers take turns, and the median of three
rounds counts. The bare routes return the bytes of the API's response from memory: a FastAPI route under uvicorn, and an
ASGI application under each HTTP server, which shows what the server costs without any work. Datasette returns the row
as JSON from the same SQLite file. Figures are ratios of one run. CPU time is that of all threads, granian's own
included. Without --store the bench uses temporary stores with the oracle ledgers of both eras. It ends only processes
that it started.
"""

import argparse
import json
import os
import random
import sqlite3
import sys
import tempfile
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from urllib.parse import urlencode

from api.settings import SERVERS, ApiSettings
from bench.peers import install_peer
from bench.servers import Figure, add_seconds, free_port, granian, run_wrk, running, serving, uvicorn, wrk_is_missing

SAMPLE = 1000
"""Number of ids requested in turn."""

ROUNDS = 3

BARE, DATASETTE = "bare FastAPI", "Datasette"
OWN, ASGI = ({server: f"{what}, {server}" for server in SERVERS} for what in ("ours", "bare ASGI"))
"""HTTP server → name of the API, and of the bare ASGI application, behind it."""

DEFAULT = OWN[ApiSettings().server]
"""The API as `permanode serve` runs it without settings, for which the bars are."""

NAMES = (*OWN.values(), BARE, *ASGI.values(), DATASETTE)

STARTERS = {"uvicorn": uvicorn, "granian": granian}

POINT_READS = 20_000, 5.0
"""The bar of a message by its id: requests per second, and p99 in milliseconds."""

BARS = (
    ("message by id", BARE, 1.0),
    ("metadata", BARE, 1.0),
    ("balance", BARE, 1.0),
    ("index, page of 100", BARE, 0.8),
    ("outputs, page of 100", BARE, 0.8),
    ("message by id", DATASETTE, 5.0),
    ("block by id", BARE, 1.0),
    ("block metadata", BARE, 1.0),
    ("output", BARE, 1.0),
)
"""Kind of request, peer, and the least ratio of the API's rate to the peer's."""

BY_ID = ("message by id", "block by id")
"""The kinds that Datasette serves too, as rows."""

Figures: TypeAlias = dict[str, dict[str, Figure]]


# --- servers ----------------------------------------------------------------------------------------------------------


def bare() -> Any:
    """A FastAPI route for every path of the API that returns recorded bodies: no store, no rendering."""
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

    @app.get("/api/v1/addresses/ed25519/{address}")
    async def balance(address: str) -> Response:
        return Response(bodies[f"/api/v1/addresses/ed25519/{address}"], media_type="application/json")

    @app.get("/api/v1/addresses/ed25519/{address}/outputs")
    async def outputs(address: str, page_size: int) -> Response:
        path = f"/api/v1/addresses/ed25519/{address}/outputs?include-spent=true&page_size={page_size}"
        return Response(bodies[path], media_type="application/json")

    @app.get("/api/core/v2/{kind}/{identity}")
    async def single(kind: str, identity: str) -> Response:
        return Response(bodies[f"/api/core/v2/{kind}/{identity}"], media_type="application/json")

    @app.get("/api/core/v2/{kind}/{identity}/metadata")
    async def metadata(kind: str, identity: str) -> Response:
        return Response(bodies[f"/api/core/v2/{kind}/{identity}/metadata"], media_type="application/json")

    return app


def bare_asgi() -> Any:
    """An ASGI application that returns recorded bodies by path and query: no framework, store or rendering."""
    with Path(os.environ["BENCH_BODIES"]).open() as lines:
        bodies = {path.encode(): body.encode() for path, body in map(json.loads, lines)}

    async def respond(scope: Any, _: Any, send: Any) -> None:
        query = scope["query_string"]
        body = bodies[scope["raw_path"] + (b"?" + query if query else b"")]
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return respond


# --- requests ---------------------------------------------------------------------------------------------------------


def database_of(store: Path) -> Path:
    """The file that a SQLite store serves."""
    return store / (store / "CURRENT").read_text().strip()


def request_paths(database: Path) -> dict[str, list[str]]:
    """Kind of request → paths with ids sampled from the file, for the eras that it contains."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)

    def column(sql: str) -> list[str]:
        return [row[0].hex() for row in connection.execute(sql)]

    def sample(sql: str) -> list[str]:
        ids = column(sql)
        return random.Random(4).sample(ids, min(SAMPLE, len(ids)))

    messages, blocks = (sample(f"SELECT message_id FROM messages WHERE version = {version}") for version in (1, 2))  # noqa: S608
    outputs = sample("SELECT output_id FROM outputs WHERE output_kind <> 'legacy'")
    tags = column("SELECT tag FROM tags GROUP BY tag ORDER BY count(*) DESC LIMIT 8") if messages else []
    addresses = column(
        "SELECT address FROM outputs_by_address WHERE output_kind = 'legacy' "
        "GROUP BY address ORDER BY count(*) DESC LIMIT 8"
    )
    connection.close()
    hashes = [address[2:] for address in addresses]
    requested = {
        "message by id": [f"/api/v1/messages/{each}" for each in messages],
        "metadata": [f"/api/v1/messages/{each}/metadata" for each in messages],
        "children": [f"/api/v1/messages/{each}/children" for each in messages],
        "index, page of 100": [f"/api/v1/messages?index={tag}&page_size=100" for tag in tags],
        "outputs, page of 100": [
            f"/api/v1/addresses/ed25519/{each}/outputs?include-spent=true&page_size=100" for each in hashes
        ],
        "balance": [f"/api/v1/addresses/ed25519/{each}" for each in hashes],
        "block by id": [f"/api/core/v2/blocks/0x{each}" for each in blocks],
        "block metadata": [f"/api/core/v2/blocks/0x{each}/metadata" for each in blocks],
        "output": [f"/api/core/v2/outputs/0x{each}" for each in outputs],
    }
    return {kind: paths for kind, paths in requested.items() if paths}


def datasette_paths(database: Path, paths: list[str]) -> list[str]:
    """The same messages as rows of Datasette, by SQL: its row addresses cannot express a key of bytes."""
    sql = "select * from messages where message_id = x'{}'"
    ids = [path.rpartition("/")[2].removeprefix("0x") for path in paths]
    return [f"/{database.stem}.json?" + urlencode({"sql": sql.format(each), "_shape": "objects"}) for each in ids]


# --- the run ----------------------------------------------------------------------------------------------------------


def record(base: str, requested: dict[str, list[str]], target: Path) -> dict[str, float]:
    """Records the API's body for every path for the bare route. Returns the mean size in bytes by kind."""
    sizes = {}
    with target.open("w") as lines:
        for kind, paths in requested.items():
            bodies = [urllib.request.urlopen(base + path).read().decode() for path in paths]  # noqa: S310  (loopback)
            lines.writelines(json.dumps(pair) + "\n" for pair in zip(paths, bodies, strict=True))
            sizes[kind] = sum(map(len, bodies)) / len(bodies)
    return sizes


def oracle_store(url: str, reference: ModuleType | None = None) -> str:
    """Fills a new store with the Chrysalis oracle ledger, or that of another reference, and returns its network."""
    from db.admin.migrate import migrate
    from db.connect import StoreSettings, open_store
    from tests import reference as chrysalis
    from tests.reference import read_json, read_lines
    from tests.reference_rows import write

    era: Any = reference or chrysalis
    network = read_json(era.ORACLE / "expected.json")["network"]
    settings = StoreSettings(url=url, network=network)
    migrate(settings)
    lines, pending = (read_lines(era.ORACLE / f"{name}.jsonl") for name in ("milestones", "pending"))
    rows = era.whole_rows(lines, pending, settings.chunk_size, settings.partition_size, network)
    store = open_store(settings, writable=True)
    write(store, rows)
    store.close()
    return str(network)


def oracle_stores(folder: Path) -> dict[Path, str]:
    """New stores with the oracle ledgers of both eras, and their networks."""
    from tests import reference, reference_stardust

    eras = {folder / "chrysalis": reference, folder / "stardust": reference_stardust}
    return {store: oracle_store(f"sqlite:///{store}", era) for store, era in eras.items()}


def run(store: Path, network: str, seconds: int, folder: Path, peer_python: str) -> Figures:
    """Server → kind of request → figure: the median of ROUNDS in which the servers take turns."""
    database = database_of(store)
    requested, bodies = request_paths(database), folder / "bodies.jsonl"
    rows = {kind: datasette_paths(database, requested[kind]) for kind in BY_ID if kind in requested}
    port = free_port()
    datasette = [peer_python, "-m", "datasette", "serve", "-i", str(database), "--port", str(port)]
    url, recorded = f"sqlite:///{store.absolute()}", {"BENCH_BODIES": str(bodies)}
    with ExitStack() as stack:
        enter = stack.enter_context
        started = {name: enter(serving(url, network, PERMANODE_API_SERVER=each)) for each, name in OWN.items()}
        sizes = record(started[DEFAULT].base, requested, bodies)
        started[BARE] = enter(uvicorn("bench.http:bare", **recorded))
        started |= {name: enter(STARTERS[each]("bench.http:bare_asgi", **recorded)) for each, name in ASGI.items()}
        servers = {name: (server, requested) for name, server in started.items()}
        servers[DATASETTE] = enter(running(datasette, port)), rows
        figures: Figures = {name: {} for name in servers}
        for kind in requested:
            taken: dict[str, list[Figure]] = {name: [] for name in servers}
            for _ in range(ROUNDS):
                for name, (server, paths) in servers.items():
                    if kind in paths:
                        taken[name].append(run_wrk(server, paths[kind], seconds, folder))
            for name, seen in taken.items():
                if seen:
                    figures[name][kind] = sorted(seen, key=lambda each: each.per_second)[len(seen) // 2]
    report(figures, sizes)
    return figures


HEADINGS = ("req/s", "p50 ms", "p99 ms", "cpu µs", "errors", "default is")


def report(figures: Figures, sizes: dict[str, float]) -> None:
    """Prints one line per request kind and server, with the ratio of the API's rate to the server's."""
    print(f"{'question':20}{'bytes':>6}  {'server':20}" + "".join(f"{heading:>11}" for heading in HEADINGS))
    for kind, own in figures[DEFAULT].items():
        for server, kinds in figures.items():
            if kind in kinds:
                each = kinds[kind]
                ratio = "" if each is own else f"{own.per_second / each.per_second:.2f} x"
                times = f"{each.p50_ms:11.2f}{each.p99_ms:11.2f}{each.cpu_us:11.0f}"
                rates = f"{each.per_second:11.0f}{times}{each.errors:11d}{ratio:>11}"
                print(f"{kind:20}{sizes[kind]:6.0f}  {server:20}{rates}")


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--store", type=Path, help="directory of a SQLite store; default: a new one with the oracle ledger"
    )
    parser.add_argument("--network", default="", help="network of that store")
    add_seconds(parser)
    options = parser.parse_args()
    if wrk_is_missing():
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer_python = install_peer("datasette", folder / "peer", sys.executable)
        stores = {options.store: options.network} if options.store else oracle_stores(folder)
        figures: Figures = {name: {} for name in NAMES}
        for store, network in stores.items():
            for name, kinds in run(store, network, options.seconds, folder, peer_python).items():
                figures[name] |= kinds
    own = figures[DEFAULT]
    missed = [
        f"{kind}: {ratio:.2f} x {peer}, wanted {bar}"
        for kind, peer, bar in BARS
        if kind in own and (ratio := own[kind].per_second / figures[peer][kind].per_second) < bar
    ]
    if "message by id" in own:
        (least, most_ms), found = POINT_READS, own["message by id"]
        if found.per_second < least or found.p99_ms > most_ms:
            missed.append(f"message by id: {found.per_second:.0f}/s, {found.p99_ms} ms, wanted {least}/s, {most_ms} ms")
    print("bars: " + ("; ".join(missed) if missed else "met"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
