"""The fixtures `stores`, `everywhere` and `session` on the embedded engine, for tests that need loaded stores or frames
but not Spark itself.

A conftest.py imports them to override those of tests/etl. With `--engine=spark` they use Spark. `cassandra` is filled
by the same engine, and `bulk` by Spark, the only engine that writes SSTables.
"""

from collections.abc import Iterator

import pytest

from etl.engine.current import SPARK
from etl.engine.session import Session, engine_session
from etl.engine.settings import EtlSettings
from tests.etl.conftest import KINDS, ON_SAIL, SETTINGS, Stores, Templates


def _settings(request: pytest.FixtureRequest, *, bulk: bool = False) -> EtlSettings:
    """Returns the settings of the engine. Spark's session starts before the first load."""
    if bulk or request.config.getoption("--engine") == SPARK:
        request.getfixturevalue("spark")
        return SETTINGS
    return ON_SAIL


@pytest.fixture(scope="module")
def stores(request: pytest.FixtureRequest, templates: Templates, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"), templates, settings=_settings(request))


@pytest.fixture(scope="module", params=KINDS)
def everywhere(
    request: pytest.FixtureRequest, templates: Templates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stores]:
    """`stores` of each kind in turn."""
    bulk = request.param == "bulk"
    keyspaces = None if request.param == "sqlite" else request.getfixturevalue("keyspaces")
    root = tmp_path_factory.mktemp("everywhere")
    with Stores(root, templates, keyspaces, bulk=bulk, settings=_settings(request, bulk=bulk)) as stores:
        yield stores


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session for frames."""
    if request.config.getoption("--engine") == SPARK:
        yield request.getfixturevalue("spark")
    else:
        with engine_session(ON_SAIL) as session:
            yield session
