"""Speed of `permanode fsck --deep` beside that of the plain `fsck`, on the same store and in the same run.

    python -m bench.deep_check [--messages 200000] [--folder DIR] [--archives DIR]

A generated Chrysalis archive is loaded from its genesis with the embedded engine, with analytics; DIR keeps the store.
Two commands run, each a process: `fsck`, which compares checksums and ids of store and lake, and `fsck --only rows`,
which computes all rows again. Rows are those of the store. Rows per second and core are rows divided by the CPU time of
the process, which the system reports.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench.analytics import filled
from bench.load import ROOT, machine
from db.connect import StoreSettings, open_adapter
from db.schema.protocols import IOTA
from etl.deep_check.queries import compared
from etl.engine.current import SAIL

LEAST_RATE = 100_000
"""The bar: rows per second and core."""


def rows_of(store: StoreSettings) -> int:
    """The number of rows that are compared."""
    with closing(open_adapter(store, writable=False)) as opened:
        return sum(len(rows) for table in compared(IOTA) for rows in opened.native_rows(table, table.key[:1], 100_000))


def run(store: StoreSettings, *arguments: str) -> tuple[float, float]:
    """The seconds of a whole command, and its CPU time. Raises SystemExit if it finds anything."""
    options = ("--store", store.url, "--network", store.network)
    command = [sys.executable, "-c", "from cli.main import main; main()", *options, "fsck", *arguments]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    elapsed, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"permanode fsck failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Runs the bench. Returns 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=200_000, help="size of the archive")
    parser.add_argument("--folder", type=Path, help="folder in which the store is kept; default: a temporary one")
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()), help="where archives are kept")
    options = parser.parse_args()
    os.environ["PERMANODE_ETL_ENGINE"] = SAIL
    with tempfile.TemporaryDirectory() as name:
        store = filled(options.archives, options.folder or Path(name), options.messages)
        print(machine())
        rows, rates = rows_of(store), list[float]()
        for shown, arguments in (("fsck", ()), ("fsck --only rows", ("--only", "rows"))):
            elapsed, cpu = run(store, *arguments)
            rates.append(rows / cpu)
            print(
                f"{shown}: {rows:,} rows in {elapsed:.1f} s, {cpu:.1f} s of CPU time: {rates[-1]:,.0f} rows/s per core"
            )
    print(f"bar of fsck --only rows: {LEAST_RATE:,} rows/s per core")
    return 0 if rates[-1] >= LEAST_RATE else 1


if __name__ == "__main__":
    sys.exit(main())
