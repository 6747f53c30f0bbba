"""The log of an archive: files of the lake, rows of the store, whatever ends a run in between."""

import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from db import schema
from db.connect import open_adapter
from db.queries.log import LogHead
from etl.transparency.append import LogAppender, ordered
from etl.transparency.history import LogForked
from etl.transparency.log_files import LogFiles
from etl.transparency.stored_log import StoredLog
from ledger.crypto.log_tree import leaf_hash, tree_root
from ledger.transparency.checkpoint import open_checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.keys import SigningKey
from ledger.transparency.positions import size_after
from ledger.transparency.tiles import places_of
from tests.etl.transparency.logs import KEY, NETWORK, append, files_of, made_store, opened, source

LAST = 1_300
"""1,327 records: bundles that are full, a level above them, a partial edge."""


def rows_of(settings: Any) -> list[dict[str, Any]]:
    with closing(open_adapter(settings, writable=False)) as store:
        return sorted(
            [*store.read_all(schema.log_tiles), *store.read_all(schema.log_heads)],
            key=lambda row: sorted(row.items(), key=str).__repr__(),
        )


def test_the_files_are_those_of_the_tree_of_all_records(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    append(settings, lake, LAST)
    records = list(source()(1, 0, LAST))
    root = tree_root([leaf_hash(each) for each in records])
    files = files_of(lake)
    signed = open_checkpoint(files["checkpoint"], "permanode/permatest-1/1", KEY.verifier)
    assert (signed.checkpoint.size, signed.checkpoint.root) == (len(records), root)
    assert len(records) == size_after(1, LAST)
    assert files["tile/0/000"] == b"".join(leaf_hash(each) for each in records[:256])
    assert files["verifier"].decode() == f"{KEY.verifier.text}\n"
    expected = {place.path for place in places_of(len(records))}
    assert expected | {"head", "checkpoint", "verifier"} == set(files)


@pytest.mark.thorough
def test_steps_and_one_load_make_the_same_log(tmp_path: Path) -> None:
    whole, steps = made_store(tmp_path / "whole"), made_store(tmp_path / "steps")
    append(whole, tmp_path / "lake-whole", LAST)
    chance, to = random.Random(1), 0
    while to < LAST:
        to = min(LAST, to + chance.choice((1, 2, 99, 100, 300)))
        append(steps, tmp_path / "lake-steps", to)
    assert rows_of(whole) == rows_of(steps)
    one, other = files_of(tmp_path / "lake-whole"), files_of(tmp_path / "lake-steps")
    # Partial tiles of earlier sizes stay until the tile is full.
    assert one.items() <= other.items()
    assert all(".p/" in path for path in other.keys() - one.keys())
    assert not any(path.startswith("tile/entries/000.p") for path in other)


class Killed(BaseException):
    """Ends a run as SIGKILL does."""


@pytest.mark.thorough
@pytest.mark.parametrize("last", [40, 700])
def test_a_run_that_is_killed_anywhere_is_completed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    expected = made_store(tmp_path / "expected")
    append(expected, tmp_path / "lake-expected", 30)
    append(expected, tmp_path / "lake-expected", last)
    wanted = files_of(tmp_path / "lake-expected")
    begun = made_store(tmp_path / "begun")
    append(begun, tmp_path / "lake-begun", 30)
    for left in range(200):
        settings, lake = replace(begun, url=f"sqlite:///{tmp_path}/store-{left}"), tmp_path / f"lake-{left}"
        shutil.copytree(tmp_path / "begun", tmp_path / f"store-{left}")
        shutil.copytree(tmp_path / "lake-begun", lake)
        writes = iter(range(left))
        with monkeypatch.context() as patched:
            for owner, name in ((LogFiles, "write"), (StoredLog, "_write_head_row"), (LogFiles, "_delete_folder")):
                patched.setattr(owner, name, dying(getattr(owner, name), writes))
            try:
                append(settings, lake, last)
            except Killed:
                pass
            else:
                assert left >= 5
                return
        append(settings, lake, last)
        assert rows_of(settings) == rows_of(expected)
        found = files_of(lake)
        assert {path: found[path] for path in wanted} == wanted
    pytest.fail("the run never ended")


def dying(function: Any, writes: Iterator[int]) -> Any:
    def wrapped(*arguments: Any) -> Any:
        if next(writes, None) is None:
            raise Killed
        return function(*arguments)

    return wrapped


def test_each_copy_is_restored_from_the_other(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    append(settings, lake, LAST)
    rows, files = rows_of(settings), files_of(lake)
    other = made_store(tmp_path / "other")
    append(other, lake, LAST)
    assert rows_of(other) == rows
    append(settings, tmp_path / "new", LAST)
    assert files_of(tmp_path / "new") == files


def test_rows_are_written_again_from_the_files(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    append(settings, lake, 300)
    rows = rows_of(settings)
    with opened(settings, lake) as log:
        with log._store.batch() as batch:
            batch.upsert(schema.log_tiles, schema.log_tiles.names, [(0, 0, 256, b"damaged")])
        log.open(again=True)
    assert rows_of(settings) == rows


def test_a_rebuild_notices_records_that_are_logged_otherwise(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    append(settings, lake, LAST)
    with opened(settings, lake) as log:
        log.open()
        LogAppender(log, NETWORK, source()).check(LAST + 100)
        changed = LogAppender(log, NETWORK, source(forged_from=700))
        changed.check(699)
        with pytest.raises(LogForked, match=r"fork of the log permanode/permatest-1/1 at milestone 700: "):
            changed.check(LAST)


def test_without_a_key_the_log_grows_unsigned_and_a_later_key_signs(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    append(settings, lake, 120, key=None)
    assert "checkpoint" not in files_of(lake)
    assert files_of(lake)["head"].startswith(b"permanode/permatest-1/1\n122\n")
    append(settings, lake, 120)
    assert open_checkpoint(files_of(lake)["checkpoint"], KEY.name, KEY.verifier).checkpoint.size == 122
    append(settings, lake, 130, key=None)
    assert open_checkpoint(files_of(lake)["checkpoint"], KEY.name, KEY.verifier).checkpoint.size == 122
    other = SigningKey("other.example/log", bytes(32))
    append(settings, lake, 130, key=other)
    assert open_checkpoint(files_of(lake)["checkpoint"], KEY.name, other.verifier).checkpoint.size == 132


def test_copies_that_differ_are_a_fork_and_nothing_changes(tmp_path: Path) -> None:
    settings, other = made_store(tmp_path / "store"), made_store(tmp_path / "other")
    append(settings, tmp_path / "lake", 700)
    append(other, tmp_path / "forged", 900, source(forged_from=333))
    before = rows_of(settings), files_of(tmp_path / "lake"), files_of(tmp_path / "forged")
    with pytest.raises(LogForked, match="at milestone 333: the lake and the store have different records"):
        append(settings, tmp_path / "forged", 950)
    assert (rows_of(settings), files_of(tmp_path / "lake"), files_of(tmp_path / "forged")) == before


def test_a_log_that_does_not_extend_its_checkpoint_is_a_fork(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    append(settings, lake, 200)
    signed = files_of(lake)["checkpoint"]
    other = made_store(tmp_path / "other")
    append(other, tmp_path / "other-lake", 300, source(forged_from=150))
    (tmp_path / "other-lake" / "log" / NETWORK / "checkpoint").write_bytes(signed)
    with pytest.raises(LogForked, match="at milestone 200 or before it"):
        append(other, tmp_path / "other-lake", 400, source(forged_from=150))


def test_damaged_files_are_not_continued(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    append(settings, lake, 200)
    edge = next((lake / "log" / NETWORK).glob("tile/0/*.p/*"))
    edge.write_bytes(bytes(32) + edge.read_bytes()[32:])
    with pytest.raises(LogError, match="differs from its last tile"):
        append(settings, lake, 201)


def test_records_that_do_not_follow_are_rejected(tmp_path: Path) -> None:
    records = list(source()(1, 0, 120))
    assert list(ordered(records, 1, 0)) == records
    # Only whole milestones: 99 has an interval and a cover behind it.
    assert list(ordered(records[:100], 1, 0)) == records[:98]
    for wrong in (records[1:], [*records[:50], *records[51:]], [*records[:99], *records[100:]]):
        with pytest.raises(LogError, match="expected the record of"):
            list(ordered(wrong, 1, 0))


def test_a_lake_by_url(tmp_path: Path) -> None:
    settings = made_store(tmp_path / "store")
    url = (tmp_path / "lake").as_uri()
    append(settings, url, 300)
    append(settings, url, 600)
    whole = made_store(tmp_path / "whole")
    append(whole, tmp_path / "plain", 600)
    found, expected = files_of(tmp_path / "lake"), files_of(tmp_path / "plain")
    assert expected.items() <= found.items()
    assert LogFiles(url, NETWORK).head() == LogFiles(str(tmp_path / "plain"), NETWORK).head()
    assert isinstance(LogFiles(url, NETWORK).head(), LogHead)
