"""The measures of docs/contributing.md, loaded into a new store and into one that was filled before they existed."""

from pathlib import Path

import pytest

from tests import reference_stardust
from tests.conftest import ROOT
from tests.contributing import apply, changed_files, copy_tree, examples, generate, load_inside, responses_inside, run
from tests.etl.archives import write
from tests.etl.conftest import Stores
from tests.etl.stardust_archives import NETWORK, oracle
from tests.reference_facts import Milestone

pytestmark = pytest.mark.loads

ADDED = ("0020_conflicting_sizes", "0021_spent_outputs")

MIGRATE = (
    "import sys; from db.admin.migrate import migrate; from db.connect import StoreSettings; "
    "print(*migrate(StoreSettings(sys.argv[1], sys.argv[2], 7, 3)))"
)

OLD = 40
"""Milestones that the old store has before it is migrated."""


def expected(milestone: Milestone) -> tuple[int, int]:
    """conflictingBytes and spentCount."""
    size = sum(len(message.data) for message in milestone.messages if message.state == 2)
    applied = [message.transaction for message in milestone.messages if message.state == 1]
    return size, sum(len(transaction.spends) for transaction in applied if transaction is not None)


def check_migrations(tree: Path) -> None:
    """Migrations of the layouts before are the same files, byte by byte."""
    before = {path.name: path.read_bytes() for path in (ROOT / "migrations").iterdir()}
    after = {path.name: path.read_bytes() for path in (tree / "migrations").iterdir()}
    assert after.keys() - before.keys() == {f"{name}{suffix}" for name in ADDED for suffix in (".cql", ".sqlite.sql")}
    assert {name: after[name] for name in before} == before


def check_nulls(tree: Path, url: str) -> None:
    """Existing rows have null in the new columns."""
    for interval in ("milestone", "hour", "day"):
        request = [f"/api/analytics/v2/series/{interval}", {"measures": "messageCount,conflictingBytes,spentCount"}]
        ((status, body),) = responses_inside(tree, url, request)
        assert status == 200
        assert body["items"]
        for item in body["items"]:
            assert item["messageCount"] > 0
            assert (item["conflictingBytes"], item["spentCount"]) == (None, None)


def test_measures_of_the_worked_example_are_loaded_and_served(stores: Stores, tmp_path: Path) -> None:
    lines = oracle()
    genesis = reference_stardust.ORACLE / "genesis.json"
    old = stores((7, 3), NETWORK, analytics=True)
    assert old.load(write(tmp_path / "old.jsonl", lines[:OLD]), genesis=genesis).exit_code == 0

    tree = copy_tree(tmp_path / "tree")
    patch = [hunk for one in examples("an analytics measure") for hunk in one]
    apply(tree, patch)
    generate(tree)
    assert changed_files(tree) == {hunk.path for hunk in patch}
    check_migrations(tree)
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/db/schema")
    assert run(tree, "-c", MIGRATE, old.store.url, NETWORK) == f"{' '.join(ADDED)}\n"
    assert run(tree, "-c", MIGRATE, old.store.url, NETWORK) == "\n"
    check_nulls(tree, old.store.url)

    new = f"sqlite:///{tmp_path / 'new'}"
    sources = {
        old.store.url: write(tmp_path / "late.jsonl", lines[OLD:]),
        new: write(tmp_path / "all.jsonl", lines),
    }
    load_inside(tree, {url: str(file) for url, file in sources.items()}, NETWORK, str(genesis))

    facts = [reference_stardust.milestone_fact(line) for line in lines]
    wanted = {fact.index: expected(fact) for fact in facts}
    assert any(size for size, _ in wanted.values())
    assert any(count for _, count in wanted.values())
    query = {"measures": "conflictingBytes,spentCount", "pageSize": 100}
    for url in sources:
        requests = [[f"/api/analytics/v2/series/{interval}", query] for interval in ("milestone", "day")]
        by_milestone, by_day = responses_inside(tree, url, *requests)
        assert (by_milestone[0], by_day[0]) == (200, 200)
        items = by_milestone[1]["items"]
        assert {item["milestoneIndex"]: (item["conflictingBytes"], item["spentCount"]) for item in items} == wanted
        for at, name in enumerate(("conflictingBytes", "spentCount")):
            assert sum(item[name] for item in by_day[1]["items"]) == sum(values[at] for values in wanted.values())
