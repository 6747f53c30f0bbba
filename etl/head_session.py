"""One engine session for many loads of a follower, with the store's lease only while one runs.

A failed load closes the session, so the next one starts a new engine.
"""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from db.connect import StoreSettings
from db.queries.head import HEAD
from db.store import LeaseHeld, StoreUnavailable
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from etl.engine.spans import Span
from etl.iota_steps import IotaRun
from etl.jobs import IOTA
from etl.lake.maintenance import maintain
from etl.load_notes import note_end
from etl.pipeline import run_steps
from etl.report import Report, quiet
from etl.runs import engine_of, open_run
from etl.sources.files import archive_files


class HeadSession:
    """Loads in order. Starts the engine's session."""

    def __init__(self, store_settings: StoreSettings, settings: EtlSettings) -> None:
        self._store_settings = store_settings
        self._settings = replace(settings, engine=engine_of(store_settings, settings, size=0))
        self.engine = self._settings.engine
        self._session = ExitStack()
        self._has_session = False
        self._start()

    def load(self, files: list[Path], note: str | None, *, days: bool, merge: bool) -> Report:
        """Loads archive files and ends with the analytics of their milestones.

        Args:
            files: archive files, or folders of them.
            note: value of HEAD in keyspace_info. None: unchanged.
            days: compute the analytics of days, too.
            merge: merge the lake's small files afterwards.

        Raises what etl.runs.load raises: LeaseHeld and StoreUnavailable at once.
        """
        try:
            if not self._has_session:
                self._start()
            return self._run(archive_files(files) if files else [], note, days=days, merge=merge)
        except (LeaseHeld, StoreUnavailable):
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the engine's session."""
        self._has_session = False
        self._session.close()

    def _start(self) -> None:
        cluster = not self._store_settings.url.startswith("sqlite:")
        self._session.enter_context(engine_session(self._settings, span=Span.SECONDS, cluster=cluster))
        self._has_session = True

    def _run(self, files: list[Path], note: str | None, *, days: bool, merge: bool) -> Report:
        with open_run(self._store_settings, self._settings, quiet, Span.SECONDS, size=0, at_head=True) as publication:
            run_steps(IOTA, IotaRun(publication, files, days=days))
            if merge:
                maintain(publication.lake.root)
            note_end(publication, *([] if note is None else [(HEAD, note)]))
        return publication.report
