"""Any history of runs leaves the rows of one load, and `fsck --deep` finds nothing. Many runs end at a random call.

The ledgers are generated. Their milestones arrive in any order, some of them twice, with the genesis at any time, under
settings that differ from run to run.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import orjson
import pytest

from bench.generate import SETTINGS, tangle_of
from bench.tangle import Tangle
from db.connect import open_adapter
from db.schema.protocols import IOTA
from etl import runs
from etl.completeness import advance
from etl.report import Report
from tests.conftest import ROOT
from tests.etl.conftest import Loading, Stores
from tests.etl.deep_check.checking import checked, differing
from tests.etl.embedded import stores
from tests.etl.store_rows import ANALYTICS, LISTINGS, Tables, by_key, compared

__all__ = ["stores"]

pytestmark = [pytest.mark.loads, pytest.mark.slow]

PARTS = {str(ROOT / "etl"), str(ROOT / "db")}
"""Runs end at a call of a function in these folders."""

BY_HISTORY = {"splits", "proofs", "ledger_frontier", "distribution", "rich_list", "listing_tiles"}
"""Tables whose rows depend on the runs, as do hints. `fsck --deep` compares them."""


class Killed(BaseException):
    """Ends a run anywhere; nothing in the program handles it."""


@contextmanager
def killed_after(calls: int) -> Iterator[None]:
    """Ends what runs inside at that call, if there are so many."""

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        if event == "call" and any(frame.f_code.co_filename.startswith(each) for each in PARTS):
            calls -= 1
            if calls == 0:
                sys.setprofile(None)
                raise Killed(frame.f_code.co_qualname)

    sys.setprofile(count)
    try:
        yield
    except Killed:
        pass
    finally:
        sys.setprofile(None)


class Ledger:
    """A generated ledger with its archive lines by milestone."""

    def __init__(self, rng: Random, folder: Path) -> None:
        self.era = rng.choice(("chrysalis", "stardust"))
        kind = SETTINGS[self.era]
        size, conflicts = rng.choice((4, 15, 40)), rng.choice((0.03, 0.3))
        tangle = tangle_of(kind(seed=str(rng.random()), milestone_size=size, transactions=0.5, conflicts=conflicts))
        self.network = tangle.settings.network
        self.folder = folder
        self.genesis = folder / "genesis.json"
        self.genesis.write_bytes(orjson.dumps(tangle.genesis()))
        lines = islice(tangle.milestones(), rng.choice((12, 25, 40)))
        self.lines = {line.index: orjson.dumps(line.form, option=orjson.OPT_APPEND_NEWLINE) for line in lines}

    def file(self, name: str, milestones: list[int]) -> Path:
        path = self.folder / f"{name}{'.jsonl' if self.era == 'stardust' else '.log'}"
        path.write_bytes(b"".join(self.lines[each] for each in milestones))
        return path


@pytest.fixture(params=(10, 3_600 * 5))
def seconds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds from milestone to milestone: all in one day, or some in each of several days."""
    original = Tangle._timestamp
    monkeypatch.setattr(Tangle, "_timestamp", lambda self, index: original(self, index) + (request.param - 10) * index)


def a_run(rng: Random, loading: Loading) -> Callable[[], Report | object]:
    """A run other than a load."""
    store, settings = loading.store, loading.settings
    return rng.choice(
        (
            loading.rebuild,
            lambda: runs.analytics(store, settings),
            lambda: runs.compact(store, settings),
            lambda: runs.compact_lake(runs.lake_path(store, settings), retain_hours=rng.choice((0, 24))),
            lambda: runs.verify(store, settings),
        )
    )


def any_settings(rng: Random, loading: Loading) -> Loading:
    settings = replace(
        loading.settings,
        ledger_near=rng.choice((0, 3, 10_000)),
        bulk_share=rng.choice((0.0001, 0.1, 1e9)),
        batch_messages=rng.choice((1, 50, 20_000)),
        level=rng.choice(("signed", "full")),
    )
    return replace(loading, settings=settings, analytics=rng.random() < 0.5)


def live(rng: Random, loading: Loading, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads all milestones in any number of runs, with other runs between them."""
    left = [*ledger.lines]
    if rng.random() < 0.5:
        rng.shuffle(left)
    number = 0
    while left:
        number += 1
        monkeypatch.setattr(advance, "MESSAGES_AT_ONCE", rng.choice((1, 100, 10_000)))
        now = any_settings(rng, loading)
        calls = int(10 ** rng.uniform(1.5, 4.6)) if rng.random() < 0.35 else 0
        if rng.random() < 0.4:
            with killed_after(calls):
                a_run(rng, now)()
            continue
        size = rng.choice((1, 3, 9, 30))
        again = [each for each in ledger.lines if rng.random() < 0.1]
        files = ledger.file(f"{number}", left[:size]), ledger.file(f"{number} again", again)
        genesis = ledger.genesis if rng.random() < 0.5 else None
        reports = []
        with killed_after(calls):
            reports.append(now.load(*files, genesis=genesis, force=rng.random() < 0.2))
        left = left[size:] if reports else left


def rows(loading: Loading) -> Tables:
    """The rows of all tables that depend on data only, without partitions and levels."""
    found = {}
    with closing(open_adapter(loading.store, writable=False)) as store:
        for table in (*compared(IOTA), *ANALYTICS, *LISTINGS):
            if table.name not in BY_HISTORY and not table.name.endswith("hints"):
                values = [row | {"partition_id": 0, "verified": ""} for row in by_key(table, store.read_all(table))]
                found[table.name] = sorted(values, key=repr)
    return found


@pytest.mark.usefixtures("seconds")
@pytest.mark.parametrize("geometry", [(100_000, 100_000), (50, 20), (7, 3)])
def test_any_history_of_runs_leaves_the_rows_of_one_load(
    stores: Stores, tmp_path: Path, chance: Random, monkeypatch: pytest.MonkeyPatch, geometry: tuple[int, int]
) -> None:
    ledger = Ledger(chance, tmp_path)
    loading, other = (stores(geometry, ledger.network, analytics=True) for _ in range(2))
    live(chance, loading, ledger, monkeypatch)
    whole = ledger.file("whole", [*ledger.lines])
    assert [each.load(whole, genesis=ledger.genesis).exit_code for each in (loading, other)] == [0, 0]
    expected = rows(other)
    assert all(expected[name] for name in ("messages", "unspent_outputs", "daily_analytics", "milestone_roots"))
    assert rows(loading) == expected
    assert differing(checked(loading)) == []
