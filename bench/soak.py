"""Ten minutes of requests at 80 % of the peak rate, without errors and without growth of memory.

    python -m bench.soak [--store DIR --network NAME] [--minutes 10] [--workers 1]

`permanode serve` on loopback serves wrk, which requests in turn messages, metadata, children, a page of an index, a
page of an address's outputs and a balance. First the peak is measured: 32 connections without pauses. Then 128
connections pause for a random time before each request; a trial of ten seconds determines the pause for 80 % of the
peak. The memory of the server and its workers is measured every five seconds. Only their own memory counts (Linux:
RssAnon), because mapped pages of the store are the system's cache. The median of the last third of the time may be at
most 3 % above that of the second third. Without --store the bench uses a temporary store with the oracle ledger.
"""

import argparse
import statistics
import sys
import tempfile
import threading
from pathlib import Path

from bench.http import database_of, oracle_store, request_paths
from bench.load import family
from bench.servers import Figure, Server, run_wrk, serving, wrk_is_missing

SHARE = 0.8
CONNECTIONS = 128
LOOK_S = 5.0
"""Seconds between two measurements of memory."""

MOST_GROWTH = 0.03
LEAST_SHARE, MOST_SHARE = 0.7, 0.9
"""The accepted range around SHARE. Outside it the machine's speed changed during the measurement."""

WARM_S, PEAK_S, TRIAL_S = 5, 15, 10
MOST_MINUTES = 60


class Memory:
    """Measures the memory (MiB) of a server and its descendants until it is stopped."""

    def __init__(self, process: int) -> None:
        self.seen: list[float] = []
        self._process = process
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(LOOK_S):
            self.seen.append(sum(map(anonymous, family(self._process))))

    def thirds(self) -> list[float]:
        """The median of each third of the measurements."""
        share = len(self.seen) / 3
        parts = [self.seen[round(share * third) : round(share * (third + 1))] for third in range(3)]
        return [statistics.median(part) if part else 0.0 for part in parts]


def anonymous(process: int) -> float:
    """MiB of a process without the files it has mapped; 0 if it has ended or without /proc."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(sizes[0]) / 1024 if sizes else 0.0


def mixed(requested: dict[str, list[str]]) -> list[str]:
    """One path of each kind in turn; shorter lists start again."""
    longest = max(map(len, requested.values()))
    return [paths[position % len(paths)] for position in range(longest) for paths in requested.values()]


def soak(server: Server, paths: list[str], seconds: int, folder: Path) -> tuple[list[Figure], Memory]:
    """The figures of peak, trial and soak, and the memory during the soak."""
    run_wrk(server, paths, WARM_S, folder)
    peak = run_wrk(server, paths, PEAK_S, folder)
    wanted = SHARE * peak.per_second
    pause_ms = 1_000 * CONNECTIONS / wanted
    trial = run_wrk(server, paths, TRIAL_S, folder, connections=CONNECTIONS, pause_ms=pause_ms)
    # The response time is added to the pause.
    pause_ms += 1_000 * CONNECTIONS * (1 / wanted - 1 / trial.per_second)
    with Memory(server.pid) as memory:
        whole = run_wrk(server, paths, seconds, folder, connections=CONNECTIONS, pause_ms=pause_ms)
    return [peak, trial, whole], memory


def report(figures: list[Figure], memory: Memory) -> bool:
    """Prints everything, and returns whether the bars are met."""
    peak = figures[0].per_second
    print(f"{'':8}{'req/s':>9}{'of peak':>9}{'p50 ms':>9}{'p99 ms':>9}{'requests':>12}{'errors':>8}")
    for name, each in zip(("peak", "trial", "soak"), figures, strict=True):
        share = each.per_second / peak
        times = f"{each.p50_ms:9.2f}{each.p99_ms:9.2f}"
        print(f"{name:8}{each.per_second:9.0f}{share:9.0%}{times}{each.requests:12,}{each.errors:8d}")
    first, second, last = memory.thirds()
    growth = last / second - 1 if second else float("inf")
    least, most = min(memory.seen, default=0.0), max(memory.seen, default=0.0)
    print(
        f"memory, MiB: thirds {first:.1f}, {second:.1f}, {last:.1f}; {least:.1f} to {most:.1f} in {len(memory.seen)} "
        f"looks; last third {growth:+.1%}"
    )
    errors = sum(each.errors for each in figures)
    steady = LEAST_SHARE <= figures[-1].per_second / peak <= MOST_SHARE
    if not steady:
        print(f"not measured at {SHARE:.0%} of the peak; is the machine otherwise idle?")
    met = steady and errors == 0 and growth <= MOST_GROWTH
    print(f"bars: no error, memory at most {MOST_GROWTH:+.0%}: {'met' if met else 'missed'}")
    return met


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--store", type=Path, help="directory of a SQLite store; default: a new one with the oracle ledger"
    )
    parser.add_argument("--network", default="", help="network of that store")
    parser.add_argument(
        "--minutes", type=int, default=10, choices=range(1, MOST_MINUTES + 1), metavar="N", help="how long"
    )
    parser.add_argument("--workers", type=int, default=1, choices=range(1, 9), help="number of worker processes")
    options = parser.parse_args()
    if wrk_is_missing():
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = options.store or folder / "store"
        network = options.network if options.store else oracle_store(f"sqlite:///{store}")
        paths = mixed(request_paths(database_of(store)))
        with serving(f"sqlite:///{store.absolute()}", network, options.workers) as server:
            figures, memory = soak(server, paths, 60 * options.minutes, folder)
    return 0 if report(figures, memory) else 1


if __name__ == "__main__":
    sys.exit(main())
