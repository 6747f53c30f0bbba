"""Fixtures of the store suite: every test that asks for `store` runs over every adapter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from db.connect import StoreSettings
from db.store import WritableStore
from tests.store.stores import STORES, reopened


@pytest.fixture(params=sorted(STORES))
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    return STORES[request.param](tmp_path)


@pytest.fixture
def store(settings: StoreSettings) -> Iterator[WritableStore]:
    opened = reopened(settings)
    yield opened
    opened.close()
