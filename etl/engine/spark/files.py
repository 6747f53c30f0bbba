"""Files through Hadoop's file systems."""

from typing import Any

from pyspark.sql import SparkSession


def exists(session: SparkSession, path: str) -> bool:
    """Returns whether a file or a directory has that path."""
    files, place = _opened(session, path)
    return bool(files.exists(place))


def delete(session: SparkSession, path: str) -> None:
    """Deletes a file, or a directory with all that it contains."""
    files, place = _opened(session, path)
    files.delete(place, True)  # noqa: FBT003 (Java takes no names)


def _opened(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Returns Hadoop's file system of a path, and the path as its class."""
    place = getattr(session._jvm, "org.apache.hadoop.fs.Path")(path)
    return place.getFileSystem(session._jsc.hadoopConfiguration()), place
