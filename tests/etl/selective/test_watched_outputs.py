"""Addresses with the creation and spending of their outputs, also by transactions that do not name the address.

Expected rows are those of the reference (tests/reference*.py), which reads the JSON of the nodes, for each address of
the oracle ledgers. Milestones come in random orders, so an output may be loaded after the transaction that spends it.
"""

import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from etl import runs
from tests import reference, reference_stardust
from tests.etl import archives, stardust_archives
from tests.etl.archives import write
from tests.etl.conftest import Loading, Stores
from tests.etl.deep_check.checking import checked, differing
from tests.etl.ledger_state.test_stardust_ledger import snapshot_after
from tests.etl.selective.test_selected_ledger import GENESIS, OF_ADDRESS
from tests.etl.selective.test_selective import CHRYSALIS_LATER, coverage
from tests.etl.store_rows import COMPARED, by_key
from tests.inclusion import keys
from tests.reference_rows import Rows
from tests.selections import NETWORKS, addressed

pytestmark = pytest.mark.loads

LAST = 50

SEED = 28

GEOMETRY = (7, 3)

OWNING = ("address", "state_controller", "governor", "expiration_return")

LISTED = ("outputs_by_address", "transactions_by_address", *OF_ADDRESS)

Case: TypeAlias = tuple[int, int, str]
"""An output: the milestones that created and spent it, and the role of an address that the spender does not name."""

UNNAMED: list[list[Case]] = [
    # Its return address spent it; an NFT and an alias that were destroyed.
    [(21, 34, "address"), (15, 37, "chain"), (20, 43, "chain")],
    # The owner spent it before its expiration.
    [(21, 25, "expiration_return")],
]


@cache
def expected(era: str) -> Rows:
    """All rows of a store with all messages."""
    if era == "stardust":
        rows = reference_stardust.whole_rows(stardust_archives.oracle(), [], *GEOMETRY, NETWORKS[era])
    else:
        rows = reference.whole_rows(archives.oracle(), [], *GEOMETRY, NETWORKS[era])
    return {table.name: by_key(table, rows.get(table.name, [])) for table in COMPARED}


@cache
def all_addresses(era: str) -> list[str]:
    """All addresses of a ledger that own, govern or get back an output, and those of its aliases and NFTs."""
    rows = expected(era)
    found = {row["address"] for row in rows["outputs_by_address"] if row["variant"] in OWNING}
    found |= {f"08{row['chain_id']}" for row in rows["alias_outputs"]}
    return sorted(found | {f"10{row['chain_id']}" for row in rows["nft_outputs"]})


def of_addresses(rows: Rows, addresses: Iterable[str]) -> Rows:
    """The rows of these addresses, without partitions, which depend on what else is in a store, and without the other
    parties of movements.
    """
    chosen = {*addresses}
    chains = {each[2:] for each in chosen}
    found = {name: [row for row in rows[name] if row["address"] in chosen] for name in LISTED}
    for name in ("alias_outputs", "nft_outputs"):
        found[name] = [row for row in rows[name] if row["chain_id"] in chains]
    found["foundry_outputs"] = [row for row in rows["foundry_outputs"] if row["chain_id"][:66] in chosen]
    found["unspent_outputs"] = [
        row for row in rows["unspent_outputs"] if row["lookup"] in OWNING and row["key"] in chosen
    ]
    held = [row["output_id"] for row in found["outputs_by_address"] if row["variant"] in OWNING]
    listed = {*held, *(row["output_id"] for name in ("alias_outputs", "nft_outputs") for row in found[name])}
    found["outputs"] = [row for row in rows["outputs"] if row["output_id"] in listed]
    apart = {"partition_id", "counterparties"}
    return {
        name: sorted(
            ({column: value for column, value in row.items() if column not in apart} for row in some), key=repr
        )
        for name, some in found.items()
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """A file for each milestone."""
    folder = tmp_path_factory.mktemp("files")
    lines = {"chrysalis": archives.oracle(), "stardust": stardust_archives.oracle()}
    return {
        era: [write(folder / f"{era}-{number}.jsonl", [line]) for number, line in enumerate(lines[era], 1)]
        for era in NETWORKS
    }


def a_store(stores: Stores, era: str) -> Loading:
    return stores(GEOMETRY, NETWORKS[era], eras={"coordinator_keys": tuple(keys(era))})


def load_in_any_order(loading: Loading, files: list[Path], era: str, keep: list[str], rng: random.Random) -> None:
    """Loads shuffled groups of files, the genesis with one of them, and then the files of uncovered milestones until
    none are left.
    """
    shuffled = rng.sample(files, len(files))
    bounds = sorted(rng.sample(range(1, LAST), 2))
    groups = [shuffled[start:end] for start, end in zip([0, *bounds], [*bounds, LAST], strict=True)]
    with_genesis = rng.randrange(len(groups))
    for number, group in enumerate(groups):
        more = {"genesis": GENESIS[era]} if number == with_genesis else {}
        loading.load(*group, keep=keep, **more)
    for _ in range(3):
        if all(milestones == [(1, LAST)] for milestones in coverage(loading).values()):
            return
        loading.load(*files)
    raise AssertionError("some milestones are still uncovered")


def check(loading: Loading, era: str, addresses: Iterable[str]) -> None:
    found, wanted = of_addresses(loading.rows(), addresses), of_addresses(expected(era), addresses)
    for name, rows in wanted.items():
        assert found[name] == rows, name
    assert wanted["outputs"]


@CHRYSALIS_LATER
def test_addresses_have_all_rows_of_their_listings_and_of_their_state(
    stores: Stores, files: dict[str, list[Path]], era: str
) -> None:
    rng = random.Random(SEED)
    some = rng.sample(all_addresses(era), len(all_addresses(era)) // 2)
    loading = a_store(stores, era)
    load_in_any_order(loading, files[era], era, [f"address:0x{each}" for each in some], rng)
    check(loading, era, some)
    assert differing(checked(loading)) == []


def address_of(created: int, spent: int, role: str) -> str:
    """The address with this role in the output that these milestones created and spent."""
    rows = expected("stardust")
    ids = {
        row["output_id"]
        for row in rows["outputs"]
        if (row["created_milestone_index"], row["spent_milestone_index"]) == (created, spent)
    }
    if role == "chain":
        types = {"alias_outputs": "08", "nft_outputs": "10"}
        (found,) = {types[name] + row["chain_id"] for name in types for row in rows[name] if row["output_id"] in ids}
        return found
    expiring = {row["output_id"] for row in rows["outputs_by_address"] if row["variant"] == "expiration_return"} & ids
    (found,) = {
        row["address"] for row in rows["outputs_by_address"] if row["output_id"] in expiring and row["variant"] == role
    }
    return found


def unnamed(cases: Iterable[Case]) -> list[str]:
    """The addresses of these cases, none of which the spending transactions name."""
    addresses = [address_of(*case) for case in cases]
    spenders = {
        row["spent_message_id"]
        for row in expected("stardust")["outputs"]
        if (row["created_milestone_index"], row["spent_milestone_index"]) in {case[:2] for case in cases}
    }
    named = {each.message_id for address in addresses for each in addressed("stardust").get(address, [])}
    assert not spenders & named
    return addresses


@pytest.mark.parametrize("cases", UNNAMED)
def test_the_spending_is_kept_if_the_transaction_does_not_name_the_address(
    stores: Stores, files: dict[str, list[Path]], cases: list[Case]
) -> None:
    addresses = unnamed(cases)
    keep, first = [f"address:0x{each}" for each in addresses], {spent for _, spent, _ in cases}
    loading = a_store(stores, "stardust")
    loading.load(*(files["stardust"][each - 1] for each in first), genesis=GENESIS["stardust"], keep=keep)
    loading.load(*(each for number, each in enumerate(files["stardust"], 1) if number not in first))
    for address, (created, _, _) in zip(keep, cases, strict=True):
        covered = {each for start, end in coverage(loading)[address] for each in range(start, end + 1)}
        early = {each for each in first if each > created}
        assert covered == {*range(1, LAST + 1)} - early, "these were decoded before the output was known"
    report = loading.load(*files["stardust"])
    assert (report.milestones, report.ledger_index) == (len(first), LAST)
    check(loading, "stardust", addresses)


def test_a_purge_keeps_the_same(stores: Stores, files: dict[str, list[Path]]) -> None:
    addresses = unnamed(UNNAMED[0])
    loading = a_store(stores, "stardust")
    loading.load(*files["stardust"], genesis=GENESIS["stardust"])
    assert runs.reduce(loading.store, loading.settings, [f"address:0x{each}" for each in addresses]).exit_code == 0
    check(loading, "stardust", addresses)


def test_from_a_full_snapshot_on_the_state_is_that_of_the_whole_ledger(
    stores: Stores, files: dict[str, list[Path]], tmp_path: Path
) -> None:
    addresses, snapshot, early = unnamed(UNNAMED[0]), tmp_path / "full.bin", {34, 43}
    snapshot.write_bytes(snapshot_after(24))
    later = files["stardust"][19:]
    loading = a_store(stores, "stardust")
    loading.load(*(files["stardust"][each - 1] for each in early), keep=[f"address:0x{each}" for each in addresses])
    report = loading.load(*later, genesis=snapshot)
    assert (report.milestones, report.ledger_index) == (31, LAST), "also those that may spend what the snapshot has"
    found, whole = of_addresses(loading.rows(), addresses), of_addresses(expected("stardust"), addresses)
    for name in OF_ADDRESS:
        rows = [row for row in whole[name] if row["milestone_index"] > 24]
        assert [row for row in found[name] if row["milestone_index"] > 24] == rows, name
    unspent = [
        {(row["lookup"], row["output_id"]) for row in each["unspent_outputs"] if row["spent_milestone_index"] is None}
        for each in (found, whole)
    ]
    assert unspent[0] == unspent[1]
