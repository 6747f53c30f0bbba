"""Runs a follower's loads in a process of their own.

Fetching and loading then use two cores. The memory that an engine does not return is freed when the process is
replaced: its successor starts while it still loads, so no load waits for one. If the process ends by itself, because
something killed it or it had no memory, one load fails and the next one starts another process.
"""

import logging
import multiprocessing
import os
import pickle
import resource
import signal
import threading
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from db.connect import StoreSettings
from etl.engine.faults import EngineError
from etl.engine.settings import EtlSettings
from etl.report import Report

END_S = 30.0
"""Seconds that a process without work has to end its session. Then it is killed."""

log = logging.getLogger("permanode")


class LoadProcess:
    """A process with a session of the engine. It starts at once; `is_ready` turns true later.

    `loads` is the number of its successful loads, and `mib` its resident memory after the last one.
    """

    def __init__(self, store_settings: StoreSettings, settings: EtlSettings) -> None:
        # A forked process would share the threads' locks and the connections of this one.
        spawn = multiprocessing.get_context("spawn")
        self._connection, its_end = spawn.Pipe()
        self._lifeline, its_lifeline = spawn.Pipe()
        self._has_begun = False
        self._process = spawn.Process(
            target=_serve, args=(its_end, its_lifeline, store_settings, settings, log.level), name="loads"
        )
        self._process.start()
        its_end.close()
        its_lifeline.close()
        self.loads = self.mib = 0
        self.engine = ""

    def is_ready(self) -> bool:
        """Whether its session has started, or its start has failed."""
        return self._has_begun or self._connection.poll()

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    def wait(self) -> None:
        """Waits until it is ready. Raises the error of its start."""
        if not self._has_begun:
            self.engine = self._receive()
            self._has_begun = True

    def load(self, files: list[Path], note: str | None, *, days: bool, merge: bool = False) -> Report:
        """Runs etl.head_session.HeadSession.load. Raises its errors, and EngineError if the process ended."""
        self.wait()
        try:
            self._connection.send((files, note, days, merge))
        except OSError as error:
            raise self._ended() from error
        report, self.mib = self._receive()
        self.loads += 1
        return Report(**report)

    def end(self) -> None:
        """Ends it. It does not load any more."""
        self._connection.close()
        self._process.join(END_S)
        self._lifeline.close()
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _receive(self) -> Any:
        try:
            answer = self._connection.recv()
        except (EOFError, OSError) as error:
            raise self._ended() from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _ended(self) -> EngineError:
        self._process.join(END_S)
        code = self._process.exitcode
        return EngineError(
            f"the process that loads ended with {code}: something killed it, often for lack of memory; the next load "
            "starts another one and repairs"
        )


def _serve(
    connection: Connection, lifeline: Connection, store_settings: StoreSettings, settings: EtlSettings, level: int
) -> None:
    """The process: starts a session, then runs loads until the other end of the connection is closed."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    log.setLevel(level)
    # Signals for the follower also reach its children. It finishes their load before it ends them.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), name="lifeline", daemon=True).start()
    try:
        from etl.head_session import HeadSession

        session = HeadSession(store_settings, settings)
    except Exception as error:  # noqa: BLE001 (any error is the follower's)
        connection.send(_portable(error))
        return
    try:
        connection.send(session.engine)
        while True:
            files, note, days, merge = connection.recv()
            try:
                answer: object = asdict(session.load(files, note, days=days, merge=merge)), _resident_mib()
            except Exception as error:  # noqa: BLE001 (any error is the follower's)
                answer = _portable(error)
            connection.send(answer)
    except (EOFError, OSError):
        pass
    finally:
        session.close()


def _resident_mib() -> int:
    """Resident memory of this process; where /proc does not exist, the most that it was."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 20


def _end_with(lifeline: Connection) -> None:
    """Ends this process when the follower has ended, in the middle of a load too, so that nobody else waits for it."""
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)


def _portable(error: Exception) -> Exception:
    """The error, or one with its text if it cannot cross to another process."""
    log.debug("the load failed", exc_info=error)
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301 (made here)
    except Exception:  # noqa: BLE001 (whatever its class does)
        return RuntimeError(str(error))
    return error if str(copy) == str(error) else RuntimeError(str(error))
