"""Writes table frames to a cluster as SSTables (`--bulk`): tasks write the files and stream them to the owning nodes.

Invariants:
1. A frame is on every node that owns its rows before `write` returns, so the order of writes is the same as for other
   writers.
2. A sample of streamed rows is read back, because a loader that skips a file reports success.
3. Rows that expire and rows that replace a value with null are written by the connector: they are few, and their nulls
   are tombstones.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyspark
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from db.cassandra.address import Address
from db.cassandra.plans import CASSANDRA_OPTION, STATES, compressed_cql, upsert_cql
from db.model import Table, Type
from db.schema.dialects import create_table_cql, spark_type
from db.store import Batch, Key, StoreError, StoreUnavailable
from etl.tables.frames import TableFrame
from etl.writers.cassandra_java import cassandra_jars
from etl.writers.connector import Cluster, ClusterWriter, Spread, writetime_columns
from etl.writers.sstables import CARRIED, KINDS, ROWS, NotStreamed, Target, stream_rows

COMPILER = ("janino", "commons-compiler")
TRIES = 3
"""Attempts per frame, each after a node responds again."""

REASON = re.compile(rf"{NotStreamed.__name__}: ([^\n]+)")


@dataclass(frozen=True)
class BulkWriter:
    """The FrameWriter for bulk loads of a cluster. For `classpath` see etl.writers.sstables.Target."""

    beside: ClusterWriter
    classpath: str | None
    user: str
    password: str = field(repr=False)

    def prepare(self, frame: TableFrame) -> "Streamed | Spread":
        """Prepares a frame like the connector. Its rows are streamed unless they need the connector."""
        spread = self.beside.prepare(frame)
        if frame.table.ttl_s is not None or frame.table.name in STATES:
            return spread
        return Streamed(spread, self)

    @property
    def holds_few_rows(self) -> bool:
        """No: executors write the rows."""
        return False

    def target(self, frame: TableFrame, columns: Sequence[str], folder: Path) -> Target:
        """The target of rows with these columns, followed by the write time of each row if the frame has one."""
        table, address = frame.table, self.beside.cluster.address
        timed = bool(writetime_columns(frame))
        return Target(
            folder=str(folder),
            classpath=self.classpath,
            keyspace=address.keyspace,
            table=table.name,
            create=compressed_cql(create_table_cql(table, address.keyspace), CASSANDRA_OPTION),
            insert=upsert_cql(table, address.keyspace, columns) + (" USING TIMESTAMP ?" if timed else ""),
            kinds="".join(KINDS[table.column(name).type] for name in columns) + ("8" if timed else ""),
            key=len(table.key),
            hosts=address.hosts,
            port=address.port,
            user=self.user,
            password=self.password,
        )


@dataclass(frozen=True)
class Streamed:
    """A frame that is streamed as SSTables when its turn comes."""

    spread: Spread
    writer: BulkWriter

    @property
    def table(self) -> Table:
        """The table of the rows."""
        return self.spread.table

    @property
    def columns(self) -> Sequence[str]:
        """The written columns."""
        return self.spread.columns

    @property
    def observed(self) -> None:
        """Executors write the rows, so only their number is known here."""

    def write(self, batch: Batch) -> int:  # noqa: ARG002 (of a batch on a cluster only the order counts)
        """Returns when all rows are on disk on every node that owns them and a sample was read back.

        Raises StoreUnavailable if a node does not accept them, and StoreError if accepted rows are missing.
        """
        cluster = self.writer.beside.cluster
        count, sample = self._stream(cluster)
        # Rows with a milestone's write time may have been deleted since, with the time of a later milestone.
        if not writetime_columns(self.spread.frame):
            read_back(cluster, self.table, [key_of(self.table, row) for row in sample])
        return count

    def _stream(self, cluster: Cluster) -> tuple[int, list[Row]]:
        """The number of rows, and the keys of a sample of them (etl.writers.sstables.stream_rows)."""
        for tries_left in range(TRIES, 0, -1):
            try:
                return self._stream_once(cluster.address)
            except StoreUnavailable:
                if tries_left == 1:
                    raise
                cluster.wait()
        raise AssertionError("the last try returns or raises")

    def _stream_once(self, address: Address) -> tuple[int, list[Row]]:
        frame, table = self.spread.frame, self.table
        columns = [*table.key, *(name for name in frame.columns if name not in table.key)]
        folder = self.writer.beside.staging.folder(table.name)
        target = self.writer.target(frame, columns, folder)
        keys = ", ".join(f"{name} {spark_type(table.column(name).type)}" for name in table.key)
        rows = frame.frame.select(*columns, *writetime_columns(frame))
        streamed = rows.mapInArrow(partial(stream_rows, target), f"{keys}, {ROWS} BIGINT")
        try:
            found = streamed.agg(F.sum(ROWS), F.collect_list(F.struct(*table.key))).first()
        except PythonException as error:
            reason = REASON.search(str(error))
            if reason is None:
                raise
            raise StoreUnavailable(f"{address}: rows of {table.name} were not taken: {reason[1]}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        assert found is not None
        count, sample = found
        return count or 0, sample

    def again(self) -> DataFrame:
        """Reads the rows again."""
        return self.spread.again()

    def drop(self) -> None:
        """Frees the scratch space."""
        self.spread.drop()


def read_back(cluster: Cluster, table: Table, keys: Sequence[Key]) -> None:
    """Raises StoreError unless the cluster has a row of every key."""
    found = asyncio.run(cluster.store.get_many(table, keys))
    if missing := found.count(None):
        raise StoreError(
            f"{cluster.address}: {missing} of {len(keys)} rows of {table.name} are not there, though the cluster took "
            "their SSTables: load without --bulk, and look at its nodes' versions and storage_compatibility_mode"
        )


def key_of(table: Table, row: Row) -> Key:
    """The primary key of a Spark row in the types of the port."""
    return tuple(_plain(table.column(name).type, row[name]) for name in table.key)


def _plain(kind: Type, value: Any) -> Any:
    if kind is Type.HEX:
        return bytes(value).hex()
    return value.isoformat() if kind is Type.DATE else value


def bulk_classpath(spark: SparkSession, scratch: Path) -> str | None:
    """The class path with which tasks compile and run etl/writers/SSTables.java: Cassandra's jars, and the compiler of
    pyspark.

    None if tasks run on other machines: then it was packed in `scratch` and sent to the executors.
    """
    beside = Path(pyspark.__file__).parent / "jars"
    compiler = [jar for name in COMPILER for jar in beside.glob(f"{name}-*.jar")]
    jars = cassandra_jars()
    if str(spark.sparkContext.master).startswith("local"):
        return os.pathsep.join([*map(str, compiler), f"{jars[0].parent}/*"])
    scratch.mkdir(parents=True)
    for jar in (*compiler, *jars):
        shutil.copy(jar, scratch)
    packed = shutil.make_archive(f"{scratch}-packed", "zip", scratch)
    spark.sparkContext.addArchive(f"{packed}#{CARRIED}")
    return None
