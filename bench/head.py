"""How soon a follower serves a new milestone, and what it costs: `permanode fetch --follow --load` at a made node.

    python -m bench.head [--seconds 120] [--every 5] [--messages 100] [--speed 1] [--engine sail]
    python -m bench.head --rate 1000 [--behind 0]

A made Stardust node on loopback shows a milestone every `--every` seconds, `--speed` times as fast. The follower is a
whole process, and so is an API server on the same store, whose newest milestone is requested every 50 ms. A lag is
the time from the moment at which the node shows a milestone to the first response of the server that contains it.
Memory and CPU are those of the follower and its descendants (Linux), after the first milestones.

With `--rate` milestones are large, and the bar is that the lag does not grow: steps may take longer than a milestone.
`--behind` shows that many milestones at once before, so the follower has to catch up.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path

import orjson

from bench.generate import tangle_of
from bench.load import family
from bench.made_node import MadeNode, served
from bench.servers import ROOT, free_port, running
from bench.stardust_traffic import StardustSettings
from db.admin.migrate import migrate
from db.connect import StoreSettings

FIRST = 5
"""Milestones that the store contains before the measurement."""

WARM = 3
"""Milestones at the head that are not measured: the engine starts with them."""

POLL_S, CATCH_UP_S = 0.05, 200.0
P99_MOST_S, SHARE_MOST = 2.0, 0.3
"""The bars: seconds until a milestone is served, and the share of one core."""

CODE = "from cli.main import main; main()"


def newest_of(connection: HTTPConnection) -> int:
    """The newest milestone that the API serves, with its ledger state."""
    connection.request("GET", "/api/core/v2/info")
    status = json.loads(connection.getresponse().read())["status"]
    return int(status["confirmedMilestone"]["index"] or 0)


def cpu_seconds(process: int) -> float:
    """CPU time of a process and its living descendants; 0 without /proc."""
    total = 0
    for each in family(process):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(fields[at]) for at in (11, 12, 13, 14))
    return total / os.sysconf("SC_CLK_TCK")


def memory_of(process: int) -> int:
    """Resident MiB of a process and its descendants."""
    return sum(size for _, size in family(process).values())


def watch(
    node: MadeNode, follower: subprocess.Popen[bytes], port: int, pause_s: float, count: int, *, is_rate: bool
) -> bool:
    """Shows milestones, measures until all are served, and prints the figures. Returns whether the bars are met."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    lags, memory = dict[int, float](), list[int]()
    begin = node.newest
    last, seen = begin + count, begin - 1
    due, cpu, since = time.monotonic(), 0.0, 0.0
    while seen < last:
        now = time.monotonic()
        if node.newest < last and now >= due:
            node.show(node.newest + 1)
            due += pause_s
            memory.append(memory_of(follower.pid))
            if node.newest == begin + WARM + 1:
                cpu, since = cpu_seconds(follower.pid), now
        newest = newest_of(connection)
        for index in range(seen + 1, newest + 1):
            lags[index] = time.monotonic() - node.shown.get(index, now)
        seen = max(seen, newest)
        if follower.poll() is not None or now > due + 60:
            raise SystemExit(f"the follower ended with {follower.poll()}, or milestone {seen + 1} is not served")
        time.sleep(POLL_S)
    share = (cpu_seconds(follower.pid) - cpu) / (time.monotonic() - since)
    in_order = [lags[index] for index in sorted(lags) if index > begin + WARM]
    measured = sorted(in_order)
    p50, p99 = statistics.median(measured), measured[min(len(measured) - 1, int(len(measured) * 0.99))]
    parts = [memory[at * (len(memory) - 1) // 5] for at in range(6)]
    third = len(in_order) // 3 or 1
    middle, end = statistics.median(in_order[third : 2 * third] or in_order), statistics.median(in_order[-third:])
    met = end <= middle + pause_s if is_rate else p99 <= P99_MOST_S and share <= SHARE_MOST
    print(
        f"{len(measured)} milestones, one in {pause_s:g} s: lag p50 {p50:.2f} s, p99 {p99:.2f}, max {measured[-1]:.2f}"
    )
    print(f"follower: {share:.0%} of one core; MiB over time: {', '.join(map(str, parts))}")
    bars = (
        f"the lag does not grow: p50 {middle:.2f} s in the middle, {end:.2f} s at the end"
        if is_rate
        else f"p99 at most {P99_MOST_S:g} s, {SHARE_MOST:.0%} of one core"
    )
    print(f"bars: {bars}: {'met' if met else 'missed'}", flush=True)
    return met


def catch_up(node: MadeNode, port: int, last: int) -> None:
    """Shows the milestones up to `last` at once, waits until all are served, and prints the speed."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    begin, begun = node.newest, time.monotonic()
    for index in range(begin + 1, last + 1):
        node.show(index)
    while (newest := newest_of(connection)) < last:
        if time.monotonic() > begun + CATCH_UP_S:
            raise SystemExit(f"milestone {newest + 1} is not served after {CATCH_UP_S:g} s")
        time.sleep(POLL_S)
    seconds = time.monotonic() - begun
    blocks = sum(index <= last for index, _, _ in node.blocks.values())
    print(f"{last - begin} milestones behind: caught up in {seconds:.1f} s, about {blocks / seconds:,.0f} messages/s")


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="duration, before `--speed`")
    parser.add_argument("--every", type=float, default=5, help="seconds between milestones, before `--speed`")
    parser.add_argument("--messages", type=int, default=100, help="messages per milestone")
    parser.add_argument("--speed", type=float, default=1, help="how many times as fast")
    parser.add_argument("--engine", default="sail", help="the engine of the follower")
    parser.add_argument("--rate", type=int, default=0, help="messages per second, instead of `--messages`")
    parser.add_argument("--behind", type=int, default=0, help="milestones that the node has before the follower starts")
    options = parser.parse_args()
    messages = round(options.rate * options.every) or options.messages
    settings = StardustSettings(milestone_size=messages)
    count = WARM + max(1, round(options.seconds / options.every))
    tangle, node = tangle_of(settings), MadeNode(settings.network)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first").mkdir()
        with (folder / "first" / "first.jsonl").open("wb") as file:
            for line in islice(tangle.milestones(), FIRST + options.behind + count):
                node.add(line.form)
                if line.index <= FIRST:
                    file.write(orjson.dumps(line.form, option=orjson.OPT_APPEND_NEWLINE))
        (folder / "genesis.json").write_bytes(orjson.dumps(tangle.genesis()))
        store = StoreSettings(url=f"sqlite:///{folder}/store", network=settings.network)
        os.environ |= {
            "PERMANODE_STORE": store.url,
            "PERMANODE_NETWORK": store.network,
            "PERMANODE_STORE_PROTOCOL_PARAMETERS": str(folder / "genesis.json"),
            "PERMANODE_ETL_ENGINE": options.engine,
        }
        migrate(store)
        command = [sys.executable, "-c", CODE]
        load = [*command, "load", str(folder / "first"), "--genesis", str(folder / "genesis.json")]
        subprocess.run(load, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        node.show(FIRST)
        port = free_port()
        with (
            served(node) as url,
            running([*command, "serve", "--port", str(port)], port),
            (folder / "log").open("wb") as log,
        ):
            fetch = ["fetch", "--node", url, "--range", f"{FIRST + 1}:", "--into", str(folder / "archive")]
            follower = subprocess.Popen([*command, *fetch, "--follow", "--load"], cwd=ROOT, stdout=log, stderr=log)
            try:
                if options.behind:
                    catch_up(node, port, FIRST + options.behind)
                pause_s = options.every / options.speed
                met = watch(node, follower, port, pause_s, count, is_rate=bool(options.rate))
                follower.send_signal(signal.SIGTERM)
                code = follower.wait(60)
            except BaseException:
                follower.kill()
                sys.stderr.write((folder / "log").read_text()[-3000:])
                raise
            print(f"exit code after SIGTERM: {code}")
    return 0 if met and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
