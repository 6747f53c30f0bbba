"""What a selective lake keeps (db/coverage.py). The lake's table `selection` is the original: a store that is
built from the lake gets its copy from here.
"""

from functools import reduce

import pyarrow as pa

from db.coverage import Coverage
from db.intervals import Intervals, format_intervals, intersect, parse_intervals
from etl.engine.arrow_frames import arrow_frame, collected
from etl.lake.delta import Lake
from ledger.selection import parse_filters

SELECTION = pa.schema({"filter": pa.string(), "milestones": pa.string()})


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


def covered_by_all(coverage: Coverage) -> Intervals:
    """The milestones that every filter covers, so that a load need not decode them again."""
    return reduce(intersect, coverage.values())
