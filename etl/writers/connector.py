"""Writes table frames to a cluster: the executors write the partitions of a frame concurrently.

Invariants:
1. Connection settings are passed with each write and never stored in the session, because they may contain secrets.
2. Every write can be repeated, because each row is an upsert that depends only on the data.
3. Only lookup tables are staged, so that their hints need not be computed twice.
"""

import asyncio
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from db.cassandra.address import Address, ClusterSettings
from db.cassandra.plans import STATES
from db.model import Table, Type
from db.retry import retry
from db.store import Batch, Store, StoreUnavailable
from etl.engine.settings import EtlSettings
from etl.tables.frames import FACT, TableFrame
from etl.tables.partition_columns import hex_text
from etl.writers.frame_writer import KEPT
from etl.writers.staging import Staging

FORMAT = "org.apache.spark.sql.cassandra"
BATCH_BYTES = "spark.cassandra.output.batch.size.bytes"
ROWS = "rows"
OBSERVED_S = 10.0
WRITETIME = "write_time"

PAUSES_S = (1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Pauses between attempts for a frame, while the cluster responds to this process but does not accept the rows of the
executors.
"""

LOOK_EVERY_S, AWAY_S = 1.0, 15.0
"""A write is cancelled if no check found the cluster available for this long. A task of the connector reports failures
only after its last row.
"""

ROW_BYTES, CELL_BYTES = 54, 20
"""What a server counts for a row that is a partition and for each cell, in addition to the values that the connector
counts.
"""

VALUE_BYTES = {
    Type.HEX: 64,
    Type.TEXT: 8,
    Type.BLOB: 32,
    Type.BOOLEAN: 1,
    Type.TINYINT: 1,
    Type.SMALLINT: 2,
    Type.INT: 4,
    Type.BIGINT: 8,
    Type.TIMESTAMP: 8,
    Type.DATE: 4,
}
"""The size of a value of each type, or a small one."""

COUNTED_BY_SERVER = 2.5
"""How many times its configured size a batch may have as the server counts it. Cassandra rejects batches of several
partitions from 50 KiB, three times the default.
"""

DRIVER = "com.datastax."
"""Part of the stack trace of a failed write if the connector, or the driver below it, failed."""

REASON = re.compile(r"(?:latest exception was\s+|Failed to [^\n]*?:: |Exception: )([^\n]+)")


@dataclass(frozen=True)
class Cluster:
    """The cluster that executors write to, and the options of each write, which may contain the user's password."""

    store: Store
    address: Address
    retry_s: float
    options: Mapping[str, str] = field(repr=False)

    def append(self, table: Table, rows: DataFrame) -> int:
        """Writes rows, and retries if the cluster does not accept them. Returns their number when all are acknowledged.

        Raises StoreUnavailable if the cluster stays unavailable or keeps rejecting them.
        """
        broken_off = threading.Event()
        for pause_s in (*PAUSES_S, None):
            try:
                with self._watched(rows.sparkSession.sparkContext, broken_off):
                    return self._append(table, rows)
            except (Py4JJavaError, PySparkException) as error:
                rejection = self._rejection(table, error, is_broken_off=broken_off.is_set())
                if rejection is None:
                    raise
                if pause_s is None:
                    raise rejection from error
            broken_off.clear()
            self.wait()
            time.sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    def wait(self) -> None:
        """Returns when a node responds. Raises StoreUnavailable after the timeout."""
        retry(self._ping, self.retry_s)

    def _rejection(self, table: Table, error: Exception, *, is_broken_off: bool) -> StoreUnavailable | None:
        """The port's error if the cluster failed; None for any other error."""
        text = str(error)
        if not is_broken_off and DRIVER not in text:
            return None
        found = None if is_broken_off else REASON.search(text)
        reason = found[1].strip() if found else "no node responds"
        return StoreUnavailable(f"{self.address}: rows of {table.name} were not taken: {reason}")

    def _append(self, table: Table, rows: DataFrame) -> int:
        counted = Observation()
        writer = rows.observe(counted, F.count(F.lit(1)).alias(ROWS)).write.format(FORMAT).mode("append")
        writer.options(**{**self.options, **table_options(table, rows, int(self.options[BATCH_BYTES]))}).save()
        row_count = counted_rows(counted)
        return rows.count() if row_count is None else row_count

    @contextmanager
    def _watched(self, context: SparkContext, broken_off: threading.Event) -> Iterator[None]:
        """Cancels the Spark jobs of the block and sets the event if the cluster is unavailable."""
        tag, done = f"cluster-{id(self)}", threading.Event()

        def look() -> None:
            found = time.monotonic()
            while not done.wait(LOOK_EVERY_S):
                try:
                    self._ping()
                    found = time.monotonic()
                except StoreUnavailable:
                    if time.monotonic() - found > AWAY_S:
                        broken_off.set()
                        context.cancelJobsWithTag(tag)
                        return

        watch = threading.Thread(target=look, name="cluster", daemon=True)
        context.addJobTag(tag)
        context.setInterruptOnCancel(interruptOnCancel=True)
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join()
            context.removeJobTag(tag)

    def _ping(self) -> None:
        asyncio.run(self.store.ping())


@dataclass(frozen=True)
class ClusterWriter:
    """The FrameWriter for a store on a cluster."""

    staging: Staging
    cluster: Cluster

    def prepare(self, frame: TableFrame) -> "Spread":
        """Stages a lookup table. For other tables only the plan is made."""
        if frame.table not in KEPT:
            return Spread(frame, self.cluster)
        directory = self.staging.write(frame.table.name, frame.frame)
        again = frame.frame.sparkSession.read.schema(frame.ddl).parquet(str(directory))
        return Spread(replace(frame, shares=(again,)), self.cluster, directory)

    @property
    def holds_few_rows(self) -> bool:
        """No: executors write the rows."""
        return False


@dataclass(frozen=True)
class Spread:
    """A frame that the executors write when its turn comes."""

    frame: TableFrame
    cluster: Cluster
    directory: Path | None = None

    @property
    def table(self) -> Table:
        """The table of the rows."""
        return self.frame.table

    @property
    def columns(self) -> Sequence[str]:
        """The written columns."""
        return self.frame.columns

    @property
    def observed(self) -> None:
        """Executors write the rows, so only their number is known here."""

    def write(self, batch: Batch) -> int:  # noqa: ARG002 (of a batch on a cluster only the order counts)
        """Returns when all rows are acknowledged."""
        rows = self.frame.frame.select(
            *(native(self.table, name) for name in self.frame.columns), *writetime_columns(self.frame)
        )
        return self.cluster.append(self.table, rows)

    def again(self) -> DataFrame:
        """Reads the rows from the staging folder."""
        return self.frame.frame

    def drop(self) -> None:
        """Frees the scratch space, if there is any."""
        if self.directory is not None:
            Staging.free(self.directory)


def counted_rows(counted: Observation) -> int | None:
    """The observed number of rows; None if Spark does not report it, which happens after a failed write. Spark's own
    accessor would then wait forever.
    """
    end = time.monotonic() + OBSERVED_S
    while not counted._jo.future().isCompleted():  # type: ignore[union-attr]
        if time.monotonic() > end:
            return None
        time.sleep(0.01)
    return int(counted.get[ROWS])


def writetime_columns(frame: TableFrame) -> list[Column]:
    """The write time of each row, if it follows from a milestone."""
    return [F.expr(f"{FACT} * 4L + 4").alias(WRITETIME)] if frame.has_fact else []


def native(table: Table, name: str) -> Column:
    """Converts a column to the type that the connector expects: ids to text, timestamps to timestamps."""
    kind, value = table.column(name).type, F.col(name)
    if kind is Type.HEX:
        value = hex_text(value)
    elif kind is Type.TIMESTAMP:
        value = F.timestamp_millis(value)
    return value.alias(name)


def table_options(table: Table, rows: DataFrame, batch_bytes: int) -> dict[str, str]:
    """Options for rows of this table: nulls stay unset unless they replace a value; some rows have their own write
    time, and small values make small batches (see `counted_bytes`). The table itself defines the expiry.
    """
    replaces = table.name in STATES
    options = {
        "table": table.name,
        "spark.cassandra.output.ignoreNulls": str(not replaces).lower(),
        BATCH_BYTES: str(counted_bytes(table, [name for name in rows.columns if name != WRITETIME], batch_bytes)),
    }
    if WRITETIME in rows.columns:
        options["writetime"] = WRITETIME
    return options


def counted_bytes(table: Table, columns: Sequence[str], batch_bytes: int) -> int:
    """Bytes of values in a batch of these columns for which a server counts at most COUNTED_BY_SERVER * `batch_bytes`.

    The result is at most `batch_bytes`.
    """
    written = [table.column(name) for name in columns]
    # A null that replaces a value is a cell without bytes.
    valued = [each for each in written if each.name in table.key or table.name not in STATES]
    values = sum(VALUE_BYTES[each.type] for each in valued)
    cells = len(written) - len(table.key)
    counted = values + ROW_BYTES + CELL_BYTES * cells
    return min(batch_bytes, max(1, int(COUNTED_BY_SERVER * batch_bytes * values / counted)))


def reached_by(address: Address, cluster: ClusterSettings) -> dict[str, str]:
    """Options to reach a cluster without TLS, including the user's password."""
    options = {
        "spark.cassandra.connection.host": ",".join(address.hosts),
        "spark.cassandra.connection.port": str(address.port),
        "spark.cassandra.connection.reconnectionDelayMS.max": "5000",
    }
    if address.dc:
        options["spark.cassandra.connection.localDC"] = address.dc
    if address.user:
        options["spark.cassandra.auth.username"] = address.user
        options["spark.cassandra.auth.password"] = cluster.password
    return options


def tuned(cluster: ClusterSettings, settings: EtlSettings, nodes: int) -> dict[str, str]:
    """Options for the throughput to a cluster with this number of nodes."""
    grouping = settings.cluster_grouping or ("replica_set" if nodes == 1 else "partition")
    return {
        "spark.cassandra.output.consistency.level": cluster.consistency,
        "spark.cassandra.output.batch.grouping.key": grouping,
        BATCH_BYTES: str(settings.cluster_batch_bytes),
        "spark.cassandra.output.concurrent.writes": str(settings.cluster_concurrent_writes),
    }
