"""The balance of an address at any milestone, in a store of a million balances, as one point read.

    python -m bench.travel [--balances 1000000] [--seconds 2]

Random addresses at random milestones of the whole history. Over HTTP, one connection sends one request after the
other; the peer is a server that reads the same balance with Python's sqlite3 from a table whose primary key is made for
this query alone, and returns the same bytes. In one process the query is compared with that read. Figures
are ratios of one run; the latency is of this machine.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.indexer import address
from bench.servers import Server, add_seconds, serving, uvicorn
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.queries.ledger import BALANCE_HINT, find_balance

NETWORK = "bench-travel"
LEDGER_INDEX = 3_000_000
ROWS_OF_ADDRESS = 1_000
"""Milestones that changed the balance of an address, over 30 ranges."""

SAMPLE = 2_000
ROUNDS = 5
P99_MS = 5.0
"""The bar: the latency of a balance over HTTP."""

Wanted = Sequence[tuple[int, int]]
"""Numbers of addresses, and ledger indexes."""

SQL = "SELECT balance FROM balances WHERE address = ? AND milestone_index <= ? ORDER BY milestone_index DESC LIMIT 1"


def rows_of(number: int) -> Iterator[tuple[int, int]]:
    """Milestones that changed the balance of an address, ascending, and the balance after each."""
    chance = random.Random(number)
    for index in sorted(chance.sample(range(1, LEDGER_INDEX), ROWS_OF_ADDRESS)):
        yield index, chance.randrange(10**12)


def fill(folder: Path, balances: int) -> None:
    """Creates a store with that many balances, and the peer's table."""
    settings = StoreSettings(f"sqlite:///{folder / 'store'}", NETWORK)
    migrate(settings)
    store = open_store(settings, writable=True)
    own = sqlite3.connect(folder / "hand.db")
    own.execute(
        "CREATE TABLE balances (address BLOB, milestone_index INTEGER, balance INTEGER, "
        "PRIMARY KEY (address, milestone_index)) WITHOUT ROWID"
    )
    names = ("address", "ms_range_id", "milestone_index", "balance", "unspent_count", "dust_allowance", "dust_outputs")
    for number in range(balances // ROWS_OF_ADDRESS):
        owner = address(number)
        rows = [(index // settings.chunk_size, index, balance) for index, balance in rows_of(number)]
        with store.batch() as batch:
            batch.upsert(schema.address_balances, names, [(owner, *row, 1, 0, 0) for row in rows])
            hints = {(owner, *BALANCE_HINT, range_id, 0) for range_id, _, _ in rows}
            batch.upsert(schema.addresses_hints, schema.addresses_hints.names, hints)
        own.executemany("INSERT INTO balances VALUES (?, ?, ?)", [(owner, *row[1:]) for row in rows])
    with store.batch() as batch:
        batch.upsert(schema.ledger_frontier, schema.ledger_frontier.names, [(NETWORK, 0), (NETWORK, LEDGER_INDEX)])
    store.close()
    own.commit()
    own.close()


def path_of(number: int, index: int) -> str:
    """The path of a balance."""
    return f"/api/v1/addresses/ed25519/{address(number)[1:].hex()}?ledgerIndex={index}"


def peer() -> Any:
    """An application that reads the balance with sqlite3 and returns the bytes of the API."""
    own = sqlite3.connect(os.environ["BENCH_HAND"], check_same_thread=False)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        owner, index = scope["path"].rpartition("/")[2], int(scope["query_string"].partition(b"=")[2])
        row = own.execute(SQL, (b"\0" + bytes.fromhex(owner), index)).fetchone()
        balance = row[0] if row else 0
        head = {"addressType": 0, "address": owner, "balance": balance, "dustAllowed": False, "ledgerIndex": index}
        body = json.dumps({"data": head}, separators=(",", ":")).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def latencies(server: Server, paths: Sequence[str], seconds: float) -> list[float]:
    """Milliseconds of each request, one after the other over one connection."""
    connection = http.client.HTTPConnection(server.base.removeprefix("http://"))
    found: list[float] = []
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        path = paths[len(found) % len(paths)]
        begin = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        found.append(1e3 * (time.perf_counter() - begin))
        assert answer.status == 200
    connection.close()
    return found


def body_of(server: Server, path: str) -> bytes:
    """The body of one response."""
    connection = http.client.HTTPConnection(server.base.removeprefix("http://"))
    connection.request("GET", path)
    body = connection.getresponse().read()
    connection.close()
    return body


def over_http(folder: Path, wanted: Wanted, seconds: float) -> tuple[float, float]:
    """The p99 in ms, and the median latency divided by the peer's."""
    paths = [path_of(*each) for each in wanted]
    with (
        serving(f"sqlite:///{(folder / 'store').absolute()}", NETWORK) as own,
        uvicorn("bench.travel:peer", BENCH_HAND=str(folder / "hand.db")) as other,
    ):
        for path in paths[:50]:
            assert body_of(own, path) == body_of(other, path), path
        figures: dict[str, list[tuple[float, float]]] = {"ours": [], "sqlite3": []}
        for _ in range(ROUNDS):
            for name, server in (("ours", own), ("sqlite3", other)):
                times = latencies(server, paths, seconds)
                cuts = statistics.quantiles(times, n=100)
                figures[name].append((cuts[49], cuts[98]))
                print(f"{name:10}{len(times):7} requests, p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms")
    medians = {
        name: [statistics.median(column) for column in zip(*each, strict=True)] for name, each in figures.items()
    }
    return medians["ours"][1], medians["ours"][0] / medians["sqlite3"][0]


def in_process(folder: Path, wanted: Wanted) -> float:
    """The time of the query divided by the peer's read; both return the same balances."""
    store = open_store(StoreSettings(f"sqlite:///{folder / 'store'}", NETWORK))
    own = sqlite3.connect(folder / "hand.db")

    async def by_store(number: int, index: int) -> int:
        row = await find_balance(store, address(number).hex(), index)
        return row["balance"] if row else 0

    async def by_sqlite3(number: int, index: int) -> int:
        row = own.execute(SQL, (address(number), index)).fetchone()
        return row[0] if row else 0

    async def timed(query: Callable[[int, int], Any]) -> float:
        begin = time.perf_counter()
        for each in wanted:
            await query(*each)
        return (time.perf_counter() - begin) / len(wanted)

    async def compare() -> float:
        for each in wanted[:200]:
            assert await by_store(*each) == await by_sqlite3(*each)
        times = [(await timed(by_store), await timed(by_sqlite3)) for _ in range(ROUNDS)]
        mine, theirs = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"query {1e6 * mine:.0f} µs, sqlite3 {1e6 * theirs:.0f} µs")
        return float(mine / theirs)

    ratio = asyncio.run(compare())
    store.close()
    own.close()
    return ratio


def main() -> int:
    """Runs the bench. Returns 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--balances", type=int, default=1_000_000, help="number of balances in the store")
    add_seconds(parser)
    parser.add_argument("--folder", type=Path, help="folder in which the store is kept for another run")
    options = parser.parse_args()
    chance = random.Random(7)
    owners = options.balances // ROWS_OF_ADDRESS
    wanted = [(chance.randrange(owners), chance.randrange(1, LEDGER_INDEX)) for _ in range(SAMPLE)]
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        if not (folder / "hand.db").exists():
            fill(folder, options.balances)
        ratio = in_process(folder, wanted)
        p99, slower = over_http(folder, wanted, options.seconds)
    print(f"p99 {p99:.2f} ms (at most {P99_MS}); {slower:.2f} × the sqlite3 server's latency; {ratio:.2f} × its read")
    return 0 if p99 <= P99_MS else 1


if __name__ == "__main__":
    sys.exit(main())
