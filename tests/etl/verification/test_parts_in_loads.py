"""Parts of a milestone in several loads: they complete each other, an invalid message is not forgotten, and a complete
milestone is read again only if forced.
"""

from pathlib import Path

import pytest

from etl.report import Report
from tests.etl import stardust_archives
from tests.etl.archives import Json, dump, flipped, leaf, sample, write
from tests.etl.conftest import Loading, Stores
from tests.etl.verification.test_reject_commands import run
from tests.etl.verification.test_verify import edges, part_of

pytestmark = pytest.mark.loads

NUMBER = 7
MOST_LOADS = 6


def chrysalis_half(place: int) -> Json:
    return part_of(sample()[NUMBER - 1], 2, place)


def stardust_half(place: int) -> Json:
    line = stardust_archives.line_of(NUMBER)
    return line | {"blocks": line["blocks"][place::2]}


ERAS = pytest.mark.parametrize(
    ("network", "whole", "halves"),
    [
        ("permatest-1", sample()[NUMBER - 1], [chrysalis_half(place) for place in (0, 1)]),
        (
            stardust_archives.NETWORK,
            stardust_archives.line_of(NUMBER),
            [stardust_half(place) for place in (0, 1)],
        ),
    ],
    ids=["chrysalis", "stardust"],
)


def load(loading: Loading, folder: Path, name: str, line: Json, *, force: bool = False) -> Report:
    return loading.load(write(folder / f"{name}.jsonl", [dump(line)]), force=force)


@ERAS
@pytest.mark.parametrize("first", [0, 1])
def test_halves_that_are_loaded_in_turn_become_complete(
    stores: Stores, tmp_path: Path, network: str, whole: Json, halves: list[Json], first: int
) -> None:
    clean = stores(network=network)
    assert load(clean, tmp_path, "whole", whole).complete == 1
    loading = stores(network=network)
    reports = []
    while not reports or not reports[-1].complete:
        assert len(reports) < MOST_LOADS
        place = (first + len(reports)) % 2
        reports.append(load(loading, tmp_path, f"half-{place}", halves[place]))
    assert len(reports) > 1
    assert [each.exit_code for each in reports] == [3] * (len(reports) - 1) + [0]
    assert loading.rows() == clean.rows()
    assert load(loading, tmp_path, "whole", whole).skipped == 1


@pytest.mark.parametrize("cleared", [False, True])
def test_an_invalid_message_is_missed_until_a_load_has_a_valid_one(
    stores: Stores, tmp_path: Path, cleared: bool
) -> None:
    """Without it the other messages look complete: no root of Chrysalis covers it."""
    whole = sample()[NUMBER - 1]
    victim = leaf(whole)
    halves = [chrysalis_half(place) for place in (0, 1)]
    holder = next(place for place in (0, 1) if victim in halves[place]["messages"])
    invalid = flipped(halves[holder], victim)
    without = halves[holder] | {"messages": {i: m for i, m in halves[holder]["messages"].items() if i != victim}}
    loading = stores()
    load(loading, tmp_path, "invalid", invalid)
    for name, line in [("other", halves[1 - holder]), ("without", without)] * 2:
        if cleared:
            run(loading, "rejects", "clear", "--all")
        assert load(loading, tmp_path, name, line).complete == 0
        assert cleared or victim in {row["item"] for row in loading.rows()["rejects"]}
    report = load(loading, tmp_path, "valid", halves[holder])
    assert (report.complete, report.exit_code) == (1, 0)
    assert {row["message_id"] for row in loading.rows()["messages"]} == whole["messages"].keys()


def test_a_larger_copy_of_a_complete_milestone_is_read_if_forced(stores: Stores, tmp_path: Path) -> None:
    """Of Chrysalis: a complete milestone of Stardust has all its blocks."""
    number, whole = next((number, each) for number, each in enumerate(sample(), 1) if edges(each))
    left_out = edges(whole)[0]
    smaller = whole | {"messages": {i: m for i, m in whole["messages"].items() if i != left_out}}
    loading = stores()
    assert load(loading, tmp_path, "smaller", smaller).complete == 1
    report = load(loading, tmp_path, "larger", whole)
    assert (report.milestones, report.skipped) == (0, 1)
    for name, line in (("larger", whole), ("smaller", smaller)):
        assert load(loading, tmp_path, name, line, force=True).complete == 1
        found = {row["message_id"] for row in loading.rows()["messages"] if row["milestone_index"] == number}
        assert found == whole["messages"].keys()
