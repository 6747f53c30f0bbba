"""The web explorer: its pages compared with the JSON that they show, and what a browser measures.

    python -m bench.web [--rounds 15]

The demo serves its samples; the first run loads them. Each page is requested in turn with the operations that it names
as its sources, over one connection, and the medians count. A browser with an empty cache then opens each page: bytes
that it received, layout shift, and first contentful paint with a CPU that is four times as slow. The exit code is 1 if
a page misses a goal.
"""

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from statistics import median
from typing import Any

import httpx

from bench.servers import ROOT, free_port, running
from cli import demo

TIMES_JSON, ENOUGH_MS = 3.0, 10.0
"""A page takes at most three times as long as the JSON that it shows, or ten milliseconds."""

BYTES_MAX, PAINT_MS_MAX = 100_000, 1_000.0

SLOWER = 4
"""The factor by which the CPU is slower for the first paint."""

START_S = 180
"""Within which the demo loads its samples."""

BROWSER = {"accept": "text/html", "accept-encoding": "br"}

MEASURED = """
new Promise((resolve) => {
    let shift = 0;
    new PerformanceObserver((list) => {
        for (const each of list.getEntries()) shift += each.value;
    }).observe({type: "layout-shift", buffered: true});
    setTimeout(() => resolve([
        performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null, shift]), 300);
})
"""


@dataclass(frozen=True)
class Timed:
    """Milliseconds until the first byte of a page, and of all operations that it names."""

    page_ms: float
    json_ms: float
    operations: int

    @property
    def is_quick(self) -> bool:
        """Whether the page reaches its goal."""
        return self.page_ms <= max(ENOUGH_MS, TIMES_JSON * self.json_ms)


@dataclass(frozen=True)
class Opened:
    """What a browser measured on a first visit: bytes received, cumulative layout shift, first contentful paint."""

    received: int
    shift: float
    paint_ms: float

    @property
    def is_good(self) -> bool:
        """Whether the page reaches all goals."""
        return self.received <= BYTES_MAX and self.shift == 0 and self.paint_ms <= PAINT_MS_MAX


def pages() -> list[str]:
    """A page of each kind, with ids of the samples."""
    chrysalis, stardust = dict(demo.chrysalis_requests()), dict(demo.stardust_requests())
    address = chrysalis["outputs of an address"].split("/")[4]
    block, output = (stardust[each].rpartition("/")[2] for each in ("a block", "an output"))
    vaa = dict(demo.wormhole_requests())["a signed VAA, in the format of a guardian"].removeprefix("/v1/signed_vaa/")
    old, new, signed = (f"/{each.network}" for each in demo.SAMPLES)
    return [
        "/",
        old,
        f"{old}/milestone/{demo.EXAMPLE_MILESTONE}",
        f"{old}/message/{chrysalis['a message'].rpartition('/')[2]}",
        f"{old}/address/{address}",
        f"{old}/coverage",
        f"{old}/statistics",
        f"{old}/richest",
        f"{new}/block/{block}",
        f"{new}/transaction/{output[:-4]}",
        f"{new}/output/{output}",
        signed,
        f"{signed}/operations",
        f"{signed}/vaa/{vaa}",
        f"{signed}/operation/{vaa}",
        f"{signed}/emitter/{vaa.rpartition('/')[0]}",
        f"{signed}/coverage",
    ]


def time_page(client: httpx.Client, path: str, rounds: int) -> Timed:
    """Requests a page and its operations in turn."""
    answer = client.get(path, headers=BROWSER)
    answer.raise_for_status()
    listed = answer.text.partition('<details class="sources">')[2]
    sources = [unescape(each) for each in re.findall(r'<li><a href="([^"]*)"', listed)]
    page, operations = [], []
    for _ in range(rounds):
        page.append(first_byte_ms(client, path, BROWSER))
        operations.append(sum(first_byte_ms(client, each, {"accept": "application/json"}) for each in sources))
    return Timed(median(page), median(operations), len(sources))


def first_byte_ms(client: httpx.Client, url: str, headers: dict[str, str]) -> float:
    """Milliseconds from a request to the head of its response; the body is read afterwards."""
    start = time.perf_counter()
    with client.stream("GET", url, headers=headers) as answer:
        passed = time.perf_counter() - start
        answer.read()
    return 1000 * passed


async def open_pages(base: str, paths: Sequence[str]) -> list[Opened]:
    """Opens each page in a browser with an empty cache."""
    from tests.web.browser import install_browser, launched

    found = []
    async with launched(install_browser(ROOT / ".pytest_cache" / "d" / "clients")) as browser:
        for path in paths:
            page = await browser.new_page(base_url=base, viewport={"width": 390, "height": 844}, locale="en-US")
            session = await page.context.new_cdp_session(page)
            received: list[float] = []

            def add(event: Any, received: list[float] = received) -> None:
                received.append(event["encodedDataLength"])

            session.on("Network.loadingFinished", add)
            await session.send("Network.enable")
            await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
            await page.goto(path, wait_until="networkidle")
            measured = await session.send(
                "Runtime.evaluate", {"expression": MEASURED, "awaitPromise": True, "returnByValue": True}
            )
            paint, shift = measured["result"]["value"]
            found.append(Opened(int(sum(received)), shift, float("inf") if paint is None else paint))
            await page.close()
    return found


def main(arguments: Sequence[str]) -> int:
    """Runs the bench and prints a row for each page."""
    parser = argparse.ArgumentParser(description="pages of the web explorer")
    parser.add_argument("--rounds", type=int, default=15, help="requests of each page and operation")
    rounds = parser.parse_args(arguments).rounds
    port, paths = free_port(), pages()
    command = [sys.executable, "-c", "from cli.main import main; main()", "demo", "--port", str(port)]
    with running(command, port) as server, httpx.Client(base_url=server.base, timeout=START_S) as client:
        client.get("/health").raise_for_status()
        timed = [time_page(client, path, rounds) for path in paths]
        opened = asyncio.run(open_pages(server.base, paths))
    print("page                                    | ms | JSON ms | ratio | operations | kB | shift | paint ms |")
    for path, times, seen in zip(paths, timed, opened, strict=True):
        ratio = times.page_ms / times.json_ms if times.json_ms else 0.0
        mark = "" if times.is_quick and seen.is_good else "  misses a goal"
        print(
            f"{short(path):40}| {times.page_ms:.1f} | {times.json_ms:.1f} | {ratio:.2f} | {times.operations} "
            f"| {seen.received / 1000:.0f} | {seen.shift:.3f} | {seen.paint_ms:.0f} |{mark}"
        )
    return int(not all(times.is_quick and seen.is_good for times, seen in zip(timed, opened, strict=True)))


def short(path: str) -> str:
    """A path with shortened ids."""
    return "/".join(each if len(each) <= 20 else f"{each[:8]}…" for each in path.split("/"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
