"""Python functions over the rows of a frame, in worker processes of this machine or in tasks of a Spark cluster.

Sail runs the functions of `mapInArrow` in this process, under one interpreter lock, and Spark sends rows to its Python
workers and back. On this machine, rows go through files instead, so that the functions use all cores.
"""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from etl.engine.parquet import write_parquet
from etl.engine.process_pool import run_tasks, start_workers, uses_workers
from etl.engine.queries import parallelism, runs_here
from etl.engine.row_files import MappedFile, RowFunction, map_file
from etl.engine.session import Session

TASKS_PER_PROCESS = 2
"""Tasks of each process, so that all processes end at about the same time."""


def start_processes(session: Session, function: Callable[..., object], size: int) -> None:
    """Starts the processes in which `map_in_processes` will call a function on that many bytes, and imports its module
    there while this process goes on. On a Spark cluster, tasks start their own.
    """
    if runs_here(session) and uses_workers(size):
        start_workers(parallelism(session), [function.__module__])


def map_in_processes(
    frame: DataFrame,
    function: RowFunction,
    schema: pa.Schema,
    folder: Path,
    *,
    weight: int = 1,
    size: int | None = None,
) -> DataFrame:
    """The rows of a function that takes all rows in any order. They are written into `folder`, a new one.

    Args:
        frame: the rows. On a Spark cluster, its partitions are the tasks.
        function: can be pickled, and is of a module that imports neither PySpark nor delta-rs.
        schema: the rows of the function.
        folder: where they are written.
        weight: how much more time the function needs for a byte than decoding needs for one of an archive. Few bytes
            are computed in this process, because processes take time to start.
        size: bytes that the function reads. Default: those of the rows.
    """
    session, columns = frame.sparkSession, from_arrow_schema(schema)
    if not runs_here(session):
        write_parquet(frame.mapInArrow(function, columns), folder)
        return session.read.schema(columns).parquet(str(folder))
    processes, rows = parallelism(session), folder.with_name(f"{folder.name}-rows")
    write_parquet(frame.repartition(TASKS_PER_PROCESS * processes), rows)
    folder.mkdir(parents=True)
    # The largest first, so that all processes end at about the same time.
    sizes = {each: each.stat().st_size for each in rows.glob("*.parquet")}
    tasks = [MappedFile(each, folder / each.name) for each in sorted(sizes, key=sizes.__getitem__, reverse=True)]
    read = sum(sizes.values()) if size is None else size
    for _ in run_tasks(partial(map_file, function, schema), tasks, processes=processes, size=weight * read):
        pass
    shutil.rmtree(rows)
    return session.read.schema(columns).parquet(str(folder))
