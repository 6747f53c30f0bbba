"""A range of milestones out of nodes into the files of a folder: several on their way at once, written in their order.

Rules of this file: a milestone is retried by itself, so that one which cannot be had costs no other; where there are
several nodes the next try is another's. As many milestones are in memory as are on their way. What the folder holds is
never asked for again.
"""

import asyncio
import signal
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from db.connect import StoreSettings
from db.intervals import Intervals, add, size, subtract
from etl.archive import MAX_FILE_BYTES
from etl.archive.checks import Checks
from etl.archive.writer import ArchiveWriter, archive_writer
from etl.fetch.node import NOT_THERE, UNPROVED, Fault, Node, codec_name
from etl.fetch.walk import Recent, Walk
from etl.report import Notify, Progress, quiet
from ledger.eras import CHRYSALIS, STARDUST, Codec

FAILURES_SHOWN = 20

BACKOFF_S, BACKOFF_MOST_S = 0.5, 30.0


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How nodes are asked. A try that brought something new is not counted among `tries`."""

    requests: int = 16
    milestones: int = 4
    timeout_s: float = 10.0
    tries: int = 6
    backoff_s: float = BACKOFF_S
    max_bytes: int = MAX_FILE_BYTES


@dataclass(slots=True)
class Fetched:
    """What a fetch wrote; `held`: what the folder had already, `lacking`: what could not be had, the first of it with
    its reason, `left`: what was not begun before a signal came. `faults` are all that were counted on the way, by kind.
    """

    milestones: int = 0
    held: int = 0
    left: int = 0
    lacking: Intervals = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)

    def failed(self, milestone_index: int, fault: Fault) -> None:
        """Notes a milestone that could not be had."""
        self.lacking = add(self.lacking, [(milestone_index, milestone_index)])
        if len(self.failures) < FAILURES_SHOWN:
            self.failures.append(f"{milestone_index}: {fault.kind}: {fault}")


@dataclass(frozen=True, slots=True)
class Source:
    """The nodes, how what they say is judged, and when to end."""

    nodes: Sequence[Node]
    checks: Checks
    settings: FetchSettings
    stop: asyncio.Event
    """Set, it lets nothing new begin: what is under way is written, and all ends well."""

    def codec_at(self, milestone_index: int) -> Codec:
        """The protocol of a milestone."""
        return self.checks.eras.at(milestone_index).codec


def fetch(
    store: StoreSettings,
    urls: Sequence[str],
    into: Path,
    wanted: Intervals,
    settings: FetchSettings | None = None,
    notify: Notify = quiet,
) -> Fetched:
    """Writes those milestones into the folder `into`, but for what its files hold.

    Raises ValueError for URLs that are none and nodes of another network, Fault where no node answers, FolderInUse.
    """

    async def run() -> Fetched:
        async with opened(store, urls, settings or FetchSettings()) as source:
            done = Fetched()
            with archive_writer(
                into, source.settings.max_bytes, lambda path, *_: done.files.append(path.name)
            ) as writer:
                missing = subtract(wanted, writer.held())
                done.held = size(wanted) - size(missing)
                await fill(source, writer, missing, Recent(), done, notify)
                done.left = size(missing) - done.milestones - size(done.lacking)
            return done

    return asyncio.run(run())


@asynccontextmanager
async def opened(store: StoreSettings, urls: Sequence[str], settings: FetchSettings) -> AsyncIterator[Source]:
    """Connections to those nodes, which are asked what network they are of."""
    async with AsyncExitStack() as stack:
        nodes = [
            await stack.enter_async_context(Node(url, at_once=settings.requests, timeout_s=settings.timeout_s))
            for url in urls
        ]
        spoken = [await _codecs(node, store, settings) for node in nodes]
        checks = Checks.of(store, STARDUST if STARDUST in spoken[0] else CHRYSALIS)
        stop = asyncio.Event()
        if threading.current_thread() is threading.main_thread():
            for each in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(each, stop.set)
        yield Source(nodes, checks, settings, stop)


async def _codecs(node: Node, store: StoreSettings, settings: FetchSettings) -> list[Codec]:
    """The protocols that a node speaks; ValueError for one of another network."""
    network = store.known_network()
    names = {CHRYSALIS.name: {store.network, network.id_name}, STARDUST.name: {store.network, network.stardust_name}}
    found = []
    for codec in (CHRYSALIS, STARDUST):
        name = await _patiently(node, codec, settings)
        if name is None:
            continue
        if name not in names[codec.name]:
            expected = " or ".join(sorted(names[codec.name]))
            raise ValueError(f"{node.url}: a node of network {expected} expected, found {name}")
        found.append(codec)
    if not found:
        apis = " and ".join(codec_name(each) for each in (CHRYSALIS, STARDUST))
        raise ValueError(f"{node.url}: a node's REST API expected, found neither {apis}")
    return found


async def _patiently(node: Node, codec: Codec, settings: FetchSettings) -> str | None:
    for tried in range(settings.tries):
        try:
            return await node.network_name(codec)
        except Fault as fault:
            if tried + 1 == settings.tries:
                raise
            await asyncio.sleep(wait_s(settings, tried, fault))
    return None


async def fill(
    source: Source, writer: ArchiveWriter, missing: Intervals, recent: Recent, done: Fetched, notify: Notify
) -> None:
    """Fetches milestones and writes them, ascending."""
    total = size(missing)
    rest = (index for first, last in missing for index in range(first, last + 1))
    under_way: deque[tuple[int, asyncio.Task[bytes]]] = deque()
    try:
        while True:
            free = 0 if source.stop.is_set() else source.settings.milestones - len(under_way)
            for index in islice(rest, free):
                under_way.append((index, asyncio.create_task(fetch_milestone(source, index, recent, done))))
            if not under_way:
                return
            index, task = under_way.popleft()
            try:
                writer.append(index, await task)
                done.milestones += 1
            except Fault as fault:
                done.failed(index, fault)
            notify(Progress("fetch", done.milestones + size(done.lacking), total, "milestones"))
    finally:
        for _, task in under_way:
            task.cancel()


async def fetch_milestone(source: Source, index: int, recent: Recent, done: Fetched) -> bytes:
    """The line of one milestone, tried again and again; Fault where no node has it or the tries are used up."""
    settings, nodes = source.settings, source.nodes
    walk = Walk(index, source.codec_at(index), source.checks, recent, settings.requests)
    tries, turn, without = 0, 0, set[str]()
    while True:
        node, before = nodes[turn % len(nodes)], walk.answered
        try:
            line = await walk.run(node)
        except Fault as fault:
            done.faults.update(each.kind for each in walk.faults)
            if fault.kind == NOT_THERE and walk.answered == 0:
                without.add(node.url)
                if len(without) == len(nodes):
                    raise
            elif fault.kind == UNPROVED or walk.answered == before:
                tries += 1
                if tries >= settings.tries:
                    raise
            turn += 1
            await asyncio.sleep(wait_s(settings, tries, fault))
        else:
            recent.add(index, walk.message_ids)
            return line


def wait_s(settings: FetchSettings, tries: int, fault: Fault) -> float:
    """How long to wait after so many tries: twice as long each time, or as long as the node asks."""
    return max(fault.wait_s, min(settings.backoff_s * 2.0**tries, BACKOFF_MOST_S))
