"""Commands that print tables fit a terminal of 80 columns, and print the same as JSON with --json."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import main as cli
from cli.progress import report_lines
from db.connect import StoreSettings
from etl.report import Report, Stored
from etl.verification.audit import Audit, Proved
from tests.sqlite_stores import create

TABLES = [
    ["job"],
    ["job", "analytics-days"],
    ["plan", "--rate", "100000", "--days", "3650", "--node-disk", "1PB"],
    ["config"],
    ["status", "--tables"],
    ["verify"],
    ["lake", "compact"],
    ["load", "sample"],
    ["rebuild"],
    ["analytics", "--all"],
    ["rejects", "list"],
]


def long_report() -> Report:
    """A report whose every number and name is long."""
    report = Report("run", engine="spark", milestones=10**9, complete=10**9 - 1, messages=10**12, pending=10**9)
    report.messages_by_kind = dict.fromkeys(("transaction", "indexation", "no payload", "milestone"), 10**12)
    report.stored = Stored(10**9, 10**6, [(7 * index, 7 * index + 3) for index in range(10**4)])
    report.seconds = dict.fromkeys(
        ("engine_start", "genesis", "decode", "tables", "ledger", "analytics_days"), 123456.7
    )
    for stage in report.seconds:
        report.rows_by_stage[stage] = {"ledger_updates_by_milestone": 10**12}
    report.ledger_index = 10**9
    return report


@pytest.fixture
def long_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store in a folder with a long name, jobs with long results, a terminal of 80 columns."""
    folder = tmp_path / "-".join(["a-folder-with-a-long-name"] * 4)
    settings = StoreSettings(f"sqlite:///{folder}/store", "a-network-with-a-long-name")
    create(settings)
    monkeypatch.chdir(tmp_path)
    for name, value in (("STORE", settings.url), ("NETWORK", settings.network)):
        monkeypatch.setenv(f"PERMANODE_{name}", value)
    monkeypatch.setenv("COLUMNS", "80")
    reason = "the Merkle root of the milestone is not that of its messages, " * 4
    proved = [Proved(10**8, 2 * 10**8, "believed", reason)]
    monkeypatch.setattr("etl.runs.verify", lambda *_, **__: Audit("signed", proved, [(1, 10**9)], 10**8 + 1))
    monkeypatch.setattr("etl.runs.compact_lake", lambda *_, **__: {"messages": 10**6, "milestones": 1})
    for name in ("load", "rebuild", "analytics"):
        monkeypatch.setattr(f"etl.runs.{name}", lambda *_, **__: long_report())
    (tmp_path / "sample").mkdir()


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli.app, list(arguments), catch_exceptions=False)


@pytest.mark.thorough
@pytest.mark.usefixtures("long_names")
@pytest.mark.parametrize("command", TABLES, ids=" ".join)
def test_a_table_fits_80_columns_and_is_also_json(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    values = json.loads(run(*command, "--json").stdout)
    assert values
    monkeypatch.setattr("cli.progress.present", lambda report, **_: "\n".join(report_lines(report)))
    monkeypatch.setattr("cli.load.present", lambda report, **_: "\n".join(report_lines(report)))
    lines = run(*command).stdout.splitlines()
    assert lines
    # A path or a URL is a single word, which stays whole.
    assert [line for line in lines if len(line) > 80] == []
