"""`stores` on the embedded engine, for tests that the files around this folder run on Spark."""

from dataclasses import replace

import pytest

from tests.etl.conftest import AS_LARGE, ON_SAIL, Stores, Templates


@pytest.fixture(scope="module")
def stores(templates: Templates, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"), templates, settings=replace(ON_SAIL, bulk_share=AS_LARGE))


@pytest.fixture(scope="module")
def everywhere(stores: Stores) -> Stores:
    return stores
