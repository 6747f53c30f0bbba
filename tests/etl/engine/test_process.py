"""`permanode load` as a process: its output, its exit codes, the lease, and the environment that must not matter.

The processes use the embedded engine. tests/etl/writers/test_crash.py runs Spark in the same environment.
"""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from pyspark.sql import SparkSession

from cli.main import main
from db.admin.migrate import migrate
from db.connect import StoreSettings
from etl.engine.current import SAIL
from tests.conftest import ROOT, SAMPLE
from tests.etl.commands import ELSEWHERE, Process, permanode
from tests.etl.lake_files import lake_rows
from tests.etl.store_rows import Tables, stored_rows

pytestmark = pytest.mark.loads

PAYLOADS = {"Transaction": "transaction", "Milestone": "milestone", "Indexation": "indexation", None: "no payload"}


@dataclass(frozen=True)
class Ended:
    """The output of the first load, and of the second one, which was rejected while the first ran."""

    folder: Path
    pid: int
    code: int
    out: list[str]
    err: list[str]
    second: tuple[int, list[str], list[str]]


def load(store: Path, source: Path, cwd: Path, network: str = "permatest-1", **environment: str) -> Process:
    flags = ("--store", f"sqlite:///{store}", "--network", network)
    return permanode(*flags, "load", source, "--no-analytics", cwd=cwd, PERMANODE_ETL_ENGINE=SAIL, **environment)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    """One load of the sample, far from UTC, and a second one into the same store while it runs."""
    folder = tmp_path_factory.mktemp("process")
    store = folder / "store"
    migrate(StoreSettings(f"sqlite:///{store}", "permatest-1"))
    first = load(store, SAMPLE, folder, **ELSEWHERE)
    try:
        assert first.wait_for(lambda line: f'"stage": "{SAIL}"' in line), first.printed()
        # It could end before the second load begins.
        os.kill(first.pid, signal.SIGSTOP)
        second = load(store, SAMPLE, folder)
        rejected = (second.finish(), second.out, second.err)
        os.kill(first.pid, signal.SIGCONT)
        yield Ended(store, first.pid, first.finish(), first.out, first.err, rejected)
    finally:
        first.kill()


@pytest.fixture(scope="module")
def archive() -> list[dict[str, Any]]:
    """The sample's milestones."""
    return [
        json.loads(line)
        for path in sorted(SAMPLE.iterdir())
        if path.suffix not in (".json", ".jsonl")
        for line in path.read_text().splitlines()
    ]


def test_neither_zone_nor_language_changes_a_row(ended: Ended, sample_rows: Tables) -> None:
    assert ended.code == 0, "\n".join(ended.err)
    assert stored_rows(ended.folder) == sample_rows


def test_timestamps_are_those_of_the_milestones_in_store_and_lake(ended: Ended, archive: list[dict[str, Any]]) -> None:
    seconds = {line["milestone_index"]: line["milestone"]["essence"]["timestamp"] for line in archive}
    rows = stored_rows(ended.folder)["sync"]
    assert {row["milestone_index"]: row["ms_timestamp"] for row in rows} == {
        index: second * 1000 for index, second in seconds.items()
    }
    in_lake = lake_rows(ended.folder / "lake" / "milestones", ["milestone_index", "timestamp"])
    assert {index: moment.timestamp() for index, moment in in_lake} == seconds


def test_a_second_load_is_rejected_and_names_the_first(ended: Ended) -> None:
    code, out, err = ended.second
    run = json.loads(ended.out[-1])["run"]
    assert (code, out) == (1, [])
    assert len(err) == 1
    assert f"process {ended.pid} on {socket.gethostname()}, run " in err[0]
    assert run in err[0]


def test_the_last_line_is_the_report_and_its_numbers_are_those_of_the_files(
    ended: Ended, archive: list[dict[str, Any]]
) -> None:
    (line,) = ended.out
    report = json.loads(line)
    messages = [message for line in archive for message, _ in line["messages"].values()]
    kinds = Counter(PAYLOADS[message["payload"] and message["payload"]["type"]] for message in messages)
    assert report["event"] == "report"
    assert report["milestones"] == report["complete"] == len(archive)
    assert report["messages"] == len(messages)
    assert report["messages_by_kind"] == kinds
    assert report["rejects"] == 0
    stored = {table: len(rows) for table, rows in stored_rows(ended.folder).items() if rows}
    for table in ("messages", "messages_by_milestone", "parents", "tags", "milestones", "sync", "pending_messages"):
        assert report["rows_by_table"][table] == stored[table], table
    assert report["messages_per_second"] > 0
    assert set(report["seconds"]) > {"engine_start"}


def test_progress_is_json_lines_and_nothing_else_is_written(ended: Ended) -> None:
    events = [json.loads(line) for line in ended.err]
    assert {event["event"] for event in events} == {"progress"}
    assert [event["stage"] for event in events][:2] == [SAIL, "decode"]


def test_nothing_is_left_where_it_ran(ended: Ended) -> None:
    assert [path.name for path in ended.folder.parent.iterdir()] == [ended.folder.name]
    assert not [*ended.folder.glob("staging*")]


Printed: TypeAlias = Callable[[Path, Path, str], tuple[str, list[str]]]
"""Store, source and network of a load in this process that fails → its output, and the lines of its errors."""


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    def failed(store: Path, source: Path, network: str) -> tuple[str, list[str]]:
        command = ["permanode", "--store", f"sqlite:///{store}", "--network", network, "load", str(source)]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit, match=r"^1$"):
            main()
        out, err = capsys.readouterr()
        return out, err.splitlines()

    return failed


@pytest.mark.parametrize(
    ("network", "source", "named"),
    [
        ("permatest-1", "nowhere.log", "nowhere.log"),
        ("permatest-1", "empty", "empty"),
        ("mainnet", "some.log", "mainnet"),
    ],
)
def test_what_cannot_be_loaded_is_named_in_one_line(
    tmp_path: Path, printed: Printed, network: str, source: str, named: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "some.log").write_text("{}\n")
    migrate(StoreSettings(f"sqlite:///{tmp_path / 'store'}", "permatest-1"))
    out, (line,) = printed(tmp_path / "store", tmp_path / source, network)
    assert out == ""
    assert line.startswith("permanode: ")
    assert named in line
    assert str(tmp_path) in line


def test_a_store_that_was_never_made_is_named(tmp_path: Path, printed: Printed) -> None:
    out, (line,) = printed(tmp_path / "store", SAMPLE, "permatest-1")
    assert out == ""
    assert "permanode migrate" in line


def test_a_terminal_gets_bars_and_words() -> None:
    code = (
        "from etl.report import Progress, Report\n"
        "from cli.bars import shown\nfrom cli.progress import present\n"
        "with shown() as notify:\n"
        "    notify(Progress('decode', 1, 50, 'milestones'))\n"
        "    notify(Progress('decode', 50, 50, 'milestones'))\n"
        "print(present(Report('run', milestones=50, complete=50, messages=848)))\n"
    )
    own, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    subprocess.run(
        [sys.executable, "-c", code], env=environment, stdin=theirs, stdout=theirs, stderr=theirs, check=True
    )
    os.close(theirs)
    with os.fdopen(own, "rb", buffering=0) as terminal:
        shown = terminal.read(65_536).decode()
    assert "\x1b[" in shown
    assert "50/50" in shown
    assert "━" in shown
    assert "loaded      50 milestones: 50 complete, 0 incomplete" in shown
    assert '{"' not in shown


def test_the_driver_takes_few_rows(spark: SparkSession) -> None:
    assert spark.conf.get("spark.driver.maxResultSize") == "256m"
    assert spark.sparkContext.getConf().get("spark.driver.maxResultSize") == "256m"
