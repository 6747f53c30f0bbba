"""Attacks `permanode serve` with what clients can do before authentication, while a probe requests /health.

    python -m bench.attack [--seconds 20] [--server uvicorn|granian]

Loopback only, and bounded: no attack takes longer than a minute, sends more than 200 MB or opens more than 1,100
connections. The server is one process with 1,024 file descriptors, the default settings and generated stores
(bench.attack_store). A process of its own sends the probes, each on a new connection, twenty a second. Prints for each
attack the largest memory of the server since its start, the longest delay of a probe, the most CPU time that the server
used while a probe waited (the delay without the other programs of the machine), and the statuses of probes and attacks.
Returns 1 if a probe fails, if the server used more than DELAY_MAX_S while one waited, if any status is 500, or if the
memory exceeds MEMORY_MAX_MIB.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import multiprocessing
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from api.settings import SERVERS
from bench.attack_store import IOTA, MILESTONE, WORMHOLE, write_settings
from bench.servers import free_port, running
from db.listing.cursor import Cursor, format_cursor

DELAY_MAX_S, MEMORY_MAX_MIB = 0.1, 600
FILES = 1_024
MIB = 1024**2
PROBES_PER_S = 20

SERVE = (
    f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES})); "
    "from cli.main import main; main()"
)

EVENTS = f"/api/{WORMHOLE}/wormhole/events"
SUMS = (
    f"{EVENTS}/notionaltransferredtocumulative?daily=1&allTime=1",
    f"{EVENTS}/notionaltransferred?daily=1&forPeriod=1&numDays=10000",
    f"{EVENTS}/notionaltvlcumulative",
    f"{EVENTS}/addressestransferredtocumulative?daily=1",
    f"{EVENTS}/totals?numDays=10000&groupBy=address",
    f"/api/{WORMHOLE}/wormhole/v1/scorecards",
)
LARGE = f"/api/{IOTA}/milestones/{MILESTONE}/utxo-changes"

Statuses = Counter[str]


class Target:
    """The server: its port, and requests over plain sockets."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid

    @property
    def memory_mib(self) -> float:
        """The largest memory of the process so far."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    async def connect(self, receive_bytes: int = 0) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Opens a connection. The kernel keeps at most about `receive_bytes` that are not read."""
        connection = socket.socket()
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", self.port))
        return await asyncio.open_connection(sock=connection, limit=65_536)

    async def flood(self, begin: bytes, part: bytes, size: int) -> str:
        """Sends up to `size` bytes. Returns the status."""
        reader, writer = await self.connect()
        with contextlib.suppress(ConnectionError):
            writer.write(begin)
            for _ in range(size // len(part)):
                if reader.at_eof():
                    break
                writer.write(part)
                await writer.drain()
        return await self.status(reader, writer)

    async def status(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """Reads the status of a response, and closes the connection."""
        try:
            line = await asyncio.wait_for(reader.readline(), 60)
            return line.split(b" ")[1].decode() if line else "closed"
        except ConnectionError:
            return "closed"
        except TimeoutError:
            return "open"
        finally:
            writer.close()

    async def get(self, path: str, headers: str = "") -> str:
        """Requests a path and reads the whole response. Returns the status."""
        reader, writer = await self.connect()
        with contextlib.suppress(ConnectionError):
            writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n".encode())
            await writer.drain()
            line = await reader.readline()
            while await reader.read(MIB):
                pass
            writer.close()
            return line.split(b" ")[1].decode() if line else "closed"
        return "closed"


async def endless_heads(target: Target, _: float) -> Statuses:
    """Four connections send headers without end, and one a URL of 100 MB."""
    header = b"x-a: " + b"a" * 1_000 + b"\r\n"
    found = [target.flood(b"GET /health HTTP/1.1\r\n", header * 60, 200 * MIB) for _ in range(4)]
    found.append(target.flood(b"GET /", b"a" * 65_536, 100 * MIB))
    trailers = b"GET /health HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
    found.append(target.flood(trailers, header * 60, 100 * MIB))
    found.append(target.flood(b"GET / HTTP/1.1\r\n\r\n" * 1_000, b"GET / HTTP/1.1\r\n\r\n" * 1_000, 20 * MIB))
    return Counter(await asyncio.gather(*found))


async def silent(target: Target, seconds: float) -> Statuses:
    """200 connections are silent, 200 send half a head."""
    return await held(target, [b""] * 200 + [b"GET /health HTTP/1.1\r\nx-a"] * 200, seconds)


async def more_than_files(target: Target, seconds: float) -> Statuses:
    """1,100 connections are silent, more than the server may open."""
    return await held(target, [b""] * 1_100, seconds)


async def held(target: Target, begins: list[bytes], seconds: float) -> Statuses:
    """Opens connections, sends something on each, and waits for what the server does with them."""
    opened = []
    for begin in begins:
        with contextlib.suppress(OSError):
            opened.append(await target.connect())
            opened[-1][1].write(begin)
    await asyncio.sleep(seconds)
    found: Statuses = Counter()
    for reader, writer in opened:
        try:
            line = await asyncio.wait_for(reader.readline(), 0.01)
            found[line.split(b" ")[1].decode() if line else "closed"] += 1
        except TimeoutError:
            found["open"] += 1
        except ConnectionError:
            found["closed"] += 1
        writer.close()
    return found


async def long_accept(target: Target, _: float) -> Statuses:
    """Accept headers of 20 MB, and 300 different ones of 60 kB."""
    path = f"/api/{IOTA}/core/v2/blocks/0x{'00' * 32}"
    found = [await target.flood(f"GET {path} HTTP/1.1\r\naccept: ".encode(), b"a/b," * 16_000, 20 * MIB)]
    different = [f"accept: {f'a{number}/b,' * 8_000}"[:60_000] + "\r\n" for number in range(300)]
    return Counter([*found, *[await target.get(path, each) for each in different]])


async def slow_readers(target: Target, seconds: float) -> Statuses:
    """40 clients request 15.9 MB and read nothing; then they close."""
    opened = []
    for _ in range(40):
        _, writer = await target.connect(receive_bytes=4_096)
        writer.write(f"GET {LARGE} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        # The limit of the stream reader keeps it from reading on.
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        opened.append(writer)
        await asyncio.sleep(0.05)
    await asyncio.sleep(seconds)
    for writer in opened:
        writer.transport.abort()
    return Counter({"not read": len(opened)})


async def large_responses(target: Target, _: float) -> Statuses:
    """Eight clients read 15.9 MB each, four of them compressed."""
    found = [target.get(LARGE, headers) for headers in ("", "accept-encoding: br\r\n") for _ in range(4)]
    return Counter(await asyncio.gather(*found))


async def two_sums(target: Target, _: float) -> Statuses:
    """The two Wormhole sums that took most time, at once, three times."""
    found: Statuses = Counter()
    for _ in range(3):
        found.update(await asyncio.gather(*map(target.get, SUMS[:2])))
    return found


async def many_sums(target: Target, _: float) -> Statuses:
    """Forty sums of all kinds at once."""
    return Counter(await asyncio.gather(*(target.get(SUMS[number % len(SUMS)]) for number in range(40))))


async def forged_cursors(target: Target, _: float) -> Statuses:
    """2,550 cursors with a right digest and other values."""
    rng = random.Random(3)
    values: list[Any] = [None, True, -1, 0, 7, 2**31, 2**63, 2**70, 1.5, "", "x", "00", "ab" * 32, "\ud800", [], {}]
    listings = [
        (f"/api/{WORMHOLE}/wormhole/v1/gaps", f"{WORMHOLE} coverage"),
        (f"/api/{WORMHOLE}/wormhole/v1/vaas", f"{WORMHOLE} vaa_lookups recent: verified   newest"),
        (f"/api/{IOTA}/explorer/v2/milestones", f"{IOTA} milestones {IOTA} newest"),
    ]
    found: Statuses = Counter()
    for number in range(2_550):
        path, query = listings[number % len(listings)]
        key = tuple(rng.choice(values) for _ in range(rng.randint(0, 6)))
        text = format_cursor(Cursor(key, rng.choice([True, False]), rng.choice([None, 0, -1, 2**31])), query)
        suffix = ".10" if "/explorer/" in path else ""
        found[await target.get(f"{path}?cursor={text}{suffix}")] += 1
    return found


Attack: TypeAlias = Callable[[Target, float], Awaitable[Statuses]]

ATTACKS: tuple[Attack, ...] = (
    endless_heads, silent, more_than_files, long_accept, slow_readers, large_responses, two_sums, many_sums,
    forged_cursors,
)  # fmt: skip


def cpu_s(pid: int) -> float:
    """CPU time of a process so far, of its main thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def probe(port: int, pid: int, pipe: Connection) -> None:
    """Requests /health until the message "end". At each message, sends the delays, with the CPU time of the server in
    them, and the statuses since the last one.
    """
    delays: list[tuple[float, float]] = []
    statuses: Statuses = Counter()
    while True:
        if pipe.poll():
            if pipe.recv() == "end":
                return
            pipe.send((delays, statuses))
            delays, statuses = [], Counter()
        begun, used = time.monotonic(), cpu_s(pid)
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            client.request("GET", "/health")
            statuses[str(client.getresponse().status)] += 1
        except OSError as error:
            statuses[type(error).__name__] += 1
        finally:
            client.close()
        delays.append((time.monotonic() - begun, cpu_s(pid) - used))
        time.sleep(max(0.0, 1 / PROBES_PER_S - delays[-1][0]))


async def attacked(attack: Attack, target: Target, seconds: float) -> Statuses:
    """What an attack found."""
    return await attack(target, seconds)


def attack(target: Target, seconds: float) -> int:
    """Runs the attacks one after the other and prints what they did. Returns 1 if a limit did not hold."""
    here, there = multiprocessing.Pipe()
    probing = multiprocessing.get_context("spawn").Process(
        target=probe, args=(target.port, target.pid, there), daemon=True
    )
    probing.start()
    time.sleep(2)
    wrong = 0

    async def idle(_: Target, seconds: float) -> Statuses:
        """No attack."""
        await asyncio.sleep(seconds / 4)
        return Counter()

    for each in (idle, *ATTACKS):
        here.send("report")
        here.recv()
        begun = time.monotonic()
        statuses = asyncio.run(attacked(each, target, seconds))
        spent_s = time.monotonic() - begun
        here.send("report")
        delays, probes = here.recv()
        memory = target.memory_mib
        slowest, most_used = (max((each[place] for each in delays), default=0.0) for place in (0, 1))
        held = (
            most_used <= DELAY_MAX_S and memory <= MEMORY_MAX_MIB and set(probes) == {"200"} and "500" not in statuses
        )
        wrong += not held
        sys.stdout.write(
            f"{each.__name__:<18}{spent_s:>6.1f} s{memory:>6.0f} MiB  longest delay {1000 * slowest:>5.0f} ms, "
            f"CPU in it {1000 * most_used:>4.0f} ms, of {len(delays):>4} probes {json.dumps(dict(probes))}, "
            f"attack {json.dumps(dict(statuses))}{'' if held else '  MISSED'}\n"
        )
        sys.stdout.flush()
    here.send("end")
    probing.join(5)
    return 1 if wrong else 0


def main() -> int:
    """Generates the stores, serves and attacks them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="how long silent and slow clients stay, at most 60")
    parser.add_argument("--server", choices=SERVERS, default=SERVERS[0], help="HTTP server; default: %(default)s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        settings = write_settings(Path(name))
        port = free_port()
        command = [sys.executable, "-c", SERVE, "--config", str(settings), "serve", "--port", str(port)]
        with running(command, port, PERMANODE_API_SERVER=options.server) as server:
            assert urlsplit(server.base).hostname == "127.0.0.1"
            return attack(Target(port, server.pid), min(options.seconds, 60.0))


if __name__ == "__main__":
    sys.exit(main())
