"""What verification costs: each proof level, in one process and as a part of whole loads; and signatures of VAAs.

    python -m bench.verify [--protocols stardust chrysalis wormhole] [--messages 100000] [--vaas 40000] [--pairs 3]
                           [--engine sail] [--archives DIR]

For each IOTA protocol, first the steps of the levels in one process (bench/verify_levels.py), in CPU time, each beside
what its cryptography alone needs. Then pairs of loads of the same generated archive from its genesis, with the settings
`level = signed` and `level = full` in turn: messages per second from the first file opened to the last commit, and the
CPU time of the whole command. The median of the pairs' ratios counts.

VAAs with 13 valid signatures are loaded, too, and the same signatures are recovered by libsecp256k1 alone, in one
process. The guardians are generated; a message of the only guardian of devnet's first set, whose key is published,
names them.
"""

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coincurve import PublicKey

from bench.generate import SETTINGS
from bench.load import Run, archive, check, load, machine
from bench.vaa_signed import NETWORK as DEVNET
from bench.vaa_signed import SIGNATURES, write_signed
from bench.verify_levels import Step, measure, read_archive
from db.admin.migrate import migrate
from db.connect import StoreSettings
from etl.engine.current import ENGINES, SAIL
from ledger.levels import FULL, SIGNED

WORMHOLE = "wormhole"
PROTOCOLS = ("stardust", "chrysalis", WORMHOLE)

MOST_TIMES = 1.5
"""The bar: the time of a load to the level full, divided by that to signed."""

LEAST_BLOCKS, LEAST_VAAS = 4_000, 2_500
"""The bars of loads: Stardust blocks per second to the level full, and VAAs of 13 signatures per second."""

SAMPLE_MESSAGES, ROUNDS = 8_000, 5
"""Messages of the archive of which the steps are measured, and the rounds."""

PEER_VAAS = 500
"""VAAs whose signatures libsecp256k1 alone recovers."""


@dataclass(frozen=True)
class Load:
    """A load: messages per second, and the CPU seconds of its command."""

    rate: float
    cpu: float


def run(store: StoreSettings, source: Path, *more: str) -> tuple[Run, Load]:
    """Loads a folder into a new store."""
    migrate(store)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = load(store, "local[*]", source, *more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done, Load(float(done.report["messages_per_second"]), cpu)


def show_steps(steps: Sequence[Step]) -> None:
    """Prints a row for each step."""
    print(f"{'level':10}{'µs a message':>14}{'alone':>8}")
    for each in steps:
        bare = "" if each.bare_us is None else f"{each.bare_us:8.2f}"
        print(f"{each.level:10}{each.own_us:14.2f}{bare:>8}  {each.meaning}{'; alone: ' + each.bare if bare else ''}")


def loads_of(protocol: str, messages: int, pairs: int, archives: Path) -> bool:
    """Loads an archive to both levels in turn. Returns whether it meets the bars."""
    settings = SETTINGS[protocol]()
    folder = archive(archives, messages, settings)
    genesis = folder / "all" / "genesis.json"
    parameters = str(genesis) if protocol == "stardust" else ""
    os.environ["PERMANODE_STORE_PROTOCOL_PARAMETERS"] = parameters
    rates: dict[str, list[Load]] = {SIGNED: [], FULL: []}
    for _ in range(pairs):
        for level, found in rates.items():
            os.environ["PERMANODE_ETL_LEVEL"] = level
            with tempfile.TemporaryDirectory() as name:
                print(machine())
                store = StoreSettings(url=f"sqlite:///{name}", network=settings.network, protocol_parameters=parameters)
                done, seen = run(store, folder / "all", "--genesis", str(genesis))
            check(done.report, folder / "all")
            found.append(seen)
            stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in done.report["seconds"].items())
            print(
                f"{level:7} {seen.rate:8,.0f} messages/s, {seen.cpu:.1f} s of CPU time; seconds: {stages}", flush=True
            )
    turns = [*zip(rates[SIGNED], rates[FULL], strict=True)]
    times = statistics.median(signed.rate / full.rate for signed, full in turns)
    cpu = statistics.median(full.cpu / signed.cpu for signed, full in turns)
    rate = statistics.median(each.rate for each in rates[FULL])
    met = times <= MOST_TIMES and (protocol != "stardust" or rate >= LEAST_BLOCKS)
    bars = f"at most {MOST_TIMES} ×" + (f", at least {LEAST_BLOCKS:,}/s" if protocol == "stardust" else "")
    print(
        f"{protocol}, full: {rate:,.0f} messages/s, {times:.2f} × the time of signed, {cpu:.2f} × its CPU time "
        f"(bars: {bars}): {'met' if met else 'missed'}"
    )
    return met


def loads_of_vaas(count: int, runs: int) -> bool:
    """Loads VAAs and recovers their signatures alone. Returns whether it meets the bar."""
    rates = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        signed = write_signed(count, folder / "vaas.jsonl")
        for number in range(runs):
            print(machine())
            store = StoreSettings(url=f"sqlite:///{folder / str(number)}", network=DEVNET)
            done, seen = run(store, folder / "vaas.jsonl")
            report = done.report
            if (report["messages"], report["rejects"]) != (count + 1, 0):
                raise SystemExit(
                    f"generated {count + 1} VAAs, loaded {report['messages']}, {report['rejects']} rejects"
                )
            found = report["rows_by_table"]["vaa_signatures"]
            if found != SIGNATURES * count + 1:
                raise SystemExit(f"{SIGNATURES * count + 1} valid signatures expected, found {found}")
            rates.append(seen)
            stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report["seconds"].items())
            print(f"{seen.rate:8,.0f} VAAs/s, {seen.cpu:.1f} s of CPU time; seconds: {stages}", flush=True)
    bare = statistics.median(bare_rate(signed[:PEER_VAAS]) for _ in range(ROUNDS))
    rate = statistics.median(each.rate for each in rates)
    met = rate >= LEAST_VAAS
    print(
        f"wormhole: {rate:,.0f} VAAs of {SIGNATURES} signatures per second (bar {LEAST_VAAS:,}): "
        f"{'met' if met else 'missed'}; libsecp256k1 alone on one core: {bare:,.0f}"
    )
    return met


def bare_rate(signed: Sequence[tuple[bytes, Sequence[bytes]]]) -> float:
    """VAAs per CPU second whose signatures libsecp256k1 recovers, from digests and signatures."""
    started = time.process_time()
    for digest, signatures in signed:
        for signature in signatures:
            PublicKey.from_signature_and_message(signature, digest, hasher=None)
    return len(signed) / (time.process_time() - started)


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocols", nargs="+", choices=PROTOCOLS, default=PROTOCOLS, help="what is measured")
    parser.add_argument("--messages", type=int, default=100_000, help="size of the archives that are loaded")
    parser.add_argument("--vaas", type=int, default=40_000, help="number of VAAs that are loaded")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of loads, and loads of VAAs")
    parser.add_argument("--engine", choices=ENGINES, default=SAIL, help="engine of the loads")
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()), help="where archives are kept")
    options = parser.parse_args()
    os.environ["PERMANODE_ETL_ENGINE"] = options.engine
    met = []
    for protocol in options.protocols:
        if protocol == WORMHOLE:
            met.append(loads_of_vaas(options.vaas, options.pairs))
            continue
        settings = SETTINGS[protocol]()
        folder = archive(options.archives, SAMPLE_MESSAGES, settings) / "all"
        parameters = str(folder / "genesis.json") if protocol == "stardust" else ""
        store = StoreSettings(url="", network=settings.network, protocol_parameters=parameters)
        print(f"{protocol}, steps of the levels in one process, CPU time, median of {ROUNDS} rounds; {machine()}")
        show_steps(measure(read_archive(folder, store, stardust=protocol == "stardust"), ROUNDS))
        met.append(loads_of(protocol, options.messages, options.pairs, options.archives))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
