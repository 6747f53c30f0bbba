"""Loads of a follower: one engine session for all of them, and the store's lease only while one runs.

Each load ends with the analytics of its milestones. The analytics of days follow at most once in DAYS_S, because a day
is computed as a whole. A failed load closes the session, so the next one starts a new engine.
"""

import json
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from db import schema
from db.connect import StoreSettings
from db.queries.head import HEAD
from db.store import LeaseHeld, StoreUnavailable
from etl.engine.current import SAIL
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from etl.engine.spans import Span
from etl.iota_steps import IotaRun
from etl.jobs import IOTA
from etl.pipeline import run_steps
from etl.report import Report, quiet
from etl.runs import engine_of, open_run
from etl.sources.files import archive_files

DAYS_S = 60.0
"""Minimum seconds between two computations of the analytics of days."""

RENEW_LOADS = 500
"""Loads after which a session of Sail is replaced, because its memory grows."""


class HeadLoads:
    """Loads in order, from one thread at a time."""

    def __init__(self, store_settings: StoreSettings, settings: EtlSettings) -> None:
        self._store_settings = store_settings
        self._settings = replace(settings, engine=engine_of(store_settings, settings, size=0))
        self._session = ExitStack()
        self._loads = 0
        self._days_at = -DAYS_S
        self._has_days_due = False

    def load(self, files: list[Path], newest: int = 0, newest_at: float = 0.0) -> Report:
        """Loads archive files. `newest`: the newest milestone that a node reported at `newest_at`, for the lag.

        Raises what etl.runs.load raises: LeaseHeld and StoreUnavailable at once.
        """
        days = time.monotonic() - self._days_at >= DAYS_S
        try:
            return self._run(archive_files(files) if files else [], newest, newest_at, days=days)
        except (LeaseHeld, StoreUnavailable):
            raise
        except BaseException:
            self.end_session()
            raise

    def days_due_s(self) -> float:
        """Seconds until the analytics of days are due; infinite if they are up to date."""
        return self._days_at + DAYS_S - time.monotonic() if self._has_days_due else float("inf")

    def close(self) -> None:
        """Computes the analytics of days that are due, and ends the session."""
        try:
            if self._has_days_due:
                self._run([], 0, 0.0, days=True)
        finally:
            self.end_session()

    def end_session(self) -> None:
        """Ends the engine's session. The next load starts another."""
        self._session.close()
        self._loads = 0

    def _run(self, files: list[Path], newest: int, newest_at: float, *, days: bool) -> Report:
        if self._loads >= RENEW_LOADS and self._settings.engine == SAIL:
            self.end_session()
        if not self._loads:
            cluster = not self._store_settings.url.startswith("sqlite:")
            self._session.close()
            self._session.enter_context(engine_session(self._settings, span=Span.SECONDS, cluster=cluster))
            self._loads = 1
        with open_run(self._store_settings, self._settings, quiet, Span.SECONDS, size=0, at_head=True) as publication:
            run_steps(IOTA, IotaRun(publication, files, days=days))
            if newest:
                note = (HEAD, json.dumps([newest, newest_at]))
                with publication.store.batch() as batch:
                    batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [note])
        self._loads += 1
        self._has_days_due = not days
        if days:
            self._days_at = time.monotonic()
        return publication.report
