"""Rows per second into Cassandra: the connector, `--bulk`, and DataStax's dsbulk, with the same rows and server.

    python -m bench.cluster_load [--messages 200000] [--runs 3] [--archives DIR] [--tune] [--only-prepare]

The rows are `messages` and `outputs_by_address` of a generated archive, created once and kept in DIR as frames (the
input of the writers) and as CSV (the input of dsbulk). The bench starts one server on loopback, one node, heap 2 GB.
The three take turns, each with empty tables; a first round warms the server up and does not count. Only writing counts:
for the writers, from the frame to the last acknowledgement in a running Spark session; for dsbulk, the rate that it
prints, without its start. The median of the runs counts, for both tables together and for each. --tune compares
groupings, batch sizes and numbers of concurrent batches of the connector instead.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import product
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from bench.load import GENERATED, archive, load
from bench.peers import peer_jars
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.model import Table, Type
from db.store import WritableStore
from etl.engine.java import java
from etl.engine.session import Session, engine_session
from etl.engine.settings import EtlSettings
from etl.lake.delta import Lake, intervals_of
from etl.tables import frames as tables
from etl.tables import message_frames as of_messages
from etl.tables.frames import TableFrame
from etl.tables.lookups import listed, role_outputs
from etl.tables.partition_columns import Placement
from etl.writers.choice import frame_writer
from etl.writers.frame_writer import FrameWriter
from etl.writers.staging import Staging
from tests.cassandra_server import CassandraServer, running

DSBULK = "1.10.0"
MODULES = ("runner", "connectors-csv", "codecs-text", "workflow-load", "executor-reactor", "batcher-reactor")
LOADER = "com.datastax.oss.dsbulk.runner.DataStaxBulkLoader"
TUNED = (
    "--batch.mode", "REPLICA_SET", "--batch.maxBatchStatements", "32", "--executor.maxInFlight", "256",
)  # fmt: skip
"""dsbulk's own defaults were less than half as fast on one node."""

WRITTEN = (schema.messages, schema.outputs_by_address)
TUNINGS = tuple(product(("replica_set", "partition"), (4_096, 16_384, 32_768), (16, 64)))
"""Grouping, bytes per batch, concurrent batches per task. By default a server rejects batches of 50 KiB."""

BARS = {"connector": 1.0, "--bulk": 1.8}
"""The bars: the rate of each writer divided by dsbulk's."""


def prepared(archives: Path, messages: int) -> Path:
    """A folder with the rows of each table as frames and as CSV, created if it does not exist."""
    generated = archive(archives, messages)
    folder, growing = generated / "rows", generated / "rows.growing"
    if not folder.exists():
        settings = StoreSettings(url=f"sqlite:///{growing.absolute() / 'store'}", network=GENERATED.network)
        migrate(settings)
        load(settings, "local[*]", generated / "all")
        with engine_session(EtlSettings()) as spark:
            lake = Lake(spark, str(growing / "store" / "lake"))
            lines = lake.messages(intervals_of(lake.read("milestones")))
            unsplit = Placement(settings.chunk_size, schema.LOOKUPS, None)
            outputs = role_outputs(schema.outputs_by_address).of(listed(tables.owned(lines)), unsplit)
            for frame in (of_messages.messages().of(lines), outputs):
                here = growing / frame.table.name
                frame.frame.write.parquet(str(here / "frame"))
                kept = spark.read.parquet(str(here / "frame"))
                kept.select(*(spelt(frame.table, name) for name in kept.columns)).write.csv(
                    str(here / "csv"), header=True
                )
        growing.rename(folder)
    return folder


def spelt(table: Table, name: str) -> Column:
    """A column in the form that dsbulk reads."""
    kind, value = table.column(name).type, F.col(name)
    if kind is Type.HEX:
        value = F.lower(F.hex(value))
    elif kind is Type.BLOB:
        value = F.concat(F.lit("0x"), F.lower(F.hex(value)))
    elif kind is Type.TIMESTAMP:
        value = F.date_format(F.timestamp_millis(value), "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
    return value.alias(name)


class Keyspace:
    """A keyspace of the server, and the ways to write a table into it, in rows per second."""

    def __init__(self, spark: Session, store: WritableStore, server: CassandraServer, rows: Path) -> None:
        self._spark, self._store, self._server, self._rows = spark, store, server, rows
        self._jars = peer_jars(
            Path(sys.prefix) / "share" / "permanode" / f"dsbulk-{DSBULK}",
            [("com.datastax.oss", f"dsbulk-{module}", DSBULK) for module in MODULES],
        )

    def count(self, table: Table) -> int:
        """The number of rows to write."""
        return self._frame(table).count()

    def own(self, writer: FrameWriter, table: Table) -> float:
        """The rate of one of the writers."""
        ready = writer.prepare(TableFrame(table, (self._frame(table),), table.names))
        with self._store.batch() as batch:
            started = time.perf_counter()
            count = ready.write(batch)
            seconds = time.perf_counter() - started
        ready.drop()
        self._expect_all(table, count)
        return count / seconds

    def dsbulk(self, name: str, table: Table) -> float:
        """The rate that dsbulk prints. Raises SystemExit with its last output if it fails."""
        mapping = ", ".join(f"{each} = {each}" for each in self._frame(table).columns)
        with tempfile.TemporaryDirectory() as logs:
            command = [
                java(),
                "-classpath",
                str(self._jars[0].parent / "*"),
                "com.datastax.oss.dsbulk.runner.DataStaxBulkLoader",
            ]
            command += ["load", "-url", str(self._rows / table.name / "csv"), "-header", "true", "-k", name]
            command += ["-t", table.name, "-h", self._server.address, "-port", str(self._server.ports.native)]
            command += ["--schema.mapping", mapping, "--log.directory", logs, *TUNED]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        found = re.findall(r"^\s*([\d,]+) \|\s+0 \|\s+([\d,]+) \|", output, re.MULTILINE)
        if done.returncode or not found:
            raise SystemExit("\n".join(["dsbulk failed:", *output.splitlines()[-20:]]))
        count, rate = (int(number.replace(",", "")) for number in found[-1])
        self._expect_all(table, count)
        return float(rate)

    def empty(self) -> None:
        """Removes all rows."""
        with self._store.batch() as batch:
            for table in WRITTEN:
                batch.clear(table)

    def _frame(self, table: Table) -> DataFrame:
        return self._spark.read.parquet(str(self._rows / table.name / "frame"))

    def _expect_all(self, table: Table, count: int) -> None:
        if count != self.count(table):
            raise SystemExit(f"wrote {count} rows of {table.name}, expected {self.count(table)}")


Way = Callable[[Table], float]


@contextmanager
def ways(rows: Path, folder: Path, *, tune: bool) -> Iterator[tuple[Keyspace, dict[str, Way]]]:
    """A warm server's keyspace, and the ways to write into it by name."""
    server = CassandraServer(folder / "server", heap="2g", java_options=())
    with running(server), engine_session(EtlSettings(), cluster=True) as spark:
        name = "bench"
        settings = StoreSettings(f"cassandra://{server.contact}/{name}?rf=1", GENERATED.network)
        migrate(settings)
        with closing(open_store(settings, writable=True)) as store, closing(Staging(folder / "staging")) as staging:
            keyspace = Keyspace(spark, store, server, rows)

            def own(way: EtlSettings, *, bulk: bool = False) -> Way:
                return partial(keyspace.own, frame_writer(spark, store, staging, settings, way, bulk=bulk))

            if tune:
                yield (
                    keyspace,
                    {
                        f"{grouping} {size} {writes}": own(
                            EtlSettings(
                                cluster_grouping=grouping, cluster_batch_bytes=size, cluster_concurrent_writes=writes
                            )
                        )
                        for grouping, size, writes in TUNINGS
                    },
                )
            else:
                yield (
                    keyspace,
                    {
                        "dsbulk": partial(keyspace.dsbulk, name),
                        "connector": own(EtlSettings()),
                        "--bulk": own(EtlSettings(), bulk=True),
                    },
                )


def run(rows: Path, runs: int, *, tune: bool) -> bool:
    """Prints every round, the medians and their ratio to the first way. Returns whether both bars are met."""
    rates: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder, ways(rows, Path(folder), tune=tune) as (keyspace, by_name):
        counts = {table.name: keyspace.count(table) for table in WRITTEN}
        for number in range(runs + 1):
            for way, write in by_name.items():
                seen = {table.name: write(table) for table in WRITTEN}
                keyspace.empty()
                seen["both"] = sum(counts.values()) / sum(counts[name] / rate for name, rate in seen.items())
                shown = ", ".join(f"{name} {rate:,.0f}" for name, rate in seen.items())
                print(f"{number or 'warm-up':>7} {way:21} rows/s: {shown}", flush=True)
                if number:
                    for name, rate in seen.items():
                        rates.setdefault(way, {}).setdefault(name, []).append(rate)
    medians = {way: {name: statistics.median(each) for name, each in seen.items()} for way, seen in rates.items()}
    met, first = True, next(iter(medians.values()))
    for way, seen in medians.items():
        ratios = {name: rate / first[name] for name, rate in seen.items()}
        met &= ratios["both"] >= BARS.get(way, 0)
        shown = ", ".join(f"{name} {seen[name]:,.0f} ({ratio:.2f} x)" for name, ratio in ratios.items())
        bar = f"; bar {BARS[way]} x" if way in BARS else ""
        print(f"median  {way:21} rows/s: {shown}{bar}")
    print(json.dumps({"rows": counts, "runs": runs, "met": met}))
    return met


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=200_000, help="size of the archive")
    parser.add_argument("--runs", type=int, default=3, help="number of runs, of which the median counts")
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()), help="where archives are kept")
    parser.add_argument("--tune", action="store_true", help="compare configurations of the connector")
    parser.add_argument("--only-prepare", action="store_true", help="create the rows and measure nothing")
    options = parser.parse_args()
    rows = prepared(options.archives, options.messages)
    if options.only_prepare:
        return 0
    return 0 if run(rows, options.runs, tune=options.tune) else 1


if __name__ == "__main__":
    sys.exit(main())
