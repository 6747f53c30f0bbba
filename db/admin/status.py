"""The status of a store for operators: milestones, rejects, sizes, versions, current writer.

The functions return values, not text. They read summaries, except for sizes, which count rows. For Wormhole networks
see `wormhole_status`.
"""

from dataclasses import dataclass

from db import schema
from db.admin.wormhole_status import get_holdings
from db.coverage import find_coverage
from db.intervals import Intervals
from db.queries.head import Lag, Newest, find_lag, find_newest
from db.queries.ledger import find_genesis, find_ledger_index
from db.queries.loads import Loads, find_loads
from db.queries.log import LogSummary, find_log_summary
from db.queries.reconciliation import Reconciliation, find_reconciliation
from db.queries.wormhole.holdings import Holdings
from db.schema.protocols import IOTA
from db.store import DiskSpace, Lease, Row, TableSize, WritableStore
from db.sync import Held, held, list_ranges, missing, proved

REJECTS_SHOWN = 100
"""The most rejects in a status."""

UNKNOWN_MILESTONE = -1
"""rejects.milestone_index of a line whose milestone is unknown."""

ENGINE = "engine"
"""Key of keyspace_info: the engine of the newest run."""

VERSIONS = ("protocol", "layout", "chunk_size", "partition_size", "bech32_hrp")
"""Keys of keyspace_info that describe how the store was created."""


@dataclass(frozen=True, slots=True)
class Status:
    """The status. `newest` is None without a complete milestone, `ledger_index` without a ledger state. `oldest_ms` is
    the least timestamp of a complete milestone. `missing` are milestones that are neither complete nor incomplete, from
    the start of the ledger (else the lowest milestone) to the highest. `proved` are complete milestones by level.
    `unlogged` are complete milestones that no known archive file contains. `rejects` are the first ones, of
    `reject_count` (a cluster whose loads did not note it: at least that many). `space` is that of the store's files.
    `engine` is that of the newest run, `loads` what loads noted. `lag` is set if a follower loads. `reconciliation` is
    set if the ledger state is known. `vaas` is set only for a Wormhole network, which has no milestones. `damage` is
    what a read found damaged first. `log` is how far the transparency log is. `kept` has the filters of a selective
    store with the milestones that they cover.
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
    space: DiskSpace
    versions: dict[str, str]
    migrations: list[str]
    writer: Lease | None
    engine: str | None
    loads: Loads
    lag: Lag | None
    reconciliation: Reconciliation | None = None
    vaas: Holdings | None = None
    damage: str | None = None
    log: LogSummary | None = None
    kept: dict[str, Intervals] | None = None


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
    loads = await find_loads(store)
    coverage = await find_coverage(store)
    return Status(
        network=network,
        newest=await find_newest(store, network) if by_milestone else None,
        ledger_index=await find_ledger_index(store, network) if by_milestone else None,
        oldest_ms=await _find_oldest_ms(store, network) if by_milestone else None,
        complete=found.complete,
        incomplete=found.incomplete,
        missing=missing(found, genesis),
        proved=await proved(store, network) if by_milestone else {},
        unlogged=found.unlogged,
        messages=found.messages,
        rejects=rejects,
        reject_count=next(count for count in (loads.rejects, counted, len(rejects)) if count is not None),
        tables=tables,
        space=await store.disk_space(),
        versions={str(row["name"]): str(row["value"]) for row in infos if row},
        migrations=[str(row["name"]) for row in applied],
        writer=store.holder(),
        engine=None if engine is None else engine["value"],
        loads=loads,
        lag=await find_lag(store, network) if by_milestone else None,
        reconciliation=None if genesis is None else await find_reconciliation(store),
        vaas=None if by_milestone else await get_holdings(store),
        damage=store.damage(),
        log=await find_log_summary(store, network) if by_milestone else None,
        kept=None if coverage is None else {each.text: coverage[each] for each in sorted(coverage)},
    )


async def _find_oldest_ms(store: WritableStore, network: str) -> int | None:
    """The least timestamp of a complete milestone."""
    times = [row["min_timestamp"] async for row in list_ranges(store, network)]
    return min((time for time in times if time is not None), default=None)


async def list_rejects(store: WritableStore, milestones: Intervals) -> list[Row]:
    """Rejects of these milestones and of lines without a milestone, at most REJECTS_SHOWN."""
    found: list[Row] = []
    for first, last in [(UNKNOWN_MILESTONE, UNKNOWN_MILESTONE), *milestones]:
        for index in range(first, last + 1):
            found += await store.slice(schema.rejects, (index,), limit=REJECTS_SHOWN - len(found))
            if len(found) >= REJECTS_SHOWN:
                return found
    return found
