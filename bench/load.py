"""Speed of `permanode load` into an empty SQLite store, and the time of ten new milestones on top of it.

    python -m bench.load [--engine sail] [--protocol stardust] [--messages 200000] [--runs 3] [--archives DIR]
                         [--master 'local[*]'] [--genesis] [--full]

A run is two commands, each a process: load a generated archive into a new store, then load the next ten milestones.
Messages per second count from the first file opened to the last commit, as the command reports them, without the
engine's start. The ten milestones count as seconds of the whole process, including the engine's start. The median of
the runs counts. Memory is the largest sum of resident sizes, by program, of the process and its descendants (Linux;
shared pages count in each). The archive is generated once and kept in DIR, and the command's report is compared with
the generator's counts. Before each run the bench prints the MiB/s of BLAKE2b-256 on all cores, because a virtual
machine does not always have its cores. With --genesis the archive is loaded from its genesis, so that there is a ledger
state, and listings are hashed. With --full it is also verified to the level `full`: signatures of milestones and
transactions, verdicts, parents.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from bench.generate import SETTINGS, tangle_of, write_archive, write_file
from bench.tangle import GeneratorSettings
from db.admin.migrate import migrate
from db.connect import StoreSettings
from etl.engine.current import ENGINES, SAIL, SPARK

ROOT = Path(__file__).parent.parent
NEW_MILESTONES = 10
GENERATED = GeneratorSettings()
SAMPLE_S = 0.5
"""Seconds between two measurements of memory."""

HASHED = bytes(1 << 20)


@dataclass(frozen=True)
class Bars:
    """The bars of an engine and protocol: messages per second into an empty store, seconds for ten new milestones, MiB
    of memory. None: no bar.
    """

    least_rate: int
    most_seconds: float | None = None
    most_memory: int | None = None


BARS = {
    (SPARK, "chrysalis"): Bars(6_000, 20),
    (SPARK, "stardust"): Bars(4_000),
    (SAIL, "chrysalis"): Bars(12_000, 4, 2_500),
    (SAIL, "stardust"): Bars(12_000, 4, 2_500),
}

FULL_BARS = Bars(1_500)
"""The bars of a load from the genesis with full verification."""


@dataclass(frozen=True)
class Run:
    """One command: its final report, the seconds of the whole process, and its memory (MiB by program)."""

    report: dict[str, Any]
    seconds: float
    memory: Counter[str]


def archive(archives: Path, messages: int, settings: GeneratorSettings = GENERATED) -> Path:
    """A folder with `all/`, that many messages, and `next/`, the next ten milestones; created if it does not exist."""
    patterns = ("generate.py", "*tangle.py", "*traffic.py", "*_form.py", "stardust_*.py")
    sources = sorted({path for pattern in patterns for path in Path(__file__).parent.glob(pattern)})
    made_of = [path.read_bytes() for path in sources] + [repr(settings).encode()]
    version = blake2b(b"".join(made_of), digest_size=4).hexdigest()
    folder = archives / f"permabench-{messages}-{version}"
    if not folder.exists():
        started = time.perf_counter()
        archives.mkdir(parents=True, exist_ok=True)
        growing = Path(tempfile.mkdtemp(dir=archives))
        tangle = tangle_of(settings)
        write_archive(tangle, growing / "all", messages)
        write_file(islice(tangle.milestones(), NEW_MILESTONES), growing / "next", tangle.suffix)
        growing.rename(folder)
        print(f"generated {folder} in {time.perf_counter() - started:.0f} s")
    return folder


def resident(process: int) -> Counter[str]:
    """MiB of memory by program of a process and its descendants; empty without /proc."""
    found: Counter[str] = Counter()
    for name, size in family(process).values():
        found["java" if name == "java" else "python"] += size
    return found


def family(process: int) -> dict[int, tuple[str, int]]:
    """A process and its descendants by process id: program name and resident MiB; empty without /proc."""
    children: dict[int, list[int]] = {}
    programs: dict[int, tuple[str, int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = stat.read_text().rpartition(")")
        except OSError:  # it has ended
            continue
        number, fields = int(stat.parent.name), tail.split()
        children.setdefault(int(fields[1]), []).append(number)
        programs[number] = head.partition("(")[2], int(fields[21]) * os.sysconf("SC_PAGE_SIZE") >> 20
    found = {}
    below = [process]
    while below:
        number = below.pop()
        if number in programs:
            found[number] = programs[number]
        below += children.get(number, [])
    return found


def load(store: StoreSettings, master: str, source: Path, *more: str) -> Run:
    """Runs `permanode load` on a folder of archive files, with the options `more`. Raises SystemExit if it fails."""
    return run(store, master, "load", str(source), *more)


def run(store: StoreSettings, master: str, *arguments: str) -> Run:
    """Runs a command that ends with a report as JSON. Raises SystemExit with its last output if it fails."""
    options = ("--store", store.url, "--network", store.network, "--master", master)
    command = [sys.executable, "-c", "from cli.main import main; main()", *options, *arguments]
    peak: Counter[str] = Counter()
    ended = threading.Event()

    def watch(process: int) -> None:
        nonlocal peak
        while not ended.wait(SAMPLE_S):
            peak |= resident(process)

    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True)
        watcher = threading.Thread(target=watch, args=(process.pid,))
        watcher.start()
        output, _ = process.communicate()
        seconds = time.perf_counter() - started
        ended.set()
        watcher.join()
        if process.returncode:
            errors.seek(0)
            last = errors.read().splitlines()[-20:]
            raise SystemExit("\n".join([f"permanode {arguments[0]} failed:", *last, output]))
    return Run(json.loads(output.splitlines()[-1]), seconds, peak)


def hashed(seconds: float) -> float:
    """MiB/s of BLAKE2b-256 in this process."""
    count, started = 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < seconds:
        blake2b(HASHED, digest_size=32).digest()
        count += 1
    return count / spent


def machine() -> str:
    """The BLAKE2b rate of each core while all of them work."""
    cores = os.cpu_count() or 1
    with multiprocessing.Pool(cores) as pool:
        rates = pool.map(hashed, [1.0] * cores, chunksize=1)
    return f"BLAKE2b {', '.join(f'{rate:.0f}' for rate in rates)} MiB/s a core"


def check(report: dict[str, Any], folder: Path) -> None:
    """Checks that everything generated was loaded. Raises SystemExit."""
    expected = json.loads((folder / "expected.json").read_text())
    generated = (expected["milestones"], expected["messages"], expected["messagesByKind"])
    loaded = (report["milestones"], report["messages"], report["messages_by_kind"])
    if loaded != generated or report["complete"] != report["milestones"]:
        raise SystemExit(f"generated {generated}, loaded {loaded}, complete {report['complete']}")


def show(name: str, run: Run) -> None:
    """Prints one line per command."""
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in run.report["seconds"].items())
    memory = ", ".join(f"{program} {size}" for program, size in sorted(run.memory.items()))
    print(
        f"{name:10} {run.report['messages']:9,} messages {run.report['messages_per_second']:9,.0f}/s "
        f"{run.seconds:6.1f} s whole; seconds: {stages}; MiB at most: {memory}",
        flush=True,
    )


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ENGINES, default=SPARK, help="engine of the loads")
    parser.add_argument("--protocol", choices=SETTINGS, default="chrysalis", help="protocol of the archive")
    parser.add_argument("--messages", type=int, default=200_000, help="size of the archive")
    parser.add_argument("--runs", type=int, default=3, help="number of runs, of which the median counts")
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()), help="where archives are kept")
    parser.add_argument("--master", default="local[*]", help="Spark master")
    parser.add_argument("--genesis", action="store_true", help="load with genesis; there is no bar")
    parser.add_argument("--full", action="store_true", help="load with genesis and verify to the level full")
    options = parser.parse_args()
    os.environ["PERMANODE_ETL_ENGINE"] = options.engine
    if options.full:
        os.environ["PERMANODE_ETL_LEVEL"] = "full"
    settings = SETTINGS[options.protocol]()
    folder = archive(options.archives, options.messages, settings)
    if options.protocol == "stardust":
        os.environ["PERMANODE_STORE_PROTOCOL_PARAMETERS"] = str(folder / "all" / "genesis.json")
    full, new = [], []
    for number in range(options.runs):
        with tempfile.TemporaryDirectory() as name:
            print(machine())
            store = StoreSettings(url=f"sqlite:///{name}", network=settings.network)
            migrate(store)
            is_from_genesis = options.full or options.genesis
            genesis = ("--genesis", str(folder / "all" / "genesis.json")) if is_from_genesis else ()
            full.append(load(store, options.master, folder / "all", *genesis))
            show(f"{number + 1}: all", full[-1])
            check(full[-1].report, folder / "all")
            new.append(load(store, options.master, folder / "next"))
            show(f"{number + 1}: next", new[-1])
    rate = statistics.median(run.report["messages_per_second"] for run in full)
    seconds = statistics.median(run.seconds for run in new)
    memory = max(run.memory.total() for run in full)
    bars = FULL_BARS if options.full else Bars(0) if options.genesis else BARS[options.engine, options.protocol]
    met = (
        rate >= bars.least_rate
        and (bars.most_seconds is None or seconds <= bars.most_seconds)
        and (bars.most_memory is None or memory <= bars.most_memory)
    )
    print(
        f"median of {options.runs}: {rate:,.0f} messages/s (bar {bars.least_rate:,}), {NEW_MILESTONES} new milestones "
        f"in {seconds:.1f} s (bar {bars.most_seconds or 'none'}), at most {memory} MiB "
        f"(bar {bars.most_memory or 'none'}): {'met' if met else 'missed'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
