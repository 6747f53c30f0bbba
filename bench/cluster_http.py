"""Requests per second of the API on Cassandra, compared with the bare drivers doing the same reads.

    python -m bench.cluster_http [--seconds 3]

The bench starts a server (Apache Cassandra from its Maven artifacts, heap 2 GB, on loopback), fills it with the oracle
ledger and warms it up. It records which reads each request takes from the API itself: statement, values, consistency,
and which of them run concurrently. cassandra-driver and acsylla each repeat these reads in an asyncio loop (uvloop, 32
coroutines), with prepared statements, rows as tuples, and every response passed to the loop. The API is `permanode
serve` with one worker over either driver, under wrk with 32 connections. They take turns, and the median of three
rounds counts. The server shares the same cores. The bench ends only processes that it started.
"""

import argparse
import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, closing
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import acsylla
import httpx
import uvloop
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ConsistencyLevel, ExecutionProfile
from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy
from cassandra.query import tuple_factory

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from bench.http import database_of, oracle_store, request_paths
from bench.servers import CONNECTIONS, Server, run_wrk, serving, wrk_is_missing
from db.cassandra.session import CassandraSession
from db.connect import StoreSettings, open_store
from db.store import Store
from ledger.networks import find_network
from tests.cassandra_server import CassandraServer, running

HEAP = "2g"
ROUNDS = 3
WARM_S = 8
LEAST = 0.6
"""The bar: the API's rate with its faster driver, divided by the rate of bare cassandra-driver."""

KINDS = ("message by id", "index, page of 100", "outputs, page of 100")

Read: TypeAlias = tuple[str, Sequence[Any], str]
Reads: TypeAlias = list[list[Read]]
"""The reads of one request: groups in sequence, the reads of a group concurrently."""

Queries: TypeAlias = Callable[[Read], Awaitable[Any]]
Driver: TypeAlias = Callable[[str], AbstractAsyncContextManager[Queries]]
"""HOST:PORT → a function that runs reads there."""


class Rate(NamedTuple):
    """Requests per second, and CPU time of this process per request (µs)."""

    per_second: float
    cpu_us: float


def record(settings: StoreSettings, paths: Sequence[str]) -> dict[str, Reads]:
    """Path → the reads with which the API serves it from this store."""
    recorded: Reads = []
    under_way = 0
    original = CassandraSession.query

    async def noting(session: CassandraSession, cql: str, values: Sequence[Any], consistency: str) -> Any:
        nonlocal under_way
        if under_way == 0:
            recorded.append([])
        recorded[-1].append((cql, tuple(values), consistency))
        under_way += 1
        try:
            return await original(session, cql, values, consistency)
        finally:
            under_way -= 1

    async def run(store: Store) -> dict[str, Reads]:
        found = {}
        network = settings.network
        mounts = {network: NetworkMount(store, network, find_network(network).bech32_hrp)}
        transport = httpx.ASGITransport(app=create_app(mounts, network, ApiSettings()))
        async with httpx.AsyncClient(transport=transport, base_url="http://bench") as client:
            for path in paths:
                recorded.clear()
                (await client.get(path)).raise_for_status()
                found[path] = list(recorded)
        return found

    CassandraSession.query = noting  # type: ignore[assignment, method-assign]
    try:
        with closing(open_store(settings)) as store:
            return asyncio.run(run(store))
    finally:
        CassandraSession.query = original  # type: ignore[method-assign]


@asynccontextmanager
async def cassandra_driver(contact: str) -> AsyncIterator[Queries]:
    """cassandra-driver with its defaults, except for rows as tuples and no paging."""
    host, _, port = contact.partition(":")
    profile = ExecutionProfile(TokenAwarePolicy(DCAwareRoundRobinPolicy("")), row_factory=tuple_factory)
    with Cluster(
        [host], port=int(port), protocol_version=4, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    ) as cluster:
        session = cluster.connect()
        session.default_fetch_size = None
        prepared: dict[str, Any] = {}
        loop = asyncio.get_running_loop()

        async def read(each: Read) -> Any:
            cql, values, consistency = each
            statement = prepared.get(cql)
            if statement is None:
                statement = prepared[cql] = session.prepare(cql)
            bound = statement.bind(values)
            bound.consistency_level = ConsistencyLevel.name_to_value[consistency]
            waiting = loop.create_future()
            session.execute_async(bound).add_callbacks(
                lambda rows: loop.call_soon_threadsafe(waiting.set_result, rows),
                lambda error: loop.call_soon_threadsafe(waiting.set_exception, error),
            )
            return await waiting

        yield read


@asynccontextmanager
async def acsylla_driver(contact: str) -> AsyncIterator[Queries]:
    """Acsylla with its defaults, rows as tuples."""
    host, _, port = contact.partition(":")
    cluster = acsylla.create_cluster([host], port=int(port), protocol_version=4)
    session = await cluster.create_session()
    prepared: dict[str, Any] = {}

    async def read(each: Read) -> Any:
        cql, values, consistency = each
        statement = prepared.get(cql)
        if statement is None:
            statement = prepared[cql] = await session.create_prepared(cql)
        bound = statement.bind([*values], consistency=acsylla.Consistency[consistency])
        return [row.as_tuple() for row in await session.execute(bound)]

    try:
        yield read
    finally:
        await session.close()
        cluster.destroy()


DRIVERS: dict[str, Driver] = {"cassandra-driver": cassandra_driver, "acsylla": acsylla_driver}
READERS = {"cassandra-driver": "cassandra", "acsylla": "acsylla"}
"""Driver → value of the setting `reader`."""


def driver_rate(driver: Driver, contact: str, requested: Sequence[Reads], seconds: float) -> Rate:
    """Runs these requests in turn in CONNECTIONS coroutines."""
    return uvloop.run(_driver_rate(driver, contact, requested, seconds))


async def _driver_rate(driver: Driver, contact: str, requested: Sequence[Reads], seconds: float) -> Rate:
    async with driver(contact) as read:
        for each in requested[0]:
            await asyncio.gather(*map(read, each))
        left, count = cycle(requested), 0
        begun, used = time.monotonic(), time.process_time()

        async def work() -> None:
            nonlocal count
            while time.monotonic() < begun + seconds:
                for group in next(left):
                    if len(group) == 1:
                        await read(group[0])
                    else:
                        await asyncio.gather(*map(read, group))
                count += 1

        await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
        return Rate(count / (time.monotonic() - begun), 1e6 * (time.process_time() - used) / count)


def api_rate(server: Server, paths: list[str], seconds: int, folder: Path) -> Rate:
    """The rate measured by wrk. Raises RuntimeError if a request fails."""
    figure = run_wrk(server, paths, seconds, folder)
    if figure.errors:
        raise RuntimeError(f"{figure.errors} of {figure.requests} requests failed")
    return Rate(figure.per_second, figure.cpu_us)


def run(contact: str, folder: Path, seconds: int) -> bool:
    """Prints the figures of each kind, and returns whether all meet the bar."""
    url = f"cassandra://{contact}/bench?rf=1"
    network = oracle_store(f"sqlite:///{folder / 'ids'}")
    oracle_store(url)
    requested = {kind: paths for kind, paths in request_paths(database_of(folder / "ids")).items() if kind in KINDS}
    met = True
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(serving(url, network, PERMANODE_STORE_READER=reader))
            for name, reader in READERS.items()
        }
        shown = "".join(f"{name:>18}{'µs':>6}" for name in (*servers, *(f"bare {name}" for name in DRIVERS)))
        print(f"{'a second':22}{'reads':>6}{shown}   API/bare: own, cassandra-driver's")
        for kind, paths in requested.items():
            reads = list(record(StoreSettings(url=url, network=network), paths).values())
            # Objects of this process belong to no driver: exclude them from garbage collection.
            gc.collect()
            gc.freeze()
            for name, server in servers.items():
                api_rate(server, paths, WARM_S, folder)
                driver_rate(DRIVERS[name], contact, reads, 1)
            api: dict[str, list[Rate]] = {name: [] for name in servers}
            bare: dict[str, list[Rate]] = {name: [] for name in DRIVERS}
            for _ in range(ROUNDS):
                for name, server in servers.items():
                    api[name].append(api_rate(server, paths, seconds, folder))
                    bare[name].append(driver_rate(DRIVERS[name], contact, reads, seconds))
            api_medians, bare_medians = (
                {name: sorted(each)[ROUNDS // 2] for name, each in rates.items()} for rates in (api, bare)
            )
            whole = bare_medians["cassandra-driver"].per_second
            ratios = {name: rate.per_second / whole for name, rate in api_medians.items()}
            met &= max(ratios.values()) >= LEAST
            count = median(sum(map(len, each)) for each in reads)
            shown = "".join(
                f"{rate.per_second:18.0f}{rate.cpu_us:6.0f}" for rate in (*api_medians.values(), *bare_medians.values())
            )
            compared = "; ".join(
                f"{name} {rate.per_second / bare_medians[name].per_second:.2f}, {ratios[name]:.2f}"
                for name, rate in api_medians.items()
            )
            print(f"{kind:22}{count:6.0f}{shown}   {compared}")
    print(f"bar: at least {LEAST} of bare cassandra-driver by one of the two: {'met' if met else 'missed'}")
    return met


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3, choices=range(1, 11), help="seconds per measurement")
    options = parser.parse_args()
    if wrk_is_missing():
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running(CassandraServer(folder / "server", heap=HEAP, java_options=())) as server:
            return 0 if run(server.contact, folder, options.seconds) else 1


if __name__ == "__main__":
    sys.exit(main())
