"""A cluster filled by the embedded engine: the rows of an embedded store, late milestones, engines that take turns.

The expected rows are those of SQLite stores, which other tests compare with the oracle's files.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from db import schema
from db.connect import open_adapter
from tests.cassandra_keyspace import Keyspaces
from tests.etl.conftest import ON_SAIL, SETTINGS, Loading, Stores, Templates, oracle_ledger
from tests.etl.store_rows import ANALYTICS, by_key
from tests.etl.test_oracle import check

pytestmark = [pytest.mark.loads, pytest.mark.cassandra]


@pytest.fixture(scope="module")
def embedded(templates: Templates, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("embedded"), templates, settings=ON_SAIL)


@pytest.fixture(scope="module")
def expected_turns(embedded: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """An embedded store after the loads of TURNS."""
    loading = embedded(analytics=True)
    in_turns(tmp_path_factory.mktemp("turns"), loading)
    return loading


@pytest.fixture(scope="module")
def clusters(keyspaces: Keyspaces, templates: Templates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with Stores(tmp_path_factory.mktemp("process"), templates, keyspaces, settings=ON_SAIL) as stores:
        yield stores


def analysed(loading: Loading) -> dict[str, list[dict[str, Any]]]:
    """The rows of all analytics tables."""
    with closing(open_adapter(loading.store, writable=False)) as store:
        return {table.name: by_key(table, store.read_all(table)) for table in ANALYTICS}


def name_of_engine(loading: Loading) -> str:
    with closing(open_adapter(loading.store, writable=False)) as store:
        return next(row["value"] for row in store.read_all(schema.keyspace_info) if row["name"] == "engine")


@pytest.mark.parametrize(
    ("name", "geometry"),
    [
        pytest.param("chrysalis from genesis", (100_000, 100_000), marks=pytest.mark.slow),
        ("stardust from genesis", (7, 3)),
    ],
)
def test_a_cluster_gets_the_rows_of_an_embedded_store(
    name: str, geometry: tuple[int, int], embedded: Stores, clusters: Stores
) -> None:
    expected, there = embedded.kept(name, geometry, ledger_near=10_000, analytics=True)
    loading, report = clusters.kept(name, geometry, ledger_near=10_000, analytics=True)
    assert report.engine == "sail"
    assert report.rows_by_table == there.rows_by_table
    check(loading.rows(), expected.rows())
    assert analysed(loading) == analysed(expected)


TURNS: tuple[dict[str, Any], ...] = (
    {"first": 30, "last": 40},
    {"first": 1, "last": 20},
    {},
)
"""Ranges of the files, one load after the other. The first comes before its ledger state can advance, the others are
late.
"""


def in_turns(folder: Path, *loadings: Loading) -> list[str]:
    """Loads the ledger in TURNS, with each loading of the same store in turn. Returns the engines of the reports."""
    _, sources, genesis = oracle_ledger("chrysalis from genesis", folder)
    engines = []
    for number, options in enumerate(TURNS):
        loading = loadings[number % len(loadings)]
        engines.append(loading.load(*sources, genesis=None if number else genesis, **options).engine)
        assert name_of_engine(loading) == engines[-1]
    return engines


@pytest.mark.slow
def test_a_cluster_gets_the_same_rows_in_several_loads(
    expected_turns: Loading, clusters: Stores, tmp_path: Path
) -> None:
    loading = clusters(analytics=True)
    in_turns(tmp_path, loading)
    assert loading.rows() == expected_turns.rows()
    assert analysed(loading) == analysed(expected_turns)


@pytest.mark.spark
def test_both_engines_take_turns_on_one_cluster_and_lake(
    spark: object, expected_turns: Loading, clusters: Stores, tmp_path: Path
) -> None:
    sail = clusters(analytics=True)
    on_spark = replace(sail, settings=replace(SETTINGS, lake=sail.settings.lake))
    assert in_turns(tmp_path, on_spark, sail) == ["spark", "sail", "spark"]
    assert sail.rows() == expected_turns.rows()
    assert analysed(sail) == analysed(expected_turns)
