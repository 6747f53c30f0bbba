"""What `permanode fetch --follow` does with the files of each run: logs them, or loads them in this process."""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cli.options import build_etl
from cli.settings import Settings
from db.connect import StoreSettings
from db.intervals import intersect, subtract
from db.store import LeaseHeld, StoreUnavailable
from etl.archive import PENDING_FILE

if TYPE_CHECKING:
    from etl.fetch.follow import HandOn, Run
    from etl.report import Report

FILES_MOST = 1_000
"""Limit of files in a load. With more files, the load gets the folder and skips what the store already contains."""

PAUSE_S = 0.2
"""Pause after each load, in which another run can take the store's lease."""

BUSY_S, FAILED_S = 1.0, 30.0
"""Seconds until a load is repeated if the store is busy, or if it failed."""

log = logging.getLogger("permanode")


class Loads(Protocol):
    """etl.head_loads.HeadLoads, which this module imports when it loads."""

    def load(self, files: list[Path], newest: int, newest_at: float, eta_s: float | None) -> "Report":
        """Loads archive files."""

    def days_due_s(self) -> float:
        """Seconds until the analytics of days are due."""


async def log_run(run: "Run") -> None:
    """Logs the milestones and files of a run."""
    names = ", ".join(path.name for path in run.files)
    if run.files or run.pending:
        log.info("%s milestones, %s pending: %s", run.fetched.count, run.pending, names or "no file")


@contextmanager
def loading(settings: Settings, network: StoreSettings, into: Path) -> "Iterator[HandOn]":
    """Yields a function that loads the files of a run. The engine runs until the end of the block. The first load also
    gets the files that a killed run left.
    """
    from etl.engine.faults import EngineError
    from etl.head_loads import HeadLoads
    from etl.runs import lake_path

    etl = build_etl(settings)
    # The lake of another network is an error before anything is fetched.
    lake_path(network, etl)
    loads = HeadLoads(network, etl)
    # A load waits for its process. Meanwhile, the next files are fetched.
    with ThreadPoolExecutor(1, thread_name_prefix="load") as thread:
        try:
            yield loader(loads, thread, into, not_loaded(network, into))
        finally:
            try:
                thread.submit(loads.close).result()
            except (LeaseHeld, StoreUnavailable, EngineError) as error:
                log.warning("the analytics of the current day are due; the next load computes them: %s", error)


def loader(loads: Loads, thread: Executor, into: Path, earlier: Sequence[Path]) -> "HandOn":
    """Returns a function that loads the files of a run in a thread. The files of a failed load are passed to the next
    one, and so are pending messages. The first load also gets the `earlier` files.
    """
    waiting = [*earlier]
    pending = list[Path]()
    is_busy = False

    async def load_run(run: "Run") -> float | None:
        nonlocal is_busy
        await log_run(run)
        waiting.extend(run.files)
        if gone := [each for each in waiting if not each.exists()]:
            log.warning("removed before they were loaded: %s", ", ".join(map(str, gone)))
            waiting[:] = filter(Path.exists, waiting)
        if run.pending:
            pending[:] = [into / PENDING_FILE]
        pending[:] = filter(Path.exists, pending)
        if not waiting and not pending and loads.days_due_s() > 0:
            return _seconds(loads.days_due_s())
        if len(waiting) > FILES_MOST:
            waiting[:] = [into]
        begun = time.monotonic()
        try:
            loaded = asyncio.get_running_loop().run_in_executor
            files = [*waiting, *pending]
            report = await loaded(thread, loads.load, files, run.newest, run.newest_at, run.eta_s)
        except (LeaseHeld, StoreUnavailable) as error:
            if not is_busy:
                log.info("the load waits: %s", error)
            is_busy = True
            return BUSY_S
        except Exception as error:
            log.warning("the load failed; the next one loads its files again: %s", error)
            log.debug("the load failed", exc_info=True)
            return FAILED_S
        is_busy = False
        waiting.clear()
        pending.clear()
        if report.milestones:
            seconds = time.monotonic() - begun
            log.info("%s milestones loaded, %s messages, %.2f s", report.milestones, report.messages, seconds)
        if report.rejects or report.held:
            log.warning("%s rejects; %s", report.rejects, report.held or "`permanode rejects list` lists them")
        await asyncio.sleep(PAUSE_S)
        return _seconds(loads.days_due_s())

    return load_run


def not_loaded(network: StoreSettings, into: Path) -> list[Path]:
    """The folder's files with milestones that are not complete in the store, or not noted as archived. A run that was
    killed left them. They may be older than the store's newest milestone, which another load may have written.
    """
    from db import sync
    from db.connect import open_store
    from etl.archive.writer import sealed_span

    if not into.is_dir():
        return []
    with closing(open_store(network)) as store:
        held = asyncio.run(sync.held(store, network.network))
    done = intersect(held.complete, held.logged)
    spans = ((sealed_span(path), path) for path in into.iterdir())
    return [path for _, path in sorted((span, path) for span, path in spans if span and subtract([span], done))]


def _seconds(seconds: float) -> float | None:
    return None if seconds == float("inf") else max(0.0, seconds)
