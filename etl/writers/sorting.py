"""Sorts the rows of a table by its key, with as few shuffles and samples as possible.

Spark sorts in its tasks. Sail would hold what it sorts and send it to this process, which would write it and read it
again. So Sail writes rows unsorted, in shares of ascending hashes, and this process sorts each share when it reads it.
Many rows whose key does not begin with a hash are divided into shares of ascending keys first.
"""

import math
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from db.model import Order, Table, Type
from db.schema.dialects import spark_type
from etl.engine.columns import balanced, bytes_at, schema_of
from etl.engine.current import on_sail
from etl.engine.parquet import write_parquet
from etl.engine.queries import shuffle_partitions
from etl.engine.row_files import BATCH_ROWS, SCRATCH_OPTIONS, batches_in
from etl.tables.frames import WHOLE, TableFrame

HASH_OFFSETS = {
    "message_id": 0,
    "parent_id": 0,
    "transaction_id": 0,
    "output_id": 0,
    "milestone_id": 0,
    "address": 1,
    "chain_id": 1,
}
"""Position of the hash in keys that are hashes. Hashes are evenly distributed, so sorting by them needs no sampling
pass.
"""

Key: TypeAlias = list[tuple[str, str]]
"""The columns of a table's key, each with its order: ascending or descending."""

LAKE_ORDER = {"milestone_index", "ms_range_id"}
"""Keys that rise in the order of the lake, whose parts are therefore already sorted."""


SHARE = "share"
"""The column of a row's share, in the names of folders."""

SHARE_MAX = 192 << 20
"""Bytes of rows that are sorted as one share, although Sail did not divide them."""

SAMPLES = 64
"""Row groups whose keys show where shares of ascending keys begin."""

SAMPLED = 1 / 16
"""The part of the rows of these row groups that is compared."""


def write_sorted(frame: TableFrame, folder: Path, shares: int = 1) -> None:
    """Writes the rows to Parquet files in a new folder, which `rows_in_order` reads in the order of the table's key.

    `shares`: with Sail, the number of equal shares of rows that are keyed by a hash.
    """
    further = [WHOLE] if frame.has_whole else []
    written = with_text_dates(frame).mapped(lambda rows: rows.select(*frame.columns, *further))
    first = frame.table.partition[0]
    if not on_sail():
        write_parquet(_in_tasks(written.frame, frame.table), folder)
        return
    for number, rows in enumerate(written.shares):
        if shares > 1 and first in HASH_OFFSETS:
            write_parquet(rows.withColumn(SHARE, share_of(first, shares)), folder / str(number), SHARE)
        else:
            write_parquet(rows, folder / str(number))


def rows_in_order(frame: TableFrame, folder: Path) -> Iterator[pa.RecordBatch]:
    """The rows that `write_sorted` wrote, in the order of the table's key. With Sail, this process holds a share of
    them, and sorts the next one meanwhile.
    """
    if not on_sail():
        yield from rows_as_written(folder)
        return
    schema, key = _written_schema(frame), _key(frame.table)
    with ThreadPoolExecutor(1, thread_name_prefix="sort") as pool, _shares(folder, schema, key) as shares:
        sorts = (pool.submit(_sorted, share, schema, key) for share in shares)
        following = next(sorts, None)
        while following is not None:
            (rows, places), following = following.result(), next(sorts, None)
            for start in range(0, len(places), BATCH_ROWS):
                yield from pc.take(rows, places.slice(start, BATCH_ROWS)).combine_chunks().to_batches()


def rows_as_written(folder: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a folder's Parquet files, one file after the other."""
    for part in sorted(folder.rglob("*.parquet")):
        yield from batches_in(part)


@contextmanager
def _shares(folder: Path, schema: pa.Schema, key: Key) -> Iterator[list[list[Path]]]:
    """The files of each share of the rows, in the order of the key."""
    files = sorted(folder.rglob("*.parquet"))
    of_share = defaultdict[int, list[Path]](list)
    for path in files:
        of_share[_number(path.parent)].append(path)
    size = sum(path.stat().st_size for path in files)
    if len(of_share) > 1 or size <= SHARE_MAX:
        yield [of_share[number] for number in sorted(of_share)]
        return
    # The undivided rows stay: a frame of hints may read them meanwhile.
    divided = folder.with_name(f"{folder.name}-divided")
    divided.mkdir()
    try:
        yield _divided(files, divided, schema, key, -(-2 * size // SHARE_MAX))
    finally:
        shutil.rmtree(divided)


def _number(folder: Path) -> int:
    """The number of the share whose files are in a folder; 0 without shares."""
    name, _, number = folder.name.partition("=")
    return int(number) if name == SHARE else 0


def _divided(files: Sequence[Path], folder: Path, schema: pa.Schema, key: Key, shares: int) -> list[list[Path]]:
    """Writes the rows in about equal shares of ascending keys. Returns the file of each share."""
    bounds = _bounds(files, schema, key, shares)
    paths = [folder / f"{number}.parquet" for number in range(len(bounds) + 1)]
    with ExitStack() as stack:
        writers = [stack.enter_context(pq.ParquetWriter(path, schema, **SCRATCH_OPTIONS)) for path in paths]
        for rows in (pa.Table.from_batches([batch]).cast(schema) for path in files for batch in batches_in(path)):
            keys = pa.concat_tables([rows.select(bounds.column_names), bounds]).combine_chunks()
            order = pc.sort_indices(keys, key).to_numpy()
            ends = np.flatnonzero(order >= len(rows))
            for writer, places in zip(writers, np.split(order, ends), strict=True):
                writer.write_table(pc.take(rows, places[places < len(rows)]))
    return [[path] for path in paths]


def _bounds(files: Sequence[Path], schema: pa.Schema, key: Key, shares: int) -> pa.Table:
    """The keys with which all shares but the first begin, of random rows of SAMPLES row groups."""
    names = [name for name, _ in key]
    kinds = pa.schema([schema.field(name) for name in names])
    groups = [(path, group) for path in files for group in range(pq.read_metadata(path).num_row_groups)]
    # With a step, rows of a pattern could be missed.
    chance, samples = np.random.default_rng(0), list[pa.Table]()
    for path, group in groups[:: -(-len(groups) // SAMPLES)]:
        with pq.ParquetFile(path) as file:
            rows = file.read_row_group(group, names, use_threads=False).select(names)
            chosen = chance.random(math.ceil(SAMPLED * len(rows))) * len(rows)
            samples.append(pc.take(rows, chosen.astype(np.int64)).cast(kinds))
    sample = pa.concat_tables(samples).combine_chunks()
    sample = pc.take(sample, pc.sort_indices(sample, key))
    return pc.take(sample, pa.array(len(sample) * share // shares for share in range(1, shares)))


def _sorted(files: Sequence[Path], schema: pa.Schema, key: Key) -> tuple[pa.Table, pa.Array]:
    """The rows of a share, and their places in the order of the key."""
    # Its allocator would keep the memory of the share before.
    pa.default_memory_pool().release_unused()
    parts = list[pa.Table]()
    for path in files:
        with pq.ParquetFile(path) as file:
            parts.append(file.read(schema.names, use_threads=False).cast(schema))
    chunked, whole = pa.concat_tables(parts), dict[str, pa.Array]()
    parts.clear()
    # Column by column, so that not all rows are in memory twice.
    for name in schema.names:
        whole[name] = chunked[name].combine_chunks()
        chunked = chunked.drop_columns(name)
    rows = pa.table(whole)
    places = pc.sort_indices(rows, key)
    pa.default_memory_pool().release_unused()
    return rows, places


def _key(table: Table) -> Key:
    """The columns of a table's key and their order."""
    order = "descending" if table.order is Order.DESC else "ascending"
    return [*((name, "ascending") for name in table.partition), *((name, order) for name in table.clustering)]


def _in_tasks(rows: DataFrame, table: Table) -> DataFrame:
    """With Spark: the rows in tasks of ascending keys, each in the order of the key."""
    key = [F.col(name).desc() if order == "descending" else F.col(name) for name, order in _key(table)]
    first, partitions = table.partition[0], shuffle_partitions(rows.sparkSession)
    if partitions == 1:
        # A single task: no shuffle and no sampling.
        return rows.coalesce(1).sortWithinPartitions(*key)
    if first in LAKE_ORDER:
        return rows.sortWithinPartitions(*key)
    if first in HASH_OFFSETS:
        return rows.repartitionById(partitions, share_of(first, partitions)).sortWithinPartitions(*key)
    return rows.orderBy(*key)


def _written_schema(frame: TableFrame) -> pa.Schema:
    columns = (frame.table.column(name) for name in frame.columns)
    kinds = ("STRING" if each.type is Type.DATE else spark_type(each.type) for each in columns)
    fields = [f"{name} {kind}" for name, kind in zip(frame.columns, kinds, strict=True)]
    fields += [f"{WHOLE} BINARY"] if frame.has_whole else []
    return to_arrow_schema(schema_of(", ".join(fields)))


def with_text_dates(frame: TableFrame) -> TableFrame:
    """The frame with dates as text, as the port of a store has them."""
    for name in frame.columns:
        if frame.table.column(name).type is Type.DATE:
            text = F.col(name).cast("string")
            frame = frame.mapped(partial(DataFrame.withColumn, colName=name, col=text))
    return frame


def share_of(name: str, shares: int) -> Column:
    """The share (of `shares` equal ones) that contains a hash, by its first two bytes."""
    head = bytes_at(name, HASH_OFFSETS[name] + 1, 2)
    # Bytes are compared directly: Spark converts bytes to numbers by way of text.
    return balanced(Column.__add__, [F.lit(0), *((head >= F.lit(least)).cast("int") for least in heads(shares))])


def heads(shares: int) -> list[bytes]:
    """The least first two bytes of the hashes in each share but the first."""
    return [(-(-share * 65_536 // shares)).to_bytes(2) for share in range(1, shares)]
