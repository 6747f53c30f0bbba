"""Two operators load one ledger independently: their logs and static archives agree. With --slow one has a cluster.

An operator whose trees hide one row of one listing has another log, which an audit names. The logs are those of the
lakes' folders, behind a file host.
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from db import schema
from db.connect import open_store
from etl.completeness import message_leaves
from etl.lake.reader import LakeReader
from etl.static_archive.names import read_manifest
from etl.static_archive.publish import publish
from etl.store_reads import StoreReads
from etl.transparency.audit import AuditResult, audit_logs
from etl.transparency.log_check import check_log_rows
from etl.transparency.signing_key import create_key
from ledger.completeness import check, intervals, trees
from ledger.completeness.families import BY_NAME
from ledger.transparency import positions
from ledger.transparency.keys import Kind
from tests.etl import archives
from tests.etl.conftest import LATER_CASSANDRA, SQLITE, Loading, Stores, on, oracle_ledger
from tests.etl.static_archive.file_host import FileHost

pytestmark = pytest.mark.loads

SMALLEST, LAST = 5, 50

INDEXATION = 2

NAME = "chrysalis from genesis"

PARTS = ((30, 51), (1, 16), (16, 30))
"""The order in which the second operator loads."""


@pytest.fixture(scope="module", autouse=True)
def small_intervals() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (intervals, trees, check, positions):
            patch.setattr(module, "SMALLEST", SMALLEST)
        yield


@dataclass(frozen=True)
class Operator:
    """A store, its lake, and the folder of its static archive."""

    loading: Loading
    archive: Path

    @property
    def lake(self) -> Path:
        return self.loading.folder / "lake"

    @property
    def log(self) -> Path:
        """The folder of the log in the lake."""
        return self.lake / "log" / self.loading.store.network

    def published(self) -> dict[str, Any]:
        """The manifest after `permanode publish`."""
        settings = self.loading.store
        with closing(open_store(settings)) as store, closing(StoreReads(store, settings.network)) as reads:
            publish(str(self.lake), reads, self.archive)
        manifest = read_manifest(self.archive)
        assert manifest is not None
        return manifest


def operator(stores: Stores, folder: Path, geometry: tuple[int, int]) -> tuple[Operator, list[Path], Path | None]:
    """An operator with a key of its own and without milestones, and the files to load."""
    network, sources, genesis = oracle_ledger(NAME, folder / "oracle")
    create_key(folder / "log.key", f"{folder.name}.example/log", Kind.SIGNATURE)
    loading = stores(geometry, network)
    loading = replace(loading, store=replace(loading.store, log_key=str(folder / "log.key")))
    return Operator(loading, folder / "public"), sources, genesis


@pytest.fixture(scope="module")
def one(small_intervals: None, stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """Loads everything at once, into SQLite."""
    made, sources, genesis = operator(stores, tmp_path_factory.mktemp("one"), (100_000, 100_000))
    assert made.loading.load(*sources, genesis=genesis).ledger_index == LAST
    return made


@pytest.fixture(scope="module")
def other(small_intervals: None, everywhere: Stores, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """Loads in parts, the last milestones first, into a store with other ranges."""
    made, sources, genesis = operator(everywhere, tmp_path_factory.mktemp("other"), (8, 30))
    for first, last in PARTS:
        report = made.loading.load(*sources, first=first, last=last, genesis=genesis if first == 1 else None)
    assert report.ledger_index == LAST
    return made


def audited(*folders: Path) -> AuditResult:
    with ExitStack() as stack:
        return audit_logs([stack.enter_context(FileHost(each)).url for each in folders], whole=True)


@on(SQLITE, LATER_CASSANDRA)
def test_their_logs_agree(one: Operator, other: Operator) -> None:
    assert (one.log / "head").read_bytes() == (other.log / "head").read_bytes()
    found = audited(one.log, other.log)
    assert found.is_good, found
    assert [(each.first, each.last) for each in found.operators] == [(1, LAST)] * 2
    assert len({each.verifier for each in found.operators}) == 2


@on(SQLITE, LATER_CASSANDRA)
def test_their_static_archives_have_the_same_files(one: Operator, other: Operator) -> None:
    manifests = [each.published() for each in (one, other)]
    logs = [each.pop("log") for each in manifests]
    assert logs[0] != logs[1]
    assert manifests[0] == manifests[1]
    assert manifests[0]["listings"]["end"] == LAST - 1
    assert audited(one.archive / "log", other.log).is_good


@on(SQLITE, LATER_CASSANDRA)
def test_a_store_gets_its_log_back_by_a_rebuild(other: Operator) -> None:
    settings = other.loading.store
    with closing(open_store(settings, writable=True)) as store, store.batch() as batch:
        batch.delete(schema.log_tiles, (0, 0))
    with closing(open_store(settings)) as store, closing(StoreReads(store, settings.network)) as reads:
        assert [each.rows for each in check_log_rows(reads, lambda *_: None)] != []
    other.loading.rebuild()
    with closing(open_store(settings)) as store, closing(StoreReads(store, settings.network)) as reads:
        assert [*check_log_rows(reads, lambda *_: None)] == []
        head = reads.log_head()
    assert head is not None
    assert head.checkpoint == (other.log / "checkpoint").read_bytes()


def test_an_audit_names_the_interval_in_which_a_row_is_hidden(
    one: Operator, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator builds its trees without one message under its tag, so that its proofs fit what it shows."""
    rows_of = message_leaves.listing_rows
    tags = BY_NAME["messages_by_tag"].number
    payloads = {each["id"]: each["message"]["payload"] for each in archives.oracle()[22]["messages"]}
    message_id = next(each for each, payload in payloads.items() if payload["type"] == INDEXATION)
    hidden = bytes([tags]), (23).to_bytes(4, "big") + bytes.fromhex(message_id)

    def without_one(lake: LakeReader, first: int, last: int) -> Iterator[tuple[int, pa.Table]]:
        for number, rows in rows_of(lake, first, last):
            pairs = zip(rows["place"].to_pylist(), rows["row"].to_pylist(), strict=True)
            yield number, rows.filter(pa.array([(place[:1], row) != hidden for place, row in pairs], pa.bool_()))

    monkeypatch.setattr(message_leaves, "listing_rows", without_one)
    made, sources, genesis = operator(stores, tmp_path, (100_000, 100_000))
    made.loading.load(*sources, genesis=genesis)
    found = audited(one.log, made.log)
    assert not found.is_good
    assert [each.fault for each in found.operators] == ["", ""]
    assert [(each.milestone, each.what) for each in found.differences] == [(24, "trees of listings")]
