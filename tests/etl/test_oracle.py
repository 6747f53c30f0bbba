"""The oracle ledger after loads, as whole rows, table by table, compared with a plain reading of its node JSON.

Tests marked slow run always in tests/etl/both_engines, with the embedded engine.
"""

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import closing
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from db import schema
from db.connect import open_store
from etl.lake.delta import Lake
from tests.conftest import SAMPLE
from tests.etl.archives import ARCHIVE, ARCHIVE_FORMS, COMPRESSIONS, Json, dump, oracle, pending, sample, write
from tests.etl.conftest import Loading, Stores
from tests.etl.listings import check_listings
from tests.etl.store_rows import COMPARED, by_key
from tests.reference import reference_rows
from tests.reference_rows import intervals

pytestmark = pytest.mark.spark

SMALL = (7, 3)
GEOMETRIES = [(100_000, 100_000), SMALL]
"""Those of stores that Sail fills (tests/etl/both_engines). Spark fills stores with small partitions."""

PENDING_TABLES = {"pending_messages", "pending", "pending_hints"}
CUT_TABLES = {"splits", "tails", "tag_hints", "addresses_hints"}


def reference(geometry: tuple[int, int], numbers: range = range(1, 51), *, node: bool = True) -> dict[str, list[Json]]:
    """The expected contents of a store; without `node`, values that archives do not contain are removed."""
    rows = reference_rows(oracle()[numbers.start - 1 : numbers.stop - 1], pending(), *geometry, "permatest-1")
    if not node:
        rows = {name: each for name, each in rows.items() if name not in PENDING_TABLES}
        rows["messages"] = [row | {"conflict_reason": None} for row in rows["messages"]]
    return {table.name: by_key(table, rows.get(table.name, [])) for table in COMPARED}


def uncut(rows: dict[str, list[Json]]) -> dict[str, list[Json]]:
    """Rows without the columns that depend on the order of loads."""
    return {
        name: sorted(({**row, "partition_id": 0} if "partition_id" in row else row for row in each), key=repr)
        for name, each in rows.items()
        if name not in CUT_TABLES
    }


def check(found: dict[str, list[Json]], expected: dict[str, list[Json]]) -> None:
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        assert [parsed(row) for row in found[name]] == [parsed(row) for row in rows], name


def parsed(row: Json) -> Json:
    """The row with its JSON texts parsed, because their white space does not matter."""
    texts = {"first_milestones", "complete", "incomplete", "logged"} & row.keys()
    return row | {name: json.loads(row[name]) for name in texts}


ArchiveA: TypeAlias = Callable[[tuple[int, int]], Loading]


@pytest.fixture(scope="module")
def archive_a(stores: Stores) -> ArchiveA:
    """Archive A loaded at once, by geometry."""

    @cache
    def loaded(geometry: tuple[int, int]) -> Loading:
        loading = stores(geometry)
        report = loading.load(*(SAMPLE / name for name in ARCHIVE))
        assert (report.exit_code, report.milestones, report.complete, report.rejects) == (0, 50, 50, 0)
        return loading

    return loaded


@pytest.mark.slow
def test_archive_a_gives_the_reference_s_rows(archive_a: ArchiveA) -> None:
    check(archive_a(SMALL).rows(), reference(SMALL, node=False))


@pytest.mark.slow
def test_white_flag_index_is_the_oracle_s(archive_a: ArchiveA) -> None:
    expected = {
        each["id"]: each["whiteFlagIndex"]
        for line in oracle()
        for each in line["messages"]
        if each["whiteFlagIndex"] is not None
    }
    rows = archive_a(SMALL).rows()["messages"]
    own = {line["milestone"]["messageId"]: line["milestone"]["index"] for line in oracle()}
    found = {row["message_id"]: row["white_flag_index"] for row in rows}
    assert {key: each for key, each in found.items() if key not in own} == expected
    cones = {line["milestone"]["index"]: len(line["messages"]) - 1 for line in oracle()}
    assert {key: each for key, each in found.items() if key in own} == {key: cones[own[key]] for key in own}


@pytest.mark.slow
def test_ascending_the_bound_holds(archive_a: ArchiveA) -> None:
    rows = archive_a(SMALL).rows()
    for table, key in (
        ("tags", ("tag",)),
        ("outputs_by_address", ("address", "included")),
        ("transactions_by_address", ("address", "included")),
    ):
        sizes: dict[Any, int] = {}
        largest: dict[Any, int] = {}
        for row in rows[table]:
            at = tuple(row[name] for name in key)
            partition = (at, row["ms_range_id"], row["partition_id"])
            milestone = (at, row["milestone_index"])
            sizes[partition] = sizes.get(partition, 0) + 1
            largest[milestone] = largest.get(milestone, 0) + 1
        for (at, _, _), size in sizes.items():
            assert size <= 3 + max(rows for (each, _), rows in largest.items() if each == at)
        assert len(sizes) > len({at for at, _, _ in sizes}) + 10


@pytest.mark.slow
def test_every_listing_at_every_page_size(archive_a: ArchiveA) -> None:
    asyncio.run(check_listings(archive_a(SMALL).store))


@pytest.fixture(scope="module")
def node_json(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    folder = tmp_path_factory.mktemp("node")
    write(folder / "milestones.jsonl", oracle())
    write(folder / "pending.jsonl", pending())
    loading = stores((7, 3))
    report = loading.load(folder)
    assert (report.exit_code, report.complete, report.pending) == (0, 50, len(pending()))
    return loading


def test_node_json_gives_the_reference_s_rows_pending_ones_too(node_json: Loading) -> None:
    check(node_json.rows(), reference((7, 3)))
    asyncio.run(check_listings(node_json.store, with_pending=True))


@pytest.mark.slow
def test_split_by_milestone_shuffled_and_twice(stores: Stores, tmp_path: Path) -> None:
    """Several loads, each of some milestones in some form and packing, all of them twice."""
    rng = random.Random(3)
    loading = stores((7, 3), bulk_share=0.5)
    forms, packings = sorted(ARCHIVE_FORMS), sorted(COMPRESSIONS)
    numbers = rng.sample(range(1, 51), 50) * 2
    rng.shuffle(numbers)
    files = []
    for position, number in enumerate(numbers):
        data = dump(ARCHIVE_FORMS[rng.choice(forms)](sample()[number - 1]))
        files.append(write(tmp_path / f"{position}.log", [COMPRESSIONS[rng.choice(packings)](data)]))
    loaded: set[int] = set()
    for start, end in ((0, 30), (30, 34), (34, 100)):
        report = loading.load(*files[start:end])
        mine = set(numbers[start:end])
        assert (report.exit_code, report.skipped, report.complete) == (0, len(mine & loaded), len(mine - loaded))
        loaded |= mine
    check(uncut(loading.rows()), uncut(reference((7, 3), node=False)))
    asyncio.run(check_listings(loading.store))


def with_logged(rows: dict[str, list[Json]], *numbers: int) -> dict[str, list[Json]]:
    """The rows of a store of one range, with the record that files contain those milestones."""
    sync = [row | {"logged_by": 0 if row["milestone_index"] in numbers else None} for row in rows["sync"]]
    ranges = [row | {"logged": json.dumps(intervals(numbers))} for row in rows["ranges"]]
    return rows | {"sync": sync, "ranges": ranges}


def closed_files(folder: Path) -> Path:
    """Files of milestones 2 to 4, 5 and 6: the checksum of 5 is wrong, and 6 has none."""
    folder.mkdir()
    for first, end in ((2, 5), (5, 6), (6, 7)):
        path = write(folder / f"{first}to{end}.log", sample()[first - 1 : end - 1])
        digest = blake2b(path.read_bytes() + b"?" * (first == 5), digest_size=32).hexdigest()
        if first != 6:
            path.with_name(f"{path.name}.b2sum").write_text(f"{digest}  {path.name}\n")
    return folder


@pytest.mark.slow
def test_a_range_loads_no_more_and_what_is_complete_is_not_decoded_again(stores: Stores, tmp_path: Path) -> None:
    loading = stores()
    report = loading.load(SAMPLE / ARCHIVE[0], first=3, last=6)
    assert (report.exit_code, report.complete, report.skipped) == (0, 3, 0)
    check(loading.rows(), reference((100_000, 100_000), range(3, 6), node=False))
    before = loading.rows()
    # These were closed by the archive writer, according to their checksums: the store records their milestones.
    again = loading.load(closed_files(tmp_path / "closed"), first=3, last=6)
    assert (again.exit_code, again.milestones, again.messages, again.skipped) == (3, 0, 0, 3)
    (reject,) = loading.rows()["rejects"]
    assert (Path(reject["file"]).name, reject["line"]) == ("5to6.log", 0)
    assert reject["reason"].startswith("file: checksum ")
    check(loading.rows() | {"rejects": []}, with_logged(before, 3, 4))
    forced = loading.load(SAMPLE / ARCHIVE[0], first=4, last=7, force=True)
    assert (forced.complete, forced.skipped) == (3, 0)
    expected = with_logged(reference((100_000, 100_000), range(3, 7), node=False), 3, 4)
    check(uncut(loading.rows() | {"rejects": []}), uncut(expected))


@pytest.mark.slow
def test_a_rebuild_of_another_store_is_its_load(node_json: Loading, stores: Stores) -> None:
    other = stores((60, 2), lake=str(node_json.folder / "lake"))
    with closing(open_store(other.store, writable=True)) as store, store.batch() as batch:
        # The lake does not record archive files, and it does not contain milestone 51.
        batch.upsert(schema.sync, ("ms_range_id", "milestone_index", "logged_by"), [(0, 7, 0), (0, 8, 0), (0, 51, 0)])
    assert other.rebuild().complete == 50
    check(other.rows(), with_logged(reference((60, 2)), 7, 8))


def test_the_lake_is_beside_the_store(node_json: Loading, spark: Any) -> None:
    lake = Lake(spark, str(node_json.folder / "lake"))
    assert lake.read("messages").count() == sum(len(line["messages"]) for line in oracle())
    assert not [*node_json.folder.glob("staging*")]
