"""Decides which engine runs a pipeline: from the setting `etl.engine`, from what the run needs, and from what is
installed.
"""

import logging
import os
import stat
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from etl.engine.current import AUTO, SAIL, SPARK, on_sail
from etl.engine.java import java_fault
from etl.engine.settings import EtlSettings

SAIL_BYTES = 3 << 30
"""`auto` chooses Sail for input of fewer bytes: archive files of a load, as if they were not compressed, else those
that the lake was loaded from. A load of 3.4 GB uses 2.3 GiB with Sail; larger ones are not measured.
"""

BYTES_OF_LAKE = 4
"""Bytes of archive files whose rows take a byte of the lake, about."""

PACKAGE = "pysail"

log = logging.getLogger("permanode.engine")


def choose_engine(settings: EtlSettings, *, size: int = 0, spark_only: str = "") -> str:
    """Returns SPARK or SAIL.

    Args:
        settings: `engine` and `master`.
        size: bytes of the input, for `auto`.
        spark_only: the part of this run that only Spark can do, for example `--bulk`; empty if Sail can run all of it.

    Raises ValueError if the setting is `sail`, and the run needs Spark or Sail is not installed.
    """
    if not settings.master.startswith("local"):
        spark_only = f"etl.master = {settings.master}"
    elif "://" in settings.lake:
        spark_only = f"etl.lake = {settings.lake}"
    if settings.engine == SPARK:
        return SPARK
    if settings.engine == SAIL:
        if spark_only:
            raise ValueError(
                f"etl.engine = {SAIL}: {spark_only} needs {SPARK}; expected a local master and lake, and no --bulk. "
                f"Set etl.engine = {SPARK}, or {AUTO}"
            )
        if find_spec(PACKAGE) is None:
            raise ValueError(
                f"etl.engine = {SAIL}: {PACKAGE} is not installed; install Permanode with the extra [{SAIL}]"
            )
        return SAIL
    if spark_only or find_spec(PACKAGE) is None:
        return SPARK
    if on_sail():
        return SAIL
    if fault := java_fault():
        log.warning("%s; the embedded engine (%s) is used", fault, SAIL)
        return SAIL
    return SAIL if size < SAIL_BYTES else SPARK


def bytes_of(paths: Sequence[Path]) -> int:
    """Returns the bytes of files, and of all files in folders. Paths that cannot be read count as empty."""
    return sum(_file_bytes(path) for path in paths)


def bytes_loaded(lake: str) -> int:
    """Returns the bytes of the archive files that a lake was loaded from, about."""
    return BYTES_OF_LAKE * bytes_of([Path(lake)])


def _file_bytes(path: Path) -> int:
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return bytes_of([Path(each.path) for each in os.scandir(path)])
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
