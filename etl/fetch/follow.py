"""Follows the head of a network: fetches newly confirmed milestones in runs and passes the files on.

A run covers at least RUN_S seconds of milestones, so that a load after it is worth the start of Spark. Each run retries
the missing milestones of earlier runs. Only these are kept between runs, and the folder is read once, so memory does
not grow with time, and files that are removed meanwhile are not fetched again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from db.connect import StoreSettings
from db.intervals import Intervals, add, intersect, nth, size, subtract
from etl.archive import PENDING_FILE
from etl.archive.lines import pending_line
from etl.archive.writer import ArchiveWriter, archive_writer, sync, write_durably
from etl.fetch.fill import Fetched, FetchSettings, stopped_within
from etl.fetch.http import NOT_THERE, UNREADABLE, WRONG_ID, Fault
from etl.fetch.node import Head, Node
from etl.fetch.run import Source, fill_milestones, opened
from etl.fetch.walk import GENESIS, Recent
from etl.report import Notify, quiet
from etl.sources.cone import Cone, Entry
from etl.verification.cone_verification import Copy
from ledger.reader import CodecError

RUN_S = 60.0
"""Minimum time that a run covers, in seconds from its first milestone to its last."""

RUN_MOST = 1_000
"""Maximum of milestones in a run, so that catching up passes on what it has."""

POLL_S = 5.0

PENDING_MOST, PENDING_AT_ONCE = 10_000, 100
"""Approximate maximum of pending messages that a run fetches from the node's tips, and how many at a time."""

HandOn: TypeAlias = Callable[["Run"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Run:
    """Result of a run: its durable files, starting with those that a killed run left open, and the number of messages
    in `pending.jsonl`.
    """

    fetched: Fetched
    files: tuple[Path, ...]
    pending: int


@dataclass(frozen=True, slots=True)
class Pace:
    """The size of a run, in seconds and in milestones, and how often the node is polled."""

    run_s: float = RUN_S
    run_most: int = RUN_MOST
    poll_s: float = POLL_S


def follow(
    store: StoreSettings,
    urls: Sequence[str],
    into: Path,
    hand_on: HandOn,
    *,
    first: int | None = None,
    settings: FetchSettings | None = None,
    pace: Pace | None = None,
    notify: Notify = quiet,
) -> Fetched:
    """Fetches from milestone `first`, else from the end of the folder, else from the newest milestone, until a signal.

    Raises ValueError for invalid URLs and nodes of another network, and FolderInUse. An exception of `hand_on` ends it.
    """

    async def run() -> Fetched:
        async with opened(store, urls, settings or FetchSettings()) as source:
            return await _Following(source, into, hand_on, pace or Pace(), notify).run(first)

    return asyncio.run(run())


class _Following:
    """The sequence of runs."""

    def __init__(self, source: Source, into: Path, hand_on: HandOn, pace: Pace, notify: Notify) -> None:
        self._source, self._into, self._hand_on, self._pace, self._notify = source, into, hand_on, pace, notify
        self._codec = source.checks.eras.eras[-1].codec
        self._recent = Recent()
        self._turn = 0
        self._all = Fetched()

    async def run(self, first: int | None) -> Fetched:
        """Runs until a signal. Returns the sums of all runs and what is missing at the end."""
        closed = list[Path]()
        max_bytes = self._source.settings.max_bytes
        with archive_writer(self._into, max_bytes, lambda path, *_: closed.append(path)) as writer:
            held, begin = writer.held(), first
            if begin is None and held:
                begin = held[-1][1] + 1
            writer.close()
            while not self._source.stop.is_set():
                try:
                    node = self._node()
                    newest = await node.newest(self._codec)
                    # The node's claim alone is not enough: the milestone must be available.
                    ended = await node.head(self._codec, newest)
                    if begin is None:
                        begin = newest
                    last = min(newest, begin + self._pace.run_most - 1)
                    if last < begin or not await self._is_enough(node, begin, last, ended):
                        await stopped_within(self._source.stop, self._pace.poll_s)
                        continue
                except Fault as fault:
                    # A node that is unavailable for hours is polled like one without new milestones.
                    self._all.faults[fault.kind] += 1
                    self._turn += 1
                    await stopped_within(self._source.stop, max(self._pace.poll_s, fault.wait_s))
                    continue
                done = await self._fetch(writer, subtract(add(self._all.lacking, [(begin, last)]), held))
                pending = await self._take_pending(node)
                begin = last + 1
                if closed or pending:
                    await self._hand_on(Run(done, tuple(closed), pending))
                    closed.clear()
        return self._all

    def _node(self) -> Node:
        return self._source.nodes[self._turn % len(self._source.nodes)]

    async def _is_enough(self, node: Node, first: int, last: int, ended: Head) -> bool:
        """Whether these milestones are enough for a run; `ended` is the newest one."""
        if last - first + 1 >= self._pace.run_most:
            return True
        try:
            begun = await node.head(self._codec, first)
        except Fault as fault:
            if fault.kind != NOT_THERE:
                raise
            # The milestone was pruned, or belongs to the previous era. Later requests would fail as well.
            return True
        return ended.timestamp - begun.timestamp >= self._pace.run_s

    async def _fetch(self, writer: ArchiveWriter, missing: Intervals) -> Fetched:
        """Fetches one run and closes its files."""
        done = Fetched()
        await fill_milestones(self._source, writer, missing, self._recent, done, self._notify)
        writer.close()
        begun = done.count + size(done.lacking)
        if begun < size(missing):
            # After a signal, milestones that were missing before and were not requested again are still missing.
            unbegun = [(nth(missing, begun), missing[-1][1])]
            done.lacking = add(done.lacking, intersect(self._all.lacking, unbegun))
        self._all.count += done.count
        self._all.faults += done.faults
        self._all.lacking = done.lacking
        return done

    async def _take_pending(self, node: Node) -> int:
        """Writes the messages that the node's tips lead to and no milestone references. Returns their number. A signal
        ends it with the messages so far.
        """
        if self._source.stop.is_set():
            return 0
        found: dict[bytes, bytes] = {}
        try:
            unseen = list(await node.tips(self._codec))
        except Fault as fault:
            self._all.faults[fault.kind] += 1
            unseen = []
        seen = set(unseen)
        while unseen and len(found) < PENDING_MOST and not self._source.stop.is_set():
            some, unseen = unseen[:PENDING_AT_ONCE], unseen[PENDING_AT_ONCE:]
            for entry in await asyncio.gather(*(self._pending(node, each) for each in some)):
                if entry is not None:
                    found[entry.message_id] = pending_line(entry)
                    fresh = [each for each in entry.message.parents if each not in seen]
                    seen.update(fresh)
                    unseen += fresh
        path = self._into / PENDING_FILE
        if found:
            write_durably(path, b"".join(line for _, line in sorted(found.items())))
        else:
            path.unlink(missing_ok=True)
        sync(self._into)
        return len(found)

    async def _pending(self, node: Node, message_id: bytes) -> Entry | None:
        """A verified message that no milestone references; None for any other."""
        if message_id == GENESIS or self._recent.has(message_id):
            return None
        try:
            if (await node.told(self._codec, message_id)).referenced_by is not None:
                return None
            data = await node.raw(self._codec, message_id)
            entry = Entry(message_id, self._codec.decode(data), None, None, None)
        except (Fault, CodecError) as fault:
            self._all.faults[fault.kind if isinstance(fault, Fault) else UNREADABLE] += 1
            return None
        checked = self._source.checks.pending(Copy("", 0, lambda: Cone(None, None, [entry], codec=self._codec)))
        self._all.faults[WRONG_ID] += len(checked.rejects)
        return None if checked.rejects else entry
