"""Files that the engine reads and writes: names in a directory, deletion, and the files of a Delta table.

A path is local or a URL of any file system that the engine supports.
"""

import shutil
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

from etl.engine import delta_rs
from etl.engine.current import on_sail
from etl.engine.java_sources import java_classes
from etl.engine.session import Session

_COMPILING = threading.Lock()


def exists(session: Session, path: str) -> bool:
    """Returns whether a file or a directory has that path."""
    if on_sail():
        return Path(path).exists()
    files, place = _opened(session, path)
    return bool(files.exists(place))


def list_names(session: Session, path: str) -> list[str]:
    """Returns the names in a directory. Empty if it does not exist."""
    if on_sail():
        return [each.name for each in Path(path).iterdir()] if Path(path).is_dir() else []
    files, place = _opened(session, path)
    return [each.getPath().getName() for each in files.listStatus(place)] if files.exists(place) else []


def delete(session: Session, path: str) -> None:
    """Deletes a file, or a directory with all that it contains."""
    if on_sail():
        delete_local(Path(path))
        return
    files, place = _opened(session, path)
    files.delete(place, True)  # noqa: FBT003 (Java takes no names)


def delta_files(session: Session, path: str) -> list[tuple[str, str]]:
    """Returns path and column statistics (JSON) of each file in the newest snapshot of a Delta table.

    Delta Kernel reads the table's log (LakeFiles.java). Raises OSError for an invalid log.

    Gain: Delta's own answer runs queries over the log, 4 s before the first task. The analytics of a day took 28.7,
    28.7 and 29.9 s, and 32.2, 31.0 and 32.9 s without it; loads gain about 2 s.
    """
    if on_sail():
        return delta_rs.files(path)
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
    """Returns an instance of etl/engine/LakeFiles.java, compiled once in a JVM: py4j finds classes by name."""
    return java_classes(context._jvm, "LakeFiles.java").loadClass("LakeFiles").newInstance()


def delete_local(path: Path) -> None:
    """Deletes a local file, or a local directory with all that it contains."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _opened(session: Session, path: str) -> tuple[Any, Any]:
    """Returns Hadoop's file system of a path, and the path as its class."""
    place = getattr(session._jvm, "org.apache.hadoop.fs.Path")(path)
    return place.getFileSystem(session._jsc.hadoopConfiguration()), place
