"""Writes rows of a store again from the lake: all of them, or those of some milestones with the rows that are damaged.

A SQLite store gets a new generation, without the rows that cannot be read. A cluster gets the rows again.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyspark.sql import functions as F

from db import schema
from db.damage import milestones_of
from db.intervals import Intervals, add, intersect
from db.model import Table
from db.queries.analytics import ANALYSED, ANALYSED_BY
from db.queries.log_records import PROVED_FROM, PROVED_TO
from db.store import Batch, StoreDamaged, Unreadable
from etl.expectations.comparison import Expectation
from etl.lake.delta import few_rows, intervals_of
from etl.tables import frames as tables
from etl.writers.archived_marks import find_logged, write_logged
from etl.writers.publish import ANALYSED_TO, CLAIMS, FILLED_BY_LAKE, Publication

log = logging.getLogger("permanode")

OF_ANALYTICS = (
    schema.ms_analytics,
    schema.analytics_ranges,
    schema.daily_analytics,
    schema.address_analytics,
    schema.metrics_cache,
)
"""Tables that are computed again as a whole if a row is damaged."""

OF_LEDGER = (
    schema.ledger_frontier,
    schema.ledger_updates_by_milestone,
    schema.address_balances,
    schema.ledger_updates_by_address,
    schema.native_token_updates,
    schema.address_movements,
    schema.unspent_outputs,
    schema.unspent_hints,
    schema.distribution,
    schema.rich_list,
)
"""Tables of the ledger state, which is then applied again from genesis."""

OF_LISTINGS = (schema.milestone_roots, schema.interval_roots, schema.listing_tiles, schema.listing_parts)
"""Tables of roots and trees, which are then computed again as a whole."""

OF_LOG = (schema.log_tiles, schema.log_heads)
"""Tables that are written again from the files of the transparency log."""

PENDING = (schema.pending_messages, schema.pending, schema.pending_hints)


def rewrite_all(publication: Publication, run: Intervals, expected: Callable[[], Expectation]) -> None:
    """Writes all milestones of the lake to a new generation that replaces the store.

    It keeps only the marks of archive files, which the lake does not contain. `expected` returns what must be written.
    """
    store, lake, chunk_size = publication.store, publication.lake, publication.store_settings.chunk_size
    logged = _logged(publication, run)
    with (
        ThreadPoolExecutor(2, thread_name_prefix="splits") as pool,
        store.batch(publish=True, without=(*CLAIMS, *FILLED_BY_LAKE), leave_out=lambda _: None) as batch,
    ):
        write_logged(batch, chunk_size, logged)
        _forget_analytics(batch)
        _forget_listings(batch)
        opening = pool.submit(publication.open_splits, run, known=False)
        publication.write(batch, run, opening.result, pool.submit(expected), record=True)
        publication.upsert(batch, [lambda _: tables.rejects(lake.read("rejects").where("milestone_index < 0"))])
        _write_pending(publication, batch, run)
    publication.write_ranges(run)


def rewrite(
    publication: Publication, wanted: Intervals, expected: Callable[[Intervals], Expectation]
) -> tuple[Intervals, list[Unreadable]]:
    """Writes milestones of the lake again. All other rows stay as they are.

    Rows that cannot be read add their milestones. If there are any, the ledger state begins again, because it also
    writes columns of messages and outputs. Returns the written milestones, and those rows.
    """
    lost: list[Unreadable] = []
    held = intervals_of(publication.lake.read("milestones"))
    if not intersect(wanted, held):
        raise ValueError("--range: the lake contains none of these milestones")
    with (
        ThreadPoolExecutor(2, thread_name_prefix="splits") as pool,
        publication.store.batch(publish=True, leave_out=lost.append) as batch,
    ):
        run = intersect(add(wanted, _milestones(publication, lost, held)), held)
        for table in emptied(lost):
            batch.clear(table)
        if any(each.table in OF_ANALYTICS for each in lost):
            _forget_analytics(batch)
        if any(each.table in OF_LISTINGS for each in lost):
            _forget_listings(batch)
        opening = pool.submit(publication.open_splits, run)
        publication.write(batch, run, opening.result, pool.submit(expected, run), record=True)
        _write_pending(publication, batch, held)
    publication.write_ranges(run)
    return run, lost


def emptied(lost: Collection[Unreadable]) -> list[Table]:
    """The tables that are filled again as a whole if these rows cannot be read."""
    damaged = {each.table for each in lost}
    tables = [] if damaged.isdisjoint(OF_ANALYTICS) else [*OF_ANALYTICS]
    if not damaged.isdisjoint(OF_LISTINGS):
        tables += OF_LISTINGS
    if not damaged.isdisjoint((*OF_LEDGER, schema.addresses_hints)):
        # Partitions of the ledger state must not be without hints.
        return [*tables, *OF_LEDGER]
    return [*tables, schema.ledger_frontier] if damaged - {*OF_ANALYTICS, *OF_LISTINGS, *OF_LOG, *PENDING} else tables


def check_rewritten(publication: Publication, lost: Sequence[Unreadable]) -> None:
    """Raises StoreDamaged if a table has fewer rows than before some of them could not be read."""
    numbers = {each.table: each.total for each in lost if each.table not in (*emptied(lost), *PENDING)}
    for table, held in publication.reads.row_counts(list(numbers)).items():
        number = numbers[table]
        if number is None or held < number:
            missing = "an unknown number of" if number is None else f"{number - held:,}"
            raise StoreDamaged(
                f"{missing} damaged rows of {table.name} may still be missing: they are of other milestones. Write all "
                "rows again with `permanode rebuild`"
            )


def _milestones(publication: Publication, lost: Sequence[Unreadable], held: Intervals) -> Intervals:
    """The milestones that rows depend on. Of outputs also those that spent them, if that column is damaged."""
    found = Intervals()
    for each in lost:
        found = add(found, milestones_of(each, publication.store_settings.chunk_size))
    ids = [row["output_id"] for each in lost if each.table is schema.outputs for row in each.rows]
    if ids:
        wanted = few_rows(publication.spark, pa.schema({"output_id": pa.binary()}), [(each,) for each in ids])
        spent = tables.spent(publication.lake.messages(held)).join(F.broadcast(wanted), "output_id", "left_semi")
        found = add(found, intervals_of(spent))
    return found


def _logged(publication: Publication, run: Intervals) -> Intervals:
    try:
        return find_logged(publication.reads, publication.store_settings.chunk_size, run)
    except StoreDamaged:
        log.warning("sync is damaged: the marks of milestones that archive files contain are lost")
        return []


def _forget_analytics(batch: Batch) -> None:
    for name in (ANALYSED, ANALYSED_BY, ANALYSED_TO):
        batch.delete(schema.keyspace_info, (name,))


def _forget_listings(batch: Batch) -> None:
    for name in (PROVED_FROM, PROVED_TO):
        batch.delete(schema.keyspace_info, (name,))


def _write_pending(publication: Publication, batch: Batch, held: Intervals) -> None:
    """Writes pending messages after the newest milestone of the lake."""
    if publication.lake.has("pending"):
        publication.write_pending(batch, held[-1][1] + 1 if held else 1)
