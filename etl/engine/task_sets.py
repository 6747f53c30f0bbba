"""Sets that tasks of an engine add to. Worker processes import this module, so it does not import PySpark."""

import pickle
import uuid
from typing import Any, Protocol

from etl.engine.current import scratch_folder


class TaskSet(Protocol):
    """A set that tasks add to and the driver reads as `value`."""

    def add(self, values: set[Any], /) -> None:
        """Adds members. A task calls this."""

    @property
    def value(self) -> set[Any]:
        """All members that finished tasks added. The driver calls this."""


class SpooledSet:
    """A TaskSet in files of a directory of this machine. A task's members are one file."""

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
