"""A load that is killed repeatedly and then run to its end leaves the rows of one clean load in store and lake.

The moments are random. A reader checks the store all the time.
"""

import asyncio
import json
import os
import random
import shutil
import stat
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from db import schema, sync
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.store import Store
from etl.engine.current import SAIL, SPARK
from tests.conftest import SAMPLE
from tests.etl.commands import ELSEWHERE, Process, members_of, permanode
from tests.etl.conftest import ON_SAIL, Stores
from tests.etl.lake_files import lake_rows
from tests.etl.store_rows import stored_rows

NETWORK = "permatest-1"
GENESIS = SAMPLE / "genesis.json"

BULK = {"PERMANODE_ETL_BULK_SHARE": "0"}
SMALL = {"PERMANODE_ETL_BULK_SHARE": "1000000", "PERMANODE_ETL_BATCH_MESSAGES": "400"}
"""One new generation, or several transactions."""

MOMENTS = (
    (SPARK, 3.0, BULK),
    ("decode", 1.0, BULK),
    ("decode", 4.0, SMALL),
    ("decode", 8.0, BULK),
    ("messages", 0.5, BULK),
    ("parents", 0.5, BULK),
    ("addresses_hints", 0.3, BULK),
    ("outputs", 1.0, SMALL),
    ("sync", 0.5, SMALL),
    ("pending_messages", 0.3, SMALL),
    ("ledger", 2.0, SMALL),
)
"""Kills after the line of that stage or table, up to that many seconds later. Every attempt passes a stage before it
ends, so the moments follow the order of a load.
"""

SAIL_MOMENTS = (
    (SAIL, 0.5, BULK),
    ("decode", 0.5, BULK),
    ("decode", 1.0, SMALL),
    ("messages", 0.3, BULK),
    ("outputs", 0.3, SMALL),
    ("sync", 0.2, SMALL),
    ("ledger", 0.5, SMALL),
    ("ledger", 2.0, SMALL),
)
"""The same for the embedded engine, which is faster."""


def milestones() -> dict[int, set[str]]:
    """Message ids by milestone, from the sample's files."""
    lines = [
        json.loads(line)
        for path in sorted(SAMPLE.iterdir())
        if path.suffix not in (".json", ".jsonl")
        for line in path.read_text().splitlines()
    ]
    return {line["milestone_index"]: set(line["messages"]) for line in lines}


@dataclass
class Reader:
    """Continuously reads which milestones are complete, and each of their messages."""

    settings: StoreSettings
    expected: dict[int, set[str]]
    wrong: list[str] = field(default_factory=list)
    looks: int = 0
    seen: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        store = open_store(self.settings)
        with asyncio.Runner() as runner:
            while not self.done.wait(0.2) and not self.wrong:
                try:
                    runner.run(self._look(store))
                except Exception as error:  # noqa: BLE001 (a reader must never fail, whatever with)
                    self.wrong.append(repr(error))
        store.close()

    async def _look(self, store: Store) -> None:
        self.looks += 1
        complete = [index for a, b in await sync.complete(store, NETWORK) for index in range(a, b + 1)]
        self.seen = max(self.seen, len(complete))
        for index in complete:
            listed = await store.slice(schema.messages_by_milestone, (index,), limit=10_000)
            ids = {row["message_id"] for row in listed}
            rows = await store.get_many(schema.messages, [(each,) for each in sorted(ids)])
            if ids != self.expected[index] or any(row is None for row in rows):
                self.wrong.append(f"milestone {index} is complete with {len(ids)} messages")


def load(settings: StoreSettings, cwd: Path, **environment: str) -> Process:
    """`permanode load` without analytics, which are not compared. --debug prints every progress report."""
    flags = ("--store", settings.url, "--network", settings.network)
    return permanode("--debug", *flags, "load", SAMPLE, "--genesis", GENESIS, "--no-analytics", cwd=cwd, **environment)


def killed_after(process: Process, mark: str, seconds: float, *, alone: bool = False) -> bool:
    """Kills a process, as Process.kill does, some seconds after it reached a mark. False if it had ended before."""
    if not process.wait_for(lambda line: reached(line, mark)):
        assert process.finish() == 0, f"no {mark}:\n{process.printed()}"
        return False
    is_killed = not process.end_within(seconds)
    process.kill(alone=alone)
    return is_killed


def reached(line: str, mark: str) -> bool:
    """Whether a progress line belongs to that stage, or reports that this table was written."""
    if not line.startswith("{"):
        return False
    event = json.loads(line)
    return event["stage"] == mark or event["unit"].endswith(f" of {mark}")


@pytest.mark.spark
@pytest.mark.parametrize("moments", [1, pytest.param(len(MOMENTS), marks=pytest.mark.slow)])
def test_killed_at_random_moments_and_run_again(tmp_path: Path, chance: random.Random, moments: int) -> None:
    """Far from UTC, and in another language. Files are made without starting a program for each."""
    requested, programs = noted_chmod(tmp_path / "programs")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    leaves_the_rows_of_a_clean_load(tmp_path, chance, MOMENTS, moments, **ELSEWHERE, PATH=path)
    assert requested.read_text() == ""
    files = [*(tmp_path / "store" / "lake").rglob("*")]
    assert [path for path in files if path.suffix == ".parquet"]
    umask = os.umask(0)
    os.umask(umask)
    expected = {stat.S_IFREG: 0o666 & ~umask, stat.S_IFDIR: 0o777 & ~umask}
    for file in files:
        mode = file.stat().st_mode
        assert stat.S_IMODE(mode) == expected[stat.S_IFMT(mode)], file


def noted_chmod(folder: Path) -> tuple[Path, Path]:
    """Returns a file with the arguments of each call of chmod, and a folder with that program."""
    folder.mkdir()
    requested = folder / "requested"
    requested.touch()
    (folder / "chmod").write_text(f'#!/bin/sh\necho "$@" >>{requested}\nexec {shutil.which("chmod")} "$@"\n')
    (folder / "chmod").chmod(0o755)
    return requested, folder


@pytest.mark.loads
def test_killed_at_random_moments_and_run_again_with_sail(tmp_path: Path, chance: random.Random) -> None:
    leaves_the_rows_of_a_clean_load(tmp_path, chance, SAIL_MOMENTS, 2, PERMANODE_ETL_ENGINE=SAIL)


def leaves_the_rows_of_a_clean_load(
    tmp_path: Path,
    chance: random.Random,
    all_moments: Sequence[tuple[str, float, dict[str, str]]],
    moments: int,
    **environment: str,
) -> None:
    """Kills loads at `moments` of the moments, then runs one to its end and compares its rows with those of a clean
    load of the embedded engine.
    """
    settings = StoreSettings(f"sqlite:///{tmp_path / 'store'}", NETWORK)
    migrate(settings)
    reader = Reader(settings, milestones())
    watching = threading.Thread(target=reader.watch)
    watching.start()
    killed = []
    started = []
    try:
        drawn = sorted(chance.sample(range(len(all_moments)), moments))
        for number, (mark, within, mode) in enumerate(all_moments[each] for each in drawn):
            process = load(settings, tmp_path, **mode, **environment)
            started.append(process)
            # Every third time only the driver dies. It leaves a JVM behind, which ends when its input ends.
            if killed_after(process, mark, chance.uniform(0, within), alone=number % 3 == 2):
                killed.append(mark)
        last = load(settings, tmp_path, **environment)
        started.append(last)
        assert last.finish() == 0, last.printed()
    finally:
        reader.done.set()
        watching.join()
        for process in started:
            process.kill()
    assert reader.wrong == []
    assert all(len(process.out) <= 1 for process in started), "stdout is the report's alone"
    assert reader.looks > moments
    assert len(killed) >= moments // 2, f"too many loads ended before they were killed: {killed}"
    clean = Stores(tmp_path / "clean", {}, settings=ON_SAIL)()
    clean.load(SAMPLE, genesis=GENESIS)
    assert stored_rows(tmp_path / "store") == clean.rows()
    in_lake = [
        (index, message_id.hex())
        for index, message_id in lake_rows(tmp_path / "store" / "lake" / "messages", ["milestone_index", "message_id"])
    ]
    assert in_lake == sorted((index, each) for index, ids in reader.expected.items() for each in ids)
    counts = lake_rows(tmp_path / "store" / "lake" / "milestones", ["milestone_index", "message_count"])
    assert counts == sorted(Counter(index for index, _ in in_lake).items())
    assert not [*(tmp_path / "store").glob("staging*")]
    assert len(list((tmp_path / "store").glob("gen-*.sqlite"))) == 1
    end = time.monotonic() + 20
    while any(members_of(process.pid) for process in started):
        assert time.monotonic() < end, "a killed load left processes behind"
        time.sleep(0.2)
