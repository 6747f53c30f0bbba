"""Each Stardust milestone names the one before it: a milestone that does not is rejected, in either
order of loading.
"""

from functools import partial
from pathlib import Path

import pytest
from deltalake import DeltaTable

from db.intervals import Intervals, of_indices
from etl import iota_steps, runs
from etl.verification import audit
from etl.verification.audit import Audit, Proved
from ledger.stardust import codec as stardust
from ledger.stardust.json import milestone_json
from ledger.stardust.json_parse import parse_milestone_json
from ledger.stardust.values import Milestone, MilestoneSignature
from tests.etl.archives import Json, dump, write
from tests.etl.archives import oracle as chrysalis_oracle
from tests.etl.conftest import Loading, Stores
from tests.etl.stardust_archives import NETWORK, line_of, oracle
from tests.etl.test_two_eras import ERAS, GENESIS
from tests.etl.two_eras import COORDINATOR, COORDINATOR_KEY, FIRST, stardust_lines

pytestmark = pytest.mark.loads

NOWHERE = "0x" + "5d" * 32


def forged(line: Json, **changes: object) -> Json:
    """Another milestone over the same cone, signed by the second era's coordinator."""
    payload = parse_milestone_json(line["milestone"]["payload"] | changes | {"signatures": [UNSIGNED]})
    signature = MilestoneSignature(COORDINATOR_KEY, COORDINATOR.sign(stardust.milestone_id(payload)))
    fields = {name: getattr(payload, name) for name in Milestone.__slots__} | {"signatures": (signature,)}
    stated = {"index": line["milestone"]["index"], "payload": milestone_json(Milestone(**fields))}
    return line | {"milestone": stated}


UNSIGNED = {"type": 0, "publicKey": NOWHERE, "signature": "0x" + "5d" * 64}


def identity(line: Json) -> str:
    return stardust.milestone_id(parse_milestone_json(line["milestone"]["payload"])).hex()


def previous(line: Json) -> str:
    found: str = line["milestone"]["payload"]["previousMilestoneId"]
    return found.removeprefix("0x")


def misnames(line: Json, before: Json) -> str:
    index = before["milestone"]["index"]
    named = previous(line)
    return f"previousMilestoneId: {identity(before)} expected, the id of milestone {index}, found {named}"


def misnamed(line: Json, after: Json) -> str:
    index = after["milestone"]["index"]
    return (
        f"milestone id: {previous(after)} expected, as milestone {index} names the one before it, "
        f"found {identity(line)}"
    )


def incomplete(loading: Loading) -> Intervals:
    return of_indices(row["milestone_index"] for row in loading.rows()["sync"] if row["verified"] is None)


def rejects(loading: Loading) -> dict[int, tuple[int, str, str]]:
    rows = loading.rows()["rejects"]
    assert len({row["milestone_index"] for row in rows}) == len(rows)
    return {row["milestone_index"]: (row["line"], row["item"], row["reason"]) for row in rows}


def test_a_milestone_that_those_around_it_do_not_name_is_rejected_and_they_stay(stores: Stores, tmp_path: Path) -> None:
    """The signers are unknown. Files are shuffled, and milestones on both sides of a gap are not compared."""
    loading = stores(network=NETWORK)
    report = loading.load(write(tmp_path / "later.jsonl", map(dump, oracle()[21:24])))
    assert (report.exit_code, report.complete) == (0, 3)
    apart = forged(line_of(18), metadata="0x5d")
    wrong = forged(line_of(21), timestamp=line_of(21)["milestone"]["timestamp"] + 1)
    report = loading.load(write(tmp_path / "early.jsonl", map(dump, [apart, line_of(20), wrong])))
    assert (report.exit_code, report.complete, incomplete(loading)) == (3, 2, [(21, 21)])
    reason = misnamed(wrong, line_of(22))
    assert rejects(loading) == {21: (3, "", reason)}
    assert report.rejected[0].endswith(f"early.jsonl:3: {reason}")
    report = loading.load(write(tmp_path / "19.jsonl", map(dump, [line_of(19), line_of(21)])))
    assert (report.exit_code, incomplete(loading)) == (3, [(19, 19)]), "18 is another, as is told now"
    assert rejects(loading) == {19: (1, "", misnames(line_of(19), apart))}
    right = {number: line_of(number)["milestone"]["milestoneId"][2:] for number in (20, 21, 22, 23, 24)}
    assert {
        row["milestone_index"]: row["milestone_id"] for row in loading.rows()["milestones"]
    }.items() >= right.items()


def test_signed_milestones_that_do_not_fit_are_rejected_in_a_network_of_both_eras(
    stores: Stores, tmp_path: Path
) -> None:
    """The coordinator itself signs a different history. The first Stardust milestone has no predecessor to name."""
    loading = stores((7, 3), eras=ERAS)
    first, second, third = stardust_lines()
    zeros = forged(first, previousMilestoneId="0x" + "00" * 32)
    lines = [*map(dump, chrysalis_oracle()), dump(zeros), dump(second), dump(third)]
    file = write(tmp_path / "both.jsonl", lines)
    report = loading.load(file, genesis=GENESIS)
    assert (report.exit_code, report.complete, report.ledger_index) == (3, FIRST, FIRST - 1)
    assert incomplete(loading) == [(FIRST, FIRST + 1)]
    assert rejects(loading) == {
        FIRST: (FIRST, "", misnamed(zeros, second)),
        FIRST + 1: (FIRST + 1, "", misnames(second, zeros)),
    }
    report = loading.load(write(tmp_path / "right.jsonl", map(dump, stardust_lines()[:2])))
    assert (report.exit_code, report.complete, report.ledger_index) == (0, 2, FIRST + 2)
    assert (incomplete(loading), rejects(loading)) == ([], {})


def test_verify_finds_a_link_that_a_lake_of_before_holds(stores: Stores, tmp_path: Path) -> None:
    """Earlier versions did not check the links."""
    loading = stores((7, 3), NETWORK)
    wrong = forged(line_of(5), metadata="0x5d")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iota_steps, "reject_broken_links", lambda _, found: found)
        loading.load(write(tmp_path / "wrong.jsonl", map(dump, [line_of(4), wrong, line_of(6)])))
    reason = misnames(line_of(6), wrong)
    proved = [
        Proved(4, 4, "merkle", ""),
        Proved(5, 5, "incomplete", misnamed(wrong, line_of(6))),
        Proved(6, 6, "incomplete", reason),
    ]
    assert runs.verify(loading.store, loading.settings) == Audit("merkle", proved, [(4, 6)], below=2)
    assert runs.verify(loading.store, loading.settings, first=6, last=7).proved == proved[2:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "SHOWN", 1)
        # What is not shown counts, too.
        cut = runs.verify(loading.store, loading.settings, last=10)
        assert cut == Audit("merkle", proved[:1], [(4, 6)], below=5)
        assert not cut.is_reached


def test_verify_names_requested_milestones_that_the_lake_does_not_have(stores: Stores, tmp_path: Path) -> None:
    loading = stores((7, 3), NETWORK)
    loading.load(write(tmp_path / "apart.jsonl", map(dump, [line_of(5), line_of(6), line_of(9)])))
    held, found = [(5, 6), (9, 9)], partial(runs.verify, loading.store, loading.settings)

    def missing(first: int, last: int) -> Proved:
        return Proved(first, last, "missing", "the lake does not have them")

    proved = [Proved(5, 6, "merkle", ""), Proved(9, 9, "merkle", "")]
    assert found() == Audit("merkle", proved, held, below=0)
    between = [proved[0], missing(7, 8), proved[1]]
    assert found(first=5) == found(last=10) == Audit("merkle", between, held, below=2)
    around = [missing(1, 4), *between, missing(10, 20)]
    assert found(first=0, last=21) == Audit("merkle", around, held, below=17)
    DeltaTable(f"{runs.lake_path(loading.store, loading.settings)}/messages").delete("milestone_index = 6")
    assert found() == Audit("merkle", [Proved(5, 5, "merkle", ""), missing(6, 6), proved[1]], held, below=1)
