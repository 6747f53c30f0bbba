"""A worker process of etl/engine/process_pool.py: reads pickled functions and tasks from its standard input, runs them
one after another, and writes pickled results to its standard output.

It ends at once when its input ends, which is when the process that started it closes it or dies.
"""

import importlib
import os
import pickle
import signal
import sys
import threading
from queue import SimpleQueue
from typing import Any

from etl.engine.garbage import collect_rarely

DONE, FAILED = 0, 1
"""The first member of an answer; the second one is the result, or the error."""


class WithoutPandas:
    """Hides pandas. pyarrow imports it with the first array if it is installed, which takes a third of the start of a
    worker, and no function of a worker uses it.
    """

    def find_spec(self, fullname: str, *_: object) -> None:
        """Raises ModuleNotFoundError for pandas, and leaves all other modules to the other finders."""
        if fullname == "pandas":
            raise ModuleNotFoundError(f"{fullname} is hidden in workers", name=fullname)


def main() -> None:
    """Runs tasks until the input ends. Arguments: its search path, and modules to import before the first task."""
    # Ctrl-C reaches all processes of a terminal; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    tasks: SimpleQueue[tuple[bytes, Any]] = SimpleQueue()
    sys.meta_path.insert(0, WithoutPandas())
    for name in sys.argv[2:]:
        importlib.import_module(name)
    threading.Thread(target=_read, args=(tasks,), daemon=True).start()
    collect_rarely()
    while True:
        work, task = tasks.get()
        try:
            answer = pickle.dumps((DONE, pickle.loads(work)(task)))  # noqa: S301 (of the process that started this)
        except BaseException as error:  # noqa: BLE001 (the process that started this raises it)
            answer = _failed(error)
        answers.write(answer)
        answers.flush()


def _read(tasks: "SimpleQueue[tuple[bytes, Any]]") -> None:
    """Queues what the input contains. Ends the process with it, even during a task."""
    try:
        while True:
            tasks.put(pickle.load(sys.stdin.buffer))  # noqa: S301
    except EOFError:
        os._exit(0)


def _failed(error: BaseException) -> bytes:
    """The answer for an error: itself if it can be pickled, else its text."""
    try:
        answer = pickle.dumps((FAILED, error))
        pickle.loads(answer)  # noqa: S301
    except Exception:  # noqa: BLE001 (pickling runs code of the error)
        return pickle.dumps((FAILED, RuntimeError(f"{type(error).__name__}: {error}")))
    return answer
