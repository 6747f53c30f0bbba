"""The process that loads for a follower: killed during a load, and replaced when it has become too large."""

import multiprocessing
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from etl import head_loads
from etl.engine.faults import EngineError
from etl.head_loads import HeadLoads
from etl.head_process import LoadProcess
from tests.conftest import SAMPLE
from tests.etl.archives import ARCHIVE
from tests.etl.commands import WAIT_S
from tests.etl.conftest import ON_SAIL, Loading, Stores, Templates

pytestmark = pytest.mark.loads

FILES = [SAMPLE / name for name in ARCHIVE]


def processes() -> set[int]:
    return {each.pid or 0 for each in multiprocessing.active_children()}


def wait_for(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.005)


def kill_within_load(process: BaseProcess, loading: Loading) -> None:
    """Kills it when the lake has its milestones. A load writes those of the store later."""
    wait_for((loading.folder / "lake" / "milestones" / "_delta_log").is_dir)
    process.kill()


def test_a_killed_process_fails_one_load_and_a_successor_takes_over_without_a_gap(
    tmp_path: Path, templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_loads, "RENEW_MIB", 1)
    monkeypatch.setattr(head_loads, "RENEW_LOADS", 1)
    may_succeed, is_ready = threading.Event(), LoadProcess.is_ready
    monkeypatch.setattr(LoadProcess, "is_ready", lambda each: may_succeed.is_set() and is_ready(each))
    undisturbed, _ = Stores(tmp_path / "undisturbed", templates, settings=ON_SAIL).loaded("chrysalis")
    loading = Stores(tmp_path / "loaded", templates, settings=ON_SAIL)()
    loads = HeadLoads(loading.store, loading.settings)
    try:
        (killed,) = multiprocessing.active_children()
        killer = threading.Thread(target=kill_within_load, args=(killed, loading))
        killer.start()
        with pytest.raises(
            EngineError, match=r"^the process that loads ended with -9: something killed it, .* repairs$"
        ):
            loads.load(FILES)
        killer.join()
        assert loads.load(FILES).complete == 50
        # After that load it is too large. Until the successor is ready, the old process loads.
        both = processes()
        assert len(both) == 2
        assert killed.pid not in both
        assert loads.load([SAMPLE / "pending.jsonl"]).pending > 0
        assert both <= processes()
        may_succeed.set()
        wait_for(lambda: loads.load([], newest=60).run != "" and not both <= processes())
        assert both & processes()
    finally:
        loads.close()
    assert processes() == set()
    rows, expected = loading.rows(), undisturbed.rows()
    assert [name for name in expected if rows[name] != expected[name]] == []


def test_errors_of_the_start_are_those_of_the_engine(tmp_path: Path, templates: Templates) -> None:
    loading = Stores(tmp_path, templates, settings=ON_SAIL)(lake="s3://bucket/lake")
    with pytest.raises(ValueError, match=r"^etl\.engine = sail: etl\.lake = s3://bucket/lake needs spark"):
        HeadLoads(loading.store, loading.settings)
    assert processes() == set()
