"""Functions for what a query needs from the engine beyond DataFrames: parallelism, shuffle partitions, task sets.

Code outside `etl/engine` calls these instead of `SparkContext`, so that another engine replaces this module only.
"""

import os
import pickle
import uuid
from typing import Any, Protocol

from pyspark.accumulators import AccumulatorParam

from etl.engine.current import on_sail, scratch_folder
from etl.engine.session import Session

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


class TaskSet(Protocol):
    """A set that tasks add to and the driver reads as `value`."""

    def add(self, values: set[Any], /) -> None:
        """Adds members. A task calls this."""

    @property
    def value(self) -> set[Any]:
        """All members that finished tasks added. The driver calls this."""


class SpooledSet:
    """A TaskSet in files of a directory, for an engine without accumulators. A task's members are one file."""

    def __init__(self) -> None:
        self._folder = scratch_folder("results")

    def add(self, values: set[Any], /) -> None:
        """Writes the members to a file. Its name ends in `.set` once it is whole."""
        part = self._folder / uuid.uuid4().hex
        part.write_bytes(pickle.dumps(values))
        part.rename(part.with_suffix(".set"))

    @property
    def value(self) -> set[Any]:
        """The members in all files."""
        return set[Any]().union(*(pickle.loads(part.read_bytes()) for part in self._folder.glob("*.set")))  # noqa: S301 (files of this run)


class _Union(AccumulatorParam[set[Any]]):
    def zero(self, value: set[Any]) -> set[Any]:  # noqa: ARG002 (Spark's signature)
        return set()

    def addInPlace(self, value1: set[Any], value2: set[Any]) -> set[Any]:  # noqa: N802 (Spark's name)
        value1 |= value2
        return value1


def task_set(session: Session) -> TaskSet:
    """Returns an empty set that tasks fill. A repeated task adds the same members again, so nothing changes."""
    return SpooledSet() if on_sail() else session.sparkContext.accumulator(set(), _Union())


def runs_here(session: Session) -> bool:
    """Returns whether the engine uses this machine only: Sail, or Spark with a local master."""
    return on_sail() or str(session.sparkContext.master).startswith("local")


def parallelism(session: Session) -> int:
    """Returns the number of tasks that run at the same time: the cores of all executors."""
    return (os.cpu_count() or 1) if on_sail() else session.sparkContext.defaultParallelism


def shuffle_partitions(session: Session) -> int:
    """Returns the number of partitions after a shuffle."""
    return int(str(session.conf.get(SHUFFLE_PARTITIONS)))
