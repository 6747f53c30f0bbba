"""unspent_outputs without what was spent long ago.

Rules of this file: a partition is cleaned once more of its rows are dead than alive; only dead rows are deleted, so a
reader sees the same before and after, and a crash leaves nothing but dead rows behind. From which ledger index on the
table can answer is noted before the first row goes, how far it was looked through after the last.
"""

from collections.abc import Iterable
from itertools import islice

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.queries.outputs import UNSPENT_FROM
from db.store import Batch, Value
from etl import tables, unspent
from etl.changes import far
from etl.lake import few_rows
from etl.placement import SPLITS, Placement
from etl.publish import Publication
from etl.store_reads import StoreReads

COMPACTED_TO = "compacted_to"
"""keyspace_info: what was spent up to that milestone was looked through."""

PARTITIONS_AT_ONCE = 1_000
"""Cleaned in one transaction."""

SPENT = pa.schema(
    {
        "output_id": pa.binary(),
        "address": pa.binary(),
        "created_milestone_index": pa.int32(),
        "milestone_index": pa.int32(),
        "is_spent": pa.bool_(),
    }
)
"""Of CHANGES that spend, what tells where the rows stand."""


def compact(publication: Publication) -> int:
    """Looks through all that was ever spent; the rows deleted."""
    lake, frontier = publication.lake, publication.reads.ledger_index()
    if frontier is None:
        return 0
    genesis, dead_to = lake.genesis_index(), frontier - publication.settings.ledger_margin
    if dead_to <= genesis:
        return 0
    found = far(publication, genesis, frontier, frontier)
    spent = found.changes.where(F.col("is_spent") & (F.col("milestone_index") <= dead_to))
    return clean(publication, spent, found.ranges, genesis, dead_to)


def compact_behind(publication: Publication, genesis: int, frontier: int) -> None:
    """Looks through what was spent since it was last done, `ledger_margin` milestones of it or more, by the store."""
    margin, reads = publication.settings.ledger_margin, publication.reads
    looked_to, dead_to = looked(reads, genesis), frontier - margin
    if dead_to - looked_to < margin:
        return
    updates = [row for row in reads.ledger_updates(looked_to + 1, dead_to) if row["is_spent"]]
    owners = reads.owners([bytes.fromhex(row["output_id"]) for row in updates])
    rows = [(output_id, address, created, dead_to, True) for output_id, (_, address, _, created) in owners.items()]
    ranges = {created // publication.store_settings.chunk_size for *_, created in owners.values()}
    clean(publication, few_rows(publication.spark, SPENT, rows), sorted(ranges), genesis, dead_to)


def clean(publication: Publication, spent: DataFrame, ranges: Iterable[int], genesis: int, dead_to: int) -> int:
    """Cleans the partitions of outputs (SPENT) created in those ranges, where spent by `dead_to`; the rows deleted."""
    reads, store = publication.reads, publication.store
    standing = reads.splits(schema.LEDGER_LOOKUPS, list(ranges))
    hot = few_rows(publication.spark, SPLITS, standing) if standing else None
    placement = Placement(publication.store_settings.chunk_size, schema.LEDGER_LOOKUPS, hot)
    partitions = unspent.placed_outputs(spent, placement, genesis).select(*schema.unspent_hints.names).distinct()
    staged = publication.staging.stage(tables.conform(partitions, schema.unspent_hints))
    rows, deleted = staged.rows(), 0
    unspent_from = max(dead_to, int(reads.info(UNSPENT_FROM) or dead_to))
    while some := list(islice(rows, PARTITIONS_AT_ONCE)):
        with store.batch() as batch:
            batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [(UNSPENT_FROM, str(unspent_from))])
            deleted += sum(_cleaned(batch, reads, partition, dead_to) for partition in some)
    publication.staging.drop(staged)
    with store.batch() as batch:
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [(COMPACTED_TO, str(dead_to))])
    return deleted


def looked(reads: StoreReads, genesis: int) -> int:
    """The milestone up to which all that was spent was looked through."""
    return int(reads.info(COMPACTED_TO) or genesis)


def forget(batch: Batch) -> None:
    """Nothing was cleaned: the state begins."""
    for name in (UNSPENT_FROM, COMPACTED_TO):
        batch.delete(schema.keyspace_info, (name,))


def _cleaned(batch: Batch, reads: StoreReads, partition: tuple[Value, ...], dead_to: int) -> int:
    """Deletes the dead rows of a partition if they are more than the others; the hint too if all are."""
    rows = list(reads.partition(schema.unspent_outputs, partition))
    dead = [row for row in rows if (row["spent_milestone_index"] or dead_to + 1) <= dead_to]
    if len(dead) == len(rows):
        batch.delete(schema.unspent_outputs, partition)
        batch.delete(schema.unspent_hints, partition)
    elif 2 * len(dead) > len(rows):
        for row in dead:
            key = (row["milestone_index"], bytes.fromhex(row["output_id"]))
            batch.delete(schema.unspent_outputs, (*partition, *key))
    else:
        return 0
    return len(dead)
