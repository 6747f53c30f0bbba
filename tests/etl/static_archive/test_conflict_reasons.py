"""Archives that are published again after the store got a ledger state, or lost it: each has the reasons of conflicts
that a publication into an empty folder has.
"""

from contextlib import closing
from pathlib import Path

import pytest

from db import schema
from db.connect import open_store
from etl.static_archive import names
from etl.static_client import open_archive
from tests.etl.conftest import Stores, oracle_ledger
from tests.etl.static_archive.conftest import Case
from tests.etl.static_archive.test_publish import Killed, faults_of, files_of, kill_after, manifest_of
from tests.etl.static_archive.test_queries import CONFLICTING
from tests.etl.static_archive.test_signed_archive import rows_of

LAST = 50


@pytest.fixture(autouse=True)
def short_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "SMALLEST", 2)
    monkeypatch.setattr(names, "FACTOR", 3)
    monkeypatch.setattr(names, "LARGEST", 18)


class Growing:
    """A store whose ledger is loaded without its genesis, and its archive. The loaded files have no reasons."""

    def __init__(self, stores: Stores, folder: Path) -> None:
        network, sources, self.genesis = oracle_ledger("chrysalis from genesis", folder / "oracle")
        self.loading = stores((100_000, 100_000), network)
        assert self.loading.load(*sources).ledger_index is None
        self.case, self.folder = Case(self.loading, folder / "public"), folder

    def publish(self, last: int = LAST) -> list[str]:
        """Publishes the milestones up to `last`. Returns the names of the files that were written."""
        return self.case.publish(self.case.archive, last=last + 1).written

    def load_genesis(self) -> None:
        assert self.loading.load(genesis=self.genesis).ledger_index == LAST

    def delete_ledger_state(self) -> None:
        """Deletes what loads delete if a row of the ledger state is missing."""
        with closing(open_store(self.loading.store, writable=True)) as store, store.batch() as batch:
            batch.delete(schema.ledger_frontier, (self.case.network,))

    def new(self, name: str) -> dict[str, bytes]:
        """The files of a publication into an empty folder."""
        self.case.publish(self.folder / name)
        return files_of(self.folder / name)

    def current(self) -> dict[str, bytes]:
        """The files of the archive that its manifest names, and the manifest."""
        self.case.publish(self.case.archive, prune=True)
        assert faults_of(self.case.archive) == []
        return files_of(self.case.archive)


@pytest.fixture
def growing(stores: Stores, tmp_path: Path) -> Growing:
    return Growing(stores, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("last", [LAST, 30])
def test_an_archive_from_before_the_genesis_gets_the_reasons_of_the_ledger(growing: Growing, last: int) -> None:
    growing.publish(last)
    first = files_of(growing.case.archive)
    assert manifest_of(growing.case.archive)["genesis"] is None
    growing.load_genesis()
    written = growing.publish()
    assert written
    assert not {*written} & first.keys()
    assert growing.publish() == []
    whole = growing.new("whole")
    assert whole.items() - first.items()
    assert growing.current() == whole
    archive = open_archive(str(growing.case.archive))
    expected = [row for row in rows_of(growing.case.network)["messages"] if row["inclusion_state"] == CONFLICTING]
    assert len(expected) > 3
    for row in expected:
        message = archive.find(bytes.fromhex(row["message_id"]))
        assert message is not None
        assert message.record.conflict_reason == row["conflict_reason"] is not None


@pytest.mark.thorough
def test_an_archive_of_a_store_without_its_ledger_state_has_the_reasons_of_the_files(growing: Growing) -> None:
    without = growing.new("without")
    growing.load_genesis()
    growing.publish()
    growing.delete_ledger_state()
    growing.publish()
    assert growing.current() == without


@pytest.mark.thorough
def test_files_without_conflicts_are_not_written_again(growing: Growing) -> None:
    growing.publish()
    before = manifest_of(growing.case.archive)
    growing.load_genesis()
    growing.publish()
    after = manifest_of(growing.case.archive)
    old, new = ({each["name"] for each in manifest["messages"]} for manifest in (before, after))
    assert old & new
    assert new - old


@pytest.mark.thorough
@pytest.mark.parametrize("limit", range(2, 40, 12))
def test_files_of_a_killed_run_with_other_reasons_are_not_taken(
    growing: Growing, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        kill_after(patch, limit)
        with pytest.raises(Killed):
            growing.publish()
    assert not (growing.case.archive / "manifest.json").exists()
    growing.load_genesis()
    growing.publish()
    assert growing.current() == growing.new("whole")
