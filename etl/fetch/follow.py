"""Follows the head of a network: fetches newly confirmed milestones in runs and passes the files on.

A run covers at least `Pace.run_s` seconds of milestones: with AT_HEAD a single milestone, or all that came while the
previous run was handed on, up to the size of a step (etl/fetch/steps.py). A run is fetched while the previous one is
handed on. Each run retries some of the missing milestones of earlier runs, in turn. Only these are kept between runs,
and the folder is read once, so memory does not grow with time, and files that are removed meanwhile are not fetched
again.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
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
from etl.fetch.steps import CatchUp, StepSize
from etl.fetch.walk import GENESIS, Recent
from etl.report import Notify, Progress, quiet
from etl.sources.cone import Cone, Entry
from etl.sources.fields import MAX_MILESTONE_INDEX
from etl.verification.cone_verification import Copy
from ledger.reader import CodecError

RUN_S = 60.0
"""Minimum time that a run covers, in seconds from its first milestone to its last."""

RUN_MOST = 1_000
"""Maximum of milestones in a run, so that catching up passes on what it has."""

POLL_S = 5.0

PENDING_MOST, PENDING_AT_ONCE = 10_000, 100
"""Approximate maximum of pending messages that a run fetches from the node's tips, and how many at a time."""

RETRIED_MOST = 100
"""Maximum of missing milestones that a run requests again. New ones wait for these requests, and a node that has pruned
its history does not have them.
"""

ETA_FROM = 20
"""Milestones behind the node's newest one from which the time to catch up is reported."""

HandOn: TypeAlias = Callable[["Run"], Awaitable[float | None]]
"""Processes a run. Returns the seconds after which it wants to be called again without new files. None: it does not."""

log = logging.getLogger("permanode")


@dataclass(frozen=True, slots=True)
class Run:
    """Result of a run: its durable files, starting with those that a killed run left open, the number of messages in
    `pending.jsonl`, and the newest milestone that a node reported, with the time of this report (seconds since 1970).
    `eta_s`: seconds until the newest milestone is reached, by the speed of earlier runs; None if it is unknown.
    """

    fetched: Fetched
    files: tuple[Path, ...]
    pending: int
    newest: int = 0
    newest_at: float = 0.0
    eta_s: float | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """The size of a run, in seconds and in milestones, and how often the node is polled.

    `rare_s`: minimum time between two collections of pending messages, and between two attempts for missing milestones.
    0: with each run. `step_s`: the seconds that fetching or handing on a run may take, which limit its milestones. 0:
    `run_most` limits them alone.
    """

    run_s: float = RUN_S
    run_most: int = RUN_MOST
    poll_s: float = POLL_S
    rare_s: float = 0.0
    step_s: float = 0.0


AT_HEAD = Pace(run_s=0.0, poll_s=0.2, rare_s=60.0, step_s=20.0)
"""The pace with which each milestone is a run as soon as the node shows it."""


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
        self._step = StepSize(pace.run_most, pace.step_s)
        self._catch_up = CatchUp()
        self._first: int | None = None
        self._newest = 0
        self._handing: asyncio.Task[float | None] | None = None
        self._again_at: float | None = None
        self._pending_at = self._retried_at = -pace.rare_s
        self._retry_from = 0

    async def run(self, first: int | None) -> Fetched:
        """Runs until a signal. Returns the sums of all runs and what is missing at the end."""
        closed = list[Path]()
        max_bytes = self._source.settings.max_bytes
        with archive_writer(self._into, max_bytes, lambda path, *_: closed.append(path)) as writer:
            held, begin = writer.held(), first
            if begin is None and held:
                begin = held[-1][1] + 1
            writer.close()
            try:
                while not self._source.stop.is_set():
                    try:
                        node = self._node()
                        newest = await node.newest(self._codec)
                        # The node's claim alone is not enough: the milestone must be available.
                        is_news = begin is None or newest >= begin
                        ended = await node.head(self._codec, newest) if is_news else None
                        seen_at = time.time()
                        if begin is None:
                            begin = newest
                        self._newest = max(self._newest, newest)
                        self._first = begin if self._first is None else self._first
                        last = min(newest, begin + self._step.limit - 1)
                        if ended is None:
                            # Another node may be ahead of one that has stalled.
                            self._turn += 1
                        if ended is None or not await self._is_enough(node, begin, last, ended):
                            await self._idle(self._pace.poll_s, node)
                            continue
                    except Fault as fault:
                        # A node that is unavailable for hours is polled like one without new milestones.
                        self._all.faults[fault.kind] += 1
                        self._turn += 1
                        await self._idle(max(self._pace.poll_s, fault.wait_s))
                        continue
                    begun = time.monotonic()
                    done = await self._fetch(writer, self._retried(), subtract([(begin, last)], held))
                    self._step.note("fetch", done.count, time.monotonic() - begun)
                    pending = None if self._pace.rare_s else await self._take_pending(node)
                    begin = last + 1
                    if closed or pending:
                        run = Run(done, tuple(closed), len(pending or ()), newest, seen_at)
                        await self._hand(run, pending, last)
                        closed.clear()
            finally:
                await self._handed_on()
        return self._all

    async def _hand(self, run: Run, pending: dict[bytes, bytes] | None = None, last: int | None = None) -> None:
        """Starts to hand a run on when the previous one is done. Then also writes the pending messages, which runs
        read. `last`: the last milestone of the run.
        """
        await self._handed_on()
        if pending is not None:
            self._write_pending(pending)
        run = replace(run, eta_s=self._catch_up.eta_s())

        async def hand_on() -> float | None:
            begun = time.monotonic()
            again_s = await self._hand_on(run)
            self._step.note("hand on", run.fetched.count, time.monotonic() - begun)
            if last is not None:
                self._report_catch_up(last)
            return again_s

        self._again_at, self._handing = None, asyncio.create_task(hand_on())

    async def _handed_on(self) -> None:
        """Waits until the last run is handed on. Raises what that raised."""
        if self._handing is not None:
            handing, self._handing = self._handing, None
            again_s = await handing
            self._again_at = None if again_s is None else time.monotonic() + again_s

    def _report_catch_up(self, last: int) -> None:
        """Notes that the milestones up to `last` were handed on. Far behind the node, reports the remaining time."""
        assert self._first is not None
        self._catch_up.note(max(0, self._newest - last))
        eta_s = self._catch_up.eta_s()
        if eta_s and self._newest - last >= ETA_FROM:
            total = self._newest - self._first + 1
            unit = f"milestones, about {eta_s:.0f} s left"
            self._notify(Progress("catch up", last - self._first + 1, total, unit))

    async def _idle(self, seconds: float, node: Node | None = None) -> None:
        """Waits for `seconds` or until a signal. First does the work that waits for a pause: pending messages of a node
        that responds, and a call that `hand_on` requested.
        """
        pending = await self._take_pending(node) if node is not None and self._pace.rare_s else None
        if pending:
            await self._hand(Run(Fetched(), (), len(pending)), pending)
        elif self._handing is not None and self._handing.done():
            await self._handed_on()
        if self._handing is None and self._again_at is not None and time.monotonic() >= self._again_at:
            await self._hand(Run(Fetched(), (), 0))
        await stopped_within(self._source.stop, seconds)

    def _retried(self) -> Intervals:
        """The missing milestones that the next run requests again."""
        if time.monotonic() - self._retried_at < self._pace.rare_s:
            return []
        self._retried_at = time.monotonic()
        missing = self._all.missing
        found = intersect(missing, [(self._retry_from, MAX_MILESTONE_INDEX)]) or missing
        if size(found) > RETRIED_MOST:
            found = intersect(found, [(0, nth(found, RETRIED_MOST - 1))])
        self._retry_from = found[-1][1] + 1 if found else 0
        return found

    def _node(self) -> Node:
        return self._source.nodes[self._turn % len(self._source.nodes)]

    async def _is_enough(self, node: Node, first: int, last: int, ended: Head) -> bool:
        """Whether these milestones are enough for a run; `ended` is the newest one."""
        if self._pace.run_s <= 0 or last - first + 1 >= self._pace.run_most:
            return True
        try:
            begun = await node.head(self._codec, first)
        except Fault as fault:
            if fault.kind != NOT_THERE:
                raise
            # The milestone was pruned, or belongs to the previous era. Later requests would fail as well.
            return True
        return ended.timestamp - begun.timestamp >= self._pace.run_s

    async def _fetch(self, writer: ArchiveWriter, again: Intervals, new: Intervals) -> Fetched:
        """Fetches one run and closes its files. `again`: milestones that earlier runs could not fetch."""
        done, missing = Fetched(), add(again, new)
        await fill_milestones(self._source, writer, missing, self._recent, done, self._notify, again)
        writer.close()
        begun = done.count + size(done.missing)
        # After a signal, milestones that were missing before and were not requested again are still missing.
        begun_with = intersect(missing, [(0, nth(missing, begun) - 1)]) if begun < size(missing) else missing
        self._all.count += done.count
        self._all.faults += done.faults
        self._all.missing = add(subtract(self._all.missing, begun_with), done.missing)
        return done

    async def _take_pending(self, node: Node) -> dict[bytes, bytes] | None:
        """Fetches the messages that the node's tips lead to and no milestone references, as lines by id. None if the
        last collection is too recent, and after a signal. A signal ends it with the messages so far.
        """
        if self._source.stop.is_set() or time.monotonic() - self._pending_at < self._pace.rare_s:
            return None
        self._pending_at = time.monotonic()
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
        return found

    def _write_pending(self, found: dict[bytes, bytes]) -> None:
        """Replaces the folder's pending messages. No run may be handed on meanwhile, because it reads the file."""
        path = self._into / PENDING_FILE
        if found:
            write_durably(path, b"".join(line for _, line in sorted(found.items())))
        else:
            path.unlink(missing_ok=True)
        sync(self._into)

    async def _pending(self, node: Node, message_id: bytes) -> Entry | None:
        """A verified message that no milestone references; None for any other."""
        if message_id == GENESIS or self._recent.has(message_id):
            return None
        try:
            if (await node.metadata(self._codec, message_id)).referenced_by is not None:
                return None
            data = await node.raw(self._codec, message_id)
            entry = Entry(message_id, self._codec.decode(data), data, None, None, None)
        except (Fault, CodecError) as fault:
            self._all.faults[fault.kind if isinstance(fault, Fault) else UNREADABLE] += 1
            return None
        checked = self._source.checks.pending(Copy("", 0, lambda: Cone(None, None, [entry], codec=self._codec)))
        self._all.faults[WRONG_ID] += len(checked.rejects)
        return None if checked.rejects else entry
