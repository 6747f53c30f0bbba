"""The files in a table's log, compared with the tests' own replay of the log and with the rows in them. Both engines
write and read them.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from etl.engine.columns import schema_of
from etl.engine.ordering import in_lake_order
from etl.engine.session import engine_session
from etl.lake import maintenance
from etl.lake.delta import TABLES, Lake
from etl.lake.message_rows import LAKE_RANGE
from etl.lake.views import statements
from tests.etl.conftest import ON_SAIL
from tests.etl.lake_files import lake_rows, live_files

COLUMNS = "milestone_index INT, lake_range INT, timestamp TIMESTAMP"


def frame_of(lake: Lake, table: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    """The rows, with null in the other columns of the table."""
    frame = lake.spark.createDataFrame(rows, columns)
    others = [field for field in schema_of(TABLES[table].ddl).fields if field.name not in frame.columns]
    return frame.select("*", *(F.lit(None).cast(field.dataType).alias(field.name) for field in others))


def put(lake: Lake, first: int, milestones: Sequence[int]) -> None:
    """Replaces the existing rows from `first` on."""
    rows = [(index, index // LAKE_RANGE, datetime.fromtimestamp(index, UTC)) for index in milestones]
    lake.replace("milestones", frame_of(lake, "milestones", COLUMNS, rows).coalesce(1), [(first, max(milestones))])


@pytest.fixture(params=["sail", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])])
def session(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    if request.param == "spark":
        yield request.getfixturevalue("spark")
        return
    with engine_session(ON_SAIL) as session:
        yield session


@pytest.fixture
def lake(session: SparkSession, tmp_path: Path) -> Lake:
    lake = Lake(session, str(tmp_path / "a lake of ours"), "a run")
    put(lake, 1, [1, 2, 3])
    return lake


@pytest.mark.loads
def test_files_and_their_milestones_are_those_of_the_newest_snapshot(lake: Lake) -> None:
    table = Path(lake.path("milestones"))
    put(lake, 5, [5, 6])
    put(lake, LAKE_RANGE + 1, [LAKE_RANGE + 1, LAKE_RANGE + 2])
    lake.log("milestones").checkpoint()
    put(lake, 2, [2, 4])
    files = Lake(lake.spark, lake.root).log("milestones").files()
    assert sorted(table / file.path for file in files) == sorted(live_files(table))
    assert len(files) == len(live_files(table)) >= 4
    for file in files:
        ends = pc.min_max(pq.ParquetFile(table / file.path).read()["milestone_index"])
        assert ends.as_py() == {"min": file.least, "max": file.greatest}
    expected = [(index, index // LAKE_RANGE) for index in (1, 2, 4, 5, 6, LAKE_RANGE + 1, LAKE_RANGE + 2)]
    rows = lake.read("milestones").select("milestone_index", "lake_range").collect()
    assert sorted((row[0], row[1]) for row in rows) == expected
    times = lake.milestones([(2, 5)]).select("milestone_index", "timestamp").collect()
    assert sorted((row[0], row[1].timestamp()) for row in times) == [(2, 2), (4, 4), (5, 5)]
    engine = json.loads(max(table.glob("_delta_log/*.json")).read_text().splitlines()[0])["commitInfo"]
    assert (engine["run"], engine["engine"] in ("sail", "spark")) == ("a run", True)
    assert dict.fromkeys(kind.physical_type for kind in _timestamps(table)) == {"INT64": None}


def _timestamps(table: Path) -> Iterator[pq.ColumnSchema]:
    for path in live_files(table):
        schema = pq.read_metadata(path).schema
        yield from (schema.column(at) for at in range(len(schema)) if schema.column(at).path == "timestamp")


@pytest.mark.loads
def test_rows_of_a_file_are_in_the_order_of_the_table(lake: Lake) -> None:
    rows = [(index, place, 0, bytes([place])) for index in range(9, 0, -1) for place in range(40)]
    columns = "milestone_index INT, white_flag_index INT, lake_range INT, message BINARY"
    frame = frame_of(lake, "messages", columns, rows)
    lake.replace("messages", in_lake_order(frame, "milestone_index", "white_flag_index"), [(1, 9)])
    for path in live_files(Path(lake.path("messages"))):
        table = pq.ParquetFile(path).read(columns=["milestone_index", "white_flag_index"])
        places = [tuple(row.values()) for row in table.to_pylist()]
        assert places == sorted(places)
    held = lake_rows(Path(lake.path("messages")), ["milestone_index", "white_flag_index", "message"])
    assert held == sorted((index, place, message) for index, place, _, message in rows)


@pytest.mark.loads
def test_a_file_without_statistics_may_contain_any_milestone(lake: Lake) -> None:
    lake.add_sources([("a file", 1, 1, b"")])
    (file,) = lake.log("sources").files()
    assert (file.least, file.greatest) == (None, None)
    assert len(lake.local_files("sources", [(1, 1)])) == 1
    assert lake.local_files("sources", []) == []
    row = lake.read("sources").drop("loaded_at").first()
    assert row is not None
    assert row.asDict() == {"file": "a file", "lines": 1, "bytes": 1, "checksum": b""}


@pytest.mark.loads
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
def test_a_file_without_those_milestones_is_skipped(lake: Lake, wanted: list[tuple[int, int]], *, may: bool) -> None:
    assert bool(lake.local_files("milestones", wanted)) is may


@pytest.mark.loads
def test_rows_that_a_deletion_vector_deletes_are_not_read(lake: Lake) -> None:
    entries = Path(lake.path("milestones"), "_delta_log")
    (path,) = live_files(entries.parent)
    features = {"minReaderVersion": 3, "minWriterVersion": 7}
    names = {name: ["deletionVectors"] for name in ("readerFeatures", "writerFeatures")}
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40}
    added = {
        "path": str(path.relative_to(entries.parent)),
        "partitionValues": {"lake_range": "0"},
        "size": path.stat().st_size,
        "modificationTime": 1,
        "dataChange": True,
        "deletionVector": vector | {"cardinality": 1},
    }
    commit = entries / f"{1:020}.json"
    commit.write_text("\n".join(json.dumps(each) for each in ({"protocol": features | names}, {"add": added})))
    with pytest.raises(OSError, match=r"a lake.*milestones.*deletion_vector"):
        Lake(lake.spark, lake.root).read("milestones")


@pytest.mark.loads
def test_an_invalid_log_is_named(lake: Lake) -> None:
    (commit,) = Path(lake.path("milestones"), "_delta_log").glob("*.json")
    commit.write_text(commit.read_text()[:100])
    with pytest.raises(OSError, match=r"a lake.*milestones.*record whilst"):
        Lake(lake.spark, lake.root).read("milestones")


@pytest.mark.spark
def test_a_lake_behind_a_url_is_written_read_and_compacted(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, (tmp_path / "of url").as_uri().replace("%20", " "))
    for first in (1, 4, 2):
        put(lake, first, [first, first + 1])
    assert maintenance.compact(lake.root, 0, lambda _: None) == {"milestones": 1}
    lake = Lake(spark, lake.root)
    rows = lake.read("milestones").select("milestone_index", "lake_range").collect()
    assert sorted((row[0], row[1]) for row in rows) == [(index, 0) for index in range(1, 6)]
    assert f"'{lake.path('milestones')}/" in "".join(statements(lake.root, "duckdb"))
