"""Rows and bytes of each table of the oracle ledger in both stores: the input of `permanode plan`.

    python -m bench.sizes [--write]

The bench loads sample/chrysalis with its genesis into a new SQLite store, fills a keyspace of a Cassandra server
(tests/cassandra_server.py, one node, Java 17) from the same lake, and prints the size of each table. `--write` stores
it in db/admin/sizes.json. Tables whose rows expire are omitted. SQLite: bytes in use on the table's pages (dbstat), so
the free rest of a small table's last page does not count. Cassandra: the files that grow with the rows (data, index,
filter, summary, compression offsets) after `nodetool flush` and `nodetool compact`. Lake: its Parquet files.

The sample ends before its first interval of listings is complete. So the tables of proofs are measured with a generated
ledger that ends with the first interval of level 1 (bench/generate.py), without the trees of the smaller ones, which
are deleted after three hours. `message_proofs` is that of a selective store which keeps all messages of that ledger.
"""

import argparse
import json
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.generate import tangle_of, write_archive
from bench.tangle import GeneratorSettings
from db import schema
from db.admin.migrate import migrate
from db.admin.sizing import PROOFS, SIZES
from db.connect import StoreSettings
from db.sqlite.stored_form import stored_tables
from etl import runs
from etl.engine.settings import EtlSettings
from etl.report import Report
from ledger.completeness.intervals import Interval
from tests.cassandra_server import CassandraServer, running

SAMPLE = Path(__file__).parent.parent / "sample" / "chrysalis"
NETWORK = "permatest-1"
GENERATED = GeneratorSettings(milestone_size=34)
LAST = Interval(1, 0).end
LEAST_MESSAGES = 34 * (LAST + 1)
"""Messages of more milestones than are loaded."""

GROWING = ("Data", "Index", "Filter", "Summary", "CompressionInfo")
"""Components of an SSTable whose size depends on its rows."""


def measure_sqlite(database: Path) -> dict[str, dict[str, int]]:
    """Rows, partitions, rows of the largest partition and bytes of each table of a generation."""
    with closing(sqlite3.connect(database)) as connection:
        used = dict(connection.execute("SELECT name, sum(pgsize - unused) FROM dbstat GROUP BY name"))
        found = {}
        for table in schema.TABLES:
            if table is schema.lease or table.ttl_s is not None:
                continue
            by_partition = f"SELECT count(*) AS rows FROM {table.name} GROUP BY {', '.join(table.partition)}"  # noqa: S608
            rows, partitions, largest = connection.execute(
                f"SELECT coalesce(sum(rows), 0), count(*), coalesce(max(rows), 0) FROM ({by_partition})"  # noqa: S608
            ).fetchone()
            found[table.name] = {
                "rows": rows,
                "partitions": partitions,
                "largest": largest,
                "sqlite_bytes": sum(used[name] for name in stored_tables(table)),
            }
    return found


def nodetool(server: CassandraServer, *arguments: str) -> None:
    """Runs a command of nodetool."""
    subprocess.run([*server.nodetool(), *arguments], check=True, cwd=server.folder, stdout=subprocess.DEVNULL)


def measure_cassandra(server: CassandraServer, keyspace: str) -> dict[str, int]:
    """Bytes of each table's files, flushed and compacted."""
    nodetool(server, "flush", keyspace)
    nodetool(server, "compact", keyspace)
    found = {}
    for table in schema.TABLES:
        files = (server.folder / "data" / keyspace).glob(f"{table.name}-*/*.db")
        sizes = [file.stat().st_size for file in files if file.stem.rpartition("-")[2] in GROWING]
        found[table.name] = sum(sizes)
    return found


def measure_both(
    server: CassandraServer, folder: Path, network: str, sources: Path, **options: Any
) -> tuple[Report, dict[str, dict[str, int]]]:
    """Loads an archive with its genesis into both stores, with options of `runs.load`. Returns the report and the
    measured tables.
    """
    settings = EtlSettings(lake=str(folder / "lake"))
    embedded = StoreSettings(f"sqlite:///{folder / 'store'}", network)
    migrate(embedded)
    report = runs.load(embedded, settings, [sources], genesis=sources / "genesis.json", **options)
    keyspace = f"sizes_{folder.name}"
    cluster = StoreSettings(f"cassandra://{server.contact}/{keyspace}?rf=1", network)
    migrate(cluster)
    if runs.rebuild(cluster, settings).messages != report.messages:
        raise SystemExit("the cluster was not filled with what SQLite was")
    on_cluster = measure_cassandra(server, keyspace)
    tables = measure_sqlite(folder / "store" / (folder / "store" / "CURRENT").read_text().strip())
    for name, row in tables.items():
        row["cassandra_bytes"] = on_cluster[name] if row["rows"] else 0
    return report, tables


def measure_proofs(server: CassandraServer, folder: Path) -> dict[str, Any]:
    """`proofs` in SIZES."""
    archive = folder / "archive"
    archive.mkdir()
    write_archive(tangle_of(GENERATED), archive, LEAST_MESSAGES)
    # Trees inside a larger one stay for three hours, which is nothing in a year.
    schema.TREES_KEPT = 0
    report, whole = measure_both(server, folder / "whole", GENERATED.network, archive, last=LAST + 1)
    keep = [f"milestones:1:{LAST + 1}"]
    _, selected = measure_both(server, folder / "selected", GENERATED.network, archive, last=LAST + 1, keep=keep)
    name = schema.message_proofs.name
    return {
        "messages": report.messages,
        "milestones": report.milestones,
        "tables": {table.name: whole[table.name] for table in PROOFS} | {name: selected[name]},
    }


def measure(folder: Path) -> dict[str, Any]:
    """The content of SIZES."""
    with running(CassandraServer(folder / "cassandra")) as server:
        report, tables = measure_both(server, folder / "sample", NETWORK, SAMPLE)
        proofs = measure_proofs(server, folder)
    lake = folder / "sample" / "lake"
    measured_apart = {table.name for table in (*PROOFS, schema.message_proofs)}
    return {
        "measured": "python -m bench.sizes --write, over sample/chrysalis with its genesis",
        "layout": max(table.layout for table in schema.TABLES),
        "messages": report.messages,
        "milestones": report.milestones,
        "lake_bytes": sum(file.stat().st_size for file in lake.rglob("*.parquet") if "_delta_log" not in file.parts),
        "tables": {name: row for name, row in tables.items() if name not in measured_apart},
        "proofs": proofs,
    }


def main() -> None:
    """Measures, and prints or writes the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write the result to {SIZES.name}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        text = json.dumps(measure(Path(name)), indent=1) + "\n"
    if options.write:
        SIZES.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
