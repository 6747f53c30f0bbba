"""The session of the engine that the settings choose."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from etl.engine.choice import choose_engine
from etl.engine.current import SAIL, on_sail
from etl.engine.faults import engine_faults
from etl.engine.process_pool import pool_scope
from etl.engine.sail.session import sail_session
from etl.engine.settings import EtlSettings
from etl.engine.spans import Planning, Span
from etl.engine.spark import session as spark_sessions

Session: TypeAlias = SparkSession
"""The engine's session. Code outside `etl/engine` names this type only."""


@contextmanager
def engine_session(
    settings: EtlSettings, *, span: Span = Span.MINUTES, cluster: bool = False, folders: Sequence[Path] = ()
) -> Iterator[Session]:
    """Starts a session and stops it at the end of the block. `cluster`: it can write into a Cassandra cluster.
    `folders`: where the run writes.

    Inside another such block, yields that one's session with its settings: start-up dominates small runs.

    Raises EngineError for failures of the engine that etl/engine/faults.py knows, also those of the block.
    """
    with engine_faults([*folders, Path(tempfile.gettempdir())]), pool_scope():
        if choose_engine(settings) == SAIL:
            with sail_session(single=span is Span.SECONDS, large=span is Span.MINUTES) as session:
                yield session
            return
        with spark_sessions.spark_session(settings, span=span, cluster=cluster) as session:
            yield session


def session_beside(session: Session, planning: Planning | None = None) -> Session:
    """Returns another session of the same run, for queries of that planning. None: the run's own.

    On Spark it has its own temporary views. Sail has one session.
    """
    return session if on_sail() else spark_sessions.session_beside(session, planning)
