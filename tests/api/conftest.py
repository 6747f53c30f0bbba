from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store
from db.migrate import migrate
from db.store import WritableStore
from tests.api.oracle import Oracle
from tests.reference import ORACLE, reference_rows, write
from tests.reference_ledger import ledger_rows

GEOMETRIES = {"default": (100_000, 100_000), "tiny": (7, 3)}
"""chunk_size and partition_size: all in one partition, and cut wherever it can be cut."""


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    return Oracle.read(ORACLE)


def filled_store(
    folder: Path, oracle: Oracle, chunk_size: int, partition_size: int, *, with_genesis: bool = True
) -> WritableStore:
    """A store in that folder with the oracle ledger in it, as fill()."""
    settings = StoreSettings(f"sqlite:///{folder}", oracle.expected["network"], chunk_size, partition_size)
    return fill(settings, oracle, with_genesis=with_genesis)


def fill(settings: StoreSettings, oracle: Oracle, *, with_genesis: bool = True) -> WritableStore:
    """A new store with the oracle ledger in it, written by the naive reference, not by etl/.

    `with_genesis`: its state too, which needs all milestones from the first on.
    """
    migrate(settings)
    store = open_store(settings, writable=True)
    geometry = settings.chunk_size, settings.partition_size
    rows = reference_rows(oracle.milestones, oracle.pending, *geometry, settings.network)
    if with_genesis:
        ledger_rows(rows, oracle.milestones, settings.network, *geometry)
    write(store, rows)
    return store


STORES = [
    pytest.param(("sqlite", "default"), id="default"),
    pytest.param(("sqlite", "tiny"), id="tiny"),
    pytest.param(("cassandra", "default"), id="cassandra", marks=pytest.mark.cassandra),
]
"""What the suite runs over: both stores, and both geometries on the one that answers sooner; tests/store cuts both."""


@pytest.fixture(scope="session", params=STORES)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle) -> Iterator[Any]:
    kind, geometry = request.param
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp(geometry)}"
    else:
        url = f"cassandra://{request.getfixturevalue('cassandra').contact}/api_{geometry}?rf=1"
    filled = fill(StoreSettings(url, oracle.expected["network"], *GEOMETRIES[geometry]), oracle)
    yield filled
    filled.close()


@pytest.fixture(scope="session")
def mount(store: WritableStore, oracle: Oracle) -> NetworkMount:
    expected = oracle.expected
    min_pow_score = expected["info"]["minPoWScore"]
    return NetworkMount(store, expected["network"], expected["bech32Hrp"], min_pow_score)


@pytest.fixture(scope="session")
def app(mount: NetworkMount) -> Any:
    return create_app({"testing": mount}, "testing", ApiSettings())


@pytest.fixture
def client(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a cluster a listing is asked here in its largest pages: thousands of small ones would take minutes there, and
    what they may get wrong is paging, which tests/store holds over both stores.
    """
    sized = [item for item in items if Path(__file__).parent in item.path.parents and page_size_of(item)]
    largest: dict[str, int] = {}
    for item in sized:
        name = item.nodeid.partition("[")[0]
        largest[name] = max(page_size_of(item), largest.get(name, 0))
    left_out = [
        item
        for item in sized
        if item.get_closest_marker("cassandra") and page_size_of(item) < largest[item.nodeid.partition("[")[0]]
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def page_size_of(item: pytest.Item) -> int:
    """The page size that a test is run with; 0: it has none."""
    return item.callspec.params.get("page_size", 0) if hasattr(item, "callspec") else 0
