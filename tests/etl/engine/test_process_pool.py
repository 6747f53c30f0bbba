"""Worker processes: order of results, errors, a killed worker, and their end with the process that started them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

from etl.engine import process_pool
from etl.engine.process_pool import LARGE_BYTES, STARTED_BYTES, WorkerEnded, pool_scope, run_tasks, start_workers

PROCESSES = 2
LARGE = STARTED_BYTES


class OddError(Exception):
    """Cannot be pickled: its arguments are not those of its constructor."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")


def process_of(number: int) -> tuple[int, int]:
    """The number and the process. Even numbers take longer, so that results overtake one another."""
    time.sleep(0.05 * (number % 2 == 0))
    return number, os.getpid()


def fail(number: int) -> int:
    if number == 1:
        raise OddError(number, 2)
    return number


def end_by_signal(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
    return number


def make_array(number: int) -> bool:
    """Makes an Arrow array. Returns whether pandas was imported."""
    assert pa.array([number]).to_pylist() == [number]
    return "pandas" in sys.modules


@pytest.fixture
def workers() -> Iterator[None]:
    with pool_scope():
        start_workers(PROCESSES)
        yield


@pytest.mark.usefixtures("workers")
def test_workers_do_not_import_pandas_for_arrays() -> None:
    assert find_spec("pandas") is not None
    assert [*run_tasks(make_array, range(4), processes=PROCESSES, size=LARGE)] == [False] * 4


@pytest.mark.usefixtures("workers")
def test_results_come_in_order_of_tasks_from_all_processes() -> None:
    finished: list[tuple[int, int]] = []
    found = [*run_tasks(process_of, range(9), processes=PROCESSES, size=LARGE, done=lambda *of: finished.append(of))]
    assert [number for number, _ in found] == [*range(9)]
    processes = {process for _, process in found}
    assert len(processes) == PROCESSES
    assert os.getpid() not in processes
    assert finished == [(number, 9) for number in range(1, 10)]
    again = {process for _, process in run_tasks(process_of, range(9), processes=PROCESSES, size=LARGE)}
    assert again == processes


@pytest.mark.thorough
@pytest.mark.usefixtures("workers")
def test_workers_of_a_large_input_end_with_its_tasks() -> None:
    first = {process for _, process in run_tasks(process_of, range(9), processes=PROCESSES, size=LARGE_BYTES)}
    for process in first:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    again = {process for _, process in run_tasks(process_of, range(9), processes=PROCESSES, size=LARGE)}
    assert len(again) == PROCESSES
    assert not first & again


def test_few_bytes_are_worked_on_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    # The session that tests of this process share may have workers.
    monkeypatch.setattr(process_pool, "_open", [])
    assert [*run_tasks(process_of, [3], processes=PROCESSES, size=LARGE - 1)] == [(3, os.getpid())]


@pytest.mark.usefixtures("workers")
def test_an_error_of_a_task_is_raised_even_if_it_cannot_be_pickled() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        [*run_tasks(int, ["1", "x"], processes=PROCESSES, size=LARGE)]
    with pytest.raises(RuntimeError, match=r"^OddError: 1 and 2$"):
        [*run_tasks(fail, range(3), processes=PROCESSES, size=LARGE)]


def test_a_killed_worker_ends_the_run_and_the_others_at_once() -> None:
    started = time.monotonic()
    with pytest.raises(WorkerEnded, match=r"killed by SIGKILL.*memory.*run the load again") as ended:
        [*run_tasks(end_by_signal, range(4), processes=PROCESSES, size=LARGE)]
    assert "\n" not in str(ended.value)
    assert time.monotonic() - started < 50


@pytest.mark.thorough
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, time; from etl.engine.process_pool import pool_scope, run_tasks\n"
        "from tests.etl.engine.test_process_pool import note_and_wait\n"
        f"with pool_scope(): [*run_tasks(note_and_wait, [{str(pids)!r}] * 2, processes=2, size={LARGE})]"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while not pids.exists() or len(pids.read_text().split()) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    end = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids.read_text().split()):
        assert time.monotonic() < end
        time.sleep(0.05)


def note_and_wait(path: str) -> None:
    with Path(path).open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(60)
