"""Deletes outputs from unspent_outputs that were spent long ago.

Invariants:
1. A partition is cleaned when it contains more dead rows than live ones. Only dead rows are deleted, so readers see the
   same before and after, and a crash leaves only dead rows behind.
2. The first ledger index that the table can still answer is stored before the first deletion. The milestone up to which
   the table was examined is stored after the last one.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.queries.unspent import COMPACTED_TO, UNSPENT_FROM
from db.store import Batch, Value, WritableStore
from etl.lake.delta import few_rows
from etl.lake.output_rows import STARDUST_TYPE
from etl.ledger_state import unspent
from etl.ledger_state.changes import far
from etl.ledger_state.state_step import StateStep
from etl.store_reads import StoreReads
from etl.tables import frames as tables
from etl.tables.partition_columns import Placement
from etl.tables.splits import SPLITS
from etl.writers.publish import Publication

MILESTONES_AT_ONCE = 1_000
"""Milestones whose spent outputs this process holds at a time, near the frontier."""

PARTITIONS_AT_ONCE = 1_000
"""Partitions that are cleaned in one transaction."""

HINTS = schema.unspent_hints
"""Its rows are the partitions of unspent_outputs."""

COLUMNS = (*schema.unspent_outputs.clustering, "spent_milestone_index")
"""The columns of unspent_outputs that decide which rows are deleted. A partition may have many rows."""

SPENT = pa.schema(
    {
        "output_id": pa.binary(),
        "output_type": pa.int8(),
        "address": pa.binary(),
        "created_milestone_index": pa.int32(),
        "stardust": STARDUST_TYPE,
        "data": pa.binary(),
        "milestone_index": pa.int32(),
        "is_spent": pa.bool_(),
    }
)
"""The columns of spending CHANGES that locate the rows of an output."""


def compact(publication: Publication) -> int:
    """Examines all outputs that were ever spent. Returns the number of deleted rows."""
    lake, frontier = publication.lake, publication.reads.ledger_index()
    if frontier is None:
        return 0
    genesis, dead_to = lake.genesis_index(), frontier - publication.settings.ledger_margin
    if dead_to <= genesis:
        return 0
    found = far(publication, genesis, frontier, frontier)
    spent = found.changes.where(F.col("is_spent") & (F.col("milestone_index") <= dead_to))
    return clean(publication, partitions_of(publication, spent, found.ranges, genesis), dead_to)


def compact_behind(publication: Publication, genesis: int, frontier: int) -> None:
    """Examines the outputs that were spent since the last time, once there are `ledger_margin` milestones. Uses the
    store if it is near.
    """
    margin, reads = publication.settings.ledger_margin, publication.reads
    looked_to, dead_to = looked(reads, genesis), frontier - margin
    if dead_to - looked_to < margin:
        return
    if dead_to - looked_to > margin + publication.settings.ledger_near:
        compact(publication)
        return
    # Partitions of busy addresses are those of many milestones, and are cleaned once.
    folders = []
    for first in range(looked_to + 1, dead_to + 1, MILESTONES_AT_ONCE):
        found = _partitions_of_store(publication, genesis, first, min(dead_to, first + MILESTONES_AT_ONCE - 1))
        folders.append(publication.staging.write("cleaned", tables.conform(found, HINTS).frame))
    every = publication.spark.read.schema(tables.ddl_of(HINTS, HINTS.names)).parquet(*map(str, folders))
    clean(publication, every.distinct(), dead_to)
    for folder in folders:
        publication.staging.free(folder)


def clean_behind(publication: Publication, step: StateStep, dead_to: int) -> None:
    """Cleans the partitions of outputs that a step spent by `dead_to`, if it was not near, and of those that were spent
    before and not examined yet.
    """
    since = looked(publication.reads, step.genesis)
    if step.is_near or dead_to <= since:
        return
    # Only rows that existed before. Outputs created since then are written only if they are unspent.
    spent = step.applied.where(F.col("is_spent") & (F.col("created_milestone_index") <= step.frontier))
    spent = spent.where((F.col("milestone_index") > since) & (F.col("milestone_index") <= dead_to))
    clean(publication, partitions_of(publication, spent, step.found.ranges, step.genesis), dead_to)


def partitions_of(publication: Publication, spent: DataFrame, ranges: Iterable[int], genesis: int) -> DataFrame:
    """The partitions of outputs (SPENT) that were created in these ranges, each once."""
    existing = publication.reads.splits(schema.LEDGER_LOOKUPS, list(ranges))
    hot = few_rows(publication.spark, SPLITS, existing) if existing else None
    placement = Placement(publication.store_settings.chunk_size, schema.LEDGER_LOOKUPS, hot)
    return unspent.partitions(spent, placement, genesis).distinct()


def _partitions_of_store(publication: Publication, genesis: int, first: int, last: int) -> DataFrame:
    """The `partitions_of` the outputs that these milestones spent, from the store."""
    reads = publication.reads
    spent = [row["output_id"] for row in reads.ledger_updates(first, last) if row["is_spent"]]
    owners = reads.owners([bytes.fromhex(output_id) for output_id in spent], genesis)
    rows = [
        (output_id, output_type, address, created, stardust, data, last, True)
        for output_id, (output_type, address, _, created, stardust, data) in owners.items()
    ]
    ranges = sorted({each[3] // publication.store_settings.chunk_size for each in owners.values()})
    return partitions_of(publication, few_rows(publication.spark, SPENT, rows), ranges, genesis)


def clean(publication: Publication, found: DataFrame, dead_to: int) -> int:
    """Cleans partitions (of `partitions_of`) with outputs spent by `dead_to`. Returns the number of deleted rows."""
    staged = publication.staging.stage(tables.conform(found, HINTS))
    deleted = clean_partitions(publication.store, publication.reads, iter(staged.rows()), dead_to)
    staged.drop()
    return deleted


def clean_partitions(
    store: WritableStore, reads: StoreReads, partitions: Iterator[tuple[Value, ...]], dead_to: int
) -> int:
    """Cleans partitions of unspent_outputs, several per batch. Returns the number of deleted rows."""
    deleted = 0
    while some := list(islice(partitions, PARTITIONS_AT_ONCE)):
        with store.batch() as batch:
            forgo(batch, reads, dead_to)
            deleted += sum(_cleaned(batch, reads, partition, dead_to) for partition in some)
    with store.batch() as batch:
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [(COMPACTED_TO, str(dead_to))])
    return deleted


def looked(reads: StoreReads, genesis: int) -> int:
    """The milestone up to which all spent outputs were examined."""
    return int(reads.info(COMPACTED_TO) or genesis)


def forgo(batch: Batch, reads: StoreReads, dead_to: int) -> None:
    """Records that the table does not have all outputs that were spent by `dead_to`, and so no states before it."""
    unspent_from = max(dead_to, int(reads.info(UNSPENT_FROM) or dead_to))
    batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [(UNSPENT_FROM, str(unspent_from))])


def forget(batch: Batch, reads: StoreReads) -> None:
    """Resets the compaction state, because the ledger state starts again."""
    if reads.info(UNSPENT_FROM) is not None:
        batch.clear(schema.unspent_outputs)
        batch.clear(schema.unspent_hints)
    for name in (UNSPENT_FROM, COMPACTED_TO):
        batch.delete(schema.keyspace_info, (name,))


def _cleaned(batch: Batch, reads: StoreReads, partition: tuple[Value, ...], dead_to: int) -> int:
    """Deletes the dead rows of a partition if they outnumber the others. Returns their number."""
    rows = list(reads.partition(schema.unspent_outputs, partition, COLUMNS))
    dead = [row for row in rows if (row["spent_milestone_index"] or dead_to + 1) <= dead_to]
    if 2 * len(dead) <= len(rows):
        return 0
    if len(dead) == len(rows):
        # The hint first: while there are rows, a run after a crash comes back to them.
        batch.delete(schema.unspent_hints, partition, fact=dead_to)
        batch.delete(schema.unspent_outputs, partition, fact=dead_to)
    else:
        for row in dead:
            key = (row["milestone_index"], bytes.fromhex(row["output_id"]))
            batch.delete(schema.unspent_outputs, (*partition, *key), fact=dead_to)
    return len(dead)
