"""The files in a table's log, compared with the tests' own replay of the log and with the rows in them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from etl.lake.delta import Lake, within
from etl.lake.files import lake_files
from etl.lake.message_rows import LAKE_RANGE
from tests.etl.lake_files import live_files

COLUMNS = "milestone_index INT, lake_range INT, timestamp TIMESTAMP"


def put(lake: Lake, first: int, milestones: Sequence[int]) -> None:
    """Replaces the existing rows from `first` on."""
    rows = [(index, index // LAKE_RANGE, datetime.fromtimestamp(index, UTC)) for index in milestones]
    frame = lake.spark.createDataFrame(rows, COLUMNS).coalesce(1)
    lake.replace("milestones", frame, within([(first, max(milestones))]))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    lake = Lake(spark, str(tmp_path / "a lake, 100% ours%20"))
    put(lake, 1, [1, 2, 3])
    return lake


def test_files_and_their_milestones_are_those_of_the_newest_snapshot(lake: Lake) -> None:
    table = Path(lake.path("milestones"))
    lake.spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.checkpointInterval' = '2')")
    put(lake, 5, [5, 6])
    put(lake, LAKE_RANGE + 1, [LAKE_RANGE + 1, LAKE_RANGE + 2])
    assert [*(table / "_delta_log").glob("*.checkpoint.parquet")]
    put(lake, 2, [2, 4])
    reported = lake_files(lake.spark, str(table))
    assert sorted(Path(file.path.removeprefix("file:")) for file in reported) == sorted(live_files(table))
    assert len(reported) == len(live_files(table)) >= 4
    for file in reported:
        ends = pc.min_max(pq.ParquetFile(file.path.removeprefix("file:")).read()["milestone_index"])
        assert ends.as_py() == {"min": file.first, "max": file.last}
    rows = [(row["milestone_index"], row["lake_range"]) for row in lake.read("milestones").toLocalIterator()]
    assert sorted(rows) == [(index, index // LAKE_RANGE) for index in (1, 2, 4, 5, 6, LAKE_RANGE + 1, LAKE_RANGE + 2)]


def test_what_delta_notes_nothing_of_may_be_any_milestone(lake: Lake) -> None:
    lake.add_sources([("a file", 1, 1, b"")])
    (file,) = lake_files(lake.spark, lake.path("sources"))
    assert file.may_hold([(1, 1)])
    assert file.may_hold([((1 << 31) - 1, (1 << 31) - 1)])
    assert not file.may_hold([])


@pytest.mark.parametrize(
    ("wanted", "may"),
    [
        ([(0, 0)], False),
        ([(0, 1)], True),
        ([(3, 9)], True),
        ([(4, 9)], False),
        ([(2, 2)], True),
        ([(0, 0), (4, 4)], False),
    ],
)
def test_a_file_is_passed_over_that_has_none_of_those_milestones(
    lake: Lake, wanted: list[tuple[int, int]], may: bool
) -> None:
    (file,) = lake_files(lake.spark, lake.path("milestones"))
    assert file.may_hold(wanted) is may


def test_rows_deleted_beside_their_file_are_not_read_as_if_they_were_there(lake: Lake) -> None:
    table = lake.path("milestones")
    lake.spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    lake.spark.sql(f"DELETE FROM delta.`{table}` WHERE milestone_index = 2")
    with pytest.raises(OSError, match=r"a lake.*\.parquet.*deletion vector"):
        lake.read("milestones")


def test_a_log_that_makes_no_sense_is_named(lake: Lake) -> None:
    table = lake.path("milestones")
    (commit,) = Path(table, "_delta_log").glob("*.json")
    commit.write_text(commit.read_text()[:100])
    with pytest.raises(OSError, match=r"a lake.*milestones"):
        lake.read("milestones")
