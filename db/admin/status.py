"""The status of a store for operators: milestones, rejects, sizes, versions, current writer.

The functions return values, not text. They read summaries, except for sizes, which count rows. For Wormhole networks
see `wormhole_status`.
"""

import time
from dataclasses import dataclass

from db import schema
from db.admin.wormhole_status import Holdings, get_holdings
from db.intervals import Intervals
from db.listing.streams import get_chunk_size
from db.queries.head import Lag, find_lag
from db.queries.ledger import find_genesis, find_ledger_index
from db.queries.reconciliation import Reconciliation, find_reconciliation
from db.schema.protocols import IOTA
from db.store import Lease, Row, TableSize, WritableStore
from db.sync import Held, find_newest_milestone, held, list_ranges, missing, proved

REJECTS_SHOWN = 100
"""The most rejects in a status."""

UNKNOWN_MILESTONE = -1
"""rejects.milestone_index of a line whose milestone is unknown."""

ENGINE = "engine"
"""Key of keyspace_info: the engine of the newest run."""

VERSIONS = ("protocol", "layout", "chunk_size", "partition_size", "bech32_hrp")
"""Keys of keyspace_info that describe how the store was created."""


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest complete milestone, its timestamp in milliseconds since 1970, and its age in seconds."""

    milestone_index: int
    timestamp_ms: int
    age_s: float


@dataclass(frozen=True, slots=True)
class Status:
    """The status. `newest` is None without a complete milestone, `ledger_index` without a ledger state. `oldest_ms` is
    the least timestamp of a complete milestone. `missing` are milestones that are neither complete nor incomplete, from
    the start of the ledger (else the lowest milestone) to the highest. `proved` are complete milestones by level.
    `unlogged` are complete milestones that no known archive file contains. `rejects` are the first ones, of
    `reject_count` (a cluster: at least that many). `engine` is that of the newest run. `lag` is set if a follower
    loads. `reconciliation` is set if the ledger state is known. `vaas` is set only for a Wormhole network,
    which has no milestones.
    """

    network: str
    newest: Newest | None
    ledger_index: int | None
    oldest_ms: int | None
    complete: Intervals
    incomplete: Intervals
    missing: Intervals
    proved: dict[str, Intervals]
    unlogged: Intervals
    messages: int
    rejects: list[Row]
    reject_count: int
    tables: list[TableSize]
    versions: dict[str, str]
    migrations: list[str]
    writer: Lease | None
    engine: str | None
    lag: Lag | None
    reconciliation: Reconciliation | None = None
    vaas: Holdings | None = None


async def get_status(store: WritableStore, network: str) -> Status:
    """Reads the whole status. Rejects are those of incomplete milestones, at most REJECTS_SHOWN."""
    protocol = await store.get(schema.keyspace_info, ("protocol",))
    by_milestone = protocol is None or protocol["value"] == IOTA
    found = await held(store, network) if by_milestone else Held([], [], [], 0)
    genesis = await find_genesis(store, network) if by_milestone else None
    infos = await store.get_many(schema.keyspace_info, [(name,) for name in VERSIONS])
    engine = await store.get(schema.keyspace_info, (ENGINE,))
    applied = await store.slice(schema.migrations, (network,), limit=1000)
    tables, rejects = await store.describe(), await list_rejects(store, found.incomplete)
    counted = next((each.rows for each in tables if each.table == schema.rejects.name), None)
    oldest_ms, newest = await _ends(store, network) if by_milestone else (None, None)
    return Status(
        network=network,
        newest=newest,
        ledger_index=await find_ledger_index(store, network) if by_milestone else None,
        oldest_ms=oldest_ms,
        complete=found.complete,
        incomplete=found.incomplete,
        missing=missing(found, genesis),
        proved=await proved(store, network) if by_milestone else {},
        unlogged=found.unlogged,
        messages=found.messages,
        rejects=rejects,
        reject_count=len(rejects) if counted is None else counted,
        tables=tables,
        versions={str(row["name"]): str(row["value"]) for row in infos if row},
        migrations=[str(row["name"]) for row in applied],
        writer=store.holder(),
        engine=None if engine is None else engine["value"],
        lag=await find_lag(store, network) if by_milestone else None,
        reconciliation=None if genesis is None else await find_reconciliation(store),
        vaas=None if by_milestone else await get_holdings(store),
    )


async def _ends(store: WritableStore, network: str) -> tuple[int | None, Newest | None]:
    """The least timestamp, and the newest milestone."""
    ranges = [row async for row in list_ranges(store, network)]
    least = min((row["min_timestamp"] for row in ranges if row["min_timestamp"] is not None), default=None)
    index = await find_newest_milestone(store, network)
    if index is None:
        return least, None
    row = await store.get(schema.sync, (index // await get_chunk_size(store), index))
    if row is None or row["ms_timestamp"] is None:
        return least, None
    return least, Newest(index, row["ms_timestamp"], round(time.time() - row["ms_timestamp"] / 1_000, 3))


async def list_rejects(store: WritableStore, milestones: Intervals) -> list[Row]:
    """Rejects of these milestones and of lines without a milestone, at most REJECTS_SHOWN."""
    found: list[Row] = []
    for first, last in [(UNKNOWN_MILESTONE, UNKNOWN_MILESTONE), *milestones]:
        for index in range(first, last + 1):
            found += await store.slice(schema.rejects, (index,), limit=REJECTS_SHOWN - len(found))
            if len(found) >= REJECTS_SHOWN:
                return found
    return found
