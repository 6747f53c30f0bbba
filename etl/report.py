"""Progress and results of a run, as values. The command line formats them."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias

from db.intervals import Intervals


@dataclass(frozen=True)
class Progress:
    """Progress of a stage: `done` of `total` units. `total` is None if it is unknown."""

    stage: str
    done: int
    total: int | None = None
    unit: str = ""


Notify: TypeAlias = Callable[[Progress], None]


def quiet(_: Progress) -> None:
    """Ignores progress."""


GOOD, FAILED, WITH_REJECTS = 0, 1, 3
"""Exit codes of a run."""

ENGINE_START = "engine_start"
"""The stage that is not part of any rate."""

WRITES = 20
"""Tables that a batch of the ledger state writes, about."""

_stage: ContextVar[str] = ContextVar("stage")


@dataclass(frozen=True, slots=True)
class Stored:
    """The numbers of complete and incomplete milestones of a store, and its missing milestones."""

    complete: int
    incomplete: int
    missing: Intervals


@dataclass
class Report:
    """The totals of a run.

    `began_at` is in seconds since 1970. `seconds` and the rows by table are grouped by stage. Stages may run
    concurrently; `elapsed_s` is the time in which at least one ran, without ENGINE_START.

    - `engine`: the engine that ran it, a value of etl.engine.current.ENGINES.
    - `reopened`: milestones that were incomplete in the store and were written again from the lake.
    - `missing`: milestones of the requested range that the store still does not have.
    - `stored`: what the store has after the run; None for a Wormhole network, and for a run of one part.
    - `ledger_index`: the milestone of the store's ledger state; None without genesis. `held`: why it cannot advance.
    - `unreconciled`: the first milestone whose balances and treasury do not add up to the token supply, with both sums.
    - `faulty`: number of faults that the level `full` found; `faults`: the first of them.
    - `differing`: number of conflicts whose computed reason differs from the source; `differences`: the first of them.
    """

    run: str
    engine: str = ""
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
    missing: Intervals = field(default_factory=list)
    stored: Stored | None = None
    ledger_index: int | None = None
    held: str = ""
    unreconciled: str = ""
    differing: int = 0
    differences: list[str] = field(default_factory=list)
    faulty: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    rows_by_stage: dict[str, dict[str, int]] = field(default_factory=dict)
    elapsed_s: float = 0.0

    def __post_init__(self) -> None:
        self.began_at = round(time.time(), 3)
        self._counting = threading.Lock()
        self._noted: Callable[[], None] = lambda: None
        self._at_work = 0
        self._since = 0.0

    @property
    def exit_code(self) -> int:
        """0 for success; 3 for rejects, faults, missing milestones, or a ledger state that cannot advance or does not
        add up.
        """
        is_partial = self.rejects or self.missing or self.held or self.unreconciled or self.faulty
        return WITH_REJECTS if is_partial else GOOD

    @property
    def messages_per_second(self) -> float:
        """Messages per second from the first opened file to the last commit."""
        return self.messages / self.elapsed_s if self.elapsed_s else 0.0

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Adds the seconds of the block to a stage, and the rows that this thread writes in it."""
        counts, start = stage != ENGINE_START, time.perf_counter()
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
        """Counts rows of a table, also in the current stage of this thread."""
        with self._counting:
            of_stage = self.rows_by_stage.get(_stage.get(""), {})
            for counted in (self.rows_by_table, of_stage):
                counted[table] = counted.get(table, 0) + rows
        self._noted()

    @contextmanager
    def counted_writes(self, notify: Notify, begin: Progress, to: int | None = None) -> Iterator[None]:
        """Reports the progress of a stage from `begin` to `to` units while the block writes tables: about WRITES of
        them, or, without `to`, as many as `begin` has units in all.
        """
        writes = WRITES if to is not None else begin.total or 1
        to = begin.total or 0 if to is None else to
        number = count(1)

        def note() -> None:
            # The number is a guess, so the last part is reported at the end.
            share = min(next(number), writes - 1) / writes
            notify(replace(begin, done=begin.done + int((to - begin.done) * share)))

        before, self._noted = self._noted, note
        notify(begin)
        try:
            yield
        finally:
            self._noted = before
        notify(replace(begin, done=to))

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self) | {
            "messages_per_second": round(self.messages_per_second, 1),
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.seconds.items()},
            "elapsed_s": round(self.elapsed_s, 3),
            "exit_code": self.exit_code,
        }
