"""Loads of a follower: one process for many of them (etl/head_process.py), analytics of days at most once in DAYS_S.

Each load ends with the analytics of its milestones. A day is computed as a whole, so its analytics follow later.
"""

import json
import threading
import time
from functools import partial
from pathlib import Path

from db.connect import StoreSettings
from etl.engine.current import SAIL
from etl.engine.settings import EtlSettings
from etl.head_process import LoadProcess
from etl.report import Report

DAYS_S = 60.0
"""Minimum seconds between two computations of the analytics of days."""

RENEW_MIB, RENEW_LOADS = 1_024, 10
"""Resident memory from which a process with Sail is replaced, in MiB, and the loads that it does at least."""

COMPACT_LOADS = 100
"""Loads after which the small files that they committed to the lake are merged."""


class HeadLoads:
    """Loads in order, from one thread at a time."""

    def __init__(self, store_settings: StoreSettings, settings: EtlSettings) -> None:
        """Starts the engine. Raises its errors."""
        self._start = partial(LoadProcess, store_settings, settings)
        self._days_at = -DAYS_S
        self._has_days_due = False
        self._loads = 0
        self._next: LoadProcess | None = None
        self._process: LoadProcess | None = self._start()
        try:
            self._process.wait()
        except BaseException:
            self._end_processes()
            raise

    def load(self, files: list[Path], newest: int = 0, newest_at: float = 0.0, eta_s: float | None = None) -> Report:
        """Loads archive files.

        Args:
            files: archive files, or folders of them. Empty: only the analytics of days that are due.
            newest: the newest milestone that a node reported, which the store keeps for the lag. 0: unknown.
            newest_at: when the node reported it, in seconds since 1970.
            eta_s: seconds until the follower reaches it; None if that is unknown.

        Raises what etl.runs.load raises: LeaseHeld and StoreUnavailable at once.
        """
        days = time.monotonic() - self._days_at >= DAYS_S
        note = json.dumps([newest, newest_at, eta_s]) if newest else None
        return self._run(files, note, days=days)

    def days_due_s(self) -> float:
        """Seconds until the analytics of days are due; infinite if they are up to date."""
        return self._days_at + DAYS_S - time.monotonic() if self._has_days_due else float("inf")

    def close(self) -> None:
        """Computes the analytics of days that are due, and ends the engine."""
        try:
            if self._has_days_due:
                self._run([], None, days=True)
        finally:
            self._end_processes()

    def _run(self, files: list[Path], note: str | None, *, days: bool) -> Report:
        self._loads += 1
        report = self._current().load(files, note, days=days, merge=self._loads % COMPACT_LOADS == 0)
        self._has_days_due = not days
        if days:
            self._days_at = time.monotonic()
        self._renew()
        return report

    def _current(self) -> LoadProcess:
        """The process of the next load. A process that ended is replaced."""
        if self._process is not None and not self._process.is_alive():
            self._process.end()
            self._process = None
        if self._next is not None and (self._process is None or self._next.is_ready()):
            if self._process is not None:
                # Its session takes a moment to end, and a milestone may wait.
                threading.Thread(target=self._process.end, name="end").start()
            self._process, self._next = self._next, None
        if self._process is None:
            self._process = self._start()
        return self._process

    def _renew(self) -> None:
        """Starts a successor of a process that has become too large."""
        process = self._process
        if process is None or process.engine != SAIL or self._next is not None:
            return
        if process.mib >= RENEW_MIB and process.loads >= RENEW_LOADS:
            self._next = self._start()

    def _end_processes(self) -> None:
        for each in (self._process, self._next):
            if each is not None:
                each.end()
        self._process = self._next = None
