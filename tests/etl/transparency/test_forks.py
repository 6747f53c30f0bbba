"""Loads and rebuilds that would change logged history: reported with the first milestone, and nothing changes.

The forged ledger has the network and the indexes of the oracle ledger. Its last milestone has another timestamp, and so
another id; nothing else is wrong with it. The log has the records that the definitions lead to.
"""

import copy
import shutil
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from db.connect import StoreSettings, open_store
from db.queries.log import LogHead
from db.store import StoreMismatch
from etl.report import Stored
from etl.store_reads import StoreReads
from etl.transparency.append import LogAppender
from etl.transparency.history import LogForked
from etl.transparency.stored_log import StoredLog
from tests.conftest import SAMPLE
from tests.etl import archives
from tests.etl.conftest import Loading, Stores
from tests.etl.store_rows import LOG, stored_rows
from tests.etl.transparency.logs import KEY, files_of, opened
from tests.reference_log import milestone_record, reference_log

LAST = 50


def forged_lines() -> list[dict[str, Any]]:
    """The oracle's lines, the last milestone three seconds later."""
    lines = copy.deepcopy(archives.oracle())
    line = lines[-1]
    milestone = line["milestone"]
    entry = next(each for each in line["messages"] if each["id"] == milestone["messageId"])
    before, after = milestone["timestamp"], milestone["timestamp"] + 3
    old, new = (each.to_bytes(8, "little").hex() for each in (before, after))
    assert entry["bytes_hex"].count(old) == 1
    entry["bytes_hex"] = entry["bytes_hex"].replace(old, new)
    entry["id"] = blake2b(bytes.fromhex(entry["bytes_hex"]), digest_size=32).hexdigest()
    entry["message"]["payload"]["timestamp"] = milestone["payload"]["timestamp"] = milestone["timestamp"] = after
    milestone["messageId"] = entry["metadata"]["messageId"] = entry["id"]
    return lines


def logged(loading: Loading) -> None:
    """Appends the records of the oracle ledger to the log."""
    records = [milestone_record(line) for line in archives.oracle()]
    with opened(loading.store, loading.folder / "lake") as log:
        log.open()
        LogAppender(log, loading.store.network, lambda _, after, to: records[after:to], KEY).append(1, LAST)


def head_in(settings: StoreSettings) -> LogHead | None:
    with closing(open_store(settings)) as store, closing(StoreReads(store, settings.network)) as reads:
        return reads.log_head()


def everything(loading: Loading) -> tuple[Any, ...]:
    """The rows of the store, the current files of the lake's tables, the files of the log."""
    lake = loading.folder / "lake"
    tables = {
        name: sorted(str(each.relative_to(lake)) for each in (lake / name / "_delta_log").glob("*"))
        for name in ("messages", "milestones", "rejects")
    }
    return loading.rows(), log_rows(loading), tables, files_of(lake)


def log_rows(loading: Loading) -> dict[str, Any]:
    return stored_rows(loading.folder, LOG)


@pytest.fixture
def loading(stores: Stores) -> Loading:
    """The oracle ledger, loaded and logged."""
    found, _ = stores.loaded("chrysalis")
    logged(found)
    return found


def test_the_log_of_a_loaded_ledger(loading: Loading) -> None:
    reference = reference_log(loading.store.network, archives.oracle())
    files = files_of(loading.folder / "lake")
    assert files["head"].decode() == reference.text
    assert files["checkpoint"] == reference.checkpoint
    assert files["tile/entries/000.p/50"] == reference.bundle(50)


def test_loading_the_same_milestones_again_changes_nothing(loading: Loading, tmp_path: Path) -> None:
    before = files_of(loading.folder / "lake")
    same = archives.write(tmp_path / "same.jsonl", archives.oracle())
    report = loading.load(same, force=True)
    assert (report.exit_code, report.milestones) == (0, LAST)
    assert files_of(loading.folder / "lake") == before


@pytest.mark.thorough
@pytest.mark.parametrize("first", [None, LAST])
def test_a_forged_archive_is_a_fork_and_changes_nothing(loading: Loading, tmp_path: Path, first: int | None) -> None:
    forged = archives.write(tmp_path / "forged.jsonl", forged_lines())
    before = everything(loading)
    with pytest.raises(
        LogForked, match=r"fork of the log of permatest-1 at milestone 50: .*, found milestone [0-9a-f]{64}"
    ):
        loading.load(forged, force=True, first=first)
    assert everything(loading) == before


def test_without_force_logged_milestones_are_skipped(loading: Loading, tmp_path: Path) -> None:
    forged = archives.write(tmp_path / "forged.jsonl", forged_lines())
    assert loading.load(forged).skipped == LAST


@pytest.mark.thorough
def test_a_forged_lake_without_a_log_is_a_fork(loading: Loading, stores: Stores, tmp_path: Path) -> None:
    other = stores()
    other.load(archives.write(tmp_path / "forged.jsonl", forged_lines()))
    mixed = replace(loading, settings=replace(loading.settings, lake=str(other.folder / "lake")))
    before = everything(loading), everything(other)
    for run in (mixed.rebuild, lambda: mixed.load(tmp_path / "forged.jsonl")):
        with pytest.raises(LogForked, match="at milestone 50: "):
            run()
        assert (everything(loading), everything(other)) == before


@pytest.mark.loads
def test_a_store_is_rebuilt_from_an_older_lake_and_what_is_missing_is_loaded_again(
    stores: Stores, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log keeps its length, also in the lake, and milestones that are loaded again must be the logged ones."""
    loading, lines = stores(), archives.oracle()
    first, rest = (archives.write(tmp_path / f"{n}.jsonl", part) for n, part in enumerate((lines[:20], lines[20:])))
    lake, older = loading.folder / "lake", tmp_path / "older"
    loading.load(first, genesis=SAMPLE / "genesis.json")
    shutil.copytree(lake, older)
    loading.load(rest)
    rows, log, files = loading.rows(), log_rows(loading), files_of(lake)
    shutil.rmtree(lake)
    with pytest.raises(LogForked, match="lake has none of the milestones in the log"):
        loading.rebuild()
    shutil.copytree(older, lake)
    with pytest.raises(StoreMismatch, match=r"milestones 21:51, .*`permanode rebuild` and load what is missing"):
        loading.load(rest)
    report = loading.rebuild()
    assert (report.stored, report.ledger_index) == (Stored(20, 0, []), 20)
    assert "the lake does not have milestones 21:51, which are logged: load them again" in caplog.messages
    assert (log_rows(loading), files_of(lake)["head"]) == (log, files["head"])
    forged = archives.write(tmp_path / "forged.jsonl", forged_lines())
    with pytest.raises(LogForked, match="at milestone 50: "):
        loading.load(forged)
    report = loading.load(rest)
    assert (report.stored, report.ledger_index) == (Stored(50, 0, []), 50)
    assert (log_rows(loading), loading.rows()) == (log, rows)


@pytest.mark.thorough
def test_a_rebuild_restores_the_rows_of_the_log(loading: Loading, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, files = log_rows(loading), files_of(loading.folder / "lake")
    monkeypatch.setattr(StoredLog, "_row", lambda *_: pytest.fail("rows come from the files"))
    loading.rebuild()
    assert log_rows(loading) == rows
    assert head_in(loading.store) is not None
    assert files_of(loading.folder / "lake") == files
