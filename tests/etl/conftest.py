"""One Spark session for all tests below this folder, and stores to load into.

Jobs find the running session by themselves; its options suit every kind of store. Each test gets a new store unless a
fixture says otherwise.
"""

import gc
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import SparkSession

from api.network import NetworkMount
from cli.serving import mount
from db.connect import StoreSettings, open_adapter
from etl import runs
from etl.engine.current import SAIL
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from etl.engine.spans import Span
from etl.report import Report
from tests import reference_stardust
from tests.cassandra_keyspace import Keyspaces
from tests.conftest import SAMPLE
from tests.etl import archives, stardust_archives
from tests.etl.store_rows import Tables, by_key, compared
from tests.sqlite_stores import create

SETTINGS = EtlSettings(master="local[2]", driver_memory="1g", shuffle_partitions=1)
"""For loads that take seconds. Processes (tests/etl/commands.py) shuffle into two partitions."""

ON_SAIL = replace(SETTINGS, engine=SAIL)
"""The same options for the embedded engine."""


@contextmanager
def mounted(settings: StoreSettings) -> Iterator[NetworkMount]:
    """The network of a store, as the API serves it. Its store is closed at the end."""
    network = mount(settings)
    store: Any = network.store
    with closing(store):
        yield network


AS_LARGE = 0.01
"""EtlSettings.bulk_share with which a load of 200 messages builds a generation, as one of 2,000 does for users."""


@dataclass(frozen=True)
class Loading:
    """A store in `folder` and the jobs that fill it. `analytics`: loads include analytics, which few tests check."""

    folder: Path
    store: StoreSettings
    settings: EtlSettings
    bulk: bool = False
    analytics: bool = False

    def load(self, *sources: Path, **options: Any) -> Report:
        """One `permanode load`."""
        return runs.load(
            self.store, self.settings, list(sources), **{"bulk": self.bulk, "analytics": self.analytics} | options
        )

    def rebuild(self) -> Report:
        """One `permanode rebuild`."""
        return runs.rebuild(self.store, self.settings, bulk=self.bulk, analytics=self.analytics)

    def rows(self) -> Tables:
        """All that the store holds now."""
        with closing(open_adapter(self.store, writable=False)) as store:
            return {table.name: by_key(table, store.read_all(table)) for table in compared(self.store.protocol)}


Templates: TypeAlias = dict[tuple[Any, ...], tuple[Loading, Report]]
"""What was loaded → the store, which nothing else changes, and the report of the load."""


class Stores:
    """Makes stores with their lakes below one folder; the stores are files or keyspaces of a server.

    `bulk`: loads write SSTables. `templates`: loads of this session, which `loaded` copies if they are SQLite stores.
    At the end of a `with` block all keyspaces are given back, except those of `kept`.
    """

    def __init__(
        self,
        root: Path,
        templates: Templates,
        keyspaces: Keyspaces | None = None,
        *,
        bulk: bool = False,
        settings: EtlSettings = SETTINGS,
    ) -> None:
        self.kind = "sqlite" if keyspaces is None else "bulk" if bulk else "cassandra"
        self._root = root
        self._settings = settings
        self._templates = templates
        self._keyspaces = keyspaces
        self._lent: list[StoreSettings] = []
        self._bulk = bulk
        self._count = 0

    def __enter__(self) -> "Stores":
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._lent:
            assert self._keyspaces is not None
            self._keyspaces.give_back(each)
        self._lent.clear()

    def __call__(
        self,
        geometry: tuple[int, int] = (100_000, 100_000),
        network: str = "permatest-1",
        settings: EtlSettings | None = None,
        eras: Mapping[str, Any] | None = None,
        analytics: bool = False,
        **options: Any,
    ) -> Loading:
        """A new store with that (chunk_size, partition_size). `eras` are NetworkSettings, `options` the EtlSettings
        that differ from the default.
        """
        self._count += 1
        folder = self._root / f"store-{self._count}"
        store = StoreSettings(f"sqlite:///{folder}", network, *geometry, **(eras or {}))
        if self._keyspaces is None:
            create(store)
        else:
            store = self._keyspaces.lend(store)
            self._lent.append(store)
            options = {"lake": str(folder / "lake")} | options
        return Loading(folder, store, replace(settings or self._settings, **options), self._bulk, analytics)

    def loaded(
        self, name: str, geometry: tuple[int, int] = (100_000, 100_000), **options: Any
    ) -> tuple[Loading, Report]:
        """Returns a new store that contains the oracle ledger of that name, and the report of the load.

        The first call for a ledger, geometry and options loads it. Later calls copy store and lake, in other test files
        too. On a cluster every call loads.
        """
        network, sources, genesis = oracle_ledger(name, self._root / name)
        loading = self(geometry, network, **options)
        if self._keyspaces is not None:
            return loading, loading.load(*sources, genesis=genesis)
        key = (name, geometry, loading.settings.engine, *sorted(options.items()))
        if key not in self._templates:
            template = replace(loading, folder=self._root / f"template-{self._count}")
            report = loading.load(*sources, genesis=genesis)
            shutil.copytree(loading.folder, template.folder)
            self._templates[key] = template, report
        else:
            template, report = self._templates[key]
            shutil.rmtree(loading.folder)
            shutil.copytree(template.folder, loading.folder)
        return loading, report

    def kept(self, name: str, geometry: tuple[int, int] = (100_000, 100_000), **options: Any) -> tuple[Loading, Report]:
        """Returns what `loaded` returns. On a cluster all tests share the store, and must not write to it."""
        if self._keyspaces is None:
            return self.loaded(name, geometry, **options)
        key = (self.kind, self._settings.engine, name, geometry, *sorted(options.items()))
        if key not in self._templates:
            self._templates[key] = self.loaded(name, geometry, **options)
            self._lent.remove(self._templates[key][0].store)
        return self._templates[key]


def oracle_ledger(name: str, folder: Path) -> tuple[str, list[Path], Path | None]:
    """Returns the network, the files and the genesis of an oracle ledger; writes files that are not shipped to
    `folder`.

    `chrysalis` is the sample without a ledger state, `chrysalis from genesis` its archive files and `stardust from
    genesis` the nodes' JSON, both with the ledger state.
    """
    if name == "chrysalis":
        return "permatest-1", [SAMPLE], None
    if name == "chrysalis from genesis":
        return "permatest-1", [SAMPLE / each for each in archives.ARCHIVE], SAMPLE / "genesis.json"
    assert name == "stardust from genesis", name
    lines = archives.write(folder / "milestones.jsonl", stardust_archives.oracle())
    return stardust_archives.NETWORK, [lines], reference_stardust.ORACLE / "genesis.json"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves sockets to the garbage collector, so its resource warnings do not concern the project."""
    socket = pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
    for item in items:
        if item.nodeid.startswith("tests/etl/"):
            item.add_marker(socket)


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    with engine_session(SETTINGS, span=Span.SECONDS, cluster=True) as session:
        yield session
    gc.collect()


@pytest.fixture(scope="session")
def templates() -> Templates:
    return {}


@pytest.fixture(scope="module")
def sample_rows(templates: Templates, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The rows of the Chrysalis sample after a load of the embedded engine in this process."""
    loading, _ = Stores(tmp_path_factory.mktemp("sample"), templates, settings=ON_SAIL).loaded("chrysalis")
    return loading.rows()


@pytest.fixture(scope="module")
def stores(spark: SparkSession, templates: Templates, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"), templates, settings=replace(SETTINGS, bulk_share=AS_LARGE))


KINDS = [pytest.param("sqlite"), pytest.param("cassandra", marks=pytest.mark.cassandra)]
SQLITE, CASSANDRA = KINDS
AS_BULK = pytest.param("bulk", marks=[pytest.mark.cassandra, pytest.mark.slow])
"""Loads that write SSTables, which takes a while."""
LATER_CASSANDRA = pytest.param("cassandra", marks=[pytest.mark.cassandra, pytest.mark.slow])
"""A cluster, for results that other tests have already compared with a cluster's."""


def on(*kinds: ParameterSet) -> pytest.MarkDecorator:
    """Runs a test on those kinds of `everywhere` only, where the other kinds would test nothing more."""
    return pytest.mark.parametrize("everywhere", kinds, indirect=True)


@pytest.fixture(scope="module", params=KINDS)
def everywhere(
    request: pytest.FixtureRequest, spark: SparkSession, templates: Templates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stores]:
    """`stores` of each kind in turn."""
    keyspaces = None if request.param == "sqlite" else request.getfixturevalue("keyspaces")
    root = tmp_path_factory.mktemp("everywhere")
    settings = replace(SETTINGS, bulk_share=AS_LARGE)
    with Stores(root, templates, keyspaces, bulk=request.param == "bulk", settings=settings) as stores:
        yield stores
