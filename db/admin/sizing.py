"""Estimates rows, bytes and partitions of each table for a network, from a measured ledger.

The estimate is arithmetic over db/admin/sizes.json, which `python -m bench.sizes --write` measures. It reads no store.
A table grows with messages unless it is listed here as growing with milestones or not at all. Tables of proofs are
measured with a ledger of their own, because the shipped one ends before its first interval is complete.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from db import schema
from db.model import Table
from db.partitions import limit
from db.utc_days import DAY_S
from ledger.completeness.intervals import FACTOR, size_of

SIZES = Path(__file__).with_name("sizes.json")

PARTITION_BYTES = 100_000_000
"""The largest advisable partition in Cassandra, by rule of thumb."""

HINT_BYTES = 20
"""Bytes of a hint in a large partition: two integers and the row's overhead. Measured hints are alone in their
partition, whose key takes most of their bytes.
"""

PROOFS = (
    schema.milestone_roots,
    schema.interval_roots,
    schema.listing_tiles,
    schema.listing_parts,
    schema.log_tiles,
    schema.log_heads,
)
"""Tables of the trees of listings and of the transparency log."""

BY_MILESTONE = frozenset(
    {
        schema.milestones,
        schema.milestone_ids,
        schema.sync,
        schema.ms_analytics,
        schema.milestone_roots,
        schema.interval_roots,
        schema.log_tiles,
    }
)
"""Tables whose rows follow from the number of milestones."""

FIXED_TABLES = frozenset(
    {
        schema.receipts,
        schema.treasury,
        schema.protocol_parameters,
        schema.ledger_frontier,
        schema.distribution,
        schema.rich_list,
        schema.date_cache,
        schema.analytics_ranges,
        schema.daily_analytics,
        schema.ranges,
        schema.proofs,
        schema.splits,
        schema.tails,
        schema.rejects,
        schema.keyspace_info,
        schema.migrations,
        schema.log_heads,
    }
)
"""Tables with some rows per day or range, or a list of fixed length: used as measured. Rows that expire are not
measured.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured size of a table: rows, rows of its largest partition, bytes of one copy."""

    rows: int
    partitions: int
    largest: int
    sqlite_bytes: int
    cassandra_bytes: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger that was loaded into both stores."""

    messages: int
    milestones: int
    tables: Mapping[str, Measured]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What was measured.

    Attributes:
        sample: the shipped ledger, without tables of proofs.
        lake_bytes: the lake of the shipped ledger.
        proofs: the tables of proofs of a generated ledger, and `message_proofs` of a selective store that keeps all its
            messages.
    """

    sample: Ledger
    lake_bytes: int
    proofs: Ledger


@dataclass(frozen=True, slots=True)
class Demand:
    """The planned network: `rate` messages per second and one milestone per `interval` seconds, for `days`. A cluster
    has `rf` copies on nodes of `node_disk` bytes, of which the share `headroom` stays free for compaction.
    """

    rate: float
    days: float
    interval: float
    rf: int
    chunk_size: int
    partition_size: int
    node_disk: int
    headroom: float

    def __post_init__(self) -> None:
        for name in ("rate", "days", "interval", "rf", "chunk_size", "partition_size", "node_disk"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ValueError(f"{name} must be greater than 0, not {value}")
        if not 0 <= self.headroom < 1:
            raise ValueError(f"headroom must be at least 0 and less than 1, not {self.headroom}")

    @property
    def messages(self) -> int:
        """The total number of messages."""
        return math.ceil(self.rate * self.days * DAY_S)

    @property
    def milestones(self) -> int:
        """The total number of milestones."""
        return math.ceil(self.days * DAY_S / self.interval)

    @property
    def ranges(self) -> int:
        """The number of ranges."""
        return math.ceil(self.milestones / self.chunk_size)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The estimate for one table; bytes of one copy. `largest_rows` is the worst case: one key has all rows that it
    can.
    """

    table: str
    rows: int
    partitions: int
    sqlite_bytes: int
    cassandra_bytes: int
    largest_rows: int
    largest_bytes: int

    @property
    def fits(self) -> bool:
        """Whether the largest partition stays below PARTITION_BYTES."""
        return self.largest_bytes <= PARTITION_BYTES


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole estimate. `sqlite_bytes` is one generation; a large load builds a second one. `cluster_bytes` is all
    copies. Both include `proofs`, which only networks with a ledger state have.

    `message_proof`: bytes of the proof of a message in a selective store, in SQLite and in a replica. Other stores have
    none.
    """

    messages: int
    milestones: int
    tables: list[TablePlan]
    proofs: list[TablePlan]
    message_proof: tuple[int, int]
    sqlite_bytes: int
    cassandra_bytes: int
    cluster_bytes: int
    lake_bytes: int
    nodes: int


UNITS = {"B": 1} | {f"{letter}B": 1000**power for power, letter in enumerate("kMGTP", 1)}
SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kMGTP]?B)", re.ASCII)


def parse_size(text: str) -> int:
    """Parses bytes with a decimal unit, e.g. 500GB. Raises ValueError."""
    found = SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"node_disk must be a number with B, kB, MB, GB, TB or PB, e.g. 2TB, not {text!r}")
    return int(float(found[1]) * UNITS[found[2]])


def format_size(count: int) -> str:
    """Formats bytes as 21 MB or 1.5 TB, with two or three digits."""
    unit = "B"
    for name, size in UNITS.items():
        if count >= size:
            unit = name
    value = count / UNITS[unit]
    return f"{value:.1f} {unit}" if value < 10 and unit != "B" else f"{value:.0f} {unit}"


def load_sizes(path: Path = SIZES) -> Sizes:
    """Reads what was measured."""
    found = json.loads(path.read_text("utf-8"))
    return Sizes(_ledger(found), found["lake_bytes"], _ledger(found["proofs"]))


def _ledger(found: Mapping[str, Any]) -> Ledger:
    tables = {name: Measured(**row) for name, row in found["tables"].items()}
    return Ledger(found["messages"], found["milestones"], tables)


def plan(demand: Demand, sizes: Sizes) -> Plan:
    """Estimates the sizes from the rows and bytes of the measured ledgers."""
    sample, proofs = sizes.sample, sizes.proofs
    tables = [_plan_table(table, demand, sample) for table in schema.TABLES if table.name in sample.tables]
    of_proofs = [_plan_table(table, demand, proofs) for table in PROOFS if table.name in proofs.tables]
    one_copy = sum(each.cassandra_bytes for each in (*tables, *of_proofs))
    cluster = one_copy * demand.rf
    return Plan(
        messages=demand.messages,
        milestones=demand.milestones,
        tables=tables,
        proofs=of_proofs,
        message_proof=_bytes_of_row(proofs.tables.get(schema.message_proofs.name)),
        sqlite_bytes=sum(each.sqlite_bytes for each in (*tables, *of_proofs)),
        cassandra_bytes=one_copy,
        cluster_bytes=cluster,
        lake_bytes=math.ceil(sizes.lake_bytes * demand.messages / sample.messages),
        nodes=max(demand.rf, math.ceil(cluster / (demand.node_disk * (1 - demand.headroom)))),
    )


def _bytes_of_row(measured: Measured | None) -> tuple[int, int]:
    if measured is None or not measured.rows:
        return 0, 0
    return math.ceil(measured.sqlite_bytes / measured.rows), math.ceil(measured.cassandra_bytes / measured.rows)


def _plan_table(table: Table, demand: Demand, ledger: Ledger) -> TablePlan:
    measured = ledger.tables[table.name]
    times = _growth(table, demand, ledger)
    rows = math.ceil(measured.rows * times)
    cassandra_bytes = math.ceil(measured.cassandra_bytes * times)
    row_bytes = HINT_BYTES if _hinted(table) else Fraction(measured.cassandra_bytes, measured.rows or 1)
    known: dict[tuple[str, ...], int] = {
        ("milestone_index",): demand.milestones,
        ("ms_range_id",): demand.ranges,
        ("date",): math.ceil(demand.days),
    }
    partitions = known.get(table.partition, math.ceil(measured.partitions * times))
    largest = min(rows, _largest(table, demand, ledger))
    return TablePlan(
        table=table.name,
        rows=rows,
        partitions=min(rows, partitions),
        sqlite_bytes=math.ceil(measured.sqlite_bytes * times),
        cassandra_bytes=cassandra_bytes,
        largest_rows=largest,
        largest_bytes=math.ceil(largest * row_bytes),
    )


def _growth(table: Table, demand: Demand, ledger: Ledger) -> Fraction:
    """The factor for the measured rows."""
    if table in FIXED_TABLES:
        return Fraction(1)
    if table in BY_MILESTONE:
        return Fraction(demand.milestones, ledger.milestones)
    return Fraction(demand.messages, ledger.messages)


def _largest(table: Table, demand: Demand, ledger: Ledger) -> int:
    """Rows of the largest partition in the worst case; as measured if the protocol bounds it."""
    in_milestone = _rows_of(table, 1, demand, ledger)
    if bound := _bounds(demand).get(table):
        return bound
    if not table.clustering:
        return 1
    if table.partition == ("milestone_index",):
        return in_milestone
    if table.partition == ("date",):
        return _rows_of(table, min(math.ceil(DAY_S / demand.interval), demand.milestones), demand, ledger)
    if "partition_id" in table.partition:
        return min(_rows_in_range(table, demand, ledger), demand.partition_size + in_milestone)
    if hinted := _hinted(table):
        splits = max(_rows_in_range(each, demand, ledger) // limit(demand.partition_size) for each in hinted)
        return demand.ranges * (1 + min(splits, demand.chunk_size))
    return ledger.tables[table.name].largest


def _bounds(demand: Demand) -> dict[Table, int]:
    """The most rows of a partition of tables that have a fixed bound."""
    of_range = (schema.sync, schema.address_balances, schema.ms_analytics, schema.address_analytics)
    return dict.fromkeys((*of_range, schema.milestone_roots), demand.chunk_size) | {
        schema.interval_roots: _intervals_in(demand.chunk_size, 0),
        schema.listing_tiles: schema.PART_TILES,
        schema.listing_parts: _intervals_in(demand.milestones, 1),
    }


def _intervals_in(milestones: int, level: int) -> int:
    """The number of intervals of this level and above in that many milestones, at most."""
    return math.ceil(Fraction(milestones * FACTOR, size_of(level) * (FACTOR - 1)))


def _hinted(hints: Table) -> list[Table]:
    """The lookups whose partitions the hint table lists."""
    return [lookup.table for lookup in schema.ALL_LOOKUPS if lookup.hints is hints]


def _rows_in_range(table: Table, demand: Demand, ledger: Ledger) -> int:
    return _rows_of(table, min(demand.chunk_size, demand.milestones), demand, ledger)


def _rows_of(table: Table, milestones: int, demand: Demand, ledger: Ledger) -> int:
    """The table's rows for that many milestones."""
    if table.name not in ledger.tables:
        return 0
    messages = Fraction(demand.rate) * Fraction(demand.interval) * milestones
    return math.ceil(ledger.tables[table.name].rows * messages / ledger.messages)
