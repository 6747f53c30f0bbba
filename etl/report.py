"""What a run tells while it works and when it is done.

Rules of this file: values only; how they look on a terminal or in a log is the command line's business.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Progress:
    """One step of a run: `done` of `total` units (total None: not known)."""

    stage: str
    done: int
    total: int | None = None
    unit: str = ""


Notify: TypeAlias = Callable[[Progress], None]


def quiet(_: Progress) -> None:
    """Tells nobody."""


GOOD, FAILED, WITH_REJECTS = 0, 1, 3
"""Exit codes of a run."""

SPARK_START = "spark_start"
"""The stage that no rate counts."""

_stage: ContextVar[str] = ContextVar("stage")


@dataclass
class Report:
    """The totals of a run. `seconds` by stage, and the rows that each wrote by table; stages may be at work side by
    side, and in `elapsed_s` at least one was, but for SPARK_START.

    `reopened`: milestones that were not whole in the store and were written again from the lake, beside the files'.
    `ledger_index`: the milestone whose ledger state the store has, None without genesis; `held`: why not a later one.
    `faulty`: what the level `full` found wrong; `faults`: the first of them.
    `differing`: conflicts whose reason, by the ledger state, is not the source's; `differences`: the first of them.
    """

    run: str
    milestones: int = 0
    complete: int = 0
    skipped: int = 0
    reopened: int = 0
    messages: int = 0
    pending: int = 0
    messages_by_kind: dict[str, int] = field(default_factory=dict)
    rows_by_table: dict[str, int] = field(default_factory=dict)
    rejects: int = 0
    rejected: list[str] = field(default_factory=list)
    ledger_index: int | None = None
    held: str = ""
    differing: int = 0
    differences: list[str] = field(default_factory=list)
    faulty: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    rows_by_stage: dict[str, dict[str, int]] = field(default_factory=dict)
    elapsed_s: float = 0.0

    def __post_init__(self) -> None:
        self._counting = threading.Lock()
        self._at_work = 0
        self._since = 0.0

    @property
    def exit_code(self) -> int:
        """0 all good, 3 loaded with rejects or faults, or with a ledger state that cannot go on."""
        return WITH_REJECTS if self.rejects or self.held or self.faulty else GOOD

    @property
    def messages_per_second(self) -> float:
        """Messages over the seconds from the first file opened to the last commit."""
        return self.messages / self.elapsed_s if self.elapsed_s else 0.0

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Adds the block's seconds to a stage, and the rows that this thread writes in it."""
        counts, start = stage != SPARK_START, time.perf_counter()
        with self._counting:
            self.seconds.setdefault(stage, 0.0)
            self.rows_by_stage.setdefault(stage, {})
            if not self._at_work:
                self._since = start
            self._at_work += counts
        token = _stage.set(stage)
        try:
            yield
        finally:
            _stage.reset(token)
            end = time.perf_counter()
            with self._counting:
                self.seconds[stage] += end - start
                self._at_work -= counts
                if counts and not self._at_work:
                    self.elapsed_s += end - self._since

    def wrote(self, table: str, rows: int) -> None:
        """Counts rows of a table, also in the stage that this thread is in."""
        with self._counting:
            of_stage = self.rows_by_stage.get(_stage.get(""), {})
            for counted in (self.rows_by_table, of_stage):
                counted[table] = counted.get(table, 0) + rows

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return asdict(self) | {
            "messages_per_second": round(self.messages_per_second, 1),
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.seconds.items()},
            "elapsed_s": round(self.elapsed_s, 3),
            "exit_code": self.exit_code,
        }
