"""The status of a store for operators: milestones, rejects, sizes, versions, current writer.

The functions return values, not text. They read summaries, except for sizes, which count rows. For Wormhole networks
see `wormhole_status`.
"""

from dataclasses import dataclass

from db import schema
from db.admin.wormhole_status import Holdings, get_holdings
from db.intervals import Intervals, add, gaps
from db.queries.head import Lag, find_lag
from db.queries.ledger import find_genesis
from db.queries.reconciliation import Reconciliation, find_reconciliation
from db.schema.protocols import IOTA
from db.store import Lease, Row, TableSize, WritableStore
from db.sync import Held, held, proved

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
    """The status. `missing` are milestones that are neither complete nor incomplete, from the start of the ledger (else
    the lowest milestone) to the highest. `proved` are complete milestones by level. `unlogged` are complete milestones
    that no known archive file contains. `engine` is that of the newest run. `lag` is set if a follower
    loads. `reconciliation` is set if the ledger state is known. `vaas` is set only for a Wormhole network,
    which has no milestones.
    """

    network: str
    complete: Intervals
    incomplete: Intervals
    missing: Intervals
    proved: dict[str, Intervals]
    unlogged: Intervals
    messages: int
    rejects: list[Row]
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
    known = add(found.complete, found.incomplete)
    genesis = await find_genesis(store, network) if by_milestone else None
    begins = [first for first, _ in known[:1]] + ([] if genesis is None else [genesis + 1])
    infos = await store.get_many(schema.keyspace_info, [(name,) for name in VERSIONS])
    engine = await store.get(schema.keyspace_info, (ENGINE,))
    applied = await store.slice(schema.migrations, (network,), limit=1000)
    return Status(
        network=network,
        complete=found.complete,
        incomplete=found.incomplete,
        missing=gaps(known, min(begins), known[-1][1]) if known else [],
        proved=await proved(store, network) if by_milestone else {},
        unlogged=found.unlogged,
        messages=found.messages,
        rejects=await list_rejects(store, found.incomplete),
        tables=await store.describe(),
        versions={str(row["name"]): str(row["value"]) for row in infos if row},
        migrations=[str(row["name"]) for row in applied],
        writer=store.holder(),
        engine=None if engine is None else engine["value"],
        lag=await find_lag(store, network) if by_milestone else None,
        reconciliation=None if genesis is None else await find_reconciliation(store),
        vaas=None if by_milestone else await get_holdings(store),
    )


async def list_rejects(store: WritableStore, milestones: Intervals) -> list[Row]:
    """Rejects of these milestones and of lines without a milestone, at most REJECTS_SHOWN."""
    found: list[Row] = []
    for first, last in [(UNKNOWN_MILESTONE, UNKNOWN_MILESTONE), *milestones]:
        for index in range(first, last + 1):
            found += await store.slice(schema.rejects, (index,), limit=REJECTS_SHOWN - len(found))
            if len(found) >= REJECTS_SHOWN:
                return found
    return found
