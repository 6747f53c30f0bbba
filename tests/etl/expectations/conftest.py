"""Loads of these tests run on the embedded engine: they change what its adapter returns, and what it stages for a
generation. Tests of small runs choose them.
"""

from dataclasses import replace

import pytest

from tests.etl.conftest import ON_SAIL, Stores, Templates


@pytest.fixture(scope="module")
def stores(templates: Templates, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"), templates, settings=replace(ON_SAIL, bulk_share=0.0))


@pytest.fixture(scope="module")
def everywhere(stores: Stores) -> Stores:
    return stores
