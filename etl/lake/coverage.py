"""What a selective lake keeps (db/coverage.py). The lake's table `selection` is the original: a store that is
built from the lake gets its copy from here.

While `unfinished_purge` has rows, `purge --keep` replaces the messages: some milestones can have a part of their
messages that no filter covers, so nothing else may change the lake (docs/decisions/0044-selective-permanode.md).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa

from db.coverage import Coverage
from db.intervals import Intervals, format_intervals, intersect, parse_intervals
from etl.engine.arrow_frames import arrow_frame, collected
from etl.lake.delta import Lake
from ledger.selection import Filter, parse_filters

SELECTION = pa.schema({"filter": pa.string(), "milestones": pa.string()})

UNFINISHED_PURGE = pa.schema({"filter": pa.string(), "messages": pa.int64()})

NAMED_MOST = 10
"""Filters that an error names."""


@dataclass(frozen=True)
class UnfinishedPurge:
    """A `purge --keep` that has not ended.

    Attributes:
        filters: its filters.
        messages: the number of messages of the lake before it.
    """

    filters: frozenset[Filter]
    messages: int

    @property
    def error(self) -> ValueError:
        """What a run raises that the purge excludes."""
        named = " ".join(each.text for each in sorted(self.filters)[:NAMED_MOST])
        more = f" and {len(self.filters) - NAMED_MOST} more" if len(self.filters) > NAMED_MOST else ""
        return ValueError(
            "`permanode purge --keep` was interrupted. Run it again with the same filters before anything else: "
            f"{named}{more}"
        )


def read_coverage(lake: Lake) -> Coverage | None:
    """The filters of a lake with the milestones that they cover. None: the lake has all messages."""
    if not lake.has("selection"):
        return None
    found = {}
    for row in collected(lake.read("selection")).to_pylist():
        (each,) = parse_filters([row["filter"]], kinds=None)
        found[each] = parse_intervals(row["milestones"])
    return found


def write_coverage(lake: Lake, coverage: Coverage) -> None:
    """Replaces the filters of a lake."""
    rows = [(each.text, format_intervals(coverage[each])) for each in sorted(coverage)]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    lake.replace("selection", arrow_frame(lake.spark, pa.table(columns, schema=SELECTION)))


def find_unfinished_purge(lake: Lake) -> UnfinishedPurge | None:
    """The purge that was interrupted; None without one."""
    rows = collected(lake.read("unfinished_purge")).to_pylist() if lake.has("unfinished_purge") else []
    if not rows:
        return None
    return UnfinishedPurge(parse_filters([each["filter"] for each in rows], kinds=None), rows[0]["messages"])


def begin_purge(lake: Lake, filters: Iterable[Filter]) -> None:
    """Notes a purge before it replaces messages."""
    messages = lake.read("messages").count()
    _note_purge(lake, [(each.text, messages) for each in sorted(filters)])


def end_purge(lake: Lake) -> None:
    """Removes the note of `begin_purge`."""
    _note_purge(lake, [])


def reject_unfinished_purge(lake: Lake) -> None:
    """Raises ValueError if a purge was interrupted."""
    if (purge := find_unfinished_purge(lake)) is not None:
        raise purge.error


def _note_purge(lake: Lake, rows: list[tuple[str, int]]) -> None:
    arrays = [pa.array([row[at] for row in rows], field.type) for at, field in enumerate(UNFINISHED_PURGE)]
    lake.replace("unfinished_purge", arrow_frame(lake.spark, pa.table(arrays, schema=UNFINISHED_PURGE)))


def covered_by_all(coverage: Coverage) -> Intervals:
    """The milestones that every filter covers, so that a load need not decode them again."""
    return reduce(intersect, coverage.values())
