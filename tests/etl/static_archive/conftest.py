"""Published archives of both oracle ledgers, and a file host that counts its requests."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from db.connect import open_store
from etl import runs
from etl.static_archive.publish import Published, publish
from etl.store_reads import StoreReads
from tests.etl.conftest import Loading, Stores
from tests.etl.embedded import stores
from tests.etl.static_archive.file_host import FileHost

__all__ = ["stores"]

CHRYSALIS, STARDUST = (
    pytest.param("chrysalis from genesis", id="chrysalis"),
    pytest.param("stardust from genesis", id="stardust"),
)

LATER_CHRYSALIS = pytest.param(*CHRYSALIS.values, id=CHRYSALIS.id, marks=pytest.mark.slow)
"""For tests that do not depend on the forms of messages and outputs."""

on_both = pytest.mark.parametrize("case", [CHRYSALIS, STARDUST], indirect=True)


@dataclass(frozen=True)
class Case:
    """A store, and the archive that was published from its lake."""

    loading: Loading
    archive: Path

    @property
    def lake(self) -> str:
        return runs.lake_path(self.loading.store, self.loading.settings)

    @property
    def network(self) -> str:
        return self.loading.store.network

    def publish(self, folder: Path, **options: Any) -> Published:
        """One `permanode publish`."""
        with (
            closing(open_store(self.loading.store)) as store,
            closing(StoreReads(store, self.network)) as reads,
        ):
            return publish(self.lake, reads, folder, **options)


@pytest.fixture(scope="module", params=[LATER_CHRYSALIS, STARDUST])
def case(request: pytest.FixtureRequest, stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Case:
    loading, report = stores.loaded(request.param)
    assert report.complete
    made = Case(loading, tmp_path_factory.mktemp("archive") / "public")
    made.publish(made.archive)
    return made


@pytest.fixture
def host(case: Case) -> Iterator[FileHost]:
    with FileHost(case.archive) as serving:
        yield serving
