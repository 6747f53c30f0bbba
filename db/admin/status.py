"""What a store holds, as an operator asks it: milestones, rejects, sizes, versions, who writes.

Rules of this file: values for a command line, no text; it reads summaries, but for the sizes, which count rows. What a
Wormhole network has for milestones status_wormhole.py tells.
"""

from dataclasses import dataclass

from db import schema
from db.admin.wormhole_status import Holdings, get_holdings
from db.intervals import Intervals, add, gaps
from db.queries.ledger import find_genesis
from db.schema.protocols import IOTA
from db.store import Lease, Row, TableSize, WritableStore
from db.sync import Held, held, proved

REJECTS_SHOWN = 100
"""Rejects that a status lists at most."""

UNKNOWN_MILESTONE = -1
"""rejects.milestone_index of a line that does not tell its milestone."""

VERSIONS = ("protocol", "layout", "chunk_size", "partition_size", "bech32_hrp")
"""What keyspace_info knows of how the store was made."""


@dataclass(frozen=True, slots=True)
class Status:
    """`missing`: milestones that are neither complete nor incomplete, from where the ledger begins, or else the lowest,
    to the highest; `proved`: the complete ones by how far they are; `unlogged`: those that no archive file is known to
    hold. `vaas`: of a Wormhole network, which has no milestones; None: it is none.
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
    vaas: Holdings | None = None


async def get_status(store: WritableStore, network: str) -> Status:
    """Everything at once; the rejects of milestones that are not complete, cut at REJECTS_SHOWN."""
    protocol = await store.get(schema.keyspace_info, ("protocol",))
    by_milestone = protocol is None or protocol["value"] == IOTA
    found = await held(store, network) if by_milestone else Held([], [], [], 0)
    known = add(found.complete, found.incomplete)
    genesis = await find_genesis(store, network) if by_milestone else None
    begins = [first for first, _ in known[:1]] + ([] if genesis is None else [genesis + 1])
    infos = await store.get_many(schema.keyspace_info, [(name,) for name in VERSIONS])
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
        vaas=None if by_milestone else await get_holdings(store),
    )


async def list_rejects(store: WritableStore, milestones: Intervals) -> list[Row]:
    """What was refused of those milestones and of lines without one, at most REJECTS_SHOWN rows."""
    found: list[Row] = []
    for first, last in [(UNKNOWN_MILESTONE, UNKNOWN_MILESTONE), *milestones]:
        for index in range(first, last + 1):
            found += await store.slice(schema.rejects, (index,), limit=REJECTS_SHOWN - len(found))
            if len(found) >= REJECTS_SHOWN:
                return found
    return found
