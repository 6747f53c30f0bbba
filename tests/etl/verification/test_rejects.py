"""Rejected lines are recorded and the rest is loaded; a later good load repairs it, and a bad one loses nothing."""

from pathlib import Path
from typing import Any

import pytest

from etl.report import Report
from tests.etl import stardust_archives
from tests.etl.archives import (
    Json,
    blake,
    dump,
    flipped,
    gzipped,
    leaf,
    of_state,
    oracle,
    own_id,
    pending,
    sample,
    write,
)
from tests.etl.conftest import Loading, Stores

pytestmark = pytest.mark.loads

LAST = 12
"""Milestones 1 to 12 are loaded here; the lines below are bad, by milestone."""


def bad_lines() -> dict[int, tuple[Any, str, str]]:
    """Milestone → (its line, rejected item, beginning of the reason)."""
    lines = {number: sample()[number - 1] for number in range(1, LAST + 1)}
    victims = {number: of_state(line, "noTransaction")[0] for number, line in lines.items()}
    victims[2] = leaf(lines[2])
    del lines[4]["messages"][victims[4]][0]["parents"]
    stranger = of_state(sample()[5], "noTransaction")[1]
    lines[5]["messages"][stranger] = sample()[5]["messages"][stranger]
    foreign = lines[6]["messages"].pop(victims[6])
    foreign[0]["network_id"] = 1
    body = bytes.fromhex(next(each["bytes_hex"] for each in oracle()[5]["messages"] if each["id"] == victims[6]))
    foreign_id = blake((1).to_bytes(8, "little") + body[8:])
    foreign[1]["messageId"] = foreign_id
    lines[6]["messages"][foreign_id] = foreign
    return {
        2: (flipped(lines[2], victims[2]), victims[2], "message id: the bytes hash to "),
        3: (dump(lines[3])[:-40] + b"\n", "", "line: expected one JSON object"),
        4: (lines[4], victims[4], "parents: expected a value, found none"),
        5: (lines[5], stranger, "referencedByMilestoneIndex: 5 expected, found 6"),
        6: (lines[6], foreign_id, "networkId: "),
        7: (flipped(lines[7], own_id(lines[7])), own_id(lines[7]), "message id: the bytes hash to "),
    }


def good(numbers: range) -> list[bytes]:
    return [dump(sample()[number - 1]) for number in numbers]


@pytest.fixture(scope="module")
def clean(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Json]]:
    """The rows of the good milestones, loaded at once."""
    loading = stores()
    path = write(tmp_path_factory.mktemp("clean") / "clean.log", good(range(1, LAST + 1)))
    assert loading.load(path).exit_code == 0
    return loading.rows()


@pytest.fixture(scope="module")
def bad_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bad.log: milestones 1 to 8 and a meaningless line; cut.log.gz: 9 to 12, unreadable after some of them."""
    folder = tmp_path_factory.mktemp("bad")
    bad = bad_lines()
    lines = [bad[number][0] if number in bad else sample()[number - 1] for number in range(1, 9)]
    write(folder / "bad.log", [*lines, b"nothing\n"])
    packed = gzipped(b"".join(good(range(9, LAST + 1))))
    write(folder / "cut.log.gz", [packed[: len(packed) // 2]])
    write(folder / "pending.jsonl", [pending()[0], pending()[1] | {"id": "ab" * 32, "metadata": {}}])
    return folder


def rejects_of(loading: Loading) -> dict[tuple[str, int], tuple[int, str, str]]:
    """(file, line) → (milestone, item, reason)."""
    return {
        (Path(row["file"]).name, row["line"]): (row["milestone_index"], row["item"], row["reason"])
        for row in loading.rows()["rejects"]
    }


def check_bad(loading: Loading, report: Report, bad_folder: Path, clean: dict[str, list[Json]]) -> None:
    """Everything good is stored, everything bad is in `rejects`, and nothing bad is complete."""
    rows = loading.rows()
    read = {row["milestone_index"] for row in rows["sync"]} - set(range(1, 9))
    assert read <= set(range(9, LAST + 1))
    found = rejects_of(loading)
    expected = {("bad.log", number): (number, item, reason) for number, (_, item, reason) in bad_lines().items()}
    expected["bad.log", 9] = (-1, "", "line: expected one JSON object")
    expected["cut.log.gz", len(read) + 1] = (-1, "", "file: readable to its end, EOFError")
    expected["pending.jsonl", 2] = (-1, "ab" * 32, "message id: the bytes hash to")
    assert found.keys() == expected.keys()
    for place, (index, item, reason) in expected.items():
        assert found[place][:2] == (index, item), place
        assert found[place][2].startswith(reason), place
    assert (report.exit_code, report.rejects) == (3, len(expected))
    complete = {1, 8} | read
    assert {row["milestone_index"] for row in rows["sync"] if row["synced_by"] is not None} == complete
    assert {row["milestone_index"] for row in rows["sync"] if row["verified"] is not None} == complete
    assert [row["complete"] for row in rows["ranges"]] == [intervals_text(complete)]
    assert [row["incomplete"] for row in rows["ranges"]] == ["[[2, 7]]"]
    missing = {number: {item} for number, (_, item, _) in bad_lines().items()}
    missing[3] = set(sample()[2]["messages"])
    missing[5] = set()
    missing[6] = {of_state(sample()[5], "noTransaction")[0]}
    kept = {(row["milestone_index"], row["message_id"]) for row in rows["messages"]}
    assert kept == {
        (row["milestone_index"], row["message_id"])
        for row in clean["messages"]
        if row["milestone_index"] in set(range(1, 9)) | read
        and row["message_id"] not in missing.get(row["milestone_index"], ())
    }
    assert {row["milestone_index"] for row in rows["messages_by_milestone"]} == complete
    assert 7 not in {row["milestone_index"] for row in rows["milestones"]}


def intervals_text(indices: set[int]) -> str:
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return str(runs)


def without_pending(rows: dict[str, list[Json]]) -> dict[str, list[Json]]:
    return {name: each for name, each in rows.items() if not name.startswith("pending")}


def test_bad_input_costs_only_itself_until_a_good_load_heals_it(
    stores: Stores, bad_folder: Path, clean: dict[str, list[Json]], tmp_path: Path
) -> None:
    loading = stores()
    check_bad(loading, loading.load(bad_folder), bad_folder, clean)
    after_one = loading.rows()
    # The same again: as bad as before, and no milestone becomes complete because the lake contains parts of it.
    check_bad(loading, loading.load(bad_folder), bad_folder, clean)
    assert without_pending(loading.rows()) == without_pending(after_one)
    # Good copies under other names complete their milestones; the reject of the meaningless line stays with its file.
    report = loading.load(write(tmp_path / "good.log", good(range(1, LAST + 1))))
    assert (report.exit_code, report.rejects) == (0, 0)
    assert {place for place, (index, *_) in rejects_of(loading).items() if index != -1} == set()
    # The repaired files clear the remaining rejects.
    report = loading.load(
        write(bad_folder / "bad.log", good(range(1, 9))),
        write(bad_folder / "cut.log.gz", [gzipped(b"".join(good(range(9, LAST + 1))))]),
        write(bad_folder / "pending.jsonl", [pending()[0]]),
    )
    assert (report.exit_code, report.skipped) == (0, LAST)
    assert rejects_of(loading) == {}
    assert without_pending(loading.rows()) == without_pending(clean)
    rebuilt = loading.rebuild()
    assert (rebuilt.exit_code, rebuilt.complete) == (0, LAST)
    assert without_pending(loading.rows()) == without_pending(clean)


def test_a_small_good_load_heals_too(stores: Stores, clean: dict[str, list[Json]], tmp_path: Path) -> None:
    loading = stores(bulk_share=1e9, batch_messages=40)
    bad = bad_lines()
    lines = [bad[number][0] if number in bad else sample()[number - 1] for number in range(1, 9)]
    report = loading.load(write(tmp_path / "a.log", lines))
    assert (report.exit_code, report.complete, report.rejects) == (3, 2, 6)
    report = loading.load(write(tmp_path / "b.log", good(range(4, LAST + 1))))
    assert (report.exit_code, report.complete, report.skipped) == (0, 8, 1)
    assert {index for index, *_ in rejects_of(loading).values()} == {2, 3}
    assert loading.load(write(tmp_path / "c.log", good(range(1, 4)))).exit_code == 0
    assert rejects_of(loading) == {}
    assert loading.rows() == clean


@pytest.mark.slow
def test_two_bad_copies_heal_each_other_across_loads(
    stores: Stores, clean: dict[str, list[Json]], tmp_path: Path
) -> None:
    loading = stores()
    one, two = of_state(sample()[1], "noTransaction")[:2]
    rest = good(range(1, 2)) + good(range(3, LAST + 1))
    first = write(tmp_path / "a.log", [*rest, flipped(sample()[1], one)])
    second = write(tmp_path / "b.log", [flipped(sample()[1], two)])
    assert loading.load(first).exit_code == 3
    assert loading.load(second).exit_code == 0
    assert loading.rows() == clean


def test_a_forced_bad_copy_over_a_good_store_loses_nothing(
    stores: Stores, clean: dict[str, list[Json]], tmp_path: Path
) -> None:
    loading = stores()
    assert loading.load(write(tmp_path / "good.log", good(range(1, LAST + 1)))).exit_code == 0
    lines = [line for line, *_ in bad_lines().values()]
    report = loading.load(write(tmp_path / "bad.log", lines), force=True)
    assert (report.exit_code, report.complete) == (0, 6)
    assert loading.rows() == clean


def test_a_bad_first_line_does_not_decide_the_era_of_an_empty_store(stores: Stores, tmp_path: Path) -> None:
    lines = [dump(line) for line in stardust_archives.oracle()[:6]]
    loading = stores(network=stardust_archives.NETWORK)
    report = loading.load(write(tmp_path / "cut.jsonl", [lines[0][50:], *lines[1:]]))
    assert (report.complete, report.rejects, report.exit_code) == (5, 1, 3)
    assert [row["line"] for row in loading.rows()["rejects"]] == [1]
