"""Merging: files of every format, overlapping and spoiled, become one archive; expected is the oracle's own JSON."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cli
from db.connect import StoreSettings
from etl.archive.merge import merge
from etl.archive.validate import Level
from etl.sources.files import archive_files
from tests.archive.conftest import Json, Ledger
from tests.conftest import SAMPLE
from tests.etl.archives import ARCHIVE_FORMS, NETWORK, dump, oracle, own_id, pending, sample

SETTINGS = StoreSettings("", NETWORK)


def lines_of(folder: Path) -> list[Json]:
    files = sorted(folder.glob("*.log"), key=lambda path: int(path.name.split("to")[0]))
    return [json.loads(line) for path in files for line in path.read_bytes().splitlines()]


def without_reasons(lines: list[Json]) -> list[Json]:
    """Formats A to D tell no conflict reason."""
    found = json.loads(json.dumps(lines))
    for line in found:
        for entry in line["messages"]:
            entry["metadata"].pop("conflictReason", None)
    return list(found)


def test_node_json_of_either_era_becomes_one_file_and_pending_messages_stand_beside_it(
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
    told = [json.loads(line) for line in (tmp_path / "out" / "pending.jsonl").read_bytes().splitlines()]
    assert [each["id"] for each in told] == sorted(each["id"] for each in ledger.pending)
    # What was merged merges into the same bytes, and validates.
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
    told = [json.loads(line) for line in (tmp_path / "out" / "pending.jsonl").read_bytes().splitlines()]
    assert [each["id"] for each in told] == sorted(each["id"] for each in ledger.pending)


@pytest.mark.parametrize("form", ARCHIVE_FORMS)
def test_every_archive_format_gives_the_same_file(form: str, tmp_path: Path) -> None:
    chosen = sample()[20:26]
    (tmp_path / "in.jsonl").write_bytes(b"".join(dump(ARCHIVE_FORMS[form](line)) for line in chosen))
    done = merge(SETTINGS, [tmp_path / "in.jsonl"], tmp_path / "out")
    assert (done.faults, done.lacking, done.files) == ([], [], ["21to27.log"])
    expected = [line["milestone"]["index"] for line in oracle()[20:26]]
    found = lines_of(tmp_path / "out")
    assert [line["milestone"]["index"] for line in found] == expected
    for line, told in zip(found, oracle()[20:26], strict=True):
        assert [entry["id"] for entry in line["messages"]] == [entry["id"] for entry in told["messages"]]
        assert [entry["message"] for entry in line["messages"]] == [entry["message"] for entry in told["messages"]]


def test_of_overlapping_copies_the_good_one_is_taken_and_what_none_has_whole_is_named(tmp_path: Path) -> None:
    chosen = sample()[:6]
    spoiled = sample()[:6]
    for line in (spoiled[2], spoiled[4]):
        del line["messages"][own_id(line)]
    chosen[4]["messages"] = spoiled[4]["messages"]
    (tmp_path / "a.log").write_bytes(b"".join(map(dump, spoiled)))
    (tmp_path / "b.log").write_bytes(b"".join(map(dump, chosen)))
    done = merge(SETTINGS, [tmp_path / "a.log", tmp_path / "b.log"], tmp_path / "out")
    assert (done.milestones, done.lacking, done.files) == (5, [(5, 5)], ["1to5.log", "6to7.log"])
    assert {fault.kind for fault in done.faults} == {"MalformattedMilestone"}
    assert [line["milestone"]["index"] for line in lines_of(tmp_path / "out")] == [1, 2, 3, 4, 6]
    # A copy that is whole heals it, as the same run again with it.
    (tmp_path / "c.log").write_bytes(dump(sample()[4]))
    healed = merge(SETTINGS, [tmp_path / "c.log", tmp_path / "b.log"], tmp_path / "out")
    assert (healed.milestones, healed.held, healed.files) == (1, 5, ["5to6.log"])


def test_a_level_lets_nothing_be_written_before_all_files_pass(tmp_path: Path) -> None:
    (tmp_path / "1to9.log").write_bytes(b"".join(map(dump, sample()[:7])))
    files = [tmp_path / "1to9.log"]
    done = merge(SETTINGS, files, tmp_path / "out", level=Level.LIGHT)
    assert ([fault.kind for fault in done.faults], done.milestones) == (["MissingMilestones"], 0)
    assert not (tmp_path / "out").exists()
    assert merge(SETTINGS, files, tmp_path / "out", level=Level.BASIC).milestones == 7
    kept = merge(SETTINGS, files, tmp_path / "kept", level=Level.LIGHT, keep_going=True)
    assert ([fault.kind for fault in kept.faults], kept.milestones) == (["MissingMilestones"], 7)


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
    into_itself = CliRunner().invoke(cli.app, [*command[:-1], str(SAMPLE)])
    assert isinstance(into_itself.exception, ValueError)
