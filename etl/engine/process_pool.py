"""Python functions over many rows on one machine, in worker processes that use all cores.

A worker is a new interpreter, without the threads of this process (see etl/engine/pool_worker.py). Rows do not pass
through pipes: a task names the files that it reads, and writes files. Only its small result is pickled.

Invariants:
1. Results come in the order of the tasks, and at most one task per worker is under way.
2. Workers start once per session and end with it, with this process, and with the first error.
3. A worker that ends before its task does is an error of the run.
"""

import json
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from etl.engine.garbage import collect_rarely
from etl.engine.pool_worker import FAILED

T = TypeVar("T")
R = TypeVar("R")

PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from etl.engine.pool_worker import main; main()"
"""A worker finds modules where this process does."""

EXIT_S = 5.0
"""Seconds for a worker that has closed its output to end."""

STARTED_BYTES = 16 << 20
"""Archive bytes from which starting workers pays: their start takes about as long as decoding these bytes."""

POOLED_BYTES = 1 << 20
"""Archive bytes from which workers that have started already pay."""

LARGE_BYTES = 256 << 20
"""Archive bytes after which workers end at once: the sorts that follow need their memory more than the next run."""


class WorkerEnded(RuntimeError):
    """A worker process ended before its task did."""


class ProcessPool:
    """Worker processes of one session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []

    @property
    def started(self) -> bool:
        """Whether workers run."""
        return bool(self._workers)

    def start(self, processes: int, modules: Sequence[str]) -> None:
        """Starts that many workers unless some run. They import the modules while the caller goes on."""
        with self._lock:
            if not self._workers:
                self._workers = [_Worker(modules) for _ in range(processes)]

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yields the results of a function, which must be one of a module, in the order of the tasks.

        Raises WorkerEnded, or what the function raises in a worker.
        """
        idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._workers:
            idle.put(worker)
        work = pickle.dumps(function)
        errors: list[BaseException] = []

        def run(task: T) -> R:
            worker = idle.get()
            try:
                result: R = worker.run(work, task)
            except BaseException as error:
                errors.append(error)
                # Ends the tasks of all other threads, too.
                self.close()
                raise
            finally:
                # Even if it has ended: no thread may wait for it.
                idle.put(worker)
            return result

        with ThreadPoolExecutor(len(self._workers), thread_name_prefix="pool") as threads:
            try:
                yield from threads.map(run, tasks)
            except BaseException as error:  # noqa: BLE001 (raised below)
                self.close()
                threads.shutdown(cancel_futures=True)
                # The first error in time: it ended the other tasks.
                raise (errors[0] if errors and isinstance(error, Exception) else error) from None

    def close(self) -> None:
        """Ends the workers at once."""
        with self._lock:
            workers, self._workers = self._workers, []
        for worker in workers:
            worker.end()


class _Worker:
    """One worker process."""

    def __init__(self, modules: Sequence[str]) -> None:
        command = [sys.executable, "-c", PROGRAM, json.dumps(sys.path), *modules]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout

    def run(self, work: bytes, task: Any) -> Any:
        """Runs a pickled function on a task. Raises WorkerEnded, or what the function raises."""
        try:
            pickle.dump((work, task), self._to)
            self._to.flush()
            outcome, result = pickle.load(self._from)  # noqa: S301 (of our own process)
        except (EOFError, ValueError, BrokenPipeError, pickle.UnpicklingError) as error:
            # ValueError: `end` has closed the pipes.
            raise WorkerEnded(_described(self._exit_code())) from error
        if outcome == FAILED:
            raise result
        return result

    def _exit_code(self) -> int:
        try:
            return self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def end(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._to, self._from):
            with suppress(BrokenPipeError):
                stream.close()


def _described(code: int) -> str:
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    cause = " (perhaps memory ran out)" if code == -signal.SIGKILL else ""
    return (
        f"a worker process {how}{cause}; no milestone of this run is marked complete. Free some memory, then run the "
        "load again, which repairs it"
    )


_open: list[ProcessPool] = []


@contextmanager
def pool_scope() -> Iterator[None]:
    """Ends the workers that start in the block at its end. Inside another such block, they stay for that one."""
    if _open:
        yield
        return
    pool = ProcessPool()
    _open.append(pool)
    try:
        yield
    finally:
        _open.remove(pool)
        pool.close()


def start_workers(processes: int, modules: Sequence[str] = ()) -> None:
    """Starts workers for later tasks unless some run. They import the modules while this process goes on."""
    _open[-1].start(processes, modules)


def uses_workers(size: int) -> bool:
    """Returns whether tasks over that many bytes of input run in workers. Smaller ones run in this process."""
    return size >= (POOLED_BYTES if _open and _open[-1].started else STARTED_BYTES)


def run_tasks(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    processes: int,
    size: int,
    done: Callable[[int, int], None] = lambda *_: None,
) -> Iterator[R]:
    """Yields the results of a function in the order of the tasks, from workers or from this process.

    `size`: bytes of the input of all tasks. `done`: called with finished and total tasks after each. Raises
    WorkerEnded, or what the function raises.
    """
    with pool_scope():
        if tasks and uses_workers(size):
            start_workers(processes)
            results = _open[-1].map(function, tasks)
        else:
            collect_rarely()
            results = map(function, tasks)
        for number, result in enumerate(results, 1):
            done(number, len(tasks))
            yield result
        if size >= LARGE_BYTES:
            _open[-1].close()
