"""The embedded engine: where Sail differs from Spark, and that the functions of etl/engine return the same on both.

Each test of a defect fails once a new version of Sail fixes the defect; then remove its workaround.
"""

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial, reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.protobuf.message import DecodeError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.connect.proto.base_pb2 import ExecutePlanRequest
from pyspark.sql.types import NullType

from cli.main import describe_error
from etl.engine.arrow_frames import MANY_ROWS, arrow_frame, collected
from etl.engine.columns import balanced, bytes_at, inline, union_with_nulls
from etl.engine.current import on_sail
from etl.engine.delta_log import DeltaLog, Layout
from etl.engine.delta_state import paths_of
from etl.engine.delta_tables import commit_files, read_files, reads_listed
from etl.engine.ordering import map_in_order, sorted_batches
from etl.engine.parquet import write_parquet
from etl.engine.sail import session as sail_sessions
from etl.engine.sail.session import METADATA_CACHE, NICENESS
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from tests.etl.engine.test_responses import Unavailable

pytestmark = pytest.mark.loads

SAIL = EtlSettings(engine="sail")
STRUCT = pa.struct([("number", pa.int64()), ("inner", pa.struct([("text", pa.string())]))])
ROWS_SORTED = 50_000
ROWS = [{"id": 1, "value": None}, {"id": 2, "value": {"number": 7, "inner": None}}]


@pytest.fixture
def sail() -> Iterator[SparkSession]:
    with engine_session(SAIL) as session:
        yield session


def test_a_session_within_another_is_that_one_and_frames_are_sparks_again_after_it() -> None:
    assert not on_sail()
    with engine_session(SAIL) as session:
        assert on_sail()
        with engine_session(SAIL) as inner:
            assert inner is session
        assert session.sql("SELECT 1 + 1 AS two").collect()[0]["two"] == 2
    assert not on_sail()


def test_the_client_of_a_session_that_ended_is_freed() -> None:
    with engine_session(SAIL) as session:
        assert session.range(3).count() == 3
        ended = weakref.ref(session.client)
        del session
    gc.collect()
    assert ended() is None


def test_rows_that_are_written_while_the_connection_is_lost_are_there_once(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    responses = sail.client._stub.ExecutePlan
    execute, lost = responses._execute, iter([True])

    def interrupted(request: ExecutePlanRequest, metadata: list[tuple[str, str]]) -> Iterator[bytes]:
        yield from execute(request, metadata=metadata)
        if request.plan.HasField("command") and next(lost, False):
            raise Unavailable("Socket closed")

    monkeypatch.setattr(responses, "_execute", interrupted)
    write_parquet(sail.range(100).repartition(2), tmp_path / "numbers")
    assert next(lost, None) is None
    assert sorted(row["id"] for row in sail.read.parquet(str(tmp_path / "numbers")).collect()) == [*range(100)]
    assert [each.getMessage() for each in caplog.records] == [
        "numbers: the connection to the embedded engine was lost: Socket closed; written again"
    ]


NICE = """
import os, threading
from pathlib import Path
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings

with engine_session(EtlSettings(engine="sail")) as session:
    session.range(100_000).repartition(4).count()
    names = {int(each.name): (each / "comm").read_text() for each in Path("/proc/self/task").iterdir()}
    servers = [number for number, name in names.items() if name.startswith("tokio")]
    for thread in [threading.get_native_id(), *servers]:
        print(os.getpriority(os.PRIO_PROCESS, thread))
"""
"""In a process of its own, because delta-rs has threads of the same name."""


@pytest.mark.parametrize("more", [0, 8])
def test_threads_of_the_server_let_others_of_this_process_go_first(more: int) -> None:
    command = ["nice", "-n", str(more), sys.executable, "-c", NICE]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    own, *servers = map(int, ended.stdout.split())
    assert set(servers) == {min(own + NICENESS, 19)}


def test_the_server_reads_the_limit_of_its_cache_of_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no way to return its configuration, so the error of a wrong value shows that it knows the variable."""
    name, limit = METADATA_CACHE
    assert int(limit) > 0
    monkeypatch.setattr(sail_sessions, "METADATA_CACHE", (name, "text"))
    wrong = 'found string "text", expected u64 for key "PARQUET.FILE_METADATA_CACHE.SIZE_LIMIT"'
    with pytest.raises(RuntimeError, match=wrong), engine_session(SAIL):
        pass


def test_no_call_looks_for_the_line_that_made_it(sail: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark does by default, once for each column, and imports IPython if it finds it."""
    monkeypatch.setattr("pyspark.errors.utils._enable_debugging_cache", None)
    captured: list[int] = []
    monkeypatch.setattr("pyspark.errors.utils._capture_call_site", captured.append)
    assert sail.range(3).select(F.col("id") + 1).count() == 3
    assert captured == []


def test_substring_of_bytes_is_of_text_there_and_of_bytes_here(sail: SparkSession) -> None:
    data = bytes(range(250, 256)) + bytes(4)
    rows = arrow_frame(sail, pa.table({"data": [data]}))
    assert rows.select(bytes_at("data", 2, 4).alias("piece")).collect()[0]["piece"] == data[1:5]
    with pytest.raises(PySparkException):
        rows.select(F.substring("data", 2, 4)).collect()


def test_fields_of_null_structs_are_zero_there_and_null_here(sail: SparkSession) -> None:
    table = pa.table({"id": [1, 2], "value": pa.array([each["value"] for each in ROWS], STRUCT)})
    fields = ("id", "value.number", "value.inner.text")
    found = [tuple(row) for row in arrow_frame(sail, table).select(*fields).orderBy("id").collect()]
    assert found == [(1, None, None), (2, 7, None)]
    # As Arrow computes structs: values under a null mask.
    number = pa.array([5, 7], pa.int64())
    masked = pa.StructArray.from_arrays([number], names=["number"], mask=pa.array([True, False]))
    raw = sail.createDataFrame(pa.table({"value": masked})).select("value.number").collect()
    assert [row["number"] for row in raw] != [None, 7]
    own = arrow_frame(sail, pa.table({"value": masked})).select("value.number").collect()
    assert [row["number"] for row in own] == [None, 7]


@pytest.mark.parametrize("rows", [0, 1, MANY_ROWS, MANY_ROWS + 1])
def test_an_arrow_table_of_any_size_is_a_frame(sail: SparkSession, rows: int) -> None:
    table = pa.table({"id": pa.array(range(rows), pa.int64()), "data": pa.array([b"\x00\xff"] * rows, pa.binary())})
    frame = arrow_frame(sail, table)
    assert frame.columns == ["id", "data"]
    assert sorted(row["id"] for row in frame.collect()) == list(range(rows))


def test_inline_plans_its_array_once_for_each_field_there_and_once_here(
    sail: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    item = F.struct(F.lit("marked").alias("name"), F.col("id").alias("number"))
    items = F.array(item, F.when(F.col("id") > 0, item))

    def planned(frame: DataFrame) -> int:
        frame.explain(extended=True)
        return capsys.readouterr().out.partition("== Analyzed")[0].count("marked")

    theirs, ours = sail.range(2).select("id", F.inline(items)), inline(sail.range(2), ["id"], items)
    assert planned(theirs) == 2 * planned(ours) > 0
    rows = [(0, "marked", 0), (0, None, None), (1, "marked", 1), (1, "marked", 1)]
    assert [tuple(row) for row in ours.orderBy("id", F.desc("number")).collect()] == rows
    assert sorted(theirs.collect(), key=str) == sorted(ours.collect(), key=str)


def test_sorted_batches_follow_each_other_in_order(sail: SparkSession) -> None:
    numbers = [(7919 * each) % ROWS_SORTED for each in range(ROWS_SORTED)]
    frame = arrow_frame(sail, pa.table({"id": numbers})).repartition(4)
    batches = [batch["id"].to_pylist() for batch in sorted_batches(frame, "id")]
    assert len(batches) > 1
    assert [number for batch in batches for number in batch] == sorted(numbers)


def test_a_sort_is_dropped_below_a_function(sail: SparkSession) -> None:
    def is_sorted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = batch["id"].to_pylist()
            yield pa.record_batch({"is_sorted": [values == sorted(values)]})

    numbers = [(7919 * each) % ROWS_SORTED for each in range(ROWS_SORTED)]
    frame = arrow_frame(sail, pa.table({"id": numbers})).repartition(4)
    found = frame.orderBy("id").mapInArrow(is_sorted, "is_sorted BOOLEAN").collect()
    assert not all(row["is_sorted"] for row in found)


def test_a_frame_without_rows_has_a_file_with_its_columns(sail: SparkSession, tmp_path: Path) -> None:
    none = arrow_frame(sail, pa.table({"id": [1, 2]})).where("id > 2")
    write_parquet(none, tmp_path / "ours")
    (part,) = (tmp_path / "ours").glob("*.parquet")
    assert pq.read_table(part).to_pydict() == {"id": []}
    none.write.parquet(str(tmp_path / "theirs"))
    assert not [*tmp_path.glob("theirs/*.parquet")]


def test_scratch_files_have_small_row_groups_and_nothing_that_readers_of_whole_files_ignore(
    sail: SparkSession, tmp_path: Path
) -> None:
    frame = arrow_frame(sail, pa.table({"id": [7919 * each % 50_021 for each in range(50_021)]}))
    write_parquet(frame, tmp_path / "ours")
    found = list[int]()
    for part in (tmp_path / "ours").glob("*.parquet"):
        with pq.ParquetFile(part) as file:
            for group in map(file.metadata.row_group, range(file.num_row_groups)):
                assert group.num_rows <= 8_000
                assert not group.column(0).is_stats_set
                assert "DICTIONARY" not in " ".join(group.column(0).encodings)
            found += file.read()["id"].to_pylist()
    assert sorted(found) == [*range(50_021)]


def test_a_function_over_rows_in_order_gets_them_in_order(sail: SparkSession, tmp_path: Path) -> None:
    def running(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = 0
        for batch in batches:
            sums = []
            for value in batch["id"].to_pylist():
                total = 31 * total % 1_000_003 + value
                sums.append(total)
            yield pa.record_batch({"id": batch["id"], "total": pa.array(sums, pa.int64())})

    numbers = [(7919 * each) % ROWS_SORTED for each in range(ROWS_SORTED)]
    frame = arrow_frame(sail, pa.table({"id": pa.array(numbers, pa.int64())})).repartition(4)
    found = map_in_order(frame, ["id"], running, "id BIGINT, total BIGINT", tmp_path / "mapped")
    wanted, total = {}, 0
    for value in sorted(numbers):
        total = 31 * total % 1_000_003 + value
        wanted[value] = total
    assert {row["id"]: row["total"] for row in found.collect()} == wanted


def test_expressions_are_combined_in_pairs_and_in_order() -> None:
    assert balanced(lambda one, other: f"({one}{other})", "abcde") == "(((ab)(cd))e)"
    assert balanced(str.__add__, ["a"]) == "a"


def test_without_the_package_the_frames_stay_sparks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysail.spark", None)
    with pytest.raises(ModuleNotFoundError) as missing, engine_session(SAIL):
        pass
    assert not on_sail()
    missing.value.name = "pysail"
    assert describe_error(missing.value) == "pysail is not installed; install Permanode with the extra [sail]"


def test_partition_columns_of_listed_files_are_null(sail: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "emitter_chain=2" / "part-0.parquet"
    file.parent.mkdir()
    pq.write_table(pa.table({"row": pa.array([1], pa.int32())}), file)
    reader = sail.read.schema("emitter_chain INT, row INT").option("basePath", str(tmp_path))
    assert [tuple(row) for row in reader.parquet(str(file)).collect()] == [(None, 1)]


def test_int96_timestamps_do_not_merge_with_others(sail: SparkSession, tmp_path: Path) -> None:
    """Earlier versions of the lake have them, without Arrow's schema."""
    layout = Layout("id INT, at TIMESTAMP")
    moment = datetime(2021, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)

    def write(is_int96: bool, row: int, folder: str) -> None:
        Path(folder).mkdir(parents=True)
        table = pa.table({"id": pa.array([row], pa.int32()), "at": pa.array([moment], pa.timestamp("us", tz="UTC"))})
        pq.write_table(
            table, Path(folder) / "part-0.parquet", use_deprecated_int96_timestamps=is_int96, store_schema=False
        )

    log = DeltaLog(str(tmp_path / "table"), layout)
    for row, is_int96 in enumerate((True, False)):
        commit_files(log, partial(write, is_int96, row), None, {}, append=True)
    with pytest.raises(PySparkException, match="Fail to merge schema field 'at'"):
        sail.read.schema(layout.ddl).parquet(*paths_of(log.root, log.files())).collect()
    ours = read_files(sail, log, log.files(), layout.ddl)
    assert collected(ours.orderBy("id")).to_pylist() == [{"id": row, "at": moment} for row in range(2)]
    # Rows of other files may be among those of one, and need a condition.
    each = [[file] for file in log.files()]
    counts = [(reads_listed(log, file, layout.ddl), read_files(sail, log, file, layout.ddl).count()) for file in each]
    assert sorted(counts) == [(False, 2), (True, 1)]


def test_a_condition_reads_whole_structs_unless_it_needs_a_field_of_one(
    sail: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = pa.array([{"number": each, "inner": None} for each in range(3)], STRUCT)
    pq.write_table(pa.table({"id": pa.array(range(3), pa.int64()), "value": value}), tmp_path / "rows.parquet")
    rows = sail.read.parquet(str(tmp_path))

    def read(frame: DataFrame) -> str:
        assert [row["number"] for row in frame.collect()] == [2]
        frame.explain()
        (source,) = (line for line in capsys.readouterr().out.splitlines() if "DataSourceExec" in line)
        return source.partition("projection=")[2].partition("]")[0]

    number = F.col("value.number").alias("number")
    assert "get_field(value" not in read(rows.where("id = 2").select(number))
    assert "get_field(value" not in read(rows.select("id", number).where("id = 2"))
    either = F.when(F.col("id") == 2, F.col("number")).isNotNull()
    assert "get_field(value" in read(rows.select("id", number).where(either))
    assert "get_field(value" in read(rows.select("id", number).where("number = 2"))


def test_a_filter_over_a_union_with_a_branch_that_is_always_false_fails(sail: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "part-0.parquet"
    pq.write_table(pa.table({"kind": ["a", "b"], "token": ["x", "y"]}), file)
    rows = sail.read.schema("kind STRING, token STRING").parquet(str(file))
    united = rows.unionByName(rows.where(F.col("token").isin([])))
    with pytest.raises(PySparkException):
        united.where("kind = 'a'").select("token").collect()


def test_files_of_a_write_do_not_follow_each_other_in_order(sail: SparkSession, tmp_path: Path) -> None:
    numbers = [(7919 * each) % ROWS_SORTED for each in range(ROWS_SORTED)]
    frame = arrow_frame(sail, pa.table({"id": numbers})).repartition(4)
    frame.orderBy("id").write.parquet(str(tmp_path / "parts"))
    parts = [pq.read_table(part)["id"].to_pylist() for part in (tmp_path / "parts").glob("*.parquet")]
    assert sum(map(len, parts)) == ROWS_SORTED
    by_first = [number for part in sorted(parts) for number in part]
    assert by_first != sorted(numbers)


def test_a_missing_column_of_a_union_has_no_type(sail: SparkSession) -> None:
    fields = pa.struct([("number", pa.int64())])
    one = arrow_frame(sail, pa.table({"id": [1]}))
    other = arrow_frame(sail, pa.table({"id": [2], "value": pa.array([{"number": 7}], fields)}))
    theirs = one.unionByName(other, allowMissingColumns=True)
    assert isinstance(theirs.schema["value"].dataType, NullType)
    with pytest.raises(PySparkException):
        theirs.select("value.number").collect()
    ours = union_with_nulls(one, other).select("id", "value.number").orderBy("id")
    assert [tuple(row) for row in ours.collect()] == [(1, None), (2, 7)]


def test_a_plan_has_a_limit_of_128_mebibytes(sail: SparkSession) -> None:
    data = pa.array([bytes(1 << 20)] * 130, pa.binary())
    with pytest.raises(PySparkException, match="larger than max"):
        sail.createDataFrame(pa.table({"data": data})).count()


def test_an_expression_has_a_limit_of_about_a_hundred_levels(sail: SparkSession) -> None:
    rows = arrow_frame(sail, pa.table({"id": [1, 1_000]}))
    conditions = [F.col("id") == each for each in range(100)]
    assert rows.where(balanced(or_, conditions)).count() == 1
    with pytest.raises(DecodeError):
        rows.where(reduce(or_, conditions)).count()
