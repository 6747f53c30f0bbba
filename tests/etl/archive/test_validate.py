"""Each class of fault, found in damaged copies of the sample files, and the level that finds it."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import main as cli
from db.connect import StoreSettings
from etl.archive.checks import Checks
from etl.archive.validate import Fault, Level, validate
from etl.archive.writer import archive_writer
from etl.sources.files import archive_files
from ledger.eras import CHRYSALIS
from tests.conftest import SAMPLE
from tests.etl.archives import NETWORK

CHECK = Checks.of(StoreSettings("", NETWORK), CHRYSALIS).rejects_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Milestones 1–50 in three files of format A."""
    for name in ("1to21.log", "21to41.log.fin", "41.part"):
        shutil.copy(SAMPLE / name, tmp_path)
    return tmp_path


def faults(folder: Path, level: Level = Level.FULL, max_bytes: int = 1 << 32) -> list[Fault]:
    return validate(archive_files([folder]), level, CHECK, max_bytes=max_bytes).faults


def kinds(folder: Path, level: Level = Level.FULL, max_bytes: int = 1 << 32) -> list[str]:
    return [fault.kind for fault in faults(folder, level, max_bytes)]


def edit(path: Path, change: str, at: int = 0) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    if change == "drop":
        del lines[at]
    elif change == "repeat":
        lines.insert(at, lines[at])
    elif change == "tear":
        lines[at] = lines[at][: len(lines[at]) // 2] + b"\n"
    elif change == "forge":
        document = json.loads(lines[at])
        message_id, (message, _) = next(iter(document["messages"].items()))
        message["nonce"] += 1
        assert message_id
        lines[at] = json.dumps(document).encode() + b"\n"
    elif change == "orphan":
        document = json.loads(lines[at])
        document["messages"].popitem()
        lines[at] = json.dumps(document).encode() + b"\n"
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize("level", Level)
def test_good_files_have_no_fault_at_any_level(folder: Path, level: Level) -> None:
    assert faults(folder, level) == []


def test_empty_file(folder: Path) -> None:
    (folder / "21to41.log.fin").write_bytes(b"")
    assert kinds(folder, Level.BASIC) == ["EmptyFile"]
    assert [(fault.kind, Path(fault.file).name) for fault in faults(folder)] == [
        ("EmptyFile", "21to41.log.fin"),
        ("MissingMilestones", ""),
    ]
    (folder / "21to41.log.fin").write_bytes(b"\n \n")
    assert "EmptyFile" in kinds(folder, Level.LIGHT)


def test_missing_milestones_inside_a_file_and_between_files(folder: Path) -> None:
    edit(folder / "1to21.log", "drop", 6)
    (folder / "21to41.log.fin").unlink()
    found = faults(folder, Level.LIGHT)
    assert [(each.kind, Path(each.file).name, each.detail) for each in found] == [
        ("MissingMilestones", "1to21.log", "milestones 7"),
        ("MissingMilestones", "", "no file has 21:41"),
    ]
    assert kinds(folder, Level.BASIC) == []


def test_missing_milestones_of_a_requested_range(folder: Path) -> None:
    def missing(first: int | None, last: int | None) -> list[str]:
        return [fault.detail for fault in validate(archive_files([folder]), Level.LIGHT, first=first, last=last).faults]

    assert missing(1, 61) == missing(None, 61) == missing(44, 61) == ["no file has 51:61"]
    assert missing(60, 61) == ["no file has 60"]
    assert missing(44, None) == missing(60, None) == []


def test_extra_outside_and_duplicate_milestones(folder: Path) -> None:
    edit(folder / "1to21.log", "repeat", 4)
    assert [(each.kind, each.line) for each in faults(folder, Level.LIGHT)] == [
        ("DuplicateMilestone", 6),
        ("ExtraMilestones", 0),
    ]
    shutil.copy(SAMPLE / "1to21.log", folder / "1to20.log")
    (folder / "1to21.log").unlink()
    assert [(each.kind, each.line) for each in faults(folder, Level.LIGHT)] == [
        ("OutsideMilestone", 20),
        ("ExtraMilestones", 0),
    ]


@pytest.mark.parametrize(("change", "least"), [("tear", Level.LIGHT), ("forge", Level.FULL), ("orphan", Level.FULL)])
def test_a_malformed_milestone_by_the_level_that_sees_it(folder: Path, change: str, least: Level) -> None:
    edit(folder / "21to41.log.fin", change, 3)
    assert kinds(folder, least)[0] == "MalformattedMilestone"
    assert (faults(folder, least)[0].line, Path(faults(folder, least)[0].file).name) == (4, "21to41.log.fin")
    assert kinds(folder, Level(least - 1)) == []


def test_a_file_that_is_cut_off(folder: Path) -> None:
    packed = gzip.compress((folder / "1to21.log").read_bytes())
    (folder / "1to21.log").unlink()
    (folder / "1to21.log.gz").write_bytes(packed[: len(packed) // 2])
    assert "MalformattedMilestone" in kinds(folder, Level.LIGHT)


@pytest.mark.parametrize("name", ["21to21.log", "40to21.log", "notes.log"])
def test_invalid_range(folder: Path, name: str) -> None:
    (folder / "21to41.log.fin").rename(folder / name)
    assert kinds(folder, Level.BASIC)[0] == "InvalidRange"


def test_too_big(folder: Path) -> None:
    size = (folder / "1to21.log").stat().st_size
    assert "TooBig" not in kinds(folder, Level.BASIC, 10 * size)
    assert "TooBig" in kinds(folder, Level.BASIC, size - 1)


def test_a_checksum_that_does_not_fit(tmp_path: Path) -> None:
    with archive_writer(tmp_path) as writer:
        for index, line in enumerate((SAMPLE / "1to21.log").read_bytes().splitlines(keepends=True), 1):
            writer.append(index, line)
    assert faults(tmp_path) == []
    with (tmp_path / "1to21.log").open("ab") as stream:
        stream.write(b"\n")
    assert kinds(tmp_path) == ["WrongChecksum"]
    assert kinds(tmp_path, Level.BASIC) == []


def test_the_command_names_file_and_line_and_ends_with_3(folder: Path) -> None:
    edit(folder / "21to41.log.fin", "forge", 3)
    done = CliRunner().invoke(cli.app, ["--network", NETWORK, "archive", "validate", str(folder)])
    assert done.exit_code == 3
    assert f"{folder}/21to41.log.fin:4: MalformattedMilestone: " in done.output
    assert "3 files, 50 milestones, 1 faults" in done.output
    good = CliRunner().invoke(cli.app, ["archive", "validate", str(SAMPLE), "--level", "light", "--json"])
    assert (good.exit_code, json.loads(good.output)["faults"]) == (0, [])


@pytest.mark.parametrize("text", ["5:", ":5", ":"])
def test_a_range_without_an_end_is_rejected_as_nobody_could_say_what_is_missing(text: str, folder: Path) -> None:
    done = CliRunner().invoke(cli.app, ["archive", "validate", str(folder), "--level", "light", "--range", text])
    assert done.exit_code == 2
    assert "both ends are required" in done.output
