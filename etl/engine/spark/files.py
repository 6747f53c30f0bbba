"""Files through Hadoop's file systems, and the files of a Delta table through Delta Kernel, in the session's JVM."""

import threading
from functools import lru_cache
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from etl.engine.spark.java_sources import java_classes

_COMPILING = threading.Lock()


def exists(session: SparkSession, path: str) -> bool:
    """Returns whether a file or a directory has that path."""
    files, place = _opened(session, path)
    return bool(files.exists(place))


def list_names(session: SparkSession, path: str) -> list[str]:
    """Returns the names in a directory. Empty if it does not exist."""
    files, place = _opened(session, path)
    return [each.getPath().getName() for each in files.listStatus(place)] if files.exists(place) else []


def delete(session: SparkSession, path: str) -> None:
    """Deletes a file, or a directory with all that it contains."""
    files, place = _opened(session, path)
    files.delete(place, True)  # noqa: FBT003 (Java takes no names)


def delta_files(session: SparkSession, path: str) -> list[tuple[str, str]]:
    """Returns path and column statistics (JSON) of each file in the newest snapshot of a Delta table.

    Delta Kernel reads the table's log (LakeFiles.java). Raises OSError for an invalid log.

    Gain: Delta's own method runs queries over the log, 4 s before the first task. The analytics of a day took 28.7,
    28.7 and 29.9 s, and 32.2, 31.0 and 32.9 s without it; loads gain about 2 s.
    """
    context = session.sparkContext
    with _COMPILING:
        reader = _delta_reader(context)
    try:
        lines = reader.of(context._jsc.hadoopConfiguration(), path).split("\n")
    except Py4JJavaError as error:
        raise OSError(f"{path}: {error.java_exception.toString()}") from error
    return list(zip(lines[:-1:2], lines[1::2], strict=True))


@lru_cache(maxsize=1)
def _delta_reader(context: SparkContext) -> JavaObject:
    """Returns an instance of LakeFiles.java, compiled once in a JVM: py4j finds classes by name."""
    return java_classes(context._jvm, "LakeFiles.java").loadClass("LakeFiles").newInstance()


def _opened(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Returns Hadoop's file system of a path, and the path as its class."""
    place = getattr(session._jvm, "org.apache.hadoop.fs.Path")(path)
    return place.getFileSystem(session._jsc.hadoopConfiguration()), place
