"""The richest addresses and the distribution at the end of each UTC day, compared with sums of a generated archive's
JSON: in one load or many, near the frontier or from all changes, after a rebuild, for a store of an older version, and
after killed loads.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from bench.stardust_tangle import StardustTangle
from db import schema
from db.connect import open_store
from db.model import Table
from db.store import Batch, Value
from etl.expectations.comparison import WrongRows
from etl.ledger_state import advance
from etl.ledger_state.advance import Ledger
from ledger.crypto.bech32 import format_address
from tests.api.asgi import ask
from tests.etl.archives import Json, dump, write
from tests.etl.conftest import CASSANDRA, LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.deep_check.checking import checked, differing
from tests.etl.expectations.faults import in_store, one_more
from tests.generated_stardust import SETTINGS, made_genesis, made_lines, output_id
from tests.reference_stardust import output_fact

pytestmark = pytest.mark.loads

COUNT = 26
HOURS = 7
FAR, NEAR = 0, 10_000
BEGAN = 1_640_995_200
HRP = "tst"

State = Mapping[str, int]
"""Address → base tokens of the unspent outputs that name it."""


def time_of(index: int) -> int:
    """Seven hours more for each milestone; one falls back by a day."""
    return BEGAN + 3600 * HOURS * (index - 3 if index == 12 else index)


@pytest.fixture(scope="module")
def lines() -> list[Json]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StardustTangle, "_timestamp", lambda _, index: time_of(index))
        return made_lines(COUNT, replace(SETTINGS, milestone_size=20))


@pytest.fixture(scope="module")
def states(lines: list[Json]) -> dict[int, State]:
    """The balances after each milestone."""
    unspent = {each["outputId"]: each["output"] for each in made_genesis()["outputs"]}
    found: dict[int, State] = {}
    for line in lines:
        for entry in line["blocks"]:
            if entry["metadata"].get("ledgerInclusionState") == "included":
                essence = entry["block"]["payload"]["essence"]
                for each in essence["inputs"]:
                    del unspent[output_id(each["transactionId"], each["transactionOutputIndex"])]
                for position, output in enumerate(essence["outputs"]):
                    unspent[output_id(entry["transactionId"], position)] = output
        balances: dict[str, int] = defaultdict(int)
        for output in unspent.values():
            fact = output_fact(output)
            balances[fact.owner] += fact.amount
        found[line["milestone"]["index"]] = dict(balances)
    return found


@cache
def ends(last: int = COUNT) -> dict[int, int]:
    """UTC day → its last milestone among those up to `last`."""
    return {time_of(index) // 86_400: index for index in range(1, last + 1)}


def richest(state: State) -> list[tuple[str, int]]:
    return sorted(state.items(), key=lambda item: (-item[1], item[0]))


def powers(state: State) -> list[tuple[int, int, int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for balance in state.values():
        found[len(str(balance)) - 1].append(balance)
    return [(power, len(each), sum(each)) for power, each in sorted(found.items())]


def check(loading: Loading, states: Mapping[int, State], indexes: Iterable[int], most: int = 1000) -> None:
    """The rows at these ledger indexes are those of the states; there are no other ones."""
    rows, wanted = loading.rows(), sorted(indexes)
    assert sorted({row["ledger_index"] for row in rows["rich_list"]}) == wanted
    assert sorted({row["ledger_index"] for row in rows["distribution"]}) == wanted
    for index in wanted:
        at = [row for row in rows["rich_list"] if row["ledger_index"] == index]
        found = [(row["rank"], row["address"], row["balance"]) for row in sorted(at, key=lambda row: row["rank"])]
        every = [(rank, *each) for rank, each in enumerate(richest(states[index]), start=1)]
        assert found == (every[:most] if index in ends().values() and index < COUNT - 2 else every), index
        at = [row for row in rows["distribution"] if row["ledger_index"] == index]
        assert sorted((row["power"], row["addresses"], row["amount"]) for row in at) == powers(states[index]), index


def new_store(stores: Stores, folder: Path, **options: Any) -> tuple[Loading, Path]:
    genesis = folder / "genesis.json"
    genesis.write_bytes(dump(made_genesis()))
    return stores(network=SETTINGS.network, **options), genesis


@pytest.fixture(scope="module")
def first_states(states: dict[int, State]) -> dict[int, State]:
    """With that of the genesis."""
    balances: dict[str, int] = defaultdict(int)
    for each in made_genesis()["outputs"]:
        fact = output_fact(each["output"])
        balances[fact.owner] += fact.amount
    return {0: dict(balances)} | states


def test_days_end_with_their_last_milestone() -> None:
    assert sorted(ends().values()) == [3, 6, 12, 13, 17, 20, 23, 26]


@on(SQLITE, LATER_CASSANDRA)
@pytest.mark.parametrize("ledger_near", [FAR, NEAR], ids=["far", "near"])
def test_one_load_of_many_days_keeps_the_end_of_each(
    everywhere: Stores, tmp_path: Path, lines: list[Json], first_states: dict[int, State], ledger_near: int
) -> None:
    loading, genesis = new_store(everywhere, tmp_path, ledger_near=ledger_near)
    report = loading.load(write(tmp_path / "all.jsonl", lines), genesis=genesis)
    assert (report.exit_code, report.ledger_index) == (0, COUNT)
    check(loading, first_states, {0, *ends().values()})
    assert len(richest(first_states[COUNT])) > 30


@pytest.mark.parametrize("ledger_near", [pytest.param(FAR, marks=pytest.mark.slow), NEAR], ids=["far", "near"])
def test_many_loads_keep_the_same_rows(
    stores: Stores,
    tmp_path: Path,
    lines: list[Json],
    first_states: dict[int, State],
    ledger_near: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(advance, "STEPS_KEPT", 2)
    monkeypatch.setattr(advance, "RICHEST", 7)
    loading, genesis = new_store(stores, tmp_path, ledger_near=ledger_near)
    cuts = [0, 2, 3, 4, 10, 20, 25, COUNT] if ledger_near else [0, 3, 20, 25, COUNT]
    for number, (first, end) in enumerate(pairwise(cuts)):
        options = {} if number else {"genesis": genesis}
        assert loading.load(write(tmp_path / f"{first}.jsonl", lines[first:end]), **options).ledger_index == end
    check(loading, first_states, {25, *ends().values()}, most=7)
    assert loading.rebuild().exit_code == 0
    check(loading, first_states, {0, *ends().values()}, most=7)


def test_a_store_of_an_older_version_gets_its_days_with_the_next_load(
    stores: Stores, tmp_path: Path, lines: list[Json], first_states: dict[int, State]
) -> None:
    loading, genesis = new_store(stores, tmp_path, ledger_near=NEAR)
    loading.load(write(tmp_path / "some.jsonl", lines[:20]), genesis=genesis)
    with closing(open_store(loading.store, writable=True)) as store, store.batch() as batch:
        batch.delete(schema.keyspace_info, (advance.DAYS_RANKED,))
        for end in (3, 6, 12, 13, 17):
            batch.delete(schema.distribution, (SETTINGS.network, end))
            batch.delete(schema.rich_list, (SETTINGS.network, end))
    check(loading, first_states, {0, 20})
    loading.load(write(tmp_path / "more.jsonl", lines[20:]))
    check(loading, first_states, {0, *ends().values()})


@pytest.mark.parametrize(
    ("name", "named"),
    [("richest", "rich_list, rank 1"), pytest.param("powers", "distribution", marks=pytest.mark.slow)],
)
def test_a_list_of_the_engine_that_differs_from_the_sums_fails(
    stores: Stores, tmp_path: Path, lines: list[Json], monkeypatch: pytest.MonkeyPatch, name: str, named: str
) -> None:
    loading, genesis = new_store(stores, tmp_path, ledger_near=FAR)
    assert loading.load(genesis=genesis).ledger_index == 0
    in_store(monkeypatch, name, one_more("balance" if name == "richest" else "amount"))
    with pytest.raises(WrongRows, match=f"{named}.* expected .* found "):
        loading.load(write(tmp_path / "all.jsonl", lines))
    assert [row["ledger_index"] for row in loading.rows()["ledger_frontier"]] == [0]


class Death(BaseException):
    """Ends a load where a kill would."""


def die_within(monkeypatch: pytest.MonkeyPatch, table: Table, ledger_index: int) -> None:
    """Loads die when half the rows of a list are written. A cluster keeps these rows."""
    own = Ledger._upsert

    def upsert(ledger: Ledger, batch: Batch, of: Table, rows: Sequence[Sequence[Value]]) -> None:
        if of is not table or ledger_index not in {row[1] for row in rows}:
            return own(ledger, batch, of, rows)
        own(ledger, batch, of, rows[: len(rows) // 2])
        raise Death

    monkeypatch.setattr(Ledger, "_upsert", upsert)


def load_and_die(
    loading: Loading, file: Path, monkeypatch: pytest.MonkeyPatch, table: Table, ledger_index: int
) -> None:
    """A load that leaves half of a list of that ledger index."""
    with monkeypatch.context() as patch:
        die_within(patch, table, ledger_index)
        with pytest.raises(Death):
            loading.load(file)
    assert ledger_index in {row["ledger_index"] for row in loading.rows()[table.name]}


LISTS = (schema.distribution, schema.rich_list)


@on(CASSANDRA)
def test_lists_that_killed_loads_left_are_gone_after_the_next_load(
    everywhere: Stores,
    tmp_path: Path,
    lines: list[Json],
    first_states: dict[int, State],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They were written for milestones 15 and 16, which the next load passes."""
    loading, genesis = new_store(everywhere, tmp_path, ledger_near=NEAR)
    loading.load(write(tmp_path / "8.jsonl", lines[:8]), genesis=genesis)
    for table, end in zip(LISTS, (15, 16), strict=True):
        load_and_die(loading, write(tmp_path / f"{end}.jsonl", lines[8:end]), monkeypatch, table, end)
    loading.load(write(tmp_path / "all.jsonl", lines[16:]))
    check(loading, first_states, {0, 8, *ends().values()})
    assert differing(checked(loading)) == []


@on(CASSANDRA)
def test_lists_that_are_not_whole_are_not_served(
    everywhere: Stores,
    tmp_path: Path,
    lines: list[Json],
    first_states: dict[int, State],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed loads of a store of an older version, whose ledger index is beyond the days that it lists."""
    loading, genesis = new_store(everywhere, tmp_path, ledger_near=NEAR)
    loading.load(write(tmp_path / "some.jsonl", lines[:20]), genesis=genesis)
    with closing(open_store(loading.store, writable=True)) as store, store.batch() as batch:
        batch.delete(schema.keyspace_info, (advance.DAYS_RANKED,))
        for table in LISTS:
            batch.delete(table, (SETTINGS.network, 13))
    for table in LISTS:
        load_and_die(loading, write(tmp_path / "more.jsonl", lines[20:]), monkeypatch, table, 13)
        with closing(open_store(loading.store)) as store:
            app = create_app({"made": NetworkMount(store, SETTINGS.network, HRP)}, "made", ApiSettings())
            asyncio.run(check_not_kept(app, 13))
    loading.load(write(tmp_path / "more.jsonl", lines[20:]))
    check(loading, first_states, {0, *ends().values()})


async def check_not_kept(app: Any, ledger_index: int) -> None:
    """Neither list of this ledger index is served, and both of the day before are."""
    for route in ("richest-addresses", "token-distribution"):
        path = f"/api/explorer/v2/ledger/{route}"
        status, body = await ask(app, path, {"ledgerIndex": ledger_index})
        assert (status, "last milestone of a UTC day" in body["message"]) == (501, True)
        assert (await ask(app, path, {"ledgerIndex": 12}))[0] == 200


async def check_lists(app: Any, first_states: Mapping[int, State]) -> None:
    """Whole bodies of both lists at the end of each day, in both families, and what is rejected."""
    for day, index in ends(COUNT - 1).items():
        state, date = first_states[index], f"2022-01-{day - BEGAN // 86_400 + 1:02d}"
        top = [
            {"address": format_address(HRP, bytes.fromhex(address)), "balance": str(balance)}
            for address, balance in richest(state)
        ]
        spread = [
            {
                "range": {"start": 10**power, "end": 10 ** (power + 1)},
                "addressCount": str(count),
                "totalBalance": str(amount),
            }
            for power, count, amount in powers(state)
        ]
        for family in ("explorer", "analytics"):
            base = f"/api/{family}/v2/ledger"
            for query in ({"date": date}, {"ledgerIndex": index}):
                found = await ask(app, f"{base}/richest-addresses", query | {"top": 1000})
                assert found == (200, {"top": top, "ledgerIndex": index})
                found = await ask(app, f"{base}/token-distribution", query)
                assert found == (200, {"distribution": spread, "ledgerIndex": index})
    base = "/api/explorer/v2/ledger"
    for route in ("richest-addresses", "token-distribution"):
        status, body = await ask(app, f"{base}/{route}", {"date": "2021-12-31"})
        assert (status, "the ledger state of 2021-12-31" in body["message"]) == (404, True)
        status, body = await ask(app, f"{base}/{route}", {"date": "2022-01-02", "ledgerIndex": 6})
        assert (status, body["message"].startswith("parameter date: expected nothing beside")) == (400, True)
        status, body = await ask(app, f"{base}/{route}", {"ledgerIndex": 5})
        assert (status, "last milestone of a UTC day" in body["message"]) == (501, True)


@on(SQLITE, LATER_CASSANDRA)
def test_the_api_returns_the_end_of_any_day(
    everywhere: Stores, tmp_path: Path, lines: list[Json], first_states: dict[int, State]
) -> None:
    loading, genesis = new_store(everywhere, tmp_path, ledger_near=NEAR)
    loading.load(write(tmp_path / "most.jsonl", lines[: COUNT - 1]), genesis=genesis)
    with closing(open_store(loading.store)) as store:
        app = create_app({"made": NetworkMount(store, SETTINGS.network, HRP)}, "made", ApiSettings())
        asyncio.run(check_lists(app, first_states))
