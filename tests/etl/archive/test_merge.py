"""Merging files of every format, overlapping and damaged, into one archive; expectations are the oracle's own JSON."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli import main as cli
from db.connect import StoreSettings
from etl.archive.merge import merge
from etl.archive.validate import Level
from etl.sources.files import archive_files
from ledger.eras import CHRYSALIS
from tests.conftest import SAMPLE
from tests.etl import stardust_archives
from tests.etl.archive.conftest import Json, Ledger, contents, environment
from tests.etl.archives import ARCHIVE_FORMS, NETWORK, dump, oracle, own_id, pending, sample, write

SETTINGS = StoreSettings("", NETWORK)


def lines_of(folder: Path) -> list[Json]:
    files = sorted(folder.glob("*.log"), key=lambda path: int(path.name.split("to")[0]))
    return [json.loads(line) for path in files for line in path.read_bytes().splitlines()]


def without_reasons(lines: list[Json]) -> list[Json]:
    """Formats A to D contain no conflict reason."""
    found = json.loads(json.dumps(lines))
    for line in found:
        for entry in line["messages"]:
            entry["metadata"].pop("conflictReason", None)
    return list(found)


def test_node_json_of_either_era_becomes_one_file_with_pending_messages_beside_it(
    ledger: Ledger, tmp_path: Path
) -> None:
    whole = tmp_path / "in"
    whole.mkdir()
    (whole / "b.jsonl").write_bytes(b"".join(dump(line) for line in reversed(ledger.milestones[10:])))
    (whole / "a.jsonl").write_bytes(b"".join(dump(line) for line in ledger.milestones[:20]))
    (whole / "pending.jsonl").write_bytes(b"".join(map(dump, [*ledger.pending, *ledger.pending])))
    done = merge(ledger.store, archive_files([whole]), tmp_path / "out")
    assert (done.milestones, done.pending, done.faults, done.files) == (50, len(ledger.pending), [], ["1to51.log"])
    assert lines_of(tmp_path / "out") == ledger.lines(1, 51)
    reported = [json.loads(line) for line in (tmp_path / "out" / "pending.jsonl").read_bytes().splitlines()]
    assert [each["id"] for each in reported] == sorted(each["id"] for each in ledger.pending)
    # The merged files merge into the same bytes again, and validate.
    again = merge(ledger.store, archive_files([tmp_path / "out"]), tmp_path / "again")
    assert again.milestones == 50
    for path in (tmp_path / "out").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_pending_messages_of_an_earlier_merge_stay(ledger: Ledger, tmp_path: Path) -> None:
    assert len(ledger.pending) > 1
    for name, some in (("a.jsonl", ledger.pending[:1]), ("b.jsonl", ledger.pending[1:])):
        (tmp_path / name).write_bytes(b"".join(map(dump, some)))
        done = merge(ledger.store, [tmp_path / name], tmp_path / "out")
    assert (done.pending, done.faults) == (len(ledger.pending), [])
    reported = [json.loads(line) for line in (tmp_path / "out" / "pending.jsonl").read_bytes().splitlines()]
    assert [each["id"] for each in reported] == sorted(each["id"] for each in ledger.pending)


@pytest.mark.parametrize("form", ARCHIVE_FORMS)
def test_every_archive_format_gives_the_same_file(form: str, tmp_path: Path) -> None:
    chosen = sample()[20:26]
    (tmp_path / "in.jsonl").write_bytes(b"".join(dump(ARCHIVE_FORMS[form](line)) for line in chosen))
    done = merge(SETTINGS, [tmp_path / "in.jsonl"], tmp_path / "out")
    assert (done.faults, done.missing, done.files) == ([], [], ["21to27.log"])
    expected = [line["milestone"]["index"] for line in oracle()[20:26]]
    found = lines_of(tmp_path / "out")
    assert [line["milestone"]["index"] for line in found] == expected
    for line, reported in zip(found, oracle()[20:26], strict=True):
        assert [entry["id"] for entry in line["messages"]] == [entry["id"] for entry in reported["messages"]]
        assert [entry["message"] for entry in line["messages"]] == [entry["message"] for entry in reported["messages"]]


def test_of_overlapping_copies_the_good_one_is_taken_and_what_none_has_whole_is_named(tmp_path: Path) -> None:
    chosen = sample()[:6]
    spoiled = sample()[:6]
    for line in (spoiled[2], spoiled[4]):
        del line["messages"][own_id(line)]
    chosen[4]["messages"] = spoiled[4]["messages"]
    (tmp_path / "a.log").write_bytes(b"".join(map(dump, spoiled)))
    (tmp_path / "b.log").write_bytes(b"".join(map(dump, chosen)))
    done = merge(SETTINGS, [tmp_path / "a.log", tmp_path / "b.log"], tmp_path / "out")
    assert (done.milestones, done.missing, done.files) == (5, [(5, 5)], ["1to5.log", "6to7.log"])
    assert {fault.kind for fault in done.faults} == {"MalformattedMilestone"}
    assert [line["milestone"]["index"] for line in lines_of(tmp_path / "out")] == [1, 2, 3, 4, 6]
    # An intact copy repairs the message, and so does running the same merge again with that copy.
    (tmp_path / "c.log").write_bytes(dump(sample()[4]))
    healed = merge(SETTINGS, [tmp_path / "c.log", tmp_path / "b.log"], tmp_path / "out")
    assert (healed.milestones, healed.held, healed.files) == (1, 5, ["5to6.log"])


def test_milestones_between_those_of_the_files_are_named_unless_the_folder_has_them(tmp_path: Path) -> None:
    lines = [dump(line) for line in sample()[:9]]
    apart = write(tmp_path / "apart.log", [*lines[2:4], *lines[6:8]])
    between = write(tmp_path / "between.log", lines[3:7])
    done = merge(SETTINGS, [apart], tmp_path / "out")
    assert (done.milestones, done.missing, done.faults) == (4, [(5, 6)], [])
    assert merge(SETTINGS, [apart], tmp_path / "half", first=6).missing == [(6, 6)]
    assert merge(SETTINGS, [apart], tmp_path / "none", first=10, last=12).missing == [(10, 11)]
    assert merge(SETTINGS, [between], tmp_path / "out").missing == []
    again = merge(SETTINGS, [apart], tmp_path / "out")
    assert (again.milestones, again.held, again.missing) == (0, 4, [])


def test_a_bad_first_line_does_not_decide_the_era(tmp_path: Path) -> None:
    lines = [dump(line) for line in stardust_archives.oracle()[:6]]
    file = write(tmp_path / "cut.jsonl", [lines[0][50:], *lines[1:]])
    done = merge(StoreSettings("", stardust_archives.NETWORK), [file], tmp_path / "out")
    assert (done.milestones, [(fault.file, fault.line) for fault in done.faults]) == (5, [(str(file), 1)])
    command = ["--network", stardust_archives.NETWORK, "archive", "validate", str(file)]
    found = CliRunner().invoke(cli.app, command)
    assert (found.exit_code, found.output.count("MalformattedMilestone")) == (3, 1)


def test_a_level_lets_nothing_be_written_before_all_files_pass(tmp_path: Path) -> None:
    (tmp_path / "1to9.log").write_bytes(b"".join(map(dump, sample()[:7])))
    files = [tmp_path / "1to9.log"]
    done = merge(SETTINGS, files, tmp_path / "out", level=Level.LIGHT)
    assert ([fault.kind for fault in done.faults], done.milestones) == (["MissingMilestones"], 0)
    assert not (tmp_path / "out").exists()
    assert merge(SETTINGS, files, tmp_path / "out", level=Level.BASIC).milestones == 7
    kept = merge(SETTINGS, files, tmp_path / "kept", level=Level.LIGHT, keep_going=True)
    assert ([fault.kind for fault in kept.faults], kept.milestones) == (["MissingMilestones"], 7)


def another_nonce(ledger: Ledger, line: Json) -> str:
    """Its bytes no longer have the id under which the file lists it."""
    entry = line[ledger.entries][0]
    content = entry["message" if ledger.codec is CHRYSALIS else "block"]
    content["nonce"] = str(int(content["nonce"]) ^ 1)
    return str(entry["id"]).removeprefix("0x")


def a_message_less(ledger: Ledger, line: Json) -> str:
    """The cone is missing its last message; in Chrysalis that is the one that contains the milestone."""
    line[ledger.entries].pop()
    return "milestone 3"


def merged(folder: Path, name: str, *options: str) -> Result:
    """The command as given; each call writes into another folder."""
    command = ["archive", "merge", str(folder / "in"), "--into", str(folder / name), *options]
    return CliRunner().invoke(cli.app, command)


@pytest.fixture
def configured(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(ledger).items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("spoil", [another_nonce, a_message_less])
def test_at_level_full_what_is_wrong_inside_a_line_lets_nothing_be_written_and_is_named(
    ledger: Ledger, tmp_path: Path, spoil: Callable[[Ledger, Json], str]
) -> None:
    lines = json.loads(json.dumps(ledger.lines(1, 7)))
    named = spoil(ledger, lines[2])
    write(tmp_path / "in" / "1to7.log", lines)
    where = f"{tmp_path}/in/1to7.log:3: "
    rejected = merged(tmp_path, "refused", "--level", "full")
    (fault,) = [line for line in rejected.output.splitlines() if line.startswith(where)]
    assert "MalformattedMilestone" in fault
    assert named in fault
    assert rejected.exit_code == 3
    assert not (tmp_path / "refused").exists()
    # Its name, its checksum and its JSON are right: the lower levels do not notice it, and complete milestones are
    # written.
    for name, options in (("light", ["--level", "light"]), ("kept", ["--level", "full", "--keep-going"])):
        done = merged(tmp_path, name, *options)
        assert done.exit_code == 3
        assert done.output.count(where) == 1
        assert "5 milestones written" in done.output
        assert "incomplete, not written: 3" in done.output
        assert lines_of(tmp_path / name) == [*ledger.lines(1, 3), *ledger.lines(4, 7)]


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("level", ["basic", "light", "full", "just-in-time"])
def test_good_files_give_the_same_bytes_at_every_level(ledger: Ledger, tmp_path: Path, level: str) -> None:
    write(tmp_path / "in" / "1to6.log", ledger.lines(1, 6))
    write(tmp_path / "in" / "overlapping.jsonl", ledger.lines(4, 9))
    write(tmp_path / "in" / "pending.jsonl", ledger.pending)
    assert merged(tmp_path, "default").exit_code == 0
    assert merged(tmp_path, level, "--level", level).exit_code == 0
    assert contents(tmp_path / level) == contents(tmp_path / "default")
    assert lines_of(tmp_path / level) == ledger.lines(1, 9)


@pytest.mark.usefixtures("configured")
def test_a_growing_file_continues_if_a_killed_run_left_it_and_is_an_error_otherwise(
    ledger: Ledger, tmp_path: Path
) -> None:
    write(tmp_path / "in" / "1to6.log", ledger.lines(1, 6))
    assert merged(tmp_path, "whole").exit_code == 0
    whole = contents(tmp_path / "whole")
    data = whole["1to6.log"]
    second = data.index(b"\n") + 1
    for kept in (1, 10, 30, 200, second - 1, second, second + 30):
        write(tmp_path / f"killed {kept}" / "1.part", [data[:kept]])
        assert merged(tmp_path, f"killed {kept}").exit_code == 0
        assert contents(tmp_path / f"killed {kept}") == whole
    for name, line, foreign in (
        ("packed", 1, gzip.compress(data)),
        ("damaged", 2, data[:second] + b"x" + data[second:]),
    ):
        write(tmp_path / name / "1.part", [foreign])
        failed = merged(tmp_path, name)
        assert failed.exit_code == 1
        assert isinstance(failed.exception, ValueError)
        assert str(failed.exception).startswith(f"{tmp_path}/{name}/1.part:{line}: expected the line of {line} ")
        assert contents(tmp_path / name) == {"1.part": foreign}


def test_the_command_merges_the_sample(tmp_path: Path) -> None:
    command = ["--network", NETWORK, "archive", "merge", str(SAMPLE), "--into", str(tmp_path / "out")]
    done = CliRunner().invoke(cli.app, [*command, "--range", "11:31", "--max-size", "200000"])
    assert done.exit_code == 0
    assert "20 milestones written" in done.output
    names = sorted(path.name for path in (tmp_path / "out").glob("*.log"))
    assert len(names) > 1
    assert all(path.stat().st_size <= 200_000 for path in (tmp_path / "out").glob("*.log"))
    assert [line["milestone"]["index"] for line in lines_of(tmp_path / "out")] == list(range(11, 31))
    assert len((tmp_path / "out" / "pending.jsonl").read_bytes().splitlines()) == len(pending())
    beyond = CliRunner().invoke(cli.app, [*command, "--range", "45:61"])
    assert beyond.exit_code == 3
    assert "6 milestones written" in beyond.output
    assert "incomplete, not written: 51:61" in beyond.output
    into_itself = CliRunner().invoke(cli.app, [*command[:-1], str(SAMPLE)])
    assert isinstance(into_itself.exception, ValueError)
