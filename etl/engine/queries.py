"""Functions for what a query needs from the engine beyond DataFrames: parallelism, shuffle partitions, task sets.

Code outside `etl/engine` calls these instead of `SparkContext`, so that another engine replaces this module only.
"""

import os
from typing import Any

from pyspark.accumulators import AccumulatorParam

from etl.engine.current import on_sail
from etl.engine.session import Session
from etl.engine.task_sets import SpooledSet, TaskSet

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


class _Union(AccumulatorParam[set[Any]]):
    def zero(self, value: set[Any]) -> set[Any]:  # noqa: ARG002 (Spark's signature)
        return set()

    def addInPlace(self, value1: set[Any], value2: set[Any]) -> set[Any]:  # noqa: N802 (Spark's name)
        value1 |= value2
        return value1


def task_set(session: Session) -> TaskSet:
    """Returns an empty set that tasks fill. A repeated task adds the same members again, so nothing changes."""
    return SpooledSet() if runs_here(session) else session.sparkContext.accumulator(set(), _Union())


def runs_here(session: Session) -> bool:
    """Returns whether the engine uses this machine only: Sail, or Spark with a local master."""
    return on_sail() or str(session.sparkContext.master).startswith("local")


def parallelism(session: Session) -> int:
    """Returns the number of tasks that run at the same time: the cores of all executors."""
    return (os.cpu_count() or 1) if on_sail() else session.sparkContext.defaultParallelism


def shuffle_partitions(session: Session) -> int:
    """Returns the number of partitions after a shuffle."""
    return int(str(session.conf.get(SHUFFLE_PARTITIONS)))
