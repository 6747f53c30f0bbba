from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store
from db.store import WritableStore
from tests import reference_stardust
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import NETWORK as WORMHOLE_NETWORK
from tests.api.wormhole_network import World
from tests.cassandra_keyspace import Keyspaces
from tests.reference import ORACLE, reference_rows, whole_rows
from tests.reference_rows import Rows, write
from tests.sqlite_stores import create

GEOMETRIES = {"default": (100_000, 100_000), "tiny": (7, 3)}
"""(chunk_size, partition_size): everything in one partition, and cut at every possible place."""


READERS = [
    pytest.param("cassandra", id="cassandra-driver"),
    pytest.param("acsylla", id="acsylla", marks=pytest.mark.slow),
]
"""For tests of failures. acsylla runs with `--slow` only, because reactions to failures take time."""


Filled: TypeAlias = dict[tuple[str, ...], WritableStore]


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    return Oracle.read(ORACLE)


def filled_store(
    folder: Path, oracle: Oracle, chunk_size: int, partition_size: int, *, with_genesis: bool = True
) -> WritableStore:
    """A store in that folder that contains the oracle ledger, as from fill()."""
    settings = StoreSettings(f"sqlite:///{folder}", oracle.expected["network"], chunk_size, partition_size)
    return fill(settings, oracle, with_genesis=with_genesis)


def fill(settings: StoreSettings, oracle: Oracle, *, with_genesis: bool = True) -> WritableStore:
    """A new store that contains the oracle ledger, written by the naive reference and not by etl/.

    `with_genesis`: also its ledger state, which requires all milestones from the first on.
    """
    geometry = settings.chunk_size, settings.partition_size
    make_rows = whole_rows if with_genesis else reference_rows
    return filled_with(settings, make_rows(oracle.milestones, oracle.pending, *geometry, settings.network))


def fill_stardust(settings: StoreSettings, stardust: StardustLedger) -> WritableStore:
    """fill() for the Stardust oracle ledger."""
    geometry = settings.chunk_size, settings.partition_size
    rows = reference_stardust.whole_rows(stardust.milestones, stardust.pending, *geometry, settings.network)
    return filled_with(settings, rows)


def filled_with(settings: StoreSettings, rows: Rows) -> WritableStore:
    """A new store with those rows in it."""
    create(settings)
    store = open_store(settings, writable=True)
    write(store, rows)
    return store


STORES = [
    pytest.param(("sqlite", "default"), id="default"),
    pytest.param(("sqlite", "tiny"), id="tiny", marks=pytest.mark.slow),
    pytest.param(("cassandra", ""), id="cassandra", marks=[pytest.mark.cassandra, pytest.mark.slow]),
    pytest.param(("cassandra", "acsylla"), id="acsylla", marks=[pytest.mark.cassandra, pytest.mark.slow]),
]
"""The stores of the suite. Without `--slow`, tests here compare the responses of the first one with the input files,
test_every_store.py compares those of the others with them, and tests/db tests each adapter against the store contract.
"""

ON_ONE_STORE = pytest.mark.parametrize("store", STORES[:1], indirect=True)
"""For tests of what happens before a request reaches a store."""


@pytest.fixture(scope="session")
def filled() -> Iterator[Filled]:
    """Stores of this session by contents and kind; all test files share them."""
    stores: Filled = {}
    yield stores
    for store in stores.values():
        store.close()


@pytest.fixture(scope="session", params=STORES)
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, filled: Filled
) -> WritableStore:
    found = filled.get(("api", *request.param))
    if found is None:
        found = fill(new_store(request, tmp_path_factory, "api", oracle.expected["network"]), oracle)
        filled["api", *request.param] = found
    return found


def new_store(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    network: str,
    kind_of_store: tuple[str, str] | None = None,
) -> StoreSettings:
    """Where a fixture may fill a store. `kind_of_store`: a value of STORES; default: the fixture's own."""
    kind, how = kind_of_store or request.param
    if kind == "sqlite":
        return StoreSettings(f"sqlite:///{tmp_path_factory.mktemp(f'{name}_{how}')}", network, *GEOMETRIES[how])
    keyspaces: Keyspaces = request.getfixturevalue("keyspaces")
    return keyspaces.lend(StoreSettings("", network, *GEOMETRIES["default"], reader=how))


T = TypeVar("T")

Some: TypeAlias = Callable[[Iterable[T]], list[T]]

EVERY = 24
"""A cluster takes about ten times as long for a request as the embedded store, and its answer is made of the same rows:
with `-m cassandra`, every so many items of a ledger are requested, with `--slow` all.
"""


@pytest.fixture
def some(request: pytest.FixtureRequest) -> Some[Any]:
    """Which items of a ledger a test requests: all from the embedded store, every EVERY-th from a cluster."""
    is_sampled = request.node.get_closest_marker("cassandra") and request.config.getoption("markexpr")
    return lambda items: list(items)[:: EVERY if is_sampled else 1]


@pytest.fixture(scope="session")
def stardust() -> StardustLedger:
    return StardustLedger.read()


@pytest.fixture(scope="session", params=STORES)
def stardust_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, stardust: StardustLedger, filled: Filled
) -> WritableStore:
    found = filled.get(("stardust", *request.param))
    if found is None:
        found = fill_stardust(new_store(request, tmp_path_factory, "stardust", stardust.network), stardust)
        filled["stardust", *request.param] = found
    return found


@pytest.fixture(scope="session")
def world() -> World:
    return World()


@pytest.fixture(scope="session", params=STORES)
def wormhole_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, world: World
) -> Iterator[Any]:
    settings = new_store(request, tmp_path_factory, "wormhole", WORMHOLE_NETWORK)
    filled = world.fill(replace(settings, chunk_days=7) if request.param[1] == "tiny" else settings)
    yield filled
    filled.close()


@pytest.fixture(scope="session")
def signed_app(wormhole_store: WritableStore) -> Any:
    """A server whose only network is a Wormhole network."""
    mount = NetworkMount(wormhole_store, WORMHOLE_NETWORK, wormhole="mainnet")
    return create_app({WORMHOLE_NETWORK: mount}, WORMHOLE_NETWORK, ApiSettings())


@pytest.fixture
def signed(signed_app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=signed_app), base_url="http://permanode")


@pytest.fixture(scope="session")
def mount(store: WritableStore, oracle: Oracle) -> NetworkMount:
    expected = oracle.expected
    min_pow_score = expected["info"]["minPoWScore"]
    return NetworkMount(store, expected["network"], expected["bech32Hrp"], min_pow_score, is_of_one_era=True)


@pytest.fixture(scope="session")
def app(mount: NetworkMount) -> Any:
    return create_app({"testing": mount}, "testing", ApiSettings())


@pytest.fixture
def client(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a cluster, listings here are requested with the largest page size: thousands of small pages would take
    minutes, and tests/db tests paging on both stores.
    """
    sized = [item for item in items if item.nodeid.startswith("tests/api/") and page_size_of(item)]
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
    dropped = set(left_out)
    items[:] = [item for item in items if item not in dropped]


def page_size_of(item: pytest.Item) -> int:
    """The page size of a test; 0: the test has no page size."""
    return item.callspec.params.get("page_size", 0) if hasattr(item, "callspec") else 0
