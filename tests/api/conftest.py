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
    """A store with the oracle ledger in it, written by the naive reference, not by etl/.

    `with_genesis`: its state too, which needs all milestones from the first on.
    """
    settings = StoreSettings(
        url=f"sqlite:///{folder}",
        network=oracle.expected["network"],
        chunk_size=chunk_size,
        partition_size=partition_size,
    )
    migrate(settings)
    store = open_store(settings, writable=True)
    rows = reference_rows(oracle.milestones, oracle.pending, chunk_size, partition_size, settings.network)
    if with_genesis:
        ledger_rows(rows, oracle.milestones, settings.network, chunk_size, partition_size)
    write(store, rows)
    return store


@pytest.fixture(scope="session", params=GEOMETRIES)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle) -> Iterator[Any]:
    chunk_size, partition_size = GEOMETRIES[request.param]
    filled = filled_store(tmp_path_factory.mktemp(request.param), oracle, chunk_size, partition_size)
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
