"""A run that lost its lease, for example because its machine was suspended, and the run that took it over."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from db import schema
from db.connect import StoreSettings
from db.sqlite import writer
from db.sqlite.store import SqliteStore
from db.store import LeaseHeld

TTL_S = 60
KEY = ("ms_range_id", "milestone_index")


class Clock:
    """Seconds since 1970 that a test sets."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def folder(sqlite_settings: StoreSettings) -> Path:
    return Path(sqlite_settings.url.removeprefix("sqlite:///"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def first(folder: Path, clock: Clock) -> Iterator[SqliteStore]:
    """The run that holds the lease, and loses it."""
    store = SqliteStore(folder, clock=clock)
    store.acquire("elsewhere:1", "run-1", TTL_S)
    yield store
    store.close()


@pytest.fixture
def second(folder: Path, clock: Clock) -> Iterator[SqliteStore]:
    store = SqliteStore(folder, clock=clock)
    yield store
    store.close()


def take_over(second: SqliteStore, clock: Clock) -> None:
    clock.now_s += TTL_S + 1
    second.acquire("elsewhere:2", "run-2", TTL_S)


def put(batch: Any, index: int) -> None:
    batch.upsert(schema.sync, KEY, [(0, index)])


def served(folder: Path) -> list[int]:
    """The milestones of the served generation."""
    store = SqliteStore(folder, writable=False)
    rows = asyncio.run(store.slice(schema.sync, (0,), limit=9))
    store.close()
    return [row["milestone_index"] for row in rows]


def generations(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("gen-*.sqlite"))


@pytest.mark.parametrize("publish", [False, True])
def test_a_batch_that_begins_after_the_loss_touches_no_file(
    folder: Path, clock: Clock, first: SqliteStore, second: SqliteStore, publish: bool
) -> None:
    take_over(second, clock)
    with second.batch(publish=True) as batch:
        put(batch, 2)
        before = generations(folder)
        assert len(before) == 2
        with pytest.raises(LeaseHeld, match="run-2"), first.batch(publish=publish):
            pass
        assert generations(folder) == before
    assert served(folder) == [2]
    assert (folder / "CURRENT").read_text() == "gen-000002.sqlite\n"


@pytest.mark.parametrize("ends", ["while the second builds", "after the second published"])
def test_a_generation_whose_run_lost_the_lease_meanwhile_does_not_replace_its_successors(
    folder: Path, clock: Clock, first: SqliteStore, second: SqliteStore, ends: str
) -> None:
    with ExitStack() as of_first, ExitStack() as of_second:
        put(of_first.enter_context(first.batch(publish=True)), 1)
        take_over(second, clock)
        put(of_second.enter_context(second.batch(publish=True)), 2)
        if ends == "after the second published":
            of_second.close()
        with pytest.raises(LeaseHeld, match="run-2"):
            of_first.close()
        of_second.close()
    assert served(folder) == [2]
    assert generations(folder) == ["gen-000002.sqlite"]
    with second.batch(publish=True) as batch:
        put(batch, 3)
    assert served(folder) == [3, 2]
    assert generations(folder) == ["gen-000003.sqlite"]


def test_a_lease_that_is_lost_right_before_a_generation_is_published(
    folder: Path, clock: Clock, first: SqliteStore, second: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file, which the second run did not remove, is removed by the next batch."""

    def late(file: Path) -> None:
        fsync(file)
        take_over(second, clock)

    fsync = writer.fsync
    with ExitStack() as of_first:
        put(of_first.enter_context(first.batch(publish=True)), 1)
        monkeypatch.setattr(writer, "fsync", late)
        with pytest.raises(LeaseHeld, match="run-2"):
            of_first.close()
    monkeypatch.undo()
    assert served(folder) == []
    with second.batch() as batch:
        put(batch, 2)
    assert served(folder) == [2]
    assert generations(folder) == ["gen-000001.sqlite"]
