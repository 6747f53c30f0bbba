"""The stores that bench.scale fills: a SQLite store, or three Cassandra nodes with a Spark cluster of three workers."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from db import schema
from db.sqlite.stored_form import rows_table
from tests.cassandra_server import CassandraServer, running_together
from tests.spark_cluster import LOOPBACK, standalone

GB = 10**9
NODES, REPLICAS, WORKERS = 3, 3, 3


@dataclass(frozen=True)
class Place:
    """A store to fill.

    Attributes:
        url: the store.
        again: a second store, for `rebuild`.
        master: Spark master of the commands.
        bulk: options of a rebuild.
        files: folder of the store's files.
        largest: the largest partitions of its tables.
    """

    url: str
    again: str
    master: str
    bulk: tuple[str, ...]
    files: Path
    largest: Callable[[], dict[str, str]]


def gigabytes(folder: Path) -> float:
    """The size of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / GB


@contextmanager
def embedded(folder: Path) -> Iterator[Place]:
    """A SQLite store."""
    store = folder / "store"
    store.mkdir(parents=True, exist_ok=True)
    yield Place(
        f"sqlite:///{store}", f"sqlite:///{folder / 'again'}", "local[*]", (), store, lambda: _rows_of_partitions(store)
    )


def _rows_of_partitions(store: Path) -> dict[str, str]:
    """Rows of the largest partition of each table whose partitions have several rows."""
    found = {}
    generation = store / (store / "CURRENT").read_text().strip()
    with closing(sqlite3.connect(f"file:{generation}?mode=ro", uri=True)) as connection:
        for table in schema.TABLES:
            rows = rows_table(table)
            columns = [name for (_, name, *_) in connection.execute(f"PRAGMA table_info({rows})")]
            if not (columns and table.clustering):
                continue  # in another file, or one row per partition
            key = "partition_number" if "partition_number" in columns else ", ".join(table.partition)
            counted = f"SELECT count(*) AS rows FROM {rows} GROUP BY {key}"  # noqa: S608 (constant names)
            ((largest,),) = connection.execute(f"SELECT max(rows) FROM ({counted})")  # noqa: S608
            found[table.name] = largest or 0
    return {name: f"{found[name]:,} rows" for name in sorted(found, key=lambda name: -found[name]) if found[name] > 1}


@contextmanager
def clustered(folder: Path, network: str) -> Iterator[Place]:
    """Three nodes on loopback, each with a replica of every row and a small heap, and a standalone Spark cluster whose
    workers have one core each.
    """
    nodes, spark = folder / "nodes", folder / "spark"
    nodes.mkdir(parents=True)
    spark.mkdir()
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    os.environ["PERMANODE_ETL_EXECUTOR_PYTHON"] = sys.executable
    package = Path(pyspark.__file__).parent
    with (
        running_together(nodes, NODES) as servers,
        standalone(spark, Path(sys.prefix), package, workers=WORKERS, cores=1, memory="1g") as master,
    ):
        keyspace = network.replace("-", "_")
        url = f"cassandra://{','.join(each.contact for each in servers)}/{{}}?rf={REPLICAS}"
        yield Place(
            url.format(keyspace), url.format(f"{keyspace}_again"), master, ("--bulk",), nodes,
            lambda: _bytes_of_partitions(servers[0], keyspace),
        )  # fmt: skip


def _bytes_of_partitions(server: CassandraServer, keyspace: str) -> dict[str, str]:
    """Bytes of the largest partition of each table on one node."""
    subprocess.run([*server.nodetool(), "flush", keyspace], check=True, capture_output=True)
    command = [*server.nodetool(), "tablestats", "-F", "json", keyspace]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Lines of a log precede the document.
    tables = json.loads(printed[printed.index("{\n") :])[keyspace]["tables"]
    found = {name: int(each["compacted_partition_maximum_bytes"]) for name, each in tables.items()}
    return {name: f"{found[name]:,} bytes" for name in sorted(found, key=lambda name: -found[name]) if found[name]}
