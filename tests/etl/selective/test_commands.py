"""`permanode load --keep`, `status` and `purge --keep` as commands."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import main as cli
from tests.etl.archives import oracle, write
from tests.inclusion import keys
from tests.selections import tagged

pytestmark = pytest.mark.loads

TAG = "494f5441"


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Runs a command on the store of this test with the embedded engine."""
    env = {
        "PERMANODE_STORE": f"sqlite:///{tmp_path / 'data'}",
        "PERMANODE_NETWORK": "permatest-1",
        "PERMANODE_ETL_ENGINE": "sail",
        "PERMANODE_NETWORKS_PERMATEST_1_COORDINATOR_KEYS": "",
    }
    file = tmp_path / "permanode.toml"
    listed = ", ".join(f'"{key}"' for key in keys("chrysalis"))
    file.write_text(f'[networks."permatest-1"]\ncoordinator_keys = [{listed}]\n')
    env.pop("PERMANODE_NETWORKS_PERMATEST_1_COORDINATOR_KEYS")

    def one(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(cli.app, ["--config", str(file), *arguments], env=env)
        assert result.exit_code == code, (result.output, result.exception)
        return result.stdout

    one("migrate")
    return one


@pytest.fixture
def archive(tmp_path: Path) -> str:
    return str(write(tmp_path / "milestones.jsonl", oracle()))


def test_filters_come_from_the_command_line_and_from_files(run: Any, archive: str, tmp_path: Path) -> None:
    listed = tmp_path / "filters.txt"
    listed.write_text("tag:IOTA\n\n  # and these\nmilestones:1:3\n", "utf-8-sig")
    run("load", archive, "--keep", f"@{listed}", "--keep", "tag:0xab tag:HORNET")
    found = json.loads(run("status", "--json"))
    assert found["kept"] == {
        each: [[1, 50]] for each in ("milestones:1:3", "tag:0x484f524e4554", f"tag:0x{TAG}", "tag:0xab")
    }
    assert "keeps" in run("status")
    assert "4 filters (`status --json` lists them); all cover 1:51" in run("status")
    inside = {each.message_id for each in tagged("chrysalis")[TAG]}
    assert found["messages"] >= len(inside)


def test_an_invalid_filter_or_file_is_an_error_of_one_line(run: Any, archive: str, tmp_path: Path) -> None:
    run("load", archive, "--keep", "tag:0xz", code=1)
    run("load", archive, "--keep", f"@{tmp_path / 'none.txt'}", code=2)
    assert json.loads(run("status", "--json"))["kept"] is None


def test_a_purge_reports_what_is_left(run: Any, archive: str) -> None:
    run("load", archive)
    assert json.loads(run("status", "--json"))["kept"] is None
    report = json.loads(run("purge", "--keep", "tag:IOTA", "--json"))
    assert report["messages"] == len(tagged("chrysalis")[TAG]) + 50
    assert json.loads(run("status", "--json"))["kept"] == {f"tag:0x{TAG}": [[1, 50]]}
    assert run("purge") == "0 rows deleted\n"
    run("job", "analytics")
    run("analytics", "--all")
    assert re.search(r"ms_analytics +0 ", run("status", "--tables"))
