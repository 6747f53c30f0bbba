"""CPU time of requests inside the application, without server and socket, compared with a bare FastAPI route.

    python -m bench.application [--rounds 100]

The application is that of `permanode serve` over the oracle ledgers of both eras, whose pages are all in the cache. The
bare route returns the bytes of the application's response from memory. Both serve the same requests in turns, each
request in a turn of the event loop of its own, and the fastest round counts, without the time of an application that
does nothing. Returns 1 if a message takes more than MESSAGE_MAX_US.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import uvloop

from bench.http import bare, database_of, oracle_stores, request_paths
from cli import serving
from cli.settings import read

MESSAGE_MAX_US = 20.0
"""The bar, of a message by its id."""

AT_ONCE = 50
"""Requests of a round, of one kind."""

Application: TypeAlias = Any
Times: TypeAlias = dict[str, list[float]]


def scope_of(path: str) -> dict[str, Any]:
    """Returns the scope of a GET request (ASGI)."""
    name, _, query = path.partition("?")
    return {
        "type": "http", "method": "GET", "http_version": "1.1", "scheme": "http", "root_path": "", "path": name,
        "raw_path": name.encode(), "query_string": query.encode(), "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 50_000), "server": ("127.0.0.1", 8000),
    }  # fmt: skip


async def receive() -> dict[str, Any]:
    """Returns the end of an empty body."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def ignore(_: Any) -> None:
    """Takes a message of an application."""


async def nothing(_: Any, __: Any, send: Any) -> None:
    """Sends two messages: an application that does nothing."""
    await send({})
    await send({})


async def body_of(application: Application, path: str) -> str:
    """Returns the body of the response to a request."""
    parts: list[bytes] = []

    async def keep(message: Any) -> None:
        parts.append(message.get("body", b""))

    await application(scope_of(path), receive, keep)
    return b"".join(parts).decode()


async def spent_us(application: Application, paths: Sequence[str]) -> float:
    """Returns the CPU time of a request, in microseconds: the mean of these."""
    scopes = [scope_of(path) for path in paths]
    begun = time.process_time()
    for scope in scopes:
        await application(scope, receive, ignore)
        await asyncio.sleep(0)
    return 1e6 * (time.process_time() - begun) / len(paths)


async def run(store: Path, network: str, rounds: int) -> Mapping[str, tuple[float, float]]:
    """Returns kind of request → microseconds of the application, and of a bare FastAPI route."""
    url = {"PERMANODE_STORE": f"sqlite:///{store.absolute()}", "PERMANODE_NETWORK": network}
    application = serving.make_app(read(None, url, {})).build_middleware_stack()
    requested = {kind: paths[:AT_ONCE] for kind, paths in request_paths(database_of(store)).items()}
    recorded = store / "bodies.jsonl"
    with recorded.open("w") as lines:
        for paths in requested.values():
            for path in paths:
                lines.write(json.dumps([path, await body_of(application, path)]) + "\n")
    os.environ["BENCH_BODIES"] = str(recorded)
    peer = bare()
    serving.spare_collector()
    fastest = dict.fromkeys(requested, (float("inf"), float("inf"), float("inf")))
    for _ in range(rounds):
        for kind, paths in requested.items():
            spent = [await spent_us(each, paths) for each in (application, peer, nothing)]
            fastest[kind] = tuple(map(min, fastest[kind], spent))  # type: ignore[assignment]
    return {kind: (own - idle, other - idle) for kind, (own, other, idle) in fastest.items()}


def main() -> int:
    """Runs the bench. Returns 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100, help="rounds of all requests; default: %(default)s")
    options = parser.parse_args()
    missed = False
    print(f"{'request':20}{'CPU, µs':>9}{'bare FastAPI, µs':>18}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as name, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for store, network in oracle_stores(Path(name)).items():
            for kind, (own, other) in runner.run(run(store, network, options.rounds)).items():
                missed |= kind == "message by id" and own > MESSAGE_MAX_US
                print(f"{kind:20}{own:9.1f}{other:18.1f}{other / own:7.2f}")
    print(f"bar: a message in at most {MESSAGE_MAX_US:.0f} µs: {'missed' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
