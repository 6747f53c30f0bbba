"""The ledger state of selected addresses: equal to theirs in a store with all messages, and nothing else is served."""

from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import open_store
from tests import reference_stardust
from tests.conftest import SAMPLE
from tests.etl import archives, stardust_archives
from tests.etl.archives import write
from tests.etl.conftest import Loading, Stores
from tests.etl.deep_check.checking import checked
from tests.etl.selective.test_selective import CHRYSALIS_LATER
from tests.selections import NETWORKS, addressed

pytestmark = pytest.mark.loads

GENESIS = {"chrysalis": SAMPLE / "genesis.json", "stardust": reference_stardust.ORACLE / "genesis.json"}

OF_ADDRESS = ("address_balances", "ledger_updates_by_address", "address_movements")

LAST = 50


def lines(era: str) -> list[Any]:
    return stardust_archives.oracle() if era == "stardust" else archives.oracle()


def two_addresses(era: str) -> list[str]:
    """The two addresses with the most messages."""
    return sorted(addressed(era), key=lambda each: -len(addressed(era)[each]))[:2]


def state_of(loading: Loading, addresses: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the ledger state of these addresses, without the other parties of movements."""
    rows = loading.rows()
    found = {
        name: [
            {column: value for column, value in row.items() if column != "counterparties"}
            for row in rows[name]
            if row["address"] in addresses
        ]
        for name in OF_ADDRESS
    }
    unspent = [row for row in rows["unspent_outputs"] if row["lookup"] == "address" and row["key"] in addresses]
    outputs = [row for row in rows["outputs"] if row["address"] in addresses]
    return found | {"unspent_outputs": unspent, "outputs": outputs}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    return {era: write(folder / f"{era}.jsonl", lines(era)) for era in NETWORKS}


@pytest.fixture(scope="module")
def whole(stores: Stores) -> dict[str, Loading]:
    return {era: stores.loaded(f"{era} from genesis")[0] for era in NETWORKS}


@pytest.mark.parametrize("at_once", [LAST, pytest.param(1, marks=pytest.mark.slow)], ids=["one load", "many loads"])
@pytest.mark.parametrize("era", ["chrysalis", "stardust"])
def test_the_state_is_that_of_a_store_with_all_messages(
    stores: Stores, whole: dict[str, Loading], files: dict[str, Path], era: str, at_once: int
) -> None:
    first, _ = two_addresses(era)
    loading = stores(network=NETWORKS[era])
    steps = [(1, LAST + 1)] if at_once == LAST else [(1, 20), (20, 21), (21, LAST + 1)]
    for start, end in steps:
        report = loading.load(
            files[era], genesis=GENESIS[era], keep=[f"address:0x{first}", "tag:another"], first=start, last=end
        )
        assert (report.ledger_index, report.held, report.exit_code) == (end - 1, "", 0)
    assert state_of(loading, [first]) == state_of(whole[era], [first])
    assert {row["address"] for row in loading.rows()["address_balances"]} == {first}
    assert [each for each in checked(loading) if each.faults] == []


@CHRYSALIS_LATER
def test_an_address_that_is_added_has_its_state_from_the_genesis_on(
    stores: Stores, whole: dict[str, Loading], files: dict[str, Path], era: str
) -> None:
    first, second = two_addresses(era)
    loading = stores(network=NETWORKS[era])
    loading.load(files[era], genesis=GENESIS[era], keep=[f"address:0x{first}"])
    report = loading.load(files[era], keep=[f"address:0x{second}"], last=31)
    assert report.ledger_index == 30, "as far as all addresses are covered"
    assert loading.load(files[era]).ledger_index == LAST
    assert state_of(loading, [first, second]) == state_of(whole[era], [first, second])


def test_without_addresses_there_is_no_state(stores: Stores, files: dict[str, Path]) -> None:
    loading = stores(network="permatest-1")
    report = loading.load(files["chrysalis"], genesis=GENESIS["chrysalis"], keep=["tag:another"])
    assert (report.ledger_index, report.exit_code) == (None, 0)


@pytest.fixture(scope="module")
def part_of_chrysalis(stores: Stores, files: dict[str, Path]) -> Loading:
    loading = stores(network="permatest-1")
    first, _ = two_addresses("chrysalis")
    loading.load(files["chrysalis"], genesis=GENESIS["chrysalis"], keep=[f"address:0x{first}"])
    return loading


async def test_balances_of_selected_addresses_are_served_and_others_are_not_kept(
    part_of_chrysalis: Loading, whole: dict[str, Loading]
) -> None:
    first, second = two_addresses("chrysalis")
    loading = part_of_chrysalis
    with closing(open_store(loading.store)) as part, closing(open_store(whole["chrysalis"].store)) as full:
        mounts = {"part": NetworkMount(part, "permatest-1", "atoi"), "full": NetworkMount(full, "permatest-1", "atoi")}
        app = create_app(mounts, "part", ApiSettings())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as asked:
            for path in ("", "/outputs"):
                answers = [(await asked.get(f"/api/{name}/addresses/ed25519/{first[2:]}{path}")) for name in mounts]
                assert [each.status_code for each in answers] == [200, 200]
                assert answers[0].json() == answers[1].json()
            for path in (
                f"addresses/ed25519/{second[2:]}",
                f"addresses/ed25519/{second[2:]}/outputs",
                "explorer/v2/ledger/richest-addresses",
                "explorer/v2/ledger/token-distribution",
            ):
                found = await asked.get(f"/api/part/{path}")
                assert found.status_code == 404, path
                assert "not kept here" in found.text
                assert (await asked.get(f"/api/full/{path}")).status_code == 200, path
