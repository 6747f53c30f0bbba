"""What a run tells while it works and when it is done.

Rules of this file: values only; how they look on a terminal or in a log is the command line's business.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@dataclass
class Report:
    """The totals of a run. `seconds` by stage, and the rows that each wrote by table; spark_start stands apart from the
    rate.

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

    @property
    def exit_code(self) -> int:
        """0 all good, 3 loaded with rejects or faults, or with a ledger state that cannot go on."""
        return WITH_REJECTS if self.rejects or self.held or self.faulty else GOOD

    @property
    def messages_per_second(self) -> float:
        """Messages over the seconds from the first file opened to the last commit."""
        seconds = sum(seconds for stage, seconds in self.seconds.items() if stage != "spark_start")
        return self.messages / seconds if seconds else 0.0

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Adds the block's seconds, and the rows it writes, to a stage; stages follow one another."""
        start, before = time.perf_counter(), dict(self.rows_by_table)
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
            rows = self.rows_by_stage.setdefault(stage, {})
            for table, count in self.rows_by_table.items():
                if count > before.get(table, 0):
                    rows[table] = rows.get(table, 0) + count - before.get(table, 0)

    def wrote(self, table: str, rows: int) -> None:
        """Counts rows of a table."""
        self.rows_by_table[table] = self.rows_by_table.get(table, 0) + rows

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return asdict(self) | {
            "messages_per_second": round(self.messages_per_second, 1),
            "seconds": {stage: round(seconds, 3) for stage, seconds in self.seconds.items()},
            "exit_code": self.exit_code,
        }
