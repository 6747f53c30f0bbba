"""The jobs that `permanode job` lists and runs: data, one row a job.

Rules of this file: a job fills tables of the store from what the lake holds, of the milestones asked for, and is one of
etl/jobs.py with its arguments filled in; nothing is scheduled here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from db.connect import StoreSettings
from etl import jobs
from etl.analytics.catch_up import STEPS
from etl.engine.session import EtlSettings
from etl.report import Notify, Report

Run: TypeAlias = Callable[[StoreSettings, EtlSettings, int | None, int | None, Notify], Report]
"""Of the milestones of [first, last); None: no end."""


@dataclass(frozen=True)
class Job:
    """One of JOBS: what it is for, and the tables that it fills."""

    name: str
    meaning: str
    tables: tuple[str, ...]
    run: Run


def find(name: str) -> Job:
    """The job of that name; ValueError names those that there are."""
    for job in JOBS:
        if job.name == name:
            return job
    raise ValueError(f"{name}: no job; expected one of {', '.join(job.name for job in JOBS)}")


def _analytics(
    store: StoreSettings,
    settings: EtlSettings,
    first: int | None,
    last: int | None,
    notify: Notify,
    *,
    only: str | None = None,
) -> Report:
    return jobs.analytics(store, settings, first=first, last=last, only=only, notify=notify)


JOBS: tuple[Job, ...] = (
    Job(
        "analytics",
        "every step of the analytics",
        tuple(dict.fromkeys(table.name for step in STEPS for table in step.tables)),
        _analytics,
    ),
    *(
        Job(
            f"analytics-{step.name}",
            step.meaning,
            tuple(table.name for table in step.tables),
            partial(_analytics, only=step.name),
        )
        for step in STEPS
    ),
)
