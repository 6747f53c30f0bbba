"""Memory of a follower's loads over hours: one made milestone after another, without pauses, in one process.

    python -m bench.head_memory [--loads 600] [--messages 100] [--engine sail] [--every 25]

The loads are those of `permanode fetch --follow --load` (etl/head_loads.py), without fetching. Prints the resident MiB
after every `--every` loads and the mean seconds of a load, and at the end the growth between the second quarter and the
last one. Twice as much memory for a moment is a process that replaces another one (etl/head_loads.py).
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import orjson

from bench.generate import tangle_of
from bench.head import memory_of
from bench.stardust_traffic import StardustSettings
from db.admin.migrate import migrate
from db.connect import StoreSettings
from etl import head_loads, runs
from etl.engine.settings import EtlSettings

GROWTH_MOST_MIB = 100
"""The bar: growth of the median from the second quarter of the loads to the last one."""


def main() -> int:
    """Runs the bench. Returns 1 if memory grows by more than the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", type=int, default=600)
    parser.add_argument("--messages", type=int, default=100, help="messages per milestone")
    parser.add_argument("--engine", default="sail")
    parser.add_argument("--every", type=int, default=25, help="loads between two lines")
    options = parser.parse_args()
    tangle = tangle_of(StardustSettings(milestone_size=options.messages))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        genesis = folder / "genesis.json"
        genesis.write_bytes(orjson.dumps(tangle.genesis()))
        network = tangle.settings.network
        store = StoreSettings(f"sqlite:///{folder}/store", network, protocol_parameters=str(genesis))
        migrate(store)
        settings = EtlSettings(engine=options.engine)
        file = folder / "next.jsonl"
        memory, seconds = list[int](), list[float]()
        loads = head_loads.HeadLoads(store, settings)
        for number, line in enumerate(islice(tangle.milestones(), options.loads), 1):
            file.write_bytes(orjson.dumps(line.form, option=orjson.OPT_APPEND_NEWLINE))
            begun = time.monotonic()
            if number == 1:
                runs.load(store, settings, [file], genesis=genesis)
            else:
                loads.load([file], line.index, time.time())
            seconds.append(time.monotonic() - begun)
            memory.append(memory_of(os.getpid()))
            if number % options.every == 0:
                mean = statistics.mean(seconds[-options.every :])
                print(f"{number:6} loads: {memory[-1]:5} MiB, {mean:.2f} s per load", flush=True)
        loads.close()
    quarter = max(1, len(memory) // 4)
    early, late = statistics.median(memory[quarter : 2 * quarter] or memory), statistics.median(memory[-quarter:])
    met = late - early <= GROWTH_MOST_MIB
    print(f"median of the second quarter {early:.0f} MiB, of the last {late:.0f}; most {max(memory)}")
    print(f"bar: grows by at most {GROWTH_MOST_MIB} MiB: {'met' if met else 'missed'}", flush=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
