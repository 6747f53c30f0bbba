"""`permanode load --keep` over both oracle ledgers: rows, coverage, proofs, responses, and what is rejected.

Expected rows are those of a store with all messages, reduced to the messages that the nodes' JSON selects.
"""

import copy
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.connect import open_adapter, open_store
from db.coverage import KEPT, parse_coverage
from db.schema import keyspace_info
from etl import runs
from etl.archive.export import export
from etl.report import WITH_REJECTS
from etl.runs import lake_path
from etl.static_archive.publish import publish
from etl.store_reads import StoreReads
from etl.verification.audit import Audit, Proved
from ledger.milestone_proof import parse_coordinator
from tests.etl import archives, stardust_archives
from tests.etl.archives import write
from tests.etl.conftest import CASSANDRA, Loading, Stores, on
from tests.etl.deep_check.checking import checked
from tests.etl.deep_check.faults import native
from tests.etl.store_rows import Tables
from tests.inclusion import keys, ledger
from tests.selections import NETWORKS, Selectable, addressed, selectable, tagged

pytestmark = pytest.mark.loads

ERAS = pytest.mark.parametrize("era", ["chrysalis", "stardust"])

CHRYSALIS_LATER = pytest.mark.parametrize("era", [pytest.param("chrysalis", marks=pytest.mark.slow), "stardust"])
"""For tests that do not depend on the forms of messages and outputs."""

LAST = 50

TAG = "484f524e4554205370616d6d6572"

OF_MESSAGES = ("messages", "messages_by_milestone", "transactions_by_state", "parents")
"""Tables whose rows each belong to the message in the column message_id."""

OF_KEYS = {
    "tags": "tag",
    "outputs_by_tag": "tag",
    "outputs_by_address": "address",
    "transactions_by_address": "address",
}
"""Lookups and their key column."""

HRP = "atoi"


def lines(era: str) -> list[Any]:
    return stardust_archives.oracle() if era == "stardust" else archives.oracle()


def a_store(stores: Stores, era: str, **settings: Any) -> Loading:
    return stores(network=NETWORKS[era], eras={"coordinator_keys": tuple(keys(era))} | settings)


@cache
def an_address(era: str) -> str:
    """The address with the fewest messages."""
    return min(addressed(era), key=lambda each: len(addressed(era)[each]))


def filters(era: str) -> list[str]:
    return [f"tag:0x{TAG}", f"address:0x{an_address(era)}"]


@cache
def selected(era: str) -> frozenset[str]:
    """The messages that these filters select, and those that carry milestones."""
    return frozenset(of([*tagged(era)[TAG], *addressed(era)[an_address(era)]], era))


def of(some: Iterable[Selectable], era: str) -> set[str]:
    return {each.message_id for each in some} | {each.message_id for each in selectable(era) if each.carries}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    return {era: write(folder / f"{era}.jsonl", lines(era)) for era in NETWORKS}


@pytest.fixture(scope="module")
def whole(stores: Stores, files: dict[str, Path]) -> dict[str, Loading]:
    """Stores with all messages."""
    found = {era: a_store(stores, era) for era in NETWORKS}
    for era, loading in found.items():
        assert loading.load(files[era]).exit_code == 0
    return found


@pytest.fixture(scope="module")
def parts(stores: Stores, files: dict[str, Path]) -> dict[str, Loading]:
    """Stores with a tag and an address."""
    found = {era: a_store(stores, era) for era in NETWORKS}
    for era, loading in found.items():
        assert loading.load(files[era], keep=filters(era)).exit_code == 0
    return found


def coverage(loading: Loading) -> dict[str, list[tuple[int, int]]]:
    with closing(open_store(loading.store)) as store, closing(StoreReads(store, loading.store.network)) as reads:
        text = reads.info(KEPT)
    assert text is not None
    return {each.text: milestones for each, milestones in parse_coverage(text).items()}


def reduced(loading: Loading, kept: set[str], covered: dict[str, range]) -> dict[str, list[dict[str, Any]]]:
    """The rows of OF_MESSAGES of these messages, those of OF_KEYS that `covered` (filter → milestones) covers, all
    milestones, and no row of `transactions`.
    """
    rows = loading.rows()
    found = {name: [row for row in rows[name] if row["message_id"] in kept] for name in OF_MESSAGES}
    whole = [milestones for each, milestones in covered.items() if each.startswith("milestones:")]
    for name, key in OF_KEYS.items():
        found[name] = [
            row
            for row in rows[name]
            if any(row["milestone_index"] in each for each in (*whole, covered.get(f"{key}:0x{row[key]}", range(0))))
        ]
    return found | {"milestones": rows["milestones"], "milestone_ids": rows["milestone_ids"], "transactions": []}


@ERAS
def test_the_rows_are_those_of_the_selected_messages(
    whole: dict[str, Loading], parts: dict[str, Loading], era: str
) -> None:
    kept = selected(era)
    rows = parts[era].rows()
    assert {row["message_id"] for row in rows["messages"]} == kept
    assert 0 < len(kept) < len(selectable(era)) / 2
    expected = reduced(whole[era], kept, dict.fromkeys(filters(era), range(1, LAST + 1)))
    assert {name: rows[name] for name in expected} == expected
    assert all(expected[name] for name in ("tags", "outputs_by_address", "transactions_by_address"))
    proved = {row["message_id"] for row in rows["message_proofs"]}
    assert proved == {each.message_id for each in selectable(era) if each.message_id in kept and not each.carries}
    assert whole[era].rows()["message_proofs"] == []
    assert [row["milestone_index"] for row in rows["sync"] if row["verified"] == "signed"] == [*range(1, LAST + 1)]
    # Milestones are kept, and with them the funds that they migrate.
    made = kept | ({"00" * 32} if era == "stardust" else set())
    outputs = [row for row in whole[era].rows()["outputs"] if row["created_message_id"] in made]
    found = {row["output_id"]: row for row in rows["outputs"] if row["created_message_id"] is not None}
    assert found.keys() == {row["output_id"] for row in outputs}
    for row in outputs:
        if row["address"] == an_address(era):
            assert found[row["output_id"]] == row, "with its spending"


@CHRYSALIS_LATER
def test_the_lake_alone_fills_another_store(stores: Stores, parts: dict[str, Loading], era: str) -> None:
    again = a_store(stores, era)
    report = runs.rebuild(
        again.store, replace(again.settings, lake=lake_path(parts[era].store, parts[era].settings)), analytics=True
    )
    assert report.exit_code == 0
    assert again.rows() == parts[era].rows()
    assert coverage(again) == coverage(parts[era]) == {each: [(1, LAST)] for each in filters(era)}


@on(CASSANDRA)
def test_a_cluster_has_the_same_rows(everywhere: Stores, parts: dict[str, Loading], files: dict[str, Path]) -> None:
    loading = a_store(everywhere, "stardust")
    assert loading.load(files["stardust"], keep=filters("stardust")).exit_code == 0
    names = (*OF_MESSAGES, *OF_KEYS, "milestones", "milestone_ids", "transactions", "outputs", "message_proofs")
    rows, expected = loading.rows(), parts["stardust"].rows()
    assert {name: rows[name] for name in names} == {name: expected[name] for name in names}
    assert all(expected[name] for name in ("messages", "tags", "outputs_by_address", "outputs", "message_proofs"))


@ERAS
def test_every_stored_message_is_verified_again(parts: dict[str, Loading], era: str) -> None:
    loading = parts[era]
    found = runs.verify(loading.store, loading.settings)
    assert found == Audit("signed", [Proved(1, LAST, "signed", "")], [(1, LAST)], 0)
    with pytest.raises(ValueError, match="the lake keeps a selection"):
        runs.verify(loading.store, loading.settings, level="full")


@CHRYSALIS_LATER
def test_a_second_engine_finds_the_same_rows(parts: dict[str, Loading], era: str) -> None:
    loading = parts[era]
    assert [each for each in checked(loading) if each.faults] == []


@CHRYSALIS_LATER
def test_filters_are_widened_milestone_by_milestone(
    stores: Stores, whole: dict[str, Loading], files: dict[str, Path], era: str
) -> None:
    loading = a_store(stores, era)
    tag, address = filters(era)
    assert loading.load(files[era], keep=[tag]).milestones == LAST
    assert loading.load(files[era]).milestones == 0, "all filters cover all milestones"
    assert loading.load(files[era], keep=[tag]).milestones == 0
    report = loading.load(files[era], keep=[address, "milestones:3:5"], first=1, last=21)
    assert (report.milestones, report.exit_code) == (20, 0)
    assert coverage(loading) == {tag: [(1, LAST)], address: [(1, 20)], "milestones:3:5": [(1, 20)]}
    widened = [each for each in addressed(era)[an_address(era)] if each.milestone <= 20]
    inside = [each for each in selectable(era) if 3 <= each.milestone < 5]
    kept = of([*tagged(era)[TAG], *widened, *inside], era)
    covered = {tag: range(1, LAST + 1), address: range(1, 21), "milestones:3:5": range(3, 5)}
    expected = reduced(whole[era], kept, covered)
    rows = loading.rows()
    assert {row["message_id"] for row in rows["messages"]} == kept
    assert {name: rows[name] for name in expected} == expected
    assert [each for each in checked(loading) if each.faults] == []
    assert loading.load(files[era]).milestones == LAST - 20, "without files of them they stay as they are"
    assert coverage(loading) == {each: [(1, LAST)] for each in (tag, address, "milestones:3:5")}


@CHRYSALIS_LATER
def test_a_damaged_line_does_not_remove_what_is_stored(
    stores: Stores, tmp_path: Path, files: dict[str, Path], era: str
) -> None:
    loading = a_store(stores, era)
    loading.load(files[era], keep=filters(era))
    before = loading.rows()
    broken = copy.deepcopy(lines(era))
    entry = (broken[6].get("messages") or broken[6].get("blocks"))[0]
    entry["id"] = entry["id"][:-1] + ("0" if entry["id"][-1] != "0" else "1")
    bad = write(tmp_path / "bad.jsonl", broken)
    with pytest.raises(ValueError, match="milestones 7: rejected in these files, but the lake has messages"):
        loading.load(bad, keep=["tag:another"])
    assert loading.rows() == before
    fresh = a_store(stores, era)
    report = fresh.load(bad, keep=filters(era))
    assert report.exit_code == WITH_REJECTS
    rows = fresh.rows()
    assert {row["milestone_index"] for row in rows["messages"]} <= {*range(1, LAST + 1)} - {7}
    assert coverage(fresh) == {each: [(1, 6), (8, LAST)] for each in filters(era)}
    assert fresh.load(files[era]).milestones == 1
    assert {row["message_id"] for row in fresh.rows()["messages"]} == selected(era)


def test_what_needs_all_messages_is_rejected(
    stores: Stores, whole: dict[str, Loading], parts: dict[str, Loading], files: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="--keep: this store or its lake has all messages"):
        whole["chrysalis"].load(files["chrysalis"], keep=["tag:a"])
    unknown = stores(network="permatest-1")
    with pytest.raises(ValueError, match="the keys of the coordinator are unknown"):
        unknown.load(files["chrysalis"], keep=["tag:a"])
    assert unknown.load(files["chrysalis"]).exit_code == 0, "nothing was changed"
    full = stores(network="permatest-1", eras={"coordinator_keys": tuple(keys("chrysalis"))}, level="full")
    with pytest.raises(ValueError, match="level full: not of a selective store"):
        full.load(files["chrysalis"], keep=["tag:a"])
    with pytest.raises(ValueError, match="--log-key compares all messages of a milestone with a log"):
        parts["chrysalis"].load(files["chrysalis"], logs=("a log",))
    settings = parts["chrysalis"].store
    with closing(open_store(settings, writable=True)) as store, closing(StoreReads(store, settings.network)) as reads:
        with pytest.raises(ValueError, match="keeps a selection"):
            publish(lake_path(settings, parts["chrysalis"].settings), reads, tmp_path / "static")
        with pytest.raises(ValueError, match="keeps a selection"):
            export(settings, store, tmp_path / "archive")


def test_nobody_signed_a_milestone_that_other_keys_should_sign(stores: Stores, files: dict[str, Path]) -> None:
    loading = stores(network="permatest-1", eras={"coordinator_keys": ("ab" * 32,)})
    report = loading.load(files["chrysalis"], keep=["tag:a"])
    assert (report.complete, report.rejects) == (0, LAST)
    assert loading.rows()["messages"] == []


@asynccontextmanager
async def client(loading: Loading, era: str) -> AsyncIterator[httpx.AsyncClient]:
    coordinator = parse_coordinator(keys(era), 0)
    with closing(open_store(loading.store)) as store:
        mount = NetworkMount(store, loading.store.network, HRP, coordinator=coordinator)
        app = create_app({"net": mount}, "net", ApiSettings())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as found:
            yield found


@ERAS
async def test_stored_paths_are_the_proofs_of_the_cones(parts: dict[str, Loading], era: str) -> None:
    kept, proved = selected(era), 0
    async with client(parts[era], era) as asked:
        for each in ledger(era):
            if each.message_id.removeprefix("0x") not in kept:
                continue
            for claim, leaves in (("referenced", each.referenced), ("applied", each.applied)):
                if leaves is None or (claim == "applied" and not each.is_applied):
                    continue
                found = await asked.get(f"/api/poi/v1/{claim}-block/create/{each.message_id}")
                assert (found.status_code, found.json()) == (200, each.proof(leaves))
                valid = await asked.post(f"/api/poi/v1/{claim}-block/validate", content=found.content)
                assert valid.json() == {"valid": True}
                proved += 1
    assert proved > 10


@CHRYSALIS_LATER
async def test_listings_state_what_they_cover_and_others_are_not_kept(parts: dict[str, Loading], era: str) -> None:
    listed = [each for each in tagged(era)[TAG] if TAG in each.own_tags]
    newest = sorted(listed, key=lambda each: (each.milestone, each.message_id), reverse=True)
    other = next(tag for tag in tagged(era) if tag != TAG)
    gone = next(each.message_id for each in selectable(era) if each.message_id not in selected(era))
    async with client(parts[era], era) as asked:
        found = await asked.get("/api/net/messages", params={"index": TAG, "page_size": 1_000})
        assert found.json()["data"]["messageIds"] == [each.message_id for each in newest]
        assert found.headers["permanode-kept"] == f"tag 0x{TAG}; milestones 1:{LAST + 1}"
        found = await asked.get("/api/net/messages", params={"index": other})
        assert found.status_code == 404
        assert found.json()["error"]["message"].startswith(f"tag:0x{other} is not kept here: this archive keeps")
        assert "permanode-kept" not in found.headers
        found = await asked.get(f"/api/net/messages/{gone}")
        assert found.status_code == 404
        assert found.json()["error"]["message"].startswith(f"message {gone} is not kept here")
        path = "core/v2/blocks/0x" if era == "stardust" else "messages/"
        found = await asked.get(f"/api/net/{path}{newest[0].message_id}")
        assert found.status_code == 200
        assert "permanode-kept" not in found.headers
        found = await asked.get(f"/api/net/messages/{newest[0].message_id}/children")
        assert found.headers["permanode-kept"] == f"parent 0x{newest[0].message_id}; milestones none"
        found = await asked.get("/api/net/sync")
        span = [{"start": 1, "end": LAST + 1}]
        expected = [{"filter": each, "milestones": span} for each in sorted(filters(era))]
        assert json.loads(found.content)["kept"] == expected


async def test_a_store_with_all_messages_says_nothing_of_it(whole: dict[str, Loading]) -> None:
    async with client(whole["chrysalis"], "chrysalis") as asked:
        assert "kept" not in (await asked.get("/api/net/sync")).json()
        found = await asked.get("/api/net/messages", params={"index": TAG})
        assert (found.status_code, "permanode-kept" in found.headers) == (200, False)
        found = await asked.get(f"/api/net/messages/{'ab' * 32}")
        assert found.json()["error"]["message"] == f"message {'ab' * 32} is not in this archive"


def test_the_note_is_a_row_of_the_store(parts: dict[str, Loading]) -> None:
    with closing(open_store(parts["stardust"].store)) as store, closing(StoreReads(store, "permatest-2")) as reads:
        (row,) = reads.many(keyspace_info, [(KEPT,)])
    assert row is not None
    assert json.loads(row["value"]) == {each: [[1, LAST]] for each in sorted(filters("stardust"))}


@CHRYSALIS_LATER
def test_a_purge_leaves_what_a_load_of_the_selection_stores(
    stores: Stores, parts: dict[str, Loading], files: dict[str, Path], era: str
) -> None:
    loading = a_store(stores, era)
    loading.load(files[era])
    with pytest.raises(ValueError, match="--keep: 'tag:0x': an even number"):
        runs.reduce(loading.store, loading.settings, ["tag:0x"])
    before = loading.rows()
    report = runs.reduce(loading.store, loading.settings, filters(era))
    assert report.exit_code == 0
    assert loading.rows() == parts[era].rows() != before
    assert coverage(loading) == coverage(parts[era])
    assert {each.level for each in runs.verify(loading.store, loading.settings).proved} == {"signed"}
    check_rows_of_an_earlier_version(loading, before, era)
    with pytest.raises(ValueError, match="keeps a selection already"):
        runs.reduce(loading.store, loading.settings, filters(era)[:1])
    assert loading.load(files[era]).milestones == 0
    assert loading.load(files[era], keep=["milestones:1:51"]).milestones == LAST
    assert len(loading.rows()["messages"]) == len(selectable(era))


def check_rows_of_an_earlier_version(loading: Loading, whole: Tables, era: str) -> None:
    """Rows of other keys, which earlier versions stored, are accepted if they are right."""
    changed = {
        schema.transactions: "inclusion_state",
        schema.transactions_by_address: "received",
        schema.outputs_by_address: "amount",
    }
    rows = {table: [row for row in whole[table.name] if row["message_id"] in selected(era)] for table in changed}
    stored = loading.rows()
    assert all(len(rows[table]) > len(stored[table.name]) for table in changed)
    wrong = {table: rows[table][0] | {name: 7} for table, name in changed.items()}
    for each in (rows, {table: [row] for table, row in wrong.items()}):
        with closing(open_adapter(loading.store, writable=True)) as store, store.batch() as batch:
            for table, values in each.items():
                batch.upsert(table, table.names, [native(table, row) for row in values])
        found = {one.table for one in checked(loading) if one.faults}
        assert found == (set() if each is rows else {table.name for table in changed})


def test_a_purge_of_milestones_that_are_not_signed_changes_nothing(stores: Stores, files: dict[str, Path]) -> None:
    loading = a_store(stores, "chrysalis")
    loading.load(files["chrysalis"])
    before = loading.rows()
    others = replace(loading.store, coordinator_keys=("ab" * 32,))
    with pytest.raises(ValueError, match="milestones 1:51 are not signed"):
        runs.reduce(others, loading.settings, ["tag:a"])
    assert loading.rows() == before
    assert loading.load(files["chrysalis"]).milestones == 0
