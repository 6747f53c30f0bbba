"""Response times in a large store compared with a small one: page 1 of keys with ten rows each.

    python -m bench.flat [--folder DIR] [--small 10000] [--large 2000000] [--seconds 2] [--only-prepare] [--cluster URL]

The same generator fills both stores through `permanode load`, including the ledger state. Archives and stores are kept
in DIR (8 GB for the large one) and reused. At any size, some indexes and addresses occur ten times each, and some
messages have ten children. `permanode serve` (one worker on loopback) serves each store to wrk with 32 connections,
which requests at most KEYS such keys in turn. The stores take turns, and the median of five rounds counts. The time of
a request in the large store may be at most 1.3 times that in the small one. With --cluster cassandra://HOST:PORT the
bench uses keyspaces flat_MESSAGES there, and fills missing ones by `permanode rebuild --bulk` from the lakes of the two
stores.
"""

import argparse
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.load import archive, check, load, show
from bench.servers import ROOT, Figure, Server, add_seconds, run_wrk, serving, wrk_is_missing
from bench.tangle import GeneratorSettings
from bench.traffic import RARE_ROWS
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_adapter

GENERATED = GeneratorSettings(rare=0.1)
ROUNDS = 5
MOST = 1.3
"""The bar: the time of a request in the large store divided by that in the small one."""

KEYS = 1_000

KINDS = {
    "index": ("tags", "tag", "/api/v1/messages?index={}"),
    "outputs": ("outputs_by_address", "address", "/api/v1/addresses/ed25519/{}/outputs?include-spent=true"),
    "children": ("parents", "parent_id", "/api/v1/messages/{}/children"),
}
"""Kind of request → its table, the table's key, and the path with the key."""


def filled(folder: Path, messages: int) -> Path:
    """A store of that many messages with ledger state, created if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    generated = archive(folder, messages, GENERATED)
    store, growing = generated / "store", generated / "store.growing"
    if not store.exists():
        shutil.rmtree(growing, ignore_errors=True)
        settings = StoreSettings(url=f"sqlite:///{growing.absolute()}", network=GENERATED.network)
        migrate(settings)
        loaded = load(settings, "local[*]", generated / "all", "--genesis", str(generated / "all" / "genesis.json"))
        show(f"{messages:,}", loaded)
        check(loaded.report, generated / "all")
        growing.rename(store)
    return store


def rebuilt(cluster: str, store: Path, messages: int) -> str:
    """The URL of a keyspace with the content of that SQLite store, filled if it does not exist."""
    url = f"{cluster}/flat_{messages}?rf=1"
    settings = StoreSettings(url=url, network=GENERATED.network)
    migrate(settings)
    opened = open_adapter(settings, writable=False)
    held = sum(row["message_count"] for row in opened.read_all(schema.ranges))
    opened.close()
    if held < messages:
        command = [
            sys.executable,
            "-c",
            "from cli.main import main; main()",
            "--store",
            url,
            "--network",
            GENERATED.network,
        ]
        subprocess.run([*command, "--lake", str(store / "lake"), "rebuild", "--bulk"], cwd=ROOT, check=True)
    return url


def request_paths(store: Path) -> dict[str, list[str]]:
    """Kind of request → paths with keys that have RARE_ROWS rows. Raises SystemExit if there are none."""
    database = store / (store / "CURRENT").read_text().strip()
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    requested = {}
    for kind, (table, key, path) in KINDS.items():
        grouped = f"SELECT {key} FROM {table} GROUP BY {key} HAVING count(*) = ?"  # noqa: S608 (constant names)
        keys = [value.hex() for (value,) in connection.execute(grouped, (RARE_ROWS,))]
        if not keys:
            raise SystemExit(f"{database}: no {key} has {RARE_ROWS} rows in {table}")
        chosen = random.Random(4).sample(keys, min(KEYS, len(keys)))
        requested[kind] = [path.format(value[2:] if key == "address" else value) for value in chosen]
    connection.close()
    return requested


def run(urls: dict[str, str], requested: dict[str, dict[str, list[str]]], seconds: int, folder: Path) -> bool:
    """Prints the figures of each kind, and returns whether all meet the bar without errors."""
    small, large = urls
    with serving(urls[small], GENERATED.network) as first, serving(urls[large], GENERATED.network) as second:
        servers: dict[str, Server] = {small: first, large: second}
        flat = True
        print(f"{'page 1 of':12}{'messages':>12}{'keys':>6}{'req/s':>9}{'p50 ms':>9}{'errors':>8}{'time':>9}")
        for kind in KINDS:
            taken: dict[str, list[Figure]] = {name: [] for name in servers}
            for name, server in servers.items():
                run_wrk(server, requested[name][kind], 1, folder)
            for _ in range(ROUNDS):
                for name, server in servers.items():
                    taken[name].append(run_wrk(server, requested[name][kind], seconds, folder))
            rates = {name: statistics.median(each.per_second for each in seen) for name, seen in taken.items()}
            ratio = rates[small] / rates[large]
            for name, seen in taken.items():
                p50 = statistics.median(each.p50_ms for each in seen)
                errors = sum(each.errors for each in seen)
                flat &= errors == 0
                shown = f"{ratio:.2f} x" if name == large else ""
                print(
                    f"{kind:12}{name:>12}{len(requested[name][kind]):6d}{rates[name]:9.0f}{p50:9.2f}{errors:8d}{shown:>9}"
                )
            flat &= ratio <= MOST
    print(f"bar: at most {MOST} x, no errors: {'met' if flat else 'missed'}")
    return flat


def main() -> int:
    """Runs the bench. Returns 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where stores are kept")
    parser.add_argument("--small", type=int, default=10_000, help="messages of the small store")
    parser.add_argument("--large", type=int, default=2_000_000, help="messages of the large store")
    add_seconds(parser)
    parser.add_argument("--only-prepare", action="store_true", help="make the stores and measure nothing")
    parser.add_argument("--cluster", metavar="URL", help="ask a cluster's keyspaces instead: cassandra://HOST:PORT")
    options = parser.parse_args()
    if wrk_is_missing():
        return 2
    urls, requested = {}, {}
    for messages in (options.small, options.large):
        store, name = filled(options.folder, messages), f"{messages:,}"
        cluster = options.cluster
        urls[name] = rebuilt(cluster, store, messages) if cluster else f"sqlite:///{store.absolute()}"
        requested[name] = request_paths(store)
    if options.only_prepare:
        return 0
    with tempfile.TemporaryDirectory() as name:
        return 0 if run(urls, requested, options.seconds, Path(name)) else 1


if __name__ == "__main__":
    sys.exit(main())
