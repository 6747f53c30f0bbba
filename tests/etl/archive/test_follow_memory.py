"""Memory of `--follow` over days: the number of objects does not grow with the number of runs.

Each run fetches one milestone from a node that answers at once. The ledger is generated, so every run fetches new
messages. One milestone never exists, and some requests fail, as happens over days.
"""

import gc
import json
import os
import signal
import time
from concurrent.futures import Executor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.generate import generate
from bench.tangle import GeneratorSettings
from cli.following import loader
from db.connect import StoreSettings
from etl.fetch.fill import FetchSettings
from etl.fetch.follow import Pace, follow
from etl.report import Report
from tests.etl.archive.test_fetch import LOADED, Loads, thread

pytestmark = pytest.mark.thorough

__all__ = ["thread"]

LEDGER = GeneratorSettings(seed="days", milestone_size=3)

RUNS = 40

LOST = 5
"""A milestone that the node does not have."""


class Answers:
    """The responses of a node whose head moves with each request for it; messages of the next milestone are pending."""

    def __init__(self, count: int) -> None:
        self.newest = self.requested = 0
        self._lines = {line.index: line for line in islice(generate(LEDGER), count + 1)}
        self._messages = {each: line for line in self._lines.values() for each in line.raw}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        kind, *rest = request.url.path.removeprefix("/api/v1/").split("/")
        if kind == "info":
            self.requested += 1
            if self.requested % 10 == 0:
                return httpx.Response(503)
            self.newest += 1
            return reported({"networkId": LEDGER.network, "confirmedMilestoneIndex": self.newest})
        if kind == "tips":
            return reported({"tipMessageIds": [each.hex() for each in self._lines[self.newest + 1].order]})
        if kind == "milestones" and int(rest[0]) != LOST:
            line = self._lines[int(rest[0])]
            return reported({"messageId": line.order[-1].hex(), "timestamp": line.timestamp})
        if kind == "messages" and bytes.fromhex(rest[0]) in self._messages:
            line = self._messages[bytes.fromhex(rest[0])]
            if rest[1] == "raw":
                return httpx.Response(200, content=line.raw[bytes.fromhex(rest[0])])
            return reported(line.form["messages"][rest[0]][1] if line.index <= self.newest else {})
        return httpx.Response(404)


def reported(data: Any) -> httpx.Response:
    return httpx.Response(200, content=json.dumps({"data": data}).encode())


def objects() -> int:
    """The number of live objects, including those in containers that the garbage collector does not track."""
    gc.collect()
    seen: set[int] = set()
    left = gc.get_objects()
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            left += gc.get_referents(one)
    return len(seen)


def test_what_is_kept_from_run_to_run_does_not_grow_with_the_runs(
    tmp_path: Path, thread: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_end = {RUNS: 0, 4 * RUNS: 0}
    loads = 0

    class Counted(Loads):
        def load(self, files: list[Path], newest: int, newest_at: float, eta_s: float | None) -> Report:
            nonlocal loads
            loads += 1
            if loads in at_end:
                # Meanwhile the next run is fetched, and then waits for this load.
                time.sleep(0.5)
                at_end[loads] = objects()
            if loads == 4 * RUNS:
                os.kill(os.getpid(), signal.SIGTERM)
            return LOADED

    node = httpx.MockTransport(Answers(5 * RUNS))
    monkeypatch.setattr(httpx, "AsyncClient", partial(httpx.AsyncClient, transport=node))
    monkeypatch.setattr(os, "fsync", lambda _: None)
    # pytest keeps all log records.
    monkeypatch.setattr("cli.following.log.disabled", True)
    done = follow(
        StoreSettings("", LEDGER.network),
        ["https://node"],
        tmp_path,
        loader(Counted(), thread, tmp_path, []),
        first=1,
        settings=FetchSettings(tries=1),
        pace=Pace(run_most=1, poll_s=0),
    )
    assert done.missing == [(LOST, LOST)]
    assert done.count >= 4 * RUNS - 1
    assert (tmp_path / "pending.jsonl").read_bytes()
    # One object kept per run would be 3 * RUNS; a run on its way has some dozens.
    assert at_end[4 * RUNS] - at_end[RUNS] < 2 * RUNS
