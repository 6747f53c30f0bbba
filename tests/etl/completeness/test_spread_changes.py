"""Changes spread over files by milestones. Expected rows come from the list that the files were written from."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etl.completeness import spread_changes
from etl.completeness.spread_changes import SpreadChanges
from etl.completeness.updates import CHANGE

LEAST, MOST = 3, 5
LAST = 40

CHANGES = st.lists(
    st.tuples(
        st.integers(1, LAST), st.integers(0, 9), st.integers(0, 3), st.booleans(), st.binary(min_size=34, max_size=34)
    ),
    max_size=60,
    unique=True,
)


def write(folder: Path, rows: list[tuple[int, int, int, bool, bytes]], *, has_owner: bool) -> None:
    """Writes CHANGES into two files. The owner is the reversed id; without `has_owner` it is in `address`."""
    folder.mkdir()
    columns = [pa.array([row[place] for row in rows], CHANGE.types[place]) for place in range(5)]
    owners = pa.array([row[4][::-1] for row in rows], pa.binary())
    others = pa.array([b"other"] * len(rows), pa.binary())
    named = ["address", "owner"] if has_owner else ["address"]
    table = pa.table([*columns, *([others, owners] if has_owner else [owners])], [*CHANGE.names[:5], *named])
    for number, start in enumerate((0, len(rows) // 2)):
        part = table.slice(start) if number else table.slice(0, len(rows) // 2)
        pq.write_table(part, folder / f"part-{number}.parquet")


@given(rows=CHANGES, bounds=st.tuples(*[st.integers(1, LAST)] * 4).map(sorted), has_owner=st.booleans())
def test_a_range_has_its_changes_and_no_others(
    rows: list[tuple[int, int, int, bool, bytes]],
    bounds: list[int],
    has_owner: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    first, start, to, last = bounds
    folder = tmp_path_factory.mktemp("spread")
    write(folder / "changes", rows, has_owner=has_owner)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spread_changes, "LEAST_MILESTONES", LEAST)
        patch.setattr(spread_changes, "MOST_PARTS", MOST)
        patch.setattr(spread_changes, "BATCH_ROWS", 7)
        spread = SpreadChanges(folder / "spread", first, last)
        spread.write(sorted((folder / "changes").iterdir()))
        found = spread.between(start, to)
        files = list((folder / "spread").iterdir())
    assert found.schema == CHANGE
    expected = [(*row, row[4][::-1]) for row in rows if start <= row[0] <= to]
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == sorted(expected)
    assert len(files) <= MOST
