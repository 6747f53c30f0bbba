"""Reports how many Spark tasks of a stage are finished while the stage runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError

from etl.engine.current import on_sail
from etl.engine.session import Session
from etl.report import Notify, Progress

LOOK_EVERY_S = 0.5


@contextmanager
def watched(session: Session, stage: str, notify: Notify) -> Iterator[None]:
    """Sends finished and total tasks of all Spark stages that run in the block, whenever the numbers change."""
    if on_sail():
        # Spark Connect has no counts of tasks.
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_look, args=(session, stage, notify, done), name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _look(session: Session, stage: str, notify: Notify, done: threading.Event) -> None:
    # If the JVM ended, the block that is watched raises the error.
    with suppress(Py4JError):
        _report_tasks(session, stage, notify, done)


def _report_tasks(session: Session, stage: str, notify: Notify, done: threading.Event) -> None:
    tracker = session.sparkContext.statusTracker()
    seen: dict[int, tuple[int, int]] = {}
    sent = (0, 0)
    while not done.wait(LOOK_EVERY_S):
        for stage_id in [*tracker.getActiveStageIds(), *seen]:
            if info := tracker.getStageInfo(stage_id):
                seen[stage_id] = (info.numCompletedTasks, info.numTasks)
        now = (sum(finished for finished, _ in seen.values()), sum(total for _, total in seen.values()))
        if now != sent:
            sent = now
            notify(Progress(stage, now[0], now[1], "tasks"))
