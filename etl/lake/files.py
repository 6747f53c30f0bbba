"""The files that a table of the lake consists of, and the milestones that each may hold.

Rules of this file: the table's log says it, and no query is planned for that; what is told is of the snapshot that is
the newest when it is asked.
"""

import threading
from dataclasses import dataclass
from functools import lru_cache

import orjson
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from db.intervals import Intervals
from etl.engine.gateway import java_classes

LEAST, GREATEST = 0, (1 << 31) - 1
"""Of milestone indexes, where a file's are not noted."""

_MAKING = threading.Lock()


@dataclass(frozen=True)
class LakeFile:
    """Where a Parquet file stands, and the least and the greatest milestone index in it."""

    path: str
    first: int
    last: int

    def may_hold(self, intervals: Intervals) -> bool:
        """Whether a row of one of those milestones may be in it."""
        return any(first <= self.last and last >= self.first for first, last in intervals)


class LakeLog:
    """What the logs of the lake's tables say."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext

    def files(self, path: str) -> list[LakeFile]:
        """The files of the Delta table at that path. Raises OSError where its log does not make sense."""
        with _MAKING:
            reader = _reader(self._context)
        try:
            told = reader.of(self._context._jsc.hadoopConfiguration(), path).split("\n")
        except Py4JJavaError as error:
            raise OSError(f"{path}: {error.java_exception.toString()}") from error
        return [_lake_file(*pair) for pair in zip(told[:-1:2], told[1::2], strict=True)]


@lru_cache(maxsize=1)
def _reader(context: SparkContext) -> JavaObject:
    """Of etl/engine/LakeFiles.java. Made once in a JVM: to py4j classes of the same name are the same one."""
    return java_classes(context._jvm, "LakeFiles.java").loadClass("LakeFiles").newInstance()


def _lake_file(path: str, stats: str) -> LakeFile:
    noted = orjson.loads(stats)
    first, last = (noted.get(end, {}).get("milestone_index") for end in ("minValues", "maxValues"))
    return LakeFile(path, LEAST if first is None else first, GREATEST if last is None else last)
