"""Loads with `--keep` and `purge --keep` that are killed at random moments and run again leave the rows of runs that
were not killed, in store and lake.

The moments are random.
"""

import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.coverage import KEPT
from etl import runs
from etl.engine.current import SAIL
from etl.store_reads import StoreReads
from tests.conftest import SAMPLE
from tests.etl.archives import ARCHIVE
from tests.etl.commands import Process, permanode
from tests.etl.conftest import ON_SAIL, Loading, Stores
from tests.etl.lake_files import lake_rows
from tests.etl.store_rows import stored_rows
from tests.etl.writers.test_crash import GENESIS, killed_after

pytestmark = pytest.mark.loads

NETWORK = "permatest-1"

TAG = "tag:IOTA"

ADDRESS = "address:0x0021a5833cd4420f920afeffe12f8e31b9148da23af3b2726453828d02b1db2598"

FILES = [SAMPLE / each for each in ARCHIVE]

MOMENTS = (
    ("load", SAIL, 0.5),
    ("load", "decode", 0.5),
    ("load", "messages", 0.3),
    ("load", "message_proofs", 0.2),
    ("load", "sync", 0.2),
    ("load", "ledger", 1.0),
    ("widen", "decode", 0.5),
    ("widen", "decode", 1.0),
    ("widen", "messages", 0.3),
    ("widen", "outputs", 0.3),
    ("widen", "sync", 0.2),
    ("widen", "ledger", 0.7),
    ("purge", SAIL, 1.0),
    ("purge", "purge", 0.1),
    ("purge", "purge", 0.5),
    ("purge", "purge", 1.0),
    ("purge", "messages", 0.3),
    ("purge", "sync", 0.3),
    ("purge", "ledger", 0.7),
)
"""The command, and a kill after the line of that stage or table, up to that many seconds later."""

FEW = (("widen", "messages", 0.3), ("purge", "purge", 1.0))
"""The moments that concern the most invariants."""


def arguments(command: str) -> tuple[Any, ...]:
    """The arguments of a command: first a load of a tag, then one that also keeps an address."""
    if command == "purge":
        return "purge", "--keep", f"{TAG} {ADDRESS}"
    filters = TAG if command == "load" else f"{TAG} {ADDRESS}"
    return "load", *FILES, "--genesis", GENESIS, "--no-analytics", "--keep", filters


def run(settings: StoreSettings, cwd: Path, command: str) -> Process:
    flags = ("--debug", "--store", settings.url, "--network", settings.network)
    return permanode(*flags, *arguments(command), cwd=cwd, PERMANODE_ETL_ENGINE=SAIL)


def everything(folder: Path, settings: StoreSettings) -> tuple[Any, ...]:
    """All rows of the store, what its filters cover, and the messages and filters of the lake."""
    with closing(open_store(settings)) as store, closing(StoreReads(store, NETWORK)) as reads:
        coverage = reads.info(KEPT)
    lake = folder / "lake"
    messages = lake_rows(lake / "messages", ["milestone_index", "message_id", "proof"])
    return stored_rows(folder), coverage, messages, lake_rows(lake / "selection", ["filter", "milestones"])


def ended(loading: Loading, commands: Sequence[str]) -> Loading:
    """A store after these commands, none of which was interrupted."""
    for command in commands:
        if command == "purge":
            loading.load(*FILES, genesis=GENESIS)
            runs.reduce(loading.store, loading.settings, [arguments(command)[-1]])
        else:
            loading.load(*FILES, genesis=GENESIS, keep=[arguments(command)[-1]])
    return loading


@pytest.mark.parametrize("moments", [FEW, pytest.param(MOMENTS, marks=pytest.mark.slow)], ids=["few", "all"])
@pytest.mark.parametrize("commands", [("load", "widen"), ("purge",)], ids=["load", "purge"])
def test_killed_at_random_moments_and_run_again(
    tmp_path: Path, chance: random.Random, commands: tuple[str, ...], moments: Sequence[tuple[str, str, float]]
) -> None:
    settings = StoreSettings(f"sqlite:///{tmp_path / 'store'}", NETWORK)
    migrate(settings)
    if commands == ("purge",):
        full = Loading(tmp_path / "store", settings, ON_SAIL)
        assert full.load(*FILES, genesis=GENESIS).exit_code == 0
    started, killed = list[Process](), 0
    killing = [each for each in commands if any(each == command for command, *_ in moments)]
    before = [each for each in commands if each not in killing]
    ended(Loading(tmp_path / "store", settings, ON_SAIL), before)
    try:
        for command in killing:
            for mark, within in [(mark, within) for each, mark, within in moments if each == command]:
                process = run(settings, tmp_path, command)
                started.append(process)
                killed += killed_after(process, mark, chance.uniform(0, within))
            last = run(settings, tmp_path, command)
            started.append(last)
            assert last.finish() == 0, last.printed()
    finally:
        for process in started:
            process.kill()
    assert killed, "every run ended before it was killed"
    clean = ended(Stores(tmp_path / "clean", {}, settings=ON_SAIL)(), commands)
    assert everything(tmp_path / "store", settings) == everything(clean.folder, clean.store)
