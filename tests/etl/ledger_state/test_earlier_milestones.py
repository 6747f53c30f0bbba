"""Milestones up to the genesis of a ledger that begins with a snapshot, loaded before it, with it or afterwards.

The snapshot is that of milestone 24 of the oracle ledger. What each listing contains, and the whole rows, come from the
oracle's expectations and the plain replay.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.connect import open_adapter
from db.queries.nfts import list_nft_states
from db.queries.outputs import list_outputs_by_address
from tests import reference_indexer
from tests.api.asgi import ask
from tests.etl.archives import Json, write
from tests.etl.conftest import Loading, Stores, mounted
from tests.etl.deep_check.checking import checked, differing
from tests.etl.deep_check.faults import native
from tests.etl.ledger_state.test_stardust_ledger import (
    FAR,
    NEAR,
    NETWORK,
    expected,
    milestones,
    oracle,
    owner,
    reasons,
    reference,
    snapshot_after,
)
from tests.etl.test_oracle import uncut
from tests.reference_indexer import Indexed
from tests.reference_stardust import raw

pytestmark = pytest.mark.loads

GENESIS, FIRST, LAST = 24, 10, 50
"""The milestone of the snapshot, and the first and the last one that is loaded."""

EARLIER, LATER, LATEST = range(FIRST, GENESIS + 1), range(GENESIS + 1, 31), range(31, LAST + 1)

ORDERS = {
    "at once": [[*EARLIER, *LATER, *LATEST]],
    "earlier ones between": [[*LATER], [*EARLIER], [*LATEST]],
    "earlier ones first": [[*EARLIER], [*LATER], [*LATEST]],
    "in turn": [[], [*EARLIER[7:], *LATER], [*LATEST[:10]], [*EARLIER[:7]], [*LATEST[10:]]],
}
"""What each load contains. The first one with milestones after the genesis, or without any, has the snapshot."""

GEOMETRY = (7, 1_000)

OF_STEPS = {"ledger_frontier", "distribution", "rich_list"}
"""Tables with rows of each step of the ledger state, which differ between loads."""


def snapshot_in(folder: Path, *, has_blocks: bool = True) -> Path:
    """The snapshot. Not `has_blocks`: its outputs are without the blocks that created them, as in a genesis.json."""
    content = snapshot_after(GENESIS)
    if not has_blocks:
        for output in expected()["outputs"].values():
            content = content.replace(raw(output["metadata"]["blockId"]), bytes(32))
    file = folder / "full.bin"
    file.write_bytes(content)
    return file


def load(loading: Loading, folder: Path, loads: Iterable[list[int]], *, has_blocks: bool = True) -> None:
    snapshot = snapshot_in(folder, has_blocks=has_blocks)
    begun = False
    for numbers in loads:
        begins = not begun and (not numbers or numbers[-1] > GENESIS)
        report = loading.load(*milestones(folder, *numbers), **{"genesis": snapshot} if begins else {})
        begun |= begins
        assert (report.exit_code, report.held, report.unreconciled) == (0, "", "")
    assert report.ledger_index == LAST


def rows_of(loading: Loading) -> dict[str, list[Json]]:
    return {name: rows for name, rows in uncut(loading.rows()).items() if name not in OF_STEPS}


@pytest.fixture(scope="module")
def at_once(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """All milestones in one load, with the state from joins over the lake."""
    loading = stores(GEOMETRY, NETWORK, ledger_near=FAR)
    load(loading, tmp_path_factory.mktemp("at once"), ORDERS["at once"])
    return loading


def made(metadata: Json) -> tuple[int, int | None]:
    """The milestone at which the state has an output, and the one that spent it."""
    return max(metadata["milestoneIndexBooked"], GENESIS), metadata.get("milestoneIndexSpent")


def known() -> dict[str, Json]:
    """The outputs that the snapshot or a loaded message contains, by id."""
    found = expected()["outputs"].items()
    return {
        each[2:]: output
        for each, output in found
        if output["metadata"]["milestoneIndexBooked"] >= FIRST
        or (output["metadata"].get("milestoneIndexSpent") or 51) > GENESIS
    }


def test_unspent_outputs_and_balances_are_the_oracle_s(at_once: Loading) -> None:
    rows = rows_of(at_once)
    state = {
        each: made(output["metadata"])
        for each, output in known().items()
        if (output["metadata"].get("milestoneIndexSpent") or LAST + 1) > GENESIS
    }
    for lookups in ({"address", "state_controller"}, {""}):
        held = [row for row in rows["unspent_outputs"] if row["lookup"] in lookups]
        assert {row["output_id"]: (row["milestone_index"], row["spent_milestone_index"]) for row in held} == state
        assert len(held) == len(state)
    balances = dict[str, int]()
    for output in known().values():
        if not output["metadata"]["isSpent"]:
            balances[owner(output["output"])] = balances.get(owner(output["output"]), 0) + int(
                output["output"]["amount"]
            )
    last = {row["address"]: row["balance"] for row in rows["address_balances"]}  # ascending
    assert {each: balance for each, balance in last.items() if balance} == balances


def test_outputs_are_of_the_messages_that_created_them(at_once: Loading) -> None:
    whole = {row["output_id"]: row for row in reference(GEOMETRY)["outputs"]}
    of_genesis = {"created_milestone_index": GENESIS, "created_white_flag_index": None}
    assert {row["output_id"]: row for row in at_once.rows()["outputs"] if row["created_milestone_index"]} == {
        each: whole[each] | (of_genesis if output["metadata"]["milestoneIndexBooked"] < FIRST else {})
        for each, output in known().items()
    }


@pytest.mark.parametrize("ledger_near", [pytest.param(FAR, marks=pytest.mark.slow), NEAR], ids=["far", "near"])
@pytest.mark.parametrize("order", [name for name in ORDERS if name != "at once"])
def test_every_order_of_loads_gives_the_same_rows(
    stores: Stores, tmp_path: Path, at_once: Loading, order: str, ledger_near: int
) -> None:
    loading = stores(GEOMETRY, NETWORK, ledger_near=ledger_near)
    load(loading, tmp_path, ORDERS[order])
    found, whole = rows_of(loading), rows_of(at_once)
    assert found.keys() == whole.keys()
    for name, rows in whole.items():
        assert found[name] == rows, name


def known_at(index: int, earlier: bool, *, by_state: bool) -> list[Indexed]:
    """The known outputs after a milestone. `earlier`: whether milestones before the genesis are loaded. `by_state`:
    each is listed at the milestone where the ledger state has it.
    """
    found = []
    for output_id, output in expected()["outputs"].items():
        metadata = output["metadata"]
        booked, spent = metadata["milestoneIndexBooked"], metadata.get("milestoneIndexSpent", LAST + 1)
        is_of_message = booked >= FIRST if earlier else booked > GENESIS
        if booked > index or not (is_of_message or spent > GENESIS):
            continue
        at = booked if is_of_message and not by_state else max(booked, GENESIS)
        changed = {"milestoneIndexBooked": at, "isSpent": spent <= index}
        ended = {} if spent <= index else {"transactionIdSpent": ""}
        found.append(Indexed(output_id, output | {"metadata": metadata | changed | ended}, expected()["bech32Hrp"]))
    return found


MARGIN = 3
"""EtlSettings.ledger_margin with which the list of unspent outputs begins late, so lookups answer for states before."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((True, False), id="earlier ones between"),
        pytest.param((True, True), id="earlier ones between, compacted, without blocks"),
        pytest.param((False, False), id="no earlier ones"),
    ],
)
def listed(
    request: pytest.FixtureRequest, stores: Stores, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[NetworkMount, bool]]:
    """A network, and whether it has milestones before its genesis."""
    earlier, compacted = request.param
    loading = stores(GEOMETRY, NETWORK, ledger_near=NEAR, **({"ledger_margin": MARGIN} if compacted else {}))
    loads = ORDERS["earlier ones between"]
    folder = tmp_path_factory.mktemp("listed")
    load(loading, folder, loads if earlier else [loads[0], loads[2]], has_blocks=not compacted)
    with mounted(loading.store) as network:
        yield network, earlier


KEYS = {
    "basic": ("address", "sender", "tag"),
    "nft": ("address", "issuer"),
    "alias": ("stateController", "governor"),
    "foundry": ("aliasAddress",),
}
"""Route of the indexer → some of its filters."""


@pytest.mark.parametrize("at", [GENESIS, 30, LAST])
async def test_each_output_is_listed_once(listed: tuple[NetworkMount, bool], at: int) -> None:
    network, earlier = listed
    app = create_app({NETWORK: network}, NETWORK, ApiSettings())
    for spent in ("any", "only", "unspent"):
        outputs = known_at(at, earlier, by_state=spent == "unspent")
        for route, names in KEYS.items():
            for name in names:
                values = sorted({value for each in outputs for value in reference_indexer.hits(each, name)})
                assert values
                for value in values:
                    wanted = reference_indexer.found(outputs, route, {name: value}, spent)
                    query = {name: value, "spent": spent, "ledgerIndex": at}
                    for sort, size in (("oldest", 1_000), ("newest", 3)):
                        items = await walk(app, f"/outputs/{route}", query | {"sort": sort, "pageSize": size})
                        assert items == (wanted if sort == "oldest" else wanted[::-1]), query


async def walk(app: Any, path: str, query: Json) -> list[str]:
    """The items of all pages."""
    items: list[str] = []
    cursor: Json = {}
    while True:
        status, body = await ask(app, f"/api/indexer/v1{path}", query | cursor)
        assert status == 200, body
        items += body["items"]
        if "cursor" not in body:
            return items
        cursor = {"cursor": body["cursor"]}


async def test_states_of_chain_objects_follow_each_other(listed: tuple[NetworkMount, bool]) -> None:
    network, earlier = listed
    app = create_app({NETWORK: network}, NETWORK, ApiSettings())
    outputs = known_at(LAST, earlier, by_state=False)
    longest = 0
    for kind in ("alias", "foundry", "nft"):
        for chain_id, states in reference_indexer.chains(outputs, kind).items():
            longest = max(longest, len(states))
            ids = [each.output_id for each in states]
            assert await walk(app, f"/outputs/{kind}/{chain_id}", {"spent": "any", "pageSize": 2}) == ids
            if kind == "nft":
                await check_states(network, chain_id[2:], [each[2:] for each in ids])
    assert longest > 3


async def check_states(network: NetworkMount, nft_id: str, ids: list[str]) -> None:
    """Each state has the one before it, also the first one of a page."""
    cursor: str | None = None
    found: list[tuple[str, str | None]] = []
    while len(found) < len(ids):
        page, earlier = await list_nft_states(
            network.store, nft_id, as_of=LAST, newest=True, page_size=2, cursor=cursor
        )
        found += [(row["output_id"], each and each["output_id"]) for row, each in zip(page.rows, earlier, strict=True)]
        cursor = page.cursor
    assert cursor is None
    assert found[::-1] == [*zip(ids, [None, *ids], strict=False)]


@pytest.mark.parametrize("included", [True, False])
async def test_outputs_of_an_owner_are_listed_once(listed: tuple[NetworkMount, bool], included: bool) -> None:
    """With `included` False the list also has outputs of conflicting transactions, which the oracle does not list."""
    network, earlier = listed
    outputs = {each.output_id[2:]: each for each in known_at(LAST, earlier, by_state=False)}
    for serialized in sorted({owner(each.output) for each in outputs.values()}):
        page = await list_outputs_by_address(
            network.store,
            serialized,
            included=included,
            with_inclusion=True,
            newest=False,
            page_size=1_000,
            cursor=None,
        )
        ids = Counter(row["output_id"] for row in page.rows if row["included"])
        assert ids == Counter(each for each, output in outputs.items() if owner(output.output) == serialized)


@pytest.mark.parametrize("ledger_near", [FAR, NEAR], ids=["far", "near"])
def test_an_input_that_was_spent_before_the_genesis_is_known(stores: Stores, tmp_path: Path, ledger_near: int) -> None:
    lines: list[Any] = oracle()
    stated = {each["id"]: each["conflictReason"] for each in expected()["conflicts"]}
    later = dict[str, int]()
    for line in lines:
        for block in line["blocks"]:
            if block["id"] in stated:
                del block["metadata"]["conflictReason"]
                if line["milestone"]["index"] > GENESIS:
                    later[block["id"]] = stated[block["id"]]
    loading = stores(GEOMETRY, NETWORK, ledger_near=ledger_near)
    report = loading.load(write(tmp_path / "milestones.jsonl", lines), genesis=snapshot_in(tmp_path))
    assert (report.exit_code, report.ledger_index) == (0, LAST)
    assert reasons(loading) == later
    assert differing(checked(loading)) == []


def test_a_check_of_all_rows_finds_a_spent_output_that_is_listed_as_unspent(stores: Stores, tmp_path: Path) -> None:
    """Earlier versions wrote the spending to a row at the milestone that created the output."""
    loading = stores(GEOMETRY, NETWORK)
    load(loading, tmp_path, ORDERS["earlier ones between"])
    assert differing(checked(loading)) == []
    table = schema.unspent_outputs
    with closing(open_adapter(loading.store, writable=True)) as store:
        row = next(
            each
            for each in store.read_all(table)
            if each["milestone_index"] == GENESIS and each["spent_milestone_index"] is not None
        )
        with store.batch() as batch:
            batch.upsert(table, table.names, [native(table, row | {"spent_milestone_index": None})])
    (wrong,) = differing(checked(loading))
    assert (wrong.table, wrong.differing) == (table.name, 1)
