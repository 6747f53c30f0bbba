"""Gauges of /metrics about each network: its store, what it holds, and its newest load.

Invariants:
1. The numbers are those of `permanode status`, from the same functions.
2. A scrape reads summaries and notes of loads, never the tables that they count.
3. A store that does not respond affects only its own network, and the response comes within READ_S.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from api.http.metrics import GaugeKind, Sample
from api.network import NetworkMount
from db.intervals import size
from db.listing.deadline import DEADLINE
from db.listing.turns import SLICE
from db.queries.head import find_lag, find_newest
from db.queries.ledger import find_genesis, find_ledger_index
from db.queries.loads import Loads, find_loads
from db.queries.reconciliation import find_reconciliation
from db.queries.wormhole.holdings import find_noted_holdings
from db.schema.protocols import IOTA
from db.store import Row, Store, StoreError
from db.sync import held_in, list_proofs, list_ranges, missing, proved_in
from db.together import together

KEPT_S = 10.0
"""How long values are kept, so that a client cannot make a server read them all the time. Shorter than the usual time
between two scrapes.
"""

READ_S = 5.0
"""How long a scrape waits for a store: half of Prometheus's default timeout."""

STORE_UP = GaugeKind("permanode_store_up", "1 if the store of the network responds, else 0")
STORE_DAMAGED = GaugeKind("permanode_store_damaged", "1 if a read found damaged data in the store, else 0")
STORE_SIZE = GaugeKind("permanode_store_size_bytes", "Size of the store on disk; a cluster: estimate of one replica")
STORE_FREE = GaugeKind("permanode_store_free_bytes", "Free space on the file system of a SQLite store")

NEWEST = GaugeKind("permanode_newest_milestone", "Index of the newest complete milestone")
NEWEST_AGE = GaugeKind("permanode_newest_milestone_age_seconds", "Age of the newest complete milestone")
MILESTONES = GaugeKind(
    "permanode_milestones", "Milestones that are complete, incomplete or missing", ("network", "state")
)
PROVED = GaugeKind("permanode_proved_milestones", "Complete milestones by their proof level", ("network", "level"))
MESSAGES = GaugeKind("permanode_messages", "Messages of complete milestones; Wormhole: verified messages")
GAPS = GaugeKind("permanode_gaps", "Intervals of missing milestones; Wormhole: gaps in the sequences of emitters")
LEDGER = GaugeKind("permanode_ledger_index", "Milestone of the ledger state")
UNRECONCILED = GaugeKind(
    "permanode_unreconciled_milestones",
    "Milestones from the first one whose balances and treasury do not add up to the token supply",
)
BEHIND = GaugeKind("permanode_milestones_behind", "Milestones up to the newest one that a follower's node reported")
DAYS_DUE = GaugeKind("permanode_days_due_milestones", "Milestones that are not yet counted in the analytics of days")

NEWEST_VAA_AGE = GaugeKind("permanode_newest_vaa_age_seconds", "Age of the newest verified message of Wormhole")
VAA_DAYS = GaugeKind("permanode_vaa_days", "Days with verified messages of Wormhole")
UNVERIFIED = GaugeKind("permanode_unverified_vaas", "VAAs without a quorum of a known guardian set")
MISSING_SEQUENCES = GaugeKind("permanode_missing_sequences", "Missing sequences of emitters of Wormhole")

REJECTS = GaugeKind("permanode_rejects", "Rejects in the store after the newest load")
LOAD_BEGUN = GaugeKind(
    "permanode_load_start_timestamp_seconds", "When the load began that runs now or was killed; absent without one"
)
LOAD_ENDED = GaugeKind("permanode_load_end_timestamp_seconds", "When the newest load ended")
LOAD_SECONDS = GaugeKind("permanode_load_duration_seconds", "Duration of the newest load that ended")
LOAD_EXIT = GaugeKind("permanode_load_exit_code", "Exit code of the newest load that ended: 0, 1 or 3")
LOAD_MILESTONES = GaugeKind("permanode_load_milestones", "Milestones that the newest load of an IOTA network wrote")
LOAD_MESSAGES = GaugeKind("permanode_load_messages", "Messages that the newest load wrote")

GAUGES = (
    STORE_UP, STORE_DAMAGED, STORE_SIZE, STORE_FREE,
    NEWEST, NEWEST_AGE, MILESTONES, PROVED, MESSAGES, GAPS, LEDGER, UNRECONCILED, BEHIND, DAYS_DUE,
    NEWEST_VAA_AGE, VAA_DAYS, UNVERIFIED, MISSING_SEQUENCES,
    REJECTS, LOAD_BEGUN, LOAD_ENDED, LOAD_SECONDS, LOAD_EXIT, LOAD_MILESTONES, LOAD_MESSAGES,
)  # fmt: skip
"""A gauge that does not apply to a network, or whose value is unknown, is absent."""

Values: TypeAlias = dict[GaugeKind, float | None]
"""Values of gauges without a label of their own. None: unknown."""


class Gauges:
    """The gauges of all networks of a server."""

    def __init__(self, networks: Mapping[str, NetworkMount]) -> None:
        self._networks = [NetworkGauges(name, mount) for name, mount in networks.items()]

    async def read(self) -> list[Sample]:
        """Returns the values of all networks."""
        return [sample for each in await together(*(one.read() for one in self._networks)) for sample in each]


class NetworkGauges:
    """The gauges of one network, read again after KEPT_S."""

    def __init__(self, name: str, mount: NetworkMount, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self._mount, self._clock = name, mount, clock
        self._reading = asyncio.Lock()
        self._kept: list[Sample] = []
        self._until = 0.0

    async def read(self) -> list[Sample]:
        """Returns the values: only those of STORE_UP and STORE_DAMAGED if the store does not respond.

        Sets the deadline of the calling task.
        """
        async with self._reading:
            if self._clock() >= self._until:
                self._kept = await self._read()
                self._until = self._clock() + KEPT_S
            return self._kept

    async def _read(self) -> list[Sample]:
        # Not a turn of a request, which long requests of clients would delay.
        SLICE.set(None)
        DEADLINE.set(time.monotonic() + READ_S)
        try:
            async with asyncio.timeout(READ_S):
                values, by_label = await read_network(self._mount)
        except (StoreError, TimeoutError):
            return [Sample(STORE_UP, (self._name,), 0.0), self._damaged()]
        samples = [Sample(kind, (self._name,), value) for kind, value in values.items() if value is not None]
        labelled = [Sample(kind, (self._name, label), value) for (kind, label), value in by_label.items()]
        return [Sample(STORE_UP, (self._name,), 1.0), self._damaged(), *samples, *labelled]

    def _damaged(self) -> Sample:
        return Sample(STORE_DAMAGED, (self._name,), float(self._mount.store.damage() is not None))


async def read_network(mount: NetworkMount) -> tuple[Values, dict[tuple[GaugeKind, str], float]]:
    """The values of a network, without and with a second label. Raises StoreError."""
    space = await mount.store.disk_space()
    loads = await find_loads(mount.store)
    values: Values = {STORE_SIZE: space.used, STORE_FREE: space.free, **load_values(loads)}
    if mount.protocol != IOTA:
        return values | await vaa_values(mount.store), {}
    ranges = [row async for row in list_ranges(mount.store, mount.name)]
    proofs = [row async for row in list_proofs(mount.store, mount.name)]
    genesis = await find_genesis(mount.store, mount.name)
    # In a thread, because a store with very many gaps takes long.
    counted, by_label = await asyncio.to_thread(count_milestones, ranges, proofs, genesis)
    values |= counted | await milestone_values(mount.store, mount.name)
    return values | ({} if loads.ended is None else {LOAD_MILESTONES: loads.ended.milestones}), by_label


def count_milestones(
    ranges: Sequence[Row], proofs: Sequence[Row], genesis: int | None
) -> tuple[Values, dict[tuple[GaugeKind, str], float]]:
    """The numbers of an IOTA network's milestones, from all rows of `ranges` and `proofs`."""
    found, levels = held_in(ranges), proved_in(proofs)
    absent = missing(found, genesis)
    states = {"complete": found.complete, "incomplete": found.incomplete, "missing": absent}
    by_label = {(MILESTONES, state): float(size(each)) for state, each in states.items()}
    by_label |= {(PROVED, level): float(size(each)) for level, each in levels.items()}
    return {MESSAGES: found.messages, GAPS: len(absent)}, by_label


async def milestone_values(store: Store, network: str) -> Values:
    """The newest milestone and the ledger state of an IOTA network."""
    newest, lag = await find_newest(store, network), await find_lag(store, network)
    sums = await find_reconciliation(store)
    return {
        LEDGER: await find_ledger_index(store, network),
        **({} if newest is None else {NEWEST: newest.milestone_index, NEWEST_AGE: newest.age_s}),
        **({} if lag is None else {BEHIND: lag.behind, DAYS_DUE: lag.days_due}),
        **({} if sums is None else {UNRECONCILED: sums.last - sums.holds_to}),
    }


async def vaa_values(store: Store) -> Values:
    """What a Wormhole network held after its newest load."""
    noted = await find_noted_holdings(store)
    if noted is None:
        return {}
    return {
        MESSAGES: noted.verified,
        NEWEST_VAA_AGE: None if noted.newest_s is None else round(time.time() - noted.newest_s, 3),
        VAA_DAYS: noted.day_count,
        UNVERIFIED: noted.unverified,
        GAPS: noted.gap_count,
        MISSING_SEQUENCES: noted.missing,
    }


def load_values(loads: Loads) -> Values:
    """The newest load."""
    values: Values = {REJECTS: loads.rejects, LOAD_BEGUN: loads.begun_at}
    ended = loads.ended
    if ended is not None:
        values |= {
            LOAD_ENDED: ended.ended_at,
            LOAD_SECONDS: ended.seconds,
            LOAD_EXIT: ended.exit_code,
            LOAD_MESSAGES: ended.messages,
        }
    return values
