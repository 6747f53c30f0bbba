"""Which engine runs the frames of this process: Spark, or Sail (etl/engine/sail/session.py).

PySpark decides by the same variable whether a Column belongs to a JVM or to a Spark Connect session.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

SPARK, SAIL, AUTO = "spark", "sail", "auto"
ENGINES = (SPARK, SAIL, AUTO)
"""Values of the setting `etl.engine`. `auto` selects one of the others for each run."""

_CONNECT = "SPARK_CONNECT_MODE_ENABLED"


def on_sail() -> bool:
    """Whether the frames of this process run on Sail."""
    return _CONNECT in os.environ


_scratch: list[Path] = []


def scratch_folder(name: str) -> Path:
    """Makes a new folder that the run deletes at its end, or else Sail's session."""
    return Path(mkdtemp(prefix=f"{name}-", dir=_innermost()))


def _innermost() -> Path | None:
    return _scratch[-1] if _scratch else None


@contextmanager
def run_scratch() -> Iterator[None]:
    """Deletes the folders that a run makes at its end. A session may last for many runs."""
    with TemporaryDirectory(prefix="run-", dir=_innermost()) as folder:
        _scratch.append(Path(folder))
        try:
            yield
        finally:
            _scratch.remove(Path(folder))


@contextmanager
def sail_frames() -> Iterator[None]:
    """Makes all frames and columns that are created in the block those of Spark Connect."""
    with TemporaryDirectory(prefix="permanode-") as folder:
        os.environ[_CONNECT] = "1"
        _scratch.append(Path(folder))
        try:
            yield
        finally:
            _scratch.pop()
            del os.environ[_CONNECT]
