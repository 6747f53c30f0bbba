"""What a pipeline is: a tuple of steps, run in order. Each step takes the result of the previous one.

A Job runs a part of a pipeline again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Step(Generic[T]):
    """One step of a pipeline.

    Attributes:
        name: short name, unique in its pipeline. Reports list the seconds of most steps under it.
        meaning: what the step does, in one sentence.
        run: takes the result of the previous step and returns its own. A step without work returns what it got.
    """

    name: str
    meaning: str
    run: Callable[[T], T]


@dataclass(frozen=True)
class Job:
    """A part of the pipeline that `permanode job` runs again from the lake.

    Attributes:
        name: its name on the command line.
        meaning: what it does, in one sentence.
        tables: names of the tables that it fills.
        only: the step of the analytics that it runs. None: all of them.
    """

    name: str
    meaning: str
    tables: tuple[str, ...]
    only: str | None = None


def run_steps(steps: Sequence[Step[T]], start: T) -> T:
    """Runs the steps in order and returns the last result."""
    result = start
    for step in steps:
        result = step.run(result)
    return result
