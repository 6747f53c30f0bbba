"""How soon a follower serves a new milestone, and what it costs: `permanode fetch --follow --load` at a made node.

    python -m bench.head [--seconds 120] [--every 5] [--messages 100] [--speed 1] [--engine sail]

A made Stardust node on loopback shows a milestone every `--every` seconds, `--speed` times as fast. The follower is a
whole process, and so is an API server on the same store, whose newest milestone is requested every 50 ms. A lag is
the time from the moment at which the node shows a milestone to the first response of the server that contains it.
Memory and CPU are those of the follower and its descendants (Linux), after the first milestones.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from bench.generate import tangle_of
from bench.load import family
from bench.servers import ROOT, free_port, running
from bench.stardust_traffic import StardustSettings
from db.admin.migrate import migrate
from db.connect import StoreSettings
from ledger.stardust.codec import decode_block, encode_payload

FIRST = 5
"""Milestones that the store contains before the measurement."""

WARM = 3
"""Milestones at the head that are not measured: the engine starts with them."""

POLL_S = 0.05
P99_MOST_S, SHARE_MOST = 2.0, 0.3
"""The bars: seconds until a milestone is served, and the share of one core."""

CODE = "from cli.main import main; main()"


@dataclass
class MadeNode:
    """The ledger of a node, up to its newest milestone. `shown` is when each milestone appeared."""

    network: str
    newest: int = 0
    blocks: dict[str, tuple[int, bytes, bytes]] = field(default_factory=dict)
    milestones: dict[int, bytes] = field(default_factory=dict)
    shown: dict[int, float] = field(default_factory=dict)

    def add(self, form: dict[str, Any]) -> None:
        """Takes a milestone that it does not show yet."""
        index = form["milestone"]["index"]
        payload = decode_block(bytes.fromhex(form["milestone"]["bytes_hex"])).payload
        assert payload is not None
        self.milestones[index] = encode_payload(payload)
        for entry in form["blocks"]:
            self.blocks[entry["id"]] = (index, bytes.fromhex(entry["bytes_hex"]), orjson.dumps(entry["metadata"]))

    def show(self, index: int) -> None:
        """Confirms the milestones up to this one."""
        self.shown[index], self.newest = time.monotonic(), index

    def answer(self, path: str) -> bytes | None:
        """The body of a response; None for 404."""
        rest = path.removeprefix("/api/core/v2/")
        if rest == path:
            return None
        if rest == "info":
            status = {"confirmedMilestone": {"index": self.newest}}
            return orjson.dumps({"status": status, "protocol": {"networkName": self.network}})
        if rest == "tips":
            return b'{"tips":[]}'
        kind, _, name = rest.partition("/")
        if kind == "milestones":
            index = int(name.rpartition("/")[2])
            return self.milestones[index] if index <= self.newest else None
        index, data, metadata = self.blocks.get(name.partition("/")[0], (self.newest + 1, b"", b""))
        if index > self.newest:
            return None
        return metadata if name.endswith("/metadata") else data


@contextmanager
def served(node: MadeNode) -> Iterator[str]:
    """The URL of a server over a node."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            """Sends what the node answers."""
            body = node.answer(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("content-length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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


def watch(node: MadeNode, follower: subprocess.Popen[bytes], port: int, pause_s: float, count: int) -> bool:
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
    measured = sorted(lag for index, lag in lags.items() if index > begin + WARM)
    p50, p99 = statistics.median(measured), measured[min(len(measured) - 1, int(len(measured) * 0.99))]
    parts = [memory[at * (len(memory) - 1) // 5] for at in range(6)]
    met = p99 <= P99_MOST_S and share <= SHARE_MOST
    print(
        f"{len(measured)} milestones, one in {pause_s:g} s: lag p50 {p50:.2f} s, p99 {p99:.2f}, max {measured[-1]:.2f}"
    )
    print(f"follower: {share:.0%} of one core; MiB over time: {', '.join(map(str, parts))}")
    print(f"bars: p99 at most {P99_MOST_S:g} s, {SHARE_MOST:.0%} of one core: {'met' if met else 'missed'}", flush=True)
    return met


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="duration, before `--speed`")
    parser.add_argument("--every", type=float, default=5, help="seconds between milestones, before `--speed`")
    parser.add_argument("--messages", type=int, default=100, help="messages per milestone")
    parser.add_argument("--speed", type=float, default=1, help="how many times as fast")
    parser.add_argument("--engine", default="sail", help="the engine of the follower")
    options = parser.parse_args()
    settings = StardustSettings(milestone_size=options.messages)
    count = WARM + max(1, round(options.seconds / options.every))
    tangle, node = tangle_of(settings), MadeNode(settings.network)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first").mkdir()
        with (folder / "first" / "first.jsonl").open("wb") as file:
            for line in islice(tangle.milestones(), FIRST + count):
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
                met = watch(node, follower, port, options.every / options.speed, count)
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
