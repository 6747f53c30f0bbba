"""Functions for what a query needs from the engine beyond DataFrames: parallelism, shuffle partitions, task sets.

Code outside `etl/engine` calls these instead of `SparkContext`, so that another engine replaces this module only.
"""

import os
from typing import Any

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import ParseException

from etl.engine.current import on_sail
from etl.engine.session import Session

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


class _Union(AccumulatorParam[set[Any]]):
    def zero(self, value: set[Any]) -> set[Any]:  # noqa: ARG002 (Spark's signature)
        return set()

    def addInPlace(self, value1: set[Any], value2: set[Any]) -> set[Any]:  # noqa: N802 (Spark's name)
        value1 |= value2
        return value1


def task_set(session: Session) -> Accumulator[set[Any]]:
    """Returns an empty set that Spark tasks fill. A repeated task adds the same members again, so nothing changes."""
    return session.sparkContext.accumulator(set(), _Union())


def decodes_in_processes() -> bool:
    """Returns whether Python over all rows runs in processes of this machine (etl/engine/process_pool.py), not in tasks
    of the engine.
    """
    return on_sail()


def parallelism(session: Session) -> int:
    """Returns the number of tasks that run at the same time: the cores of all executors."""
    return (os.cpu_count() or 1) if on_sail() else session.sparkContext.defaultParallelism


def shuffle_partitions(session: Session) -> int:
    """Returns the number of partitions after a shuffle."""
    return int(str(session.conf.get(SHUFFLE_PARTITIONS)))


def is_query(session: Session, text: str) -> bool:
    """Returns whether a statement is a query and not, for example, INSERT. Raises ParseException for invalid SQL."""
    parser = session._jsparkSession.sessionState().sqlParser()
    parser.parsePlan(text)
    try:
        # In brackets only a complete query parses. Without them, `FROM a INSERT …` would start like one.
        parser.parseQuery(f"(\n{text.rstrip().rstrip(';')}\n)")
    except ParseException:
        return False
    return True
