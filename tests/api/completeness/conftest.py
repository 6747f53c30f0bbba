"""Servers that prove the listings of the oracle ledgers."""

from collections.abc import Iterator

import pytest

from tests.api.oracle import Oracle
from tests.api.proved import LEDGERS, Proved, served
from tests.api.stardust import StardustLedger


@pytest.fixture(scope="module", params=LEDGERS)
def proved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, stardust: StardustLedger
) -> Iterator[Proved]:
    with served(request.param, tmp_path_factory.mktemp("proved"), oracle, stardust) as found:
        yield found
