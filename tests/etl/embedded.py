"""The fixtures `stores` and `everywhere` on the embedded engine, for folders whose tests need loaded stores but not
Spark itself.

A conftest.py imports them to override those of tests/etl. With `--engine=spark` they load with Spark. Spark always
fills clusters.
"""

import pytest

from etl.engine.current import SPARK
from tests.etl.conftest import KINDS, ON_SAIL, SETTINGS, Stores, Templates


def _loads_of(request: pytest.FixtureRequest, templates: Templates, folder: str) -> Stores:
    root = request.getfixturevalue("tmp_path_factory").mktemp(folder)
    if request.config.getoption("--engine") == SPARK:
        request.getfixturevalue("spark")
        return Stores(root, templates, settings=SETTINGS)
    return Stores(root, templates, settings=ON_SAIL)


@pytest.fixture(scope="module")
def stores(request: pytest.FixtureRequest, templates: Templates) -> Stores:
    return _loads_of(request, templates, "stores")


@pytest.fixture(scope="module", params=KINDS)
def everywhere(request: pytest.FixtureRequest, templates: Templates) -> Stores:
    """`stores` of each kind in turn."""
    if request.param == "sqlite":
        return _loads_of(request, templates, "everywhere")
    request.getfixturevalue("spark")
    server = request.getfixturevalue("cassandra")
    root = request.getfixturevalue("tmp_path_factory").mktemp("everywhere")
    return Stores(root, templates, server, bulk=request.param == "bulk")
