"""The lake's table `watched`: all watched outputs (etl/lake/watched_outputs.py) of a selective lake, spent or not.

Invariant: if a filter covers a milestone, the lake has what that milestone spends of the outputs in this table that
belong to the filter's address.
"""

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.coverage import Coverage
from db.intervals import Intervals, add, intersect, subtract
from etl.engine.arrow_frames import collected
from etl.lake.coverage import write_coverage
from etl.lake.delta import Lake, few_rows
from etl.lake.watched_outputs import SPENT, WATCHED
from etl.sources.cone import INCLUDED
from etl.sources.fields import MAX_MILESTONE_INDEX
from ledger.selection import ADDRESS, Filter

KEY = ["address", "output_id"]


def read_watched(lake: Lake) -> pa.Table:
    """The WATCHED of a lake."""
    return collected(lake.read("watched")).cast(WATCHED) if lake.has("watched") else WATCHED.empty_table()


def add_watched(
    lake: Lake, coverage: Coverage, found: pa.Table, decoded: Intervals, messages: Sequence[DataFrame] = ()
) -> Coverage:
    """Adds watched outputs before the lake gets the messages that created them. Returns the new coverage.

    A later milestone may spend one that the lake did not have when it was decoded. The filters of such an output do not
    cover those milestones any more, so that the next load with their files decodes them again.

    Args:
        lake: the lake.
        coverage: what its filters cover.
        found: WATCHED, also those that the table has.
        decoded: milestones that are decoded with knowledge of these outputs.
        messages: rows (MESSAGE_DDL) of those milestones, which may spend them.
    """
    new = found.join(read_watched(lake).select(KEY), KEY, join_type="left anti")
    if not new.num_rows:
        return coverage
    if later := _later(coverage, new, decoded):
        # Nothing else spends what the lake has the spending of.
        rows = [*messages, lake.messages(reduce(add, later.values()))]
        spent = pa.concat_arrays([_spent_in(lake, each, new) for each in rows])
        unknown = new.filter(pc.invert(pc.is_in(new["output_id"], value_set=spent)))
        later = _later(coverage, unknown, decoded)
        coverage = {each: subtract(milestones, later.get(each, [])) for each, milestones in coverage.items()}
        if later:
            write_coverage(lake, coverage)
    lake.append("watched", new)
    return coverage


def _later(coverage: Coverage, watched: pa.Table, decoded: Intervals) -> dict[Filter, Intervals]:
    """The milestones that a filter covers, after the first one that created a watched output of its address."""
    first = watched.group_by("address").aggregate([("milestone_index", "min")])
    found = {}
    for address, index in zip(first["address"].to_pylist(), first["milestone_index_min"].to_pylist(), strict=True):
        wanted = Filter(ADDRESS, address)
        above = intersect(coverage[wanted], [(index, MAX_MILESTONE_INDEX)])
        if milestones := subtract(above, decoded):
            found[wanted] = milestones
    return found


def _spent_in(lake: Lake, messages: DataFrame, outputs: pa.Table) -> pa.Array:
    """Those of the outputs that these messages spend."""
    wanted = few_rows(lake.spark, SPENT, [(each,) for each in set(outputs["output_id"].to_pylist())])
    spent = messages.where(F.col("inclusion_state") == INCLUDED).select(
        F.explode("transaction.inputs.output_id").alias("output_id")
    )
    return collected(spent.join(wanted, "output_id", "left_semi"))["output_id"].combine_chunks().cast(pa.binary())
