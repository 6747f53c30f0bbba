"""How far Spark is, told while a stage of a run works.

Rules of this file: it only looks; a change is told, standing still is not.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext

from etl.report import Notify, Progress

LOOK_EVERY_S = 0.5


@contextmanager
def watched(context: SparkContext, stage: str, notify: Notify) -> Iterator[None]:
    """Tells the finished and all tasks of the Spark stages that were active since the block began."""
    done = threading.Event()
    thread = threading.Thread(target=_look, args=(context, stage, notify, done), name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _look(context: SparkContext, stage: str, notify: Notify, done: threading.Event) -> None:
    tracker = context.statusTracker()
    seen: dict[int, tuple[int, int]] = {}
    told = (0, 0)
    while not done.wait(LOOK_EVERY_S):
        for stage_id in [*tracker.getActiveStageIds(), *seen]:
            if info := tracker.getStageInfo(stage_id):
                seen[stage_id] = (info.numCompletedTasks, info.numTasks)
        now = (sum(finished for finished, _ in seen.values()), sum(total for _, total in seen.values()))
        if now != told:
            told = now
            notify(Progress(stage, now[0], now[1], "tasks"))
