"""One Spark session for every test here, and stores to load into.

Rules of this file: jobs find the running session by themselves; a store is new unless a fixture says otherwise.
"""

import gc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from db.connect import StoreSettings
from db.migrate import migrate
from etl import jobs
from etl.report import Report
from etl.session import EtlSettings, Span, spark_session
from tests.etl.store_rows import stored_rows

SETTINGS = EtlSettings(master="local[2]", driver_memory="1g", shuffle_partitions=2)


@dataclass(frozen=True)
class Loading:
    """A store in `folder`, and the jobs that fill it."""

    folder: Path
    store: StoreSettings
    settings: EtlSettings

    def load(self, *sources: Path, **options: Any) -> Report:
        """One `permanode load`."""
        return jobs.load(self.store, self.settings, list(sources), **options)

    def rebuild(self) -> Report:
        """One `permanode rebuild`."""
        return jobs.rebuild(self.store, self.settings)

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """All that the store holds now."""
        return stored_rows(self.folder)


class Stores:
    """Makes stores below one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._count = 0

    def __call__(
        self,
        geometry: tuple[int, int] = (100_000, 100_000),
        network: str = "permatest-1",
        settings: EtlSettings = SETTINGS,
        **options: Any,
    ) -> Loading:
        """A new store with that (chunk_size, partition_size); `options` are EtlSettings that differ."""
        self._count += 1
        folder = self._root / f"store-{self._count}"
        store = StoreSettings(f"sqlite:///{folder}", network, *geometry)
        migrate(store)
        return Loading(folder, store, replace(settings, **options))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves sockets to the garbage collector: a warning about one says nothing about us."""
    socket = pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(socket)


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    with spark_session(SETTINGS, span=Span.SECONDS) as session:
        yield session
    gc.collect()


@pytest.fixture(scope="module")
def stores(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"))
