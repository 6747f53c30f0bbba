"""Rows and bytes of each table of the oracle ledger in both stores: the input of `permanode plan`.

    python -m bench.sizes [--write]

The bench loads sample/chrysalis with its genesis into a new SQLite store, fills a keyspace of a Cassandra server
(tests/cassandra_server.py, one node, Java 17) from the same lake, and prints the size of each table. `--write` stores
it in db/admin/sizes.json. Tables whose rows expire are omitted. SQLite: bytes in use on the table's pages (dbstat), so
the free rest of a small table's last page does not count. Cassandra: the files that grow with the rows (data, index,
filter, summary, compression offsets) after `nodetool flush` and `nodetool compact`. Lake: its Parquet files.
"""

import argparse
import json
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from db import schema
from db.admin.migrate import migrate
from db.admin.sizing import SIZES
from db.connect import StoreSettings
from etl import runs
from etl.engine.settings import EtlSettings
from tests.cassandra_server import CassandraServer, running

SAMPLE = Path(__file__).parent.parent / "sample" / "chrysalis"
NETWORK = "permatest-1"
KEYSPACE = "sizes"
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
                "sqlite_bytes": used[table.name],
            }
    return found


def nodetool(server: CassandraServer, *arguments: str) -> None:
    """Runs a command of nodetool."""
    subprocess.run([*server.nodetool(), *arguments], check=True, cwd=server.folder, stdout=subprocess.DEVNULL)


def measure_cassandra(server: CassandraServer) -> dict[str, int]:
    """Bytes of each table's files, flushed and compacted."""
    nodetool(server, "flush", KEYSPACE)
    nodetool(server, "compact", KEYSPACE)
    found = {}
    for table in schema.TABLES:
        files = (server.folder / "data" / KEYSPACE).glob(f"{table.name}-*/*.db")
        sizes = [file.stat().st_size for file in files if file.stem.rpartition("-")[2] in GROWING]
        found[table.name] = sum(sizes)
    return found


def measure(folder: Path) -> dict[str, Any]:
    """The content of SIZES."""
    settings = EtlSettings(lake=str(folder / "lake"))
    embedded = StoreSettings(f"sqlite:///{folder / 'store'}", NETWORK)
    migrate(embedded)
    report = runs.load(embedded, settings, [SAMPLE], genesis=SAMPLE / "genesis.json")
    with running(CassandraServer(folder / "cassandra")) as server:
        cluster = StoreSettings(f"cassandra://{server.contact}/{KEYSPACE}?rf=1", NETWORK)
        migrate(cluster)
        if runs.rebuild(cluster, settings).messages != report.messages:
            raise SystemExit("the cluster was not filled with what SQLite was")
        on_cluster = measure_cassandra(server)
    tables = measure_sqlite(folder / "store" / (folder / "store" / "CURRENT").read_text().strip())
    for name, row in tables.items():
        row["cassandra_bytes"] = on_cluster[name] if row["rows"] else 0
    lake = sum(file.stat().st_size for file in (folder / "lake").rglob("*.parquet") if "_delta_log" not in file.parts)
    return {
        "measured": "python -m bench.sizes --write, over sample/chrysalis with its genesis",
        "layout": max(table.layout for table in schema.TABLES),
        "messages": report.messages,
        "milestones": report.milestones,
        "lake_bytes": lake,
        "tables": tables,
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
