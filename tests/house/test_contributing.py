"""The worked examples of docs/contributing.md hold: each changes as few places as the page says, and works."""

from pathlib import Path

import pytest
import yaml

from db.connect import StoreSettings
from tests.api.conftest import fill_stardust
from tests.api.stardust import StardustLedger
from tests.conftest import ROOT
from tests.contributing import apply, changed_files, copy_tree, examples, generate, responses_inside, run

ROLE = "a lookup role"
ROUTE = "an API route"
MEASURE = "an analytics measure"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy_tree(tmp_path / "tree")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store of today's layout with the Stardust oracle ledger."""
    ledger = StardustLedger.read()
    found = f"sqlite:///{tmp_path / 'store'}"
    fill_stardust(StoreSettings(found, ledger.network, 7, 3), ledger).close()
    return found


def test_a_role_takes_two_lines(tree: Path) -> None:
    """Taken back, it is gone from the lookups and from the API."""
    (patch,) = examples(ROLE)
    assert [hunk.changed for hunk in patch] == [(1, 1), (1, 1)]
    show = (
        "from api.indexer_v1.params import filters_of; from db.roles import NFT, roles_of; "
        "kinds = [role.output_kind for role in roles_of('expiration_return')]; "
        "print('expirationReturnAddress' in filters_of(NFT), *kinds)"
    )
    apply(tree, patch, reverse=True)
    assert changed_files(tree) == {"db/roles.py", "api/indexer_v1/params.py"}
    assert run(tree, "-c", show) == "False basic\n"
    apply(tree, patch)
    assert changed_files(tree) == set()
    assert run(tree, "-c", show) == "True basic nft\n"


def test_a_route_takes_one_source_file(tree: Path, url: str) -> None:
    (patch,) = examples(ROUTE)
    apply(tree, patch)
    generate(tree)
    assert changed_files(tree) == {"api/explorer_v2/ledger_routes.py"}
    assert responses_inside(tree, url, ["/api/explorer/v2/ledger/index", {}]) == [[200, {"ledgerIndex": 50}]]
    added = contract(tree).keys() - contract(ROOT).keys()
    assert added
    assert all(path.endswith("/ledger/index") for path in added)


def contract(tree: Path) -> dict[str, object]:
    """The paths of the contract."""
    found: dict[str, object] = yaml.safe_load((tree / "openapi.yaml").read_text("utf-8"))["paths"]
    return found


def test_a_measure_takes_one_file_and_one_line() -> None:
    for patch in examples(MEASURE):
        file, line = patch
        assert file.is_new
        assert (line.path, line.changed) == ("db/measures/__init__.py", (0, 1))


def test_measures_are_columns_of_new_and_old_stores_and_of_the_api(tree: Path, url: str, tmp_path: Path) -> None:
    """Whose rows were there before they are null; tests/etl/test_contributing.py loads."""
    before = {path.name: path.read_bytes() for path in (ROOT / "migrations").iterdir()}
    patch = [hunk for one in examples(MEASURE) for hunk in one]
    apply(tree, patch)
    generate(tree)
    assert changed_files(tree) == {hunk.path for hunk in patch}
    assert len(changed_files(tree)) == 3
    after = {path.name: path.read_bytes() for path in (tree / "migrations").iterdir()}
    assert after.keys() - before.keys() == {
        f"{name}{suffix}"
        for name in ("0011_conflicting_sizes", "0012_spent_outputs")
        for suffix in (".cql", ".sqlite.sql")
    }
    assert {name: after[name] for name in before} == before
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/db/schema")

    migrate_with = (
        "import sys; from db.admin.migrate import migrate; from db.connect import StoreSettings; "
        "print(*migrate(StoreSettings(sys.argv[1], sys.argv[2], 7, 3))[-2:])"
    )
    network = StardustLedger.read().network
    for each in (url, f"sqlite:///{tmp_path / 'new'}"):
        assert run(tree, "-c", migrate_with, each, network) == "0011_conflicting_sizes 0012_spent_outputs\n"
        assert run(tree, "-c", migrate_with, each, network) == "\n"
    names = "messageCount,conflictingBytes,spentCount"
    for interval in ("milestone", "hour", "day"):
        path = f"/api/analytics/v2/series/{interval}"
        ((status, body),) = responses_inside(tree, url, [path, {"measures": names}])
        assert status == 200
        assert body["items"]
        for item in body["items"]:
            assert item["messageCount"] > 0
            assert (item["conflictingBytes"], item["spentCount"]) == (None, None)
