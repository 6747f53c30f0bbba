"""Fixtures of the store suite: every test with the fixture `store` runs on every adapter."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from db.connect import StoreSettings
from db.store import WritableStore
from tests.cassandra_keyspace import Keyspace
from tests.cassandra_server import CassandraServer
from tests.db.stores import STORES, reopened, settings_of
from tests.sqlite_stores import create

IN_CI = {"cassandra": {"test_contract.py", "test_growth.py"}, "acsylla": {"test_contract.py"}}
"""Store → files whose tests run on it without `--slow`. The others test what is built on the store contract;
tests/api/test_every_store.py compares the results of all queries on a cluster.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/db/"):
            for store, files in IN_CI.items():
                if f"[{store}" in item.name and item.path.name not in files:
                    item.add_marker(pytest.mark.slow)


@pytest.fixture(params=STORES)
def settings(request: pytest.FixtureRequest) -> StoreSettings:
    """An empty store, newly created or truncated."""
    found: StoreSettings = request.getfixturevalue(f"{request.param}_settings")
    return found


@pytest.fixture
def store(settings: StoreSettings) -> Iterator[WritableStore]:
    opened = reopened(settings)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_settings(tmp_path: Path) -> StoreSettings:
    settings = settings_of(f"sqlite:///{tmp_path / 'store'}")
    create(settings)
    return settings


@pytest.fixture(scope="session")
def cassandra_keyspace(cassandra: CassandraServer) -> Iterator[Keyspace]:
    """One keyspace for all tests, because creating its tables takes seconds and truncating them does not."""
    with Keyspace(cassandra, "contract", settings_of("")) as keyspace:
        yield keyspace


@pytest.fixture
def cassandra_settings(cassandra_keyspace: Keyspace) -> StoreSettings:
    cassandra_keyspace.empty()
    return cassandra_keyspace.settings


@pytest.fixture
def acsylla_settings(cassandra_settings: StoreSettings) -> StoreSettings:
    """The same store, read through acsylla."""
    return replace(cassandra_settings, reader="acsylla")
