"""The worked examples of docs/contributing.md hold: each changes as few places as the page says, and works."""

from pathlib import Path

import pytest
import yaml

from db.connect import StoreSettings
from tests.api.conftest import fill_stardust
from tests.api.stardust import StardustLedger
from tests.conftest import ROOT
from tests.contributing import apply, changed_files, copy_tree, examples, responses_inside, run

ROLE = "a lookup role"
ROUTE = "an API route"
MEASURE = "an analytics measure"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy_tree(tmp_path / "tree")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store of today's layout that contains the Stardust oracle ledger."""
    ledger = StardustLedger.read()
    found = f"sqlite:///{tmp_path / 'store'}"
    fill_stardust(StoreSettings(found, ledger.network, 7, 3), ledger).close()
    return found


@pytest.mark.thorough
def test_a_role_takes_two_lines(tree: Path) -> None:
    """Once reverted, it is gone from the lookups and from the API."""
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


@pytest.mark.thorough
def test_a_route_takes_one_source_file(tree: Path, url: str) -> None:
    (patch,) = examples(ROUTE)
    apply(tree, patch)
    (tree / "openapi.yaml").write_text(run(tree, "-m", "api.http.openapi"), "utf-8")
    assert changed_files(tree) == {"api/explorer_v2/ledger_routes.py"}
    assert responses_inside(tree, url, ["/api/explorer/v2/ledger/index", {}]) == [[200, {"ledgerIndex": 50}]]
    added = contract(tree).keys() - contract(ROOT).keys()
    assert added
    assert all(path.endswith("/ledger/index") for path in added)


def contract(tree: Path) -> dict[str, object]:
    """The paths of the contract."""
    text = (tree / "openapi.yaml").read_text("utf-8")
    found: dict[str, object] = yaml.load(text, Loader=yaml.CSafeLoader)["paths"]
    return found


def test_a_measure_takes_one_file_and_one_line() -> None:
    """tests/etl/analytics/test_contributing.py applies the patches."""
    for patch in examples(MEASURE):
        file, line = patch
        assert file.is_new
        assert (line.path, line.changed) == ("db/measures/__init__.py", (0, 1))
