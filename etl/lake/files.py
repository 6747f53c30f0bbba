"""The files of a lake table, and the milestones that each may contain.

The table's log has both, so no query is planned.
"""

from dataclasses import dataclass

import orjson

from db.intervals import Intervals
from etl.engine.files import delta_files
from etl.engine.session import Session

LEAST, GREATEST = 0, (1 << 31) - 1
"""Bounds of the milestone indexes of a file whose log entry has no statistics."""


@dataclass(frozen=True)
class LakeFile:
    """A Parquet file, and the least and the greatest milestone index in it."""

    path: str
    first: int
    last: int

    def may_hold(self, intervals: Intervals) -> bool:
        """Returns whether the file may contain a row of one of those milestones."""
        return any(first <= self.last and last >= self.first for first, last in intervals)


def lake_files(session: Session, path: str) -> list[LakeFile]:
    """Returns the files of the newest snapshot of the Delta table at that path. Raises OSError for an invalid log."""
    return [_lake_file(*each) for each in delta_files(session, path)]


def _lake_file(path: str, statistics: str) -> LakeFile:
    noted = orjson.loads(statistics)
    first, last = (noted.get(end, {}).get("milestone_index") for end in ("minValues", "maxValues"))
    return LakeFile(path, LEAST if first is None else first, GREATEST if last is None else last)
