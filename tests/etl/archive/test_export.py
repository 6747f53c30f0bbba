"""Exporting a store: files contain the oracle's own JSON, and the store records which milestones
durable files contain.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import main as cli
from db import schema
from db.connect import open_store
from db.store import LeaseHeld
from db.sync import held
from etl.archive.export import export
from tests.cassandra_server import CassandraServer
from tests.conftest import ROOT
from tests.etl.archive.conftest import ERAS, Ledger, contents, environment, ledger_in, on_both
from tests.etl.archive.test_merge import lines_of
from tests.reference_rows import intervals as runs


def logged(ledger: Ledger) -> set[int]:
    """The milestones that the store records as contained in a file."""
    with closing(open_store(ledger.store)) as store:
        rows = asyncio.run(store.slice(schema.sync, (0,), limit=1000))
    return {row["milestone_index"] for row in rows if row["logged_by"] == 0}


def unlogged(ledger: Ledger) -> list[tuple[int, int]]:
    """The complete milestones that no file contains, according to the store."""
    with closing(open_store(ledger.store)) as store:
        return asyncio.run(held(store, ledger.network)).unlogged


@pytest.mark.thorough
@on_both
def test_what_is_exported_is_the_oracles_json_and_is_logged_after_that(ledger: Ledger, tmp_path: Path) -> None:
    with closing(open_store(ledger.store)) as store:
        part = export(ledger.store, store, tmp_path / "unmarked", first=3, last=9, mark=False)
    assert (part.milestones, part.files, part.faults, part.missing) == (6, ["3to9.log"], [], [])
    assert lines_of(tmp_path / "unmarked") == ledger.lines(3, 9)
    # A file that the archive writer did not close: its milestones are not written again and do not count as durable.
    (tmp_path / "marked").mkdir()
    lines = [json.dumps(line).encode() + b"\n" for line in ledger.lines(38, 40)]
    (tmp_path / "marked" / "38to40.log").write_bytes(b"".join(lines))
    before = logged(ledger)
    with closing(open_store(ledger.store, writable=True)) as store:
        done = export(ledger.store, store, tmp_path / "marked", first=38, last=60)
        assert (done.milestones, done.held, done.missing) == (11, 2, [(51, 59)])
        again = export(ledger.store, store, tmp_path / "marked", first=40, last=51)
        assert (again.milestones, again.held, again.files) == (0, 11, [])
    assert lines_of(tmp_path / "marked") == ledger.lines(38, 51)
    assert logged(ledger) == before | set(range(40, 51))
    rest = set(range(1, 51)) - before - set(range(40, 51))
    assert unlogged(ledger) == [(first, last) for first, last in runs(rest)]


@pytest.mark.thorough
def test_a_file_that_is_not_what_its_checksum_says_is_named_and_does_not_count(tmp_path: Path) -> None:
    ledger, into = ledger_in("stardust", f"sqlite:///{tmp_path}/store"), tmp_path / "archive"
    before = logged(ledger)
    assert not before.intersection(range(1, 31))
    with closing(open_store(ledger.store, writable=True)) as store:
        export(ledger.store, store, into, last=11, mark=False)
        export(ledger.store, store, into, first=21, last=31, mark=False)
        spoilt = into / "1to11.log"
        spoilt.write_bytes(spoilt.read_bytes()[:-1] + b" ")
        done = export(ledger.store, store, into, last=31)
    assert (done.milestones, done.held) == (10, 20)
    assert [(fault.kind, fault.file) for fault in done.faults] == [("WrongChecksum", str(spoilt))]
    assert logged(ledger) == before | set(range(11, 31))


@pytest.mark.thorough
def test_a_folder_of_another_ledger_is_rejected(tmp_path: Path) -> None:
    first, second = (ledger_in(era, f"sqlite:///{tmp_path}/{era}") for era in ERAS)
    into = tmp_path / "archive"
    with closing(open_store(first.store)) as store:
        export(first.store, store, into, last=11, mark=False)
    held_there, before = contents(into), logged(second)
    rejection = r"1to11\.log: milestone 1 of the store's ledger expected, found one of another"
    with closing(open_store(second.store, writable=True)) as store, pytest.raises(ValueError, match=rejection):
        export(second.store, store, into, last=21)
    assert contents(into) == held_there
    assert logged(second) == before


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_a_cluster_is_exported_and_recorded_as_the_embedded_store(
    era: str, cassandra: CassandraServer, tmp_path: Path
) -> None:
    folders = []
    for url in (f"cassandra://{cassandra.contact}/exported_{era}?rf=1", f"sqlite:///{tmp_path}/store"):
        ledger = ledger_in(era, url)
        assert logged(ledger) != set(range(1, 51))
        folders.append(tmp_path / f"archive-{len(folders)}")
        with closing(open_store(ledger.store, writable=True)) as store:
            done = export(ledger.store, store, folders[-1])
        assert (done.milestones, done.faults, done.missing) == (50, [], [])
        assert logged(ledger) == set(range(1, 51))
        assert unlogged(ledger) == []
    assert lines_of(folders[0]) == ledger.lines(1, 51)
    assert contents(folders[0]) == contents(folders[1])


def test_while_another_run_writes_the_files_are_good_and_the_next_records_them_in_the_store(
    ledger: Ledger, tmp_path: Path
) -> None:
    with (
        closing(open_store(ledger.store, writable=True)) as store,
        closing(open_store(ledger.store, writable=True)) as other,
    ):
        lease = other.acquire("elsewhere:1", "run", 60)
        with pytest.raises(LeaseHeld, match="elsewhere"):
            export(ledger.store, store, tmp_path, first=20, last=22)
        other.release(lease)
        assert lines_of(tmp_path) == ledger.lines(20, 22)
        assert not {20, 21} & logged(ledger)
        assert export(ledger.store, store, tmp_path, first=20, last=22).held == 2
    assert {20, 21} <= logged(ledger)


def test_the_command_reports_what_is_missing_in_the_store(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(ledger).items():
        monkeypatch.setenv(name, value)
    command = ["archive", "export", "--into", str(tmp_path), "--no-mark", "--range"]
    assert CliRunner().invoke(cli.app, [*command, "5:10"]).exit_code == 0
    short = CliRunner().invoke(cli.app, [*command, "45:55"])
    assert short.exit_code == 3
    assert "incomplete, not written: 51:55" in short.output


@pytest.mark.thorough
def test_an_export_that_is_killed_again_and_again_writes_the_same_bytes(ledger: Ledger, tmp_path: Path) -> None:
    with closing(open_store(ledger.store)) as store:
        export(ledger.store, store, tmp_path / "whole", mark=False, max_bytes=300_000)
    whole = contents(tmp_path / "whole")
    assert len(whole) > 4
    command = [sys.executable, "-c", "from cli.main import main; main()", "archive", "export", "--no-mark"]
    command += ["--max-size", "300000", "--into", str(tmp_path / "killed")]
    variables = os.environ | environment(ledger) | {"PYTHONPATH": str(ROOT)}
    kills = 0
    for lines in (3, 20, 33):
        process = subprocess.Popen(
            command, env=variables, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < end and _written(tmp_path / "killed") < lines:
            time.sleep(0.001)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait(120)
    assert kills
    assert subprocess.run(command, env=variables, cwd=tmp_path, check=False, capture_output=True).returncode == 0
    assert contents(tmp_path / "killed") == whole


def _written(folder: Path) -> int:
    """Lines in the folder's files, complete or not."""
    count = 0
    for path in [*folder.glob("*.part"), *folder.glob("*.log")]:
        try:
            count += path.read_bytes().count(b"\n")
        except FileNotFoundError:
            continue
    return count
