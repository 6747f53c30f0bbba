"""A follower with several nodes, and files that are removed before they are loaded."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, groupby, islice
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.following import loader
from db.store import StoreUnavailable
from etl.fetch import follow, run
from etl.fetch.fill import Fetched, FetchSettings
from etl.fetch.http import NOT_THERE, Fault
from etl.fetch.node import Head
from etl.fetch.run import Source
from ledger.eras import STARDUST

STALLED_AT, RUNS = 90, 5


class Node:
    """A node whose newest milestone rises with each poll, or which has stalled."""

    def __init__(self, polls: Counter[str], name: str, *, is_stalled: bool) -> None:
        self.url, self._polls, self._is_stalled = name, polls, is_stalled

    async def newest(self, _: Any) -> int:
        self._polls[self.url] += 1
        if self._is_stalled:
            return STALLED_AT
        if self._polls[self.url] == 3:
            raise Fault("timeout", "one slow answer")
        return 100 + self._polls[self.url]

    async def head(self, _: Any, index: int) -> Head:
        return Head(None, index * 10, ())

    async def tips(self, _: Any) -> Sequence[str]:
        return ()


@pytest.mark.parametrize("names", [("ahead", "stalled"), ("stalled", "ahead")])
async def test_a_node_that_has_stalled_does_not_hold_the_follower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str]
) -> None:
    fetched: list[Any] = []
    stop = asyncio.Event()

    async def fill(_: Any, __: Any, missing: Any, ___: Any, done: Fetched, *____: Any) -> None:
        done.count += sum(last - first + 1 for first, last in missing)
        fetched.append(missing)
        if len(fetched) == RUNS:
            stop.set()

    async def hand_on(_: follow.Run) -> None:
        return None

    polls = Counter[str]()
    source: Any = SimpleNamespace(
        nodes=[Node(polls, name, is_stalled=name == "stalled") for name in names],
        settings=FetchSettings(),
        checks=SimpleNamespace(eras=SimpleNamespace(eras=[SimpleNamespace(codec=STARDUST)])),
        stop=stop,
    )
    monkeypatch.setattr(follow, "fill_milestones", fill)
    pace = follow.Pace(run_s=0, poll_s=0.001, rare_s=60, step_s=20)
    async with asyncio.timeout(20):
        await follow._Following(source, tmp_path, hand_on, pace, lambda *_: None).run(None)
    assert len(fetched) == RUNS
    assert polls["ahead"] >= RUNS


async def test_milestones_that_no_node_has_are_requested_again_in_turn_with_one_attempt_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node reports milestone 101 first and one more with each poll, and has pruned 1 to 100."""
    monkeypatch.setattr(follow, "RETRIED_MOST", 40)
    attempts: list[tuple[int, int]] = []
    stop = asyncio.Event()

    async def fetch_milestone(used: Source, index: int, _: Any, __: Any) -> bytes:
        attempts.append((index, used.settings.tries))
        if index <= 100:
            raise Fault(NOT_THERE, "404")
        if index == 106:
            stop.set()
        return b'{"milestone":{"index":%d}}\n' % index

    async def hand_on(_: follow.Run) -> None:
        return None

    monkeypatch.setattr(run, "fetch_milestone", fetch_milestone)
    node: Any = Node(Counter[str](), "pruned", is_stalled=False)
    checks: Any = SimpleNamespace(eras=SimpleNamespace(eras=[SimpleNamespace(codec=STARDUST)]))
    source = Source([node], checks, FetchSettings(milestones=1, tries=6), stop)
    pace = follow.Pace(run_s=0, poll_s=0.001)
    async with asyncio.timeout(20):
        done = await follow._Following(source, tmp_path, hand_on, pace, lambda *_: None).run(1)
    assert [index for index, tries in attempts if tries == 6] == [*range(1, 107)]
    again = [index for index, tries in attempts if tries == 1]
    assert again == [*islice(cycle(range(1, 101)), len(again))]
    runs = [[*tried] for tries, tried in groupby(attempts, key=itemgetter(1)) if tries == 1]
    assert [len(each) for each in runs[:3]] == [40, 40, 20]
    assert done.missing == [(1, 100)]


async def test_files_that_were_removed_do_not_hold_up_later_ones(tmp_path: Path) -> None:
    loaded: list[Path] = []
    calls = Counter[str]()

    class Loads:
        """Loads of which the first one finds no store."""

        def load(self, files: Sequence[Path], *_: Any) -> Any:
            calls["load"] += 1
            if calls["load"] == 1:
                raise StoreUnavailable("the cluster does not respond")
            assert all(each.exists() for each in files)
            loaded.extend(files)
            return SimpleNamespace(milestones=1, messages=1, rejects=0, held="")

        def days_due_s(self) -> float:
            return float("inf")

    def run_with(name: str, newest: int) -> follow.Run:
        file = tmp_path / name
        file.write_text("{}\n")
        return follow.Run(Fetched(), (file,), 0, newest, 1.0)

    loads: Any = Loads()
    with ThreadPoolExecutor(1) as thread:
        load = loader(loads, thread, tmp_path, [])
        first, second = run_with("1to2.log", 1), run_with("2to3.log", 2)
        await load(first)
        await load(second)
        assert loaded == [*first.files, *second.files]
        loaded.clear()
        calls.clear()
        await load(run_with("3to4.log", 3))
        (tmp_path / "3to4.log").unlink()
        await load(run_with("4to5.log", 4))
    assert loaded == [tmp_path / "4to5.log"]
