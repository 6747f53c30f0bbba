"""Fetches a range of milestones from nodes into the files of a folder, concurrently, and writes them in order.

Each milestone is retried separately, so one that cannot be fetched does not affect the others. With several nodes, the
next attempt uses the next node. Milestones in the folder's files are not requested again.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from db.connect import StoreSettings
from db.intervals import Intervals, contains, size, subtract
from etl.archive.checks import Checks
from etl.archive.writer import ArchiveWriter, archive_writer
from etl.fetch.fill import Fetched, FetchSettings, answered, fill, retry, stopped_by_signals, stopped_within, wait_s
from etl.fetch.http import NOT_THERE, UNPROVED, Fault, Http
from etl.fetch.node import Node, codec_name
from etl.fetch.walk import Recent, Walk
from etl.report import Notify, quiet
from ledger.eras import CHRYSALIS, STARDUST, Codec


@dataclass(frozen=True, slots=True)
class Source:
    """The nodes, the checks of their responses, and the stop event."""

    nodes: Sequence[Node]
    checks: Checks
    settings: FetchSettings
    stop: asyncio.Event
    """Once it is set, nothing new starts and nothing is retried. Milestones in progress are written."""

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
    """Writes these milestones to `into`, except those that its files contain.

    Raises ValueError for invalid URLs and nodes of another network, Fault if no node responds, and FolderInUse.
    """

    async def run() -> Fetched:
        async with opened(store, urls, settings or FetchSettings()) as source:
            done = Fetched()
            with archive_writer(
                into, source.settings.max_bytes, lambda path, *_: done.files.append(path.name)
            ) as writer:
                missing = subtract(wanted, writer.held())
                done.held = size(wanted) - size(missing)
                await fill_milestones(source, writer, missing, Recent(), done, notify)
                done.left = size(missing) - done.count - size(done.missing)
            return done

    return asyncio.run(run())


@asynccontextmanager
async def opened(store: StoreSettings, urls: Sequence[str], settings: FetchSettings) -> AsyncIterator[Source]:
    """Opens connections to the nodes and requests their network. Omits nodes that do not respond."""
    async with AsyncExitStack() as stack:
        clients = [Http(url, at_once=settings.requests, timeout_s=settings.timeout_s) for url in urls]
        given = [Node(await stack.enter_async_context(each)) for each in clients]
        # Two entries for the same node would pass a milestone that it does not have back and forth forever.
        nodes = {each.url: each for each in given}
        spoken = await answered({url: _codecs(node, store, settings) for url, node in nodes.items()})
        checks = Checks.of(store, STARDUST if STARDUST in next(iter(spoken.values())) else CHRYSALIS)
        yield Source([nodes[url] for url in spoken], checks, settings, stopped_by_signals())


async def _codecs(node: Node, store: StoreSettings, settings: FetchSettings) -> list[Codec]:
    """The protocols of a node. Raises ValueError for a node of another network."""
    network = store.known_network()
    names = {CHRYSALIS.name: {store.network, network.id_name}, STARDUST.name: {store.network, network.stardust_name}}
    found = []
    for codec in (CHRYSALIS, STARDUST):
        name = await retry(partial(node.network_name, codec), settings)
        if name is None:
            continue
        if name not in names[codec.name]:
            expected = " or ".join(sorted(names[codec.name]))
            better = await _path_of(node, store.network, names, settings)
            raise ValueError(f"{node.url}: expected a node of network {expected}, found {name}{better}")
        found.append(codec)
    if not found:
        apis = " and ".join(codec_name(each) for each in (CHRYSALIS, STARDUST))
        better = await _path_of(node, store.network, names, settings)
        raise ValueError(f"{node.url}: not the REST API of a node: found neither {apis}{better}")
    return found


async def _path_of(node: Node, network: str, names: Mapping[str, set[str]], settings: FetchSettings) -> str:
    """The URL of the network if the server is a permanode that has it, as the end of an error. Empty otherwise."""
    url = f"{node.url.partition('/api/')[0]}/api/{network}"
    async with Http(url, at_once=1, timeout_s=settings.timeout_s) as http:
        mounted = Node(http)
        for codec in (CHRYSALIS, STARDUST):
            with suppress(Fault):
                if await mounted.network_name(codec) in names[codec.name]:
                    return f"; use {url}"
    return ""


async def fill_milestones(
    source: Source,
    writer: ArchiveWriter,
    missing: Intervals,
    recent: Recent,
    done: Fetched,
    notify: Notify,
    again: Intervals | None = None,
) -> None:
    """Fetches milestones and writes them in ascending order. `again`: those that were missing before. Each node gets
    one attempt for them, because later milestones wait.
    """
    once = replace(source, settings=replace(source.settings, tries=len(source.nodes)))

    async def fetch_one(index: int) -> bytes:
        return await fetch_milestone(once if contains(again or [], index) else source, index, recent, done)

    await fill(writer, missing, fetch_one, source.settings.milestones, source.stop, done, notify)


async def fetch_milestone(source: Source, index: int, recent: Recent, done: Fetched) -> bytes:
    """Fetches the line of a milestone, with retries. Raises Fault if no node has it, the attempts are used up or a
    signal came.
    """
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
            if await stopped_within(source.stop, wait_s(settings, tries, fault)):
                raise
        else:
            recent.add(index, walk.message_ids)
            return line
