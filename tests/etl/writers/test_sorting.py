"""Rows of a table, written in shares and read in the order of its key."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from db import schema
from db.model import Order
from etl.engine.arrow_frames import arrow_frame
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from etl.tables.frames import WHOLE, TableFrame, conform
from etl.writers import sorting
from etl.writers.sorting import rows_in_order, write_sorted
from etl.writers.staging import SHARE_BYTES, Staging

pytestmark = pytest.mark.loads

ROWS = 20_000
SHARES = 3


@pytest.fixture
def sail() -> Iterator[SparkSession]:
    with engine_session(EtlSettings(engine="sail")) as session:
        yield session


@pytest.mark.parametrize("count", [SHARES, 300])
def test_shares_of_hashes_follow_each_other(sail: SparkSession, tmp_path: Path, count: int) -> None:
    """300 shares are those of 75 GiB of input, of which each has about 67 rows."""
    ids = [blake2b(bytes([each % 256, each // 256]), digest_size=32).digest() for each in range(ROWS)]
    rows = pa.table({"message_id": pa.array(ids, pa.binary()), "milestone_index": pa.array(range(ROWS), pa.int32())})
    frame = conform(arrow_frame(sail, rows), schema.messages, only=["milestone_index"])
    write_sorted(frame, tmp_path / "rows", count)
    shares = [(tmp_path / "rows").glob(f"*/share={each}/*.parquet") for each in range(count)]
    numbers = [sum(pq.read_metadata(file).num_rows for file in share) for share in shares]
    assert sum(numbers) == ROWS
    # Four standard deviations of the number of even hashes in a share.
    assert max(abs(number - ROWS / count) for number in numbers) < 4 * (ROWS / count) ** 0.5
    found = pa.Table.from_batches(rows_in_order(frame, tmp_path / "rows"))
    expected = sorted(zip(ids, range(ROWS), strict=True))
    assert [*zip(found["message_id"].to_pylist(), found["milestone_index"].to_pylist(), strict=True)] == expected


@pytest.mark.parametrize("order", Order)
def test_rows_of_equal_hashes_are_in_the_order_of_the_whole_key(
    sail: SparkSession, tmp_path: Path, order: Order
) -> None:
    chance = random.Random(5)
    keys = [(bytes([chance.randrange(40)]) * 32, chance.randrange(300), chance.randbytes(32)) for _ in range(ROWS)]
    names = ("parent_id", "milestone_index", "message_id")
    columns = [
        pa.array(column, kind)
        for column, kind in zip(zip(*keys, strict=True), (pa.binary(), pa.int32(), pa.binary()), strict=True)
    ]
    frame = conform(arrow_frame(sail, pa.table(columns, names)), replace(schema.parents, order=order), only=names)
    write_sorted(frame, tmp_path / "rows", SHARES)
    found = pa.Table.from_batches(rows_in_order(frame, tmp_path / "rows")).select(names)
    keys.sort(key=lambda key: key[1:], reverse=order is Order.DESC)
    keys.sort(key=lambda key: key[0])
    assert [*zip(*found.to_pydict().values(), strict=True)] == keys


@pytest.mark.parametrize("order", Order)
def test_many_rows_whose_key_does_not_begin_with_a_hash_are_divided(
    sail: SparkSession, tmp_path: Path, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No share has more than twice its part of the rows, although a tag has half of them and most are sorted."""
    own, sizes = sorting._divided, list[int]()

    def divided(*args: Any) -> list[list[Path]]:
        shares = own(*args)
        sizes.extend(sum(pq.read_metadata(path).num_rows for path in share) for share in shares)
        return shares

    monkeypatch.setattr(sorting, "SHARE_MAX", 400_000)
    monkeypatch.setattr(sorting, "_divided", divided)
    chance = random.Random(7)
    tags = [b"busy" if each % 2 else b"tag %d" % chance.randrange(3_000) for each in range(ROWS)]
    keys = [(tag, 0, 0, at if at % 10 else chance.randrange(ROWS), chance.randbytes(32)) for at, tag in enumerate(tags)]
    names = schema.tags.key
    kinds = [pa.binary(), pa.int32(), pa.int32(), pa.int32(), pa.binary()]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*keys, strict=True), kinds, strict=True)]
    frame = conform(arrow_frame(sail, pa.table(columns, names)), replace(schema.tags, order=order), only=names)
    write_sorted(frame, tmp_path / "rows", SHARES)
    found = pa.Table.from_batches(rows_in_order(frame, tmp_path / "rows")).select(names)
    keys.sort(key=lambda key: key[3:], reverse=order is Order.DESC)
    keys.sort(key=lambda key: key[0])
    assert [*zip(*found.to_pydict().values(), strict=True)] == keys
    assert len(sizes) > 4
    assert max(sizes) < 2 * ROWS / len(sizes)
    assert [*tmp_path.iterdir()] == [tmp_path / "rows"]


@pytest.mark.parametrize("above", [0, 1])
def test_rows_of_shares_are_read_again_also_if_there_are_none(sail: SparkSession, tmp_path: Path, above: int) -> None:
    ids = arrow_frame(sail, pa.table({"message_id": [b"one"], "milestone_index": pa.array([1], pa.int32())}))
    frame = conform(ids.where(f"milestone_index > {above}"), schema.messages, only=["milestone_index"])
    staged = Staging(tmp_path / "staged", SHARES * SHARE_BYTES).stage(frame)
    rows = [(b"one", 1)][above:]
    assert [*staged.rows()] == rows
    assert [tuple(row) for row in staged.again().collect()] == rows
    assert staged.count() == len(rows)


def test_no_frame_of_a_large_run_waits_for_many_later_ones(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames are waited for in their order. Two threads stage them, as in a run."""
    ids = arrow_frame(sail, pa.table({"message_id": [b"one"], "milestone_index": pa.array([1], pa.int32())}))
    frame = conform(ids, schema.messages, only=["milestone_index"])
    frames = [replace(frame) for _ in range(40)]
    written = []

    def write(frame: TableFrame, *_: object) -> None:
        written.append(next(number for number, each in enumerate(frames) if each is frame))
        time.sleep(0.02)

    monkeypatch.setattr("etl.writers.staging.write_sorted", write)
    with closing(Staging(tmp_path / "staged", SHARES * SHARE_BYTES)) as staging, ThreadPoolExecutor(2) as pool:
        assert len([*pool.map(staging.stage, frames)]) == len(frames)
    assert sorted(written) == [*range(len(frames))]
    # A thread of a busy machine may be late for its turn.
    assert max(place - number for place, number in enumerate(written)) < len(frames) // 2


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
