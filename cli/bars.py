"""Shows the progress of a job on stderr: bars on a terminal, otherwise one JSON line per stage.

Jobs report to a callable and do not know this module.
"""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from etl.report import Notify, Progress

BAR_CELLS = 16
"""Width of a bar. With it all columns of a stage fit into 80 cells."""

log = logging.getLogger("permanode")


class Rate(ProgressColumn):
    """Units per second."""

    def render(self, task: Task) -> Text:
        """The rate of the last seconds, or of the whole stage if it has ended."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s")


@contextmanager
def shown() -> Iterator[Notify]:
    """Yields the callable to which a job reports its progress. With --debug, each report is a line without a
    terminal.
    """
    if not sys.stderr.isatty():
        yield _line_per_stage()
        return
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description:<9}"),
        BarColumn(BAR_CELLS),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def draw(step: Progress) -> None:
            if step.stage not in tasks:
                tasks[step.stage] = bars.add_task(step.stage, total=step.total, unit=step.unit)
            bars.update(tasks[step.stage], completed=step.done, total=step.total, unit=step.unit)

        yield draw


def _line_per_stage() -> Notify:
    begun: set[str] = set()

    def write(step: Progress) -> None:
        if step.stage in begun and not log.isEnabledFor(logging.DEBUG):
            return
        begun.add(step.stage)
        event = {"event": "progress", "stage": step.stage, "done": step.done, "total": step.total, "unit": step.unit}
        sys.stderr.write(json.dumps(event) + "\n")
        sys.stderr.flush()

    return write
