"""Rows of a table in files that follow each other in the order of its key."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from db import schema
from etl.engine.arrow_frames import arrow_frame
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from etl.tables.frames import WHOLE, conform
from etl.writers.frame_writer import SHARE_BYTES, Staging
from etl.writers.sorting import write_sorted

pytestmark = pytest.mark.loads

ROWS = 20_000
SHARES = 3


@pytest.fixture
def sail() -> Iterator[SparkSession]:
    with engine_session(EtlSettings(engine="sail")) as session:
        yield session


def test_shares_of_hashes_are_files_that_follow_each_other(sail: SparkSession, tmp_path: Path) -> None:
    ids = [blake2b(bytes([each % 256, each // 256]), digest_size=32).digest() for each in range(ROWS)]
    rows = pa.table({"message_id": pa.array(ids, pa.binary()), "milestone_index": pa.array(range(ROWS), pa.int32())})
    frame = conform(arrow_frame(sail, rows), schema.messages, only=["milestone_index"])
    write_sorted(frame, tmp_path / "rows", SHARES)
    parts = [pq.read_table(part) for part in sorted((tmp_path / "rows").iterdir())]
    assert len(parts) == SHARES
    assert [part.num_rows // 1_000 for part in parts] == [6, 6, 6]
    found = pa.concat_tables(parts)
    expected = sorted(zip(ids, range(ROWS), strict=True))
    assert [*zip(found["message_id"].to_pylist(), found["milestone_index"].to_pylist(), strict=True)] == expected


def test_shares_without_rows_are_a_file_with_the_columns(sail: SparkSession, tmp_path: Path) -> None:
    ids = arrow_frame(sail, pa.table({"message_id": [b"one"], "milestone_index": pa.array([1], pa.int32())}))
    frame = conform(ids.where("milestone_index > 1"), schema.messages, only=["milestone_index"])
    write_sorted(frame, tmp_path / "rows", SHARES)
    (part,) = (tmp_path / "rows").iterdir()
    assert pq.read_table(part).to_pydict() == {"message_id": [], "milestone_index": []}


def test_rows_come_with_their_message_only_where_they_are_sorted(sail: SparkSession, tmp_path: Path) -> None:
    """A cluster gets the same rows without it, sorted or not."""
    rows = [(bytes([each]) * 32, 0, "input", bytes(32), b"data", each, 2) for each in range(250, 0, -10)]
    columns = schema.transactions.names
    held = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=columns)
    messages = pa.array([b"message" if each % 20 else None for each in held["milestone_index"].to_pylist()])
    frame = conform(arrow_frame(sail, held.append_column(WHOLE, messages)), schema.transactions, has_whole=True)
    staging = Staging(tmp_path / "staged", SHARES * SHARE_BYTES)
    staged = staging.stage(frame)
    assert [row for columns in staged.rows().batches for row in columns[-1]] == messages.to_pylist()[::-1]
    assert [*staged.rows()] == sorted(rows)
    assert sorted(staging.stage_timed(frame).rows()) == sorted(rows)
