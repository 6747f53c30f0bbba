"""Stardust files that are not whole milestones of one era: loose blocks, rejects that later files complete, real
Shimmer, lines of the other era.
"""

from pathlib import Path
from typing import Any

import pytest

from db.store import StoreMismatch
from tests.conftest import SHARED, needs_shared
from tests.etl.archives import dump, write
from tests.etl.archives import oracle as chrysalis_oracle
from tests.etl.conftest import Loading, Stores
from tests.etl.stardust_archives import NETWORK, has_conflicts, line_of, of_state, oracle, pending, write_folder
from tests.etl.test_oracle import check, uncut
from tests.etl.test_stardust_oracle import MIXED, STARDUST_FROM, expected

pytestmark = pytest.mark.loads


def test_a_folder_of_single_blocks(stores: Stores, tmp_path: Path) -> None:
    numbers = [number for number in range(1, 51) if not has_conflicts(line_of(number))][:4]
    loading = stores(network=NETWORK)
    loose = [bytes.fromhex(each["bytes_hex"]) for each in pending()]
    report = loading.load(write_folder(tmp_path / "raw", [line_of(each) for each in numbers], *loose))
    assert (report.exit_code, report.complete, report.pending) == (0, len(numbers), 1)
    rows = loading.rows()
    for name in ("messages", "messages_by_milestone", "outputs", "transactions", "milestones"):
        awaited = [
            row
            for row in expected((100_000, 100_000))[name]
            if {row.get("milestone_index"), row.get("created_milestone_index")} & set(numbers)
        ]
        assert awaited
        if name != "outputs":
            assert rows[name] == awaited
        else:
            found = {row["output_id"]: row for row in rows[name] if row["created_milestone_index"] is not None}
            assert found.keys() == {row["output_id"] for row in awaited}
    assert {row["message_id"] for row in rows["pending_messages"]} == {each["id"][2:] for each in pending()}


def test_what_was_rejected_is_repaired_by_what_comes_later(stores: Stores, tmp_path: Path) -> None:
    """Two loads of a milestone, each with a different invalid block: the rows in the lake of the first one complete
    both.
    """
    loading = stores(network=NETWORK)
    victims = []
    for position, state in enumerate(("included", "noTransaction")):
        line = line_of(7)
        victim = of_state(line, state)[-1]
        victim["block"]["nonce"] = str(int(victim["block"]["nonce"]) ^ 1)
        del victim["bytes_hex"]
        victims.append(victim["id"][2:])
        report = loading.load(write(tmp_path / f"{position}.jsonl", [line_of(6), line, line_of(8)]))
        if position == 0:
            assert (report.exit_code, report.complete, report.rejects) == (3, 2, 1)
            (reject,) = loading.rows()["rejects"]
            assert (reject["milestone_index"], reject["item"], reject["line"]) == (7, victims[0], 2)
            assert reject["reason"].startswith("message id: the bytes hash to ")
    assert (report.exit_code, report.complete, report.rejects) == (0, 1, 0)
    check(uncut(loading.rows()), uncut(expected((100_000, 100_000), range(6, 9), waiting=False)))


@needs_shared
def test_real_shimmer_as_it_is(stores: Stores) -> None:
    loading = stores(network="shimmer")
    folder = SHARED / "iota" / "shimmer"
    report = loading.load(folder / "in_memory_data.json", folder / "blocks_ms_2418187.json")
    assert (report.milestones, report.complete, report.messages, report.rejects) == (4, 3, 38 + 43 + 31 + 88, 1)
    rows = loading.rows()
    assert [(row["milestone_index"], row["verified"]) for row in rows["sync"] if row["synced_by"] == 0] == [
        (17339, "signed"),
        (17340, "signed"),
        (17341, "signed"),
    ]
    own = {row["milestone_index"]: row["message_id"] for row in rows["milestones"]}
    held = {row["message_id"]: row["milestone_index"] for row in rows["messages"]}
    assert [held[own[index]] for index in (17339, 17340)] == [17340, 17341]


def test_a_line_of_the_wrong_era_is_a_reject(stores: Stores, tmp_path: Path) -> None:
    loading = stores(network="mixed", eras=MIXED)
    wrong = [oracle()[STARDUST_FROM - 2], chrysalis_oracle()[STARDUST_FROM - 1]]
    report = loading.load(write(tmp_path / "wrong.jsonl", wrong))
    assert (report.complete, report.rejects) == (0, 2)
    found = [(row["milestone_index"], row["line"], row["item"], row["reason"]) for row in loading.rows()["rejects"]]
    assert found == [
        (20, 1, "", "protocol: milestone 20 is of Chrysalis, found a line of Stardust"),
        (21, 2, "", "protocol: milestone 21 is of Stardust, found a line of Chrysalis"),
    ]


def test_a_store_of_one_era_stays_one_until_configured_where_the_next_begins(stores: Stores, tmp_path: Path) -> None:
    loading = stores(network=NETWORK)
    stardust = write(tmp_path / "stardust.jsonl", [dump(line_of(1)), dump(line_of(2))])
    assert loading.load(stardust).complete == 2
    chrysalis: list[Any] = chrysalis_oracle()[2:3]
    report = loading.load(write(tmp_path / "chrysalis.jsonl", chrysalis))
    assert report.rejected[0].endswith("protocol: milestone 3 is of Stardust, found a line of Chrysalis")
    configured = Loading(
        loading.folder, type(loading.store)(loading.store.url, NETWORK, stardust_from=10), loading.settings
    )
    with pytest.raises(StoreMismatch, match="stardust_from: 10 makes milestone 2 one of Chrysalis, and the store has"):
        configured.load(stardust)
