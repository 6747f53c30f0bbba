"""The indexer's query by address with two filters: 10 hits in a key of 100 rows, among a million generated outputs.

    python -m bench.indexer [--outputs 1000000] [--seconds 2]

Over HTTP it is compared with a bare FastAPI route that returns the same bytes from memory (one process per server,
taking turns, median of three rounds, as in bench.http). In one process it is compared with a hand-written SQL query of
a table with the ideal index; both return the same ids in the same order. Figures are ratios of one run.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.http import record
from bench.servers import add_seconds, run_wrk, serving, uvicorn, wrk_is_missing
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.queries.indexer import OutputQuery, Spent, list_outputs
from db.queries.lookups import By
from db.store import Condition
from ledger.crypto.bech32 import format_address

NETWORK, HRP = "bench-indexer", "atoi"
PATH = "/api/indexer/v1/outputs/basic"
LEDGER_INDEX = 90_000
ROWS_OF_KEY, HITS_OF_KEY = 100, 10
SAMPLE = 500
"""Number of addresses requested in turn."""

ROUNDS = 3
EXPIRES_AT = 1_700_000_000

BARS = (("× a bare FastAPI route", 0.6), ("× the time of hand-written SQL", 2.0))
"""The least share of the peer's rate; the greatest multiple of the peer's time."""

COLUMNS = (
    *schema.unspent_hints.names, "milestone_index", "output_id", "ms_timestamp", "output_type", "amount", "sender",
    "expiration", "expiration_return", "native_tokens",
)  # fmt: skip


def address(number: int) -> bytes:
    """An Ed25519 address."""
    return b"\0" + hashlib.blake2b(number.to_bytes(8), digest_size=32).digest()


def rows_of(number: int) -> Iterator[tuple[Any, ...]]:
    """COLUMNS of the outputs of an address: of its ROWS_OF_KEY outputs every tenth expires and contains a native
    token.
    """
    chance, owner = random.Random(number), address(number)
    for each in range(ROWS_OF_KEY):
        is_hit = each % (ROWS_OF_KEY // HITS_OF_KEY) == 3
        milestone_index = chance.randrange(1, LEDGER_INDEX)
        yield (
            "address", "basic", owner.hex(), 0, 0, milestone_index, chance.randbytes(32) + b"\0\0",
            1_000 * (1_660_000_000 + 10 * milestone_index), 3, chance.randrange(10**9), address(each),
            EXPIRES_AT if is_hit or each % 2 else None, address(each + 1) if is_hit or each % 2 else None,
            1 if is_hit or each % 2 == 0 else 0,
        )  # fmt: skip


def fill(folder: Path, outputs: int) -> None:
    """Creates a store with that many unspent outputs, and a table that is made for this query alone."""
    settings = StoreSettings(f"sqlite:///{folder / 'store'}", NETWORK)
    migrate(settings)
    store = open_store(settings, writable=True)
    own = sqlite3.connect(folder / "hand.db")
    own.execute(
        "CREATE TABLE outputs (output_id BLOB PRIMARY KEY, address BLOB, created_at INTEGER, expiration INTEGER, "
        "native_token_count INTEGER)"
    )
    owners = outputs // ROWS_OF_KEY
    at_once = 500
    for first in range(0, owners, at_once):
        rows = [row for number in range(first, min(first + at_once, owners)) for row in rows_of(number)]
        with store.batch() as batch:
            batch.upsert(schema.unspent_outputs, COLUMNS, rows)
            batch.upsert(schema.unspent_hints, schema.unspent_hints.names, {row[:5] for row in rows})
        kept = [(row[6], bytes.fromhex(row[2]), row[7] // 1000, row[11], row[13]) for row in rows]
        own.executemany("INSERT INTO outputs VALUES (?, ?, ?, ?, ?)", kept)
    with store.batch() as batch:
        batch.upsert(schema.ledger_frontier, schema.ledger_frontier.names, [(NETWORK, 0), (NETWORK, LEDGER_INDEX)])
    store.close()
    own.execute("CREATE INDEX by_address ON outputs (address, created_at, output_id)")
    own.commit()
    own.close()


# --- over HTTP --------------------------------------------------------------------------------------------------------


def bare() -> Any:
    """A FastAPI route that returns recorded bodies: no store, no rendering."""
    from fastapi import FastAPI, Response

    with Path(os.environ["BENCH_BODIES"]).open() as lines:
        bodies = {path: body.encode() for path, body in map(json.loads, lines)}
    app = FastAPI()

    @app.get(PATH)
    async def basic(address: str, hasExpiration: str, minNativeTokenCount: int) -> Response:  # noqa: N803
        path = f"{PATH}?address={address}&hasExpiration={hasExpiration}&minNativeTokenCount={minNativeTokenCount}"
        return Response(bodies[path], media_type="application/json")

    return app


def path_of(bech32: str) -> str:
    """The path of the query."""
    return f"{PATH}?address={bech32}&hasExpiration=true&minNativeTokenCount=1"


def http_ratio(folder: Path, requested: list[int], seconds: int) -> float:
    """The API's rate divided by the bare route's."""
    paths = [path_of(format_address(HRP, address(number))) for number in requested]
    bodies = folder / "bodies.jsonl"
    url = f"sqlite:///{(folder / 'store').absolute()}"
    with serving(url, NETWORK, PERMANODE_STORE_STARDUST_FROM="0") as own:
        record(own.base, {"basic": paths}, bodies)
        with bodies.open() as lines:
            assert all(len(json.loads(json.loads(line)[1])["items"]) == HITS_OF_KEY for line in lines)
        with uvicorn("bench.indexer:bare", BENCH_BODIES=str(bodies)) as peer:
            rates: dict[str, list[float]] = {"ours": [], "bare FastAPI": []}
            for _ in range(ROUNDS):
                for name, server in (("ours", own), ("bare FastAPI", peer)):
                    figure = run_wrk(server, paths, seconds, folder)
                    rates[name].append(figure.per_second)
                    print(
                        f"{name:14}{figure.per_second:9.0f} req/s {figure.p50_ms:8.2f} {figure.p99_ms:8.2f} ms "
                        f"{figure.cpu_us:7.0f} µs {figure.errors} errors"
                    )
    own_rate, bare_rate = (statistics.median(each) for each in rates.values())
    return own_rate / bare_rate


# --- in one process ---------------------------------------------------------------------------------------------------

SQL = (
    "SELECT output_id FROM outputs WHERE address = ? AND expiration IS NOT NULL AND native_token_count >= 1 "
    "ORDER BY created_at, output_id LIMIT 1001"
)


def sql_ratio(folder: Path, requested: list[int]) -> float:
    """The time of the query divided by the hand-written one's; both return the same ids."""
    store = open_store(StoreSettings(f"sqlite:///{folder / 'store'}", NETWORK))
    own = sqlite3.connect(folder / "hand.db")
    tests = [(Condition("expiration", "not null"),), (Condition("native_tokens", ">=", 1),)]

    async def by_store(number: int) -> list[str]:
        page = await list_outputs(
            store, NETWORK, OutputQuery(("basic",), ((By("address", address(number).hex()),),), tests), Spent.UNSPENT,
            as_of=LEDGER_INDEX, newest=False, page_size=1000, cursor=None,
        )  # fmt: skip
        return [row["output_id"] for row in page.rows]

    async def plain_sql(number: int) -> list[str]:
        return [row[0].hex() for row in own.execute(SQL, (address(number),))]

    async def timed(query: Callable[[int], Any]) -> float:
        begin = time.perf_counter()
        for number in requested:
            await query(number)
        return (time.perf_counter() - begin) / len(requested)

    async def compare() -> float:
        for number in requested[:20]:
            found = await by_store(number)
            assert len(found) == HITS_OF_KEY
            assert found == await plain_sql(number)
        times: list[tuple[float, float]] = [(await timed(by_store), await timed(plain_sql)) for _ in range(2 * ROUNDS)]
        mine, theirs = statistics.median(each for each, _ in times), statistics.median(each for _, each in times)
        print(f"query {1e6 * mine:.0f} µs, hand-written SQL {1e6 * theirs:.0f} µs")
        return mine / theirs

    ratio = asyncio.run(compare())
    store.close()
    own.close()
    return ratio


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", type=int, default=1_000_000, help="number of outputs in the store")
    add_seconds(parser)
    parser.add_argument("--folder", type=Path, help="folder in which the store is kept for another run")
    options = parser.parse_args()
    if wrk_is_missing():
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        if not (folder / "hand.db").exists():
            fill(folder, options.outputs)
        requested = random.Random(7).sample(range(options.outputs // ROWS_OF_KEY), SAMPLE)
        slower = sql_ratio(folder, requested)
        rate = http_ratio(folder, requested, options.seconds)
    (bare_name, least), (sql_name, most) = BARS
    print(f"{rate:.2f} {bare_name} (at least {least}); {slower:.2f} {sql_name} (at most {most})")
    return 0 if rate >= least and slower <= most else 1


if __name__ == "__main__":
    sys.exit(main())
