"""The frames of unspent outputs differ as expected from those with a row for each change."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from db import schema
from etl.expectations.brief_outputs import brief_outputs
from etl.expectations.comparison import observe
from etl.expectations.fingerprints import Fingerprint

FRONTIER, DEAD_TO, TO = 10, 14, 20

CREATED = {1: 4, 2: 10, 3: 11, 4: 11, 5: 12, 6: 14, 7: 15, 8: 19, 9: 20, 10: 21}
SPENT = {1: 11, 2: 15, 3: 12, 4: 14, 5: 15, 6: 20, 7: 21, 8: 20, 10: 22}
"""Output → milestone. Some are spent by DEAD_TO, some later, some after TO, some never."""

TYPES = {
    "lookup": pa.string(),
    "output_id": pa.binary(),
    "spent_milestone_index": pa.int32(),
    "output_type": pa.int8(),
}


def output_id(number: int) -> bytes:
    return bytes([number]) * 34


def observed(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Fingerprint:
    """What is observed of rows with these columns."""
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    found = observe(schema.unspent_outputs, names)
    found.hints = ()
    found.add([pa.array(column, TYPES[name]) for name, column in zip(names, columns, strict=True)])
    return found.sums


def within(milestones: dict[int, int]) -> dict[int, int]:
    return {number: at for number, at in milestones.items() if FRONTIER < at <= TO}


@pytest.mark.parametrize("dead_to", [DEAD_TO, FRONTIER, -3])
@pytest.mark.parametrize("as_files", [False, True])
def test_rows_of_both_frames_are_those_without_brief_outputs(tmp_path: Path, dead_to: int, *, as_files: bool) -> None:
    events = [(at, CREATED[number], output_id(number), False) for number, at in CREATED.items()]
    events += [(at, CREATED[number], output_id(number), True) for number, at in SPENT.items()]
    names = ["milestone_index", "created_milestone_index", "output_id", "is_spent"]
    kinds = [pa.int32(), pa.int32(), pa.binary(), pa.bool_()]
    columns = zip(*events, strict=True)
    changes: pa.Table | Path = pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)], names
    )
    if as_files:
        pq.write_table(changes, tmp_path / "part-0.parquet")
        changes = tmp_path
    created, spent = within(CREATED), within(SPENT)
    whole, ends = ("lookup", "output_id", "spent_milestone_index", "output_type"), ("lookup", "output_id")
    each_created = observed(("lookup", "output_id", "output_type"), [("", output_id(number), 0) for number in created])
    each_spent = observed(ends, [("", output_id(number)) for number in spent])
    written = observed(
        whole,
        [("", output_id(number), spent.get(number), 0) for number in created if spent.get(number, TO) > dead_to],
    )
    of_earlier = observed(ends, [("", output_id(number)) for number in spent if number not in created])
    differences = brief_outputs(changes, FRONTIER, TO, dead_to)
    assert each_created + differences[0] == written
    assert each_spent + differences[1] == of_earlier
    assert written.rows == {DEAD_TO: 5}.get(dead_to, 7)
    assert of_earlier.rows == 2
