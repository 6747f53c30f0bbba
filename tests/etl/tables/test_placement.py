"""Spark's partition columns equal those of db.partitions, for hundreds of small histories in one job."""

import random
from dataclasses import dataclass

import pytest
from pyspark.sql import functions as F

from db import schema
from db.intervals import of_indices
from db.partitions import WINDOW, place, window
from db.roles import LOOKUP_OF_TABLE
from etl.engine.arrow_frames import collected
from etl.engine.session import Session
from etl.lake.delta import few_rows
from etl.tables.partition_columns import TAILS, Placement, counted_keys, key_text, range_of, rows_of_keys
from etl.tables.splits import COUNTED, SPLITS, Growth
from tests.partition_model import Splits, grow

pytestmark = pytest.mark.loads

TAGS = schema.tags.name
GEOMETRIES = [(7, 3), (10, 1), (100, 8), pytest.param(250, 60, marks=pytest.mark.slow)]
KEYS = 60


@dataclass
class Case:
    """One range: what was loaded before, the run, each key's rows of both, and its splits before the run."""

    earlier: set[int]
    run: set[int]
    rows: dict[str, dict[int, int]]
    before: dict[str, Splits]

    @property
    def tail(self) -> int:
        return max(self.earlier, default=-1)

    def of_run(self, key: str, chunk_size: int) -> list[tuple[int, int]]:
        """The key's rows in the windows of the run."""
        windows = {window(index, chunk_size) for index in self.run}
        return [item for item in sorted(self.rows[key].items()) if window(item[0], chunk_size) in windows]


def drawn_counts(rng: random.Random, indices: set[int]) -> dict[int, int]:
    """Few rows, many rows, or none, spread evenly or not."""
    share, most = rng.choice([0.1, 0.5, 1.0]), rng.choice([1, 2, 9])
    return {index: 1 + rng.randrange(most) for index in sorted(indices) if rng.random() < share}


def cases(rng: random.Random, chunk_size: int, partition_size: int) -> list[Case]:
    """A first load, one that continues, one that fills gaps, one that loads again: in the ranges 0, 1, 2, 3."""
    found = []
    for range_id in range(4):
        whole = range(range_id * chunk_size, (range_id + 1) * chunk_size)
        half = set(rng.sample(whole, chunk_size // 2))
        cut = chunk_size // 2
        earlier, run = (
            (set(), set(whole)),
            (set(whole[:cut]), set(whole[cut:])),
            (half, set(whole) - half),
            (set(whole), half),
        )[range_id]
        rows = {f"{number:04x}": drawn_counts(rng, earlier | run) for number in range(KEYS)}
        before = {}
        for key, each in rows.items():
            loaded = [(index, each[index]) for index in sorted(earlier & each.keys())]
            splits = grow(None, loaded, earlier, -1, chunk_size=chunk_size, partition_size=partition_size)
            if splits is not None:
                before[key] = splits
        found.append(Case(earlier, run, rows, before))
    return found


@pytest.mark.parametrize(("chunk_size", "partition_size"), GEOMETRIES)
def test_grow_is_db_partitions_s(session: Session, chunk_size: int, partition_size: int) -> None:
    drawn = cases(random.Random(f"{chunk_size} {partition_size}"), chunk_size, partition_size)
    rows = [
        (bytes.fromhex(key), index)
        for case in drawn
        for key in case.rows
        for index, count in case.of_run(key, chunk_size)
        for _ in range(count)
    ]
    existing = [
        (TAGS, range_id, key, list(splits.first_milestones), splits.open_count, splits.counted_to)
        for range_id, case in enumerate(drawn)
        for key, splits in case.before.items()
    ]
    tails = [(TAGS, range_id, case.tail) for range_id, case in enumerate(drawn) if case.earlier]
    growth = Growth(of_indices(index for case in drawn for index in case.run), chunk_size, partition_size, WINDOW)
    tagged = session.createDataFrame(rows, "tag BINARY, milestone_index INT")
    counted = counted_keys(
        rows_of_keys(tagged, LOOKUP_OF_TABLE[schema.tags], chunk_size),
        few_rows(session, SPLITS, existing),
        few_rows(session, TAILS, tails),
        growth,
    )
    batches = collected(counted).cast(COUNTED).to_batches(max_chunksize=7)
    found = {
        (row["ms_range_id"], row["key"]): Splits(tuple(row["first_milestones"]), row["open_count"], row["counted_to"])
        for batch in growth.grow(batches)
        for row in batch.to_pylist()
    }
    expected = {}
    for range_id, case in enumerate(drawn):
        for key in case.rows:
            of_run = case.of_run(key, chunk_size)
            before = case.before.get(key)
            splits = grow(before, of_run, case.run, case.tail, chunk_size=chunk_size, partition_size=partition_size)
            if splits is not None and of_run:
                expected[range_id, key] = splits
    assert {range_id for range_id, _ in expected} == {0, 1, 2, 3}
    # A key without a row in the run's windows is not part of the run.
    assert found == expected


def test_rows_are_where_place_puts_them(session: Session) -> None:
    rng = random.Random(5)
    chunk_size = 20
    firsts = {
        (name, range_id): sorted(
            rng.sample(range(range_id * chunk_size + 1, (range_id + 1) * chunk_size), rng.randrange(1, 6))
        )
        for name in range(40)
        for range_id in range(3)
        if rng.random() < 0.6
    }
    splits = [(TAGS, range_id, f"{name:08x}", each, 1, 0) for (name, range_id), each in firsts.items()]
    splits += [
        ("outputs_by_address", range_id, key, [range_id * chunk_size + 1], 1, 0) for _, range_id, key, *_ in splits
    ]
    placement = Placement(chunk_size, schema.LOOKUPS, few_rows(session, SPLITS, splits))
    rows = (
        session.range(40)
        .crossJoin(session.range(60).withColumnRenamed("id", "m"))
        .select(F.unhex(F.lpad(F.hex("id"), 8, "0")).alias("tag"), F.col("m").cast("int").alias("milestone_index"))
    )
    assert rows.where(F.octet_length("tag") != 4).isEmpty()
    placed = placement.place(rows, schema.tags).collect()
    assert len(placed) == 40 * 60
    for row in placed:
        range_id = row["milestone_index"] // chunk_size
        name = int.from_bytes(row["tag"], "big")
        expected = place(firsts.get((name, range_id), []), row["milestone_index"])
        assert (row["ms_range_id"], row["partition_id"]) == (range_id, expected)
    cold = Placement(chunk_size, schema.LOOKUPS, None).place(rows.limit(5), schema.tags)
    assert {row["partition_id"] for row in cold.collect()} == {0}


def test_ranges_and_key_texts(session: Session) -> None:
    frame = session.createDataFrame([(99, True), (100, False)], "milestone_index INT, included BOOLEAN").select(
        "*",
        F.lit(bytes.fromhex("00ABFF")).alias("address"),
        F.lit("legacy").alias("output_kind"),
        F.lit("address").alias("variant"),
    )
    lookup = schema.LOOKUPS[1]
    rows = frame.select(
        range_of("milestone_index", 100).alias("r"), key_text(lookup.table, lookup.key).alias("k")
    ).collect()
    assert [(row["r"], row["k"]) for row in rows] == [
        (0, "00abff:legacy:address:true"),
        (1, "00abff:legacy:address:false"),
    ]
