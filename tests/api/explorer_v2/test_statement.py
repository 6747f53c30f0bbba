"""The statement of an account: every address of the oracle ledgers, several addresses, periods, cuts at every place,
as pages, as tables and as lines, compared with sums over the input files; and stores that contradict themselves.
"""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.explorer_v2 import statement_lines, statement_routes
from api.explorer_v2.statement_responses import StatementOfAccount
from api.fields.inx_chronicle_params import After
from api.network import NetworkMount
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.model import Table
from db.queries.spans import Edge
from db.schema import wormhole_tables
from db.store import WritableStore, WrongBalance
from ledger.crypto.bech32 import format_address, parse_address
from tests import reference, reference_stardust
from tests.api.conftest import GEOMETRIES, STORES, Filled, Some, fill, fill_stardust, filled_with, new_store
from tests.api.explorer import Explorer
from tests.api.explorer_v2.test_explorer_v2 import BASE, body, rejected
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.api.statements import Statements, of_chrysalis, of_facts, of_stardust
from tests.cassandra_keyspace import Keyspaces
from tests.etl.two_eras import stardust_lines
from tests.reference_ledger import ledger_rows
from tests.reference_rows import table_rows

PATH = "ledger/statement"
LAST = 50


@pytest.fixture(scope="session", params=["chrysalis", "stardust"])
def statements(request: pytest.FixtureRequest, oracle: Oracle, stardust: StardustLedger) -> Statements:
    return of_chrysalis(oracle) if request.param == "chrysalis" else of_stardust(Explorer(stardust))


@pytest.fixture(scope="session", params=STORES)
def app(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    statements: Statements,
    oracle: Oracle,
    stardust: StardustLedger,
    filled: Filled,
) -> Any:
    """A server of the ledger of the statements, from the stores of other tests."""
    is_stardust = statements.hrp == stardust.expected["bech32Hrp"]
    name, ledger = ("stardust", stardust) if is_stardust else ("api", oracle)
    store = filled.get((name, *request.param))
    if store is None:
        settings = new_store(request, tmp_path_factory, name, ledger.expected["network"])
        store = fill_stardust(settings, stardust) if is_stardust else fill(settings, oracle)
        filled[name, *request.param] = store
    own = NetworkMount(store, oracle.expected["network"], oracle.expected["bech32Hrp"])
    return create_app({"one": stardust.mount(store) if is_stardust else own}, "one", ApiSettings())


def without_cursors(items: Sequence[Json]) -> list[Json]:
    """Items with sets of counterparties, which are sorted by bytes."""
    for each in items:
        parties = [parse_address(text)[1] for text in each["counterparties"]]
        assert parties == sorted(set(parties))
    return [
        {name: value for name, value in each.items() if name != "cursor"}
        | {"counterparties": {*each["counterparties"]}}
        for each in items
    ]


async def whole(client: httpx.AsyncClient, addresses: Sequence[str], **query: Any) -> Json:
    return await body(client, PATH, StatementOfAccount, addresses=",".join(addresses), pageSize=1000, **query)


def groups(statements: Statements, count: int) -> list[list[str]]:
    """Random groups of addresses, and those of a transaction with several."""
    chance, addresses = random.Random(4), statements.addresses
    found = [chance.sample(addresses, chance.randrange(2, 6)) for _ in range(count)]
    widest = max(statements.effects, key=lambda each: len(each.parties))
    return [*found, sorted(widest.parties)[:60], addresses[:100]]


def test_the_ledgers_have_what_is_tested(statements: Statements) -> None:
    kinds = {each.kind for each in statements.effects}
    assert kinds == {"genesis", "migration", "transaction"}
    wanted = [each for address in statements.addresses for each in statements.items([address])]
    assert len(wanted) > 500
    assert max(len(each["counterparties"]) for each in wanted) > 1
    own = [each for group in groups(statements, 20) for each in statements.items(group)]
    assert {int(each["amount"]) > 0 for each in own} == {True, False}
    internal = [
        each
        for group in groups(statements, 20)
        for each in statements.effects
        if each.parties <= {*group} and each.inputs
    ]
    assert internal, "something moves only between addresses of an account"


async def test_every_address(client: httpx.AsyncClient, statements: Statements, some: Some[str]) -> None:
    for address in some(statements.addresses):
        wanted = statements.items([address])
        page = await whole(client, [address])
        assert without_cursors(page["items"]) == wanted
        assert page | {"items": []} == {
            "addresses": [address],
            "firstMilestoneIndex": 0,
            "lastMilestoneIndex": LAST,
            "openingBalance": "0",
            "closingBalance": str(statements.balance([address], LAST)),
            "items": [],
            "cursor": None,
        }
        newest = await whole(client, [address], sort="newest")
        assert without_cursors(newest["items"]) == wanted[::-1]


@pytest.mark.thorough
async def test_several_addresses_are_one_account(
    client: httpx.AsyncClient, statements: Statements, some: Some[list[str]]
) -> None:
    for group in some(groups(statements, 20)):
        wanted = statements.items(group)
        for order, expected in (("oldest", wanted), ("newest", wanted[::-1])):
            page = await whole(client, [*group, group[0]], sort=order)
            assert sorted(page["addresses"]) == sorted(group)
            found = page["items"]
            while page["cursor"] is not None:
                query = {"addresses": ",".join(group), "sort": order, "cursor": page["cursor"]}
                page = await body(client, PATH, StatementOfAccount, **query)
                found += page["items"]
            assert without_cursors(found) == expected


def medium(statements: Statements) -> str:
    """An address with some 60 movements."""
    return min(each for each in statements.addresses if 50 < len(statements.items([each])) < 80)


def busiest(statements: Statements) -> list[str]:
    """The address with most movements and one more."""
    counts = Counter(address for each in statements.effects for address in each.parties)
    return [address for address, _ in counts.most_common(2)]


async def test_periods(client: httpx.AsyncClient, statements: Statements, some: Some[Any]) -> None:
    account = busiest(statements)
    times = {each.milestone: each.time for each in statements.effects}
    periods = [(0, LAST), (1, LAST), (0, 0), (7, 7), (8, 31), (LAST, LAST), (20, LAST + 9), (LAST + 1, LAST + 9)]
    for first, last in some([*periods, (30, 10)]):
        page = await whole(client, account, start=first, end=last)
        assert without_cursors(page["items"]) == statements.items(account, first, last)
        before, after = min(first - 1, LAST), min(max(last, first - 1), LAST)
        assert page["openingBalance"] == str(statements.balance(account, before))
        assert page["closingBalance"] == str(statements.balance(account, after))
        assert page["lastMilestoneIndex"] == after
    for first, last in ((8, 31), (9, 9)):
        page = await whole(client, account, start=times[first], end=times[last])
        assert without_cursors(page["items"]) == statements.items(account, first, last)
        between = await whole(client, account, start=times[first] + 1, end=times[first] + 2)
        assert between["items"] == []
        assert between["openingBalance"] == between["closingBalance"] == str(statements.balance(account, first))
    day = datetime.fromtimestamp(times[9], UTC).date().isoformat()
    page = await whole(client, account, start=day)
    assert without_cursors(page["items"]) == statements.items(account, 1)


async def walk(client: httpx.AsyncClient, page_size: int, **query: Any) -> list[Json]:
    page = await body(client, PATH, StatementOfAccount, pageSize=page_size, **query)
    found = page["items"]
    while page["cursor"] is not None:
        page = await body(client, PATH, StatementOfAccount, cursor=page["cursor"], **query)
        assert len(page["items"]) <= page_size
        found += page["items"]
    return list(found)


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", [1, 2, 3, 7, 1000])
async def test_pages(client: httpx.AsyncClient, statements: Statements, page_size: int) -> None:
    several = [busiest(statements), groups(statements, 1)[1][:7]] if page_size > 3 else []
    for account in ([medium(statements)], groups(statements, 1)[0], *several):
        for first, last in ((0, LAST), (5, 20)):
            wanted = statements.items(account, first, last)
            query = {"addresses": ",".join(account), "start": first, "end": last}
            assert without_cursors(await walk(client, page_size, **query)) == wanted
            assert without_cursors(await walk(client, page_size, **query, sort="newest")) == wanted[::-1]


async def lines_of(client: httpx.AsyncClient, form: str, **query: Any) -> list[Json]:
    """The lines of an export, as items: numbers and lists as in JSON."""
    answer = await client.get(f"{BASE}/{PATH}", params={"format": form, **query})
    assert answer.status_code == 200, answer.text
    if form == "ndjson":
        return [json.loads(line) for line in answer.text.splitlines()]
    found = []
    for row in csv.DictReader(io.StringIO(answer.text), fieldnames=statement_lines.FIELDS):
        assert list(row) == list(statement_lines.FIELDS)
        if row["kind"] != "kind":
            numbers = {name: int(row[name]) for name in ("milestoneIndex", "milestoneTimestamp") if row[name]}
            empty = {name: None for name in row if not row[name]}
            found.append(row | empty | numbers | {"counterparties": row["counterparties"].split()})
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_tables_and_lines_are_complete(
    client: httpx.AsyncClient, statements: Statements, monkeypatch: pytest.MonkeyPatch, some: Some[Any], form: str
) -> None:
    monkeypatch.setattr(statement_lines, "BATCH_ROWS", 5)
    for group in some([*([each] for each in statements.addresses[::5]), *groups(statements, 5)]):
        for order in ("oldest", "newest"):
            query = {"addresses": ",".join(group), "sort": order, "start": 3}
            first, *items, last = await lines_of(client, form, **query)
            wanted = statements.items(group, 3)
            assert without_cursors(items) == (wanted if order == "oldest" else wanted[::-1])
            balance = {
                "milestoneTimestamp": None,
                "transactionId": None,
                "amount": "0",
                "valueUsd": None,
                "counterparties": [],
            }
            opening = {"kind": "opening", "milestoneIndex": 2, "balance": str(statements.balance(group, 2))}
            closing = {"kind": "closing", "milestoneIndex": LAST, "balance": str(statements.balance(group, LAST))}
            ends = [balance | each | {"cursor": None} for each in (opening, closing)]
            assert [first, last] == (ends if order == "oldest" else ends[::-1])


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_a_stream_continues_after_a_line(
    client: httpx.AsyncClient, statements: Statements, monkeypatch: pytest.MonkeyPatch, some: Some[Any], form: str
) -> None:
    monkeypatch.setattr(statement_lines, "BATCH_ROWS", 4)
    for account in ([medium(statements)], groups(statements, 1)[0]):
        for order in ("oldest", "newest"):
            query = {"addresses": ",".join(account), "sort": order, "end": 40}
            whole = await lines_of(client, form, **query)
            assert len(whole) > 3
            for at in some(range(1, len(whole) - 1, 4)):
                rest = await lines_of(client, form, **query, cursor=whole[at]["cursor"])
                without_size = [each | {"cursor": (each["cursor"] or "").partition(".")[0]} for each in rest]
                assert without_size == [
                    each | {"cursor": (each["cursor"] or "").partition(".")[0]} for each in whole[at + 1 :]
                ]


async def test_a_cursor_belongs_to_its_statement(client: httpx.AsyncClient, statements: Statements) -> None:
    (address, other), more = busiest(statements), statements.addresses[:2]
    page = await body(client, PATH, StatementOfAccount, addresses=address, pageSize=2, end=40)
    cursor = page["cursor"]
    await body(client, PATH, StatementOfAccount, addresses=address, cursor=cursor, end=40)
    await body(client, PATH, StatementOfAccount, addresses=f"{address},{address}", cursor=cursor, end=40)
    for query in (
        {"addresses": other, "end": 40},
        {"addresses": ",".join({address, *more}), "end": 40},
        {"addresses": address, "end": 40, "sort": "newest"},
        {"addresses": address, "end": 40, "start": 1},
        {"addresses": address, "end": 39},
    ):
        for form in ("json", "csv"):
            assert "cursor" in await rejected(client, PATH, 400, **query, cursor=cursor, format=form)
    place, size = cursor.split(".")
    for at, char in enumerate(place):
        damaged = f"{place[:at]}{'1' if char != '1' else '2'}{place[at + 1 :]}.{size}"
        assert "cursor" in await rejected(client, PATH, 400, addresses=address, end=40, cursor=damaged)
    for text in ("", "x", "1-0-40", "1-0-40-0123456789abcdef", f"{place}.0x", "²-0-40-0123456789abcdef.2"):
        assert "cursor" in await rejected(client, PATH, 400, addresses=address, end=40, cursor=text)


async def test_a_statement_without_an_end_ends_where_its_first_page_did(
    stardust: StardustLedger, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The ledger grows between two pages."""
    settings = StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('growing')}", stardust.network)
    store = fill_stardust(settings, stardust)
    statements = of_stardust(Explorer(stardust))
    (address, _), frontier = busiest(statements), schema.ledger_frontier
    with store.batch() as batch:
        batch.delete(frontier, (stardust.network, LAST))
        batch.upsert(frontier, frontier.names, [(stardust.network, 30)])
    app = create_app({"one": stardust.mount(store)}, "one", ApiSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        page = await body(client, PATH, StatementOfAccount, addresses=address, pageSize=3)
        assert page["lastMilestoneIndex"] == 30
        found = page["items"]
        with store.batch() as batch:
            batch.upsert(frontier, frontier.names, [(stardust.network, LAST)])
        while page["cursor"] is not None:
            page = await body(client, PATH, StatementOfAccount, addresses=address, cursor=page["cursor"])
            assert page["lastMilestoneIndex"] == 30
            found += page["items"]
        assert without_cursors(found) == statements.items([address], 0, 30)
    store.close()


async def test_parameters(client: httpx.AsyncClient, statements: Statements) -> None:
    address = statements.addresses[0]
    assert "addresses" in await rejected(client, PATH, 400)
    assert "unknown" in await rejected(client, PATH, 400, addresses=address, unknown=1)
    for text in ("", ",", f"{address},", f"{address},{address[:-1]}x", ",".join([address] * 101), "x" * 10_001):
        assert "addresses" in await rejected(client, PATH, 400, addresses=text)
    of_another_network = format_address("other", parse_address(address)[1])
    assert "address of this network" in await rejected(client, PATH, 400, addresses=f"{address},{of_another_network}")
    page = await whole(client, [address] * 100)
    assert page["addresses"] == [address]


async def test_an_address_without_history(client: httpx.AsyncClient, statements: Statements) -> None:
    unknown = format_address(statements.hrp, b"\0" + b"\x07" * 32)
    page = await whole(client, [unknown])
    assert (page["items"], page["openingBalance"], page["closingBalance"]) == ([], "0", "0")
    assert [each["kind"] for each in await lines_of(client, "csv", addresses=unknown)] == ["opening", "closing"]
    account = [unknown, busiest(statements)[0]]
    page = await whole(client, account)
    assert without_cursors(page["items"]) == statements.items(account)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", STORES)
async def test_two_eras_are_one_statement(
    oracle: Oracle,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
    kind: tuple[str, str],
    some: Some[Any],
) -> None:
    """The Chrysalis oracle ledger, and Stardust milestones that spend its outputs."""
    facts = [reference.milestone_fact(line) for line in oracle.milestones]
    facts += [reference_stardust.milestone_fact(line) for line in stardust_lines()]
    genesis = reference.genesis_fact(reference.read_json(reference.ORACLE / "genesis.json"))
    settings, hrp = two_eras_store(request, tmp_path_factory, kind), oracle.expected["bech32Hrp"]
    geometry = settings.chunk_size, settings.partition_size
    rows = table_rows(facts, [], *geometry, settings.network)
    ledger_rows(rows, facts, genesis, settings.network, *geometry)
    store = filled_with(settings, rows)
    statements = of_facts(facts, genesis, hrp)
    app = create_app({"one": NetworkMount(store, settings.network, hrp)}, "one", ApiSettings())
    singles = [[each] for each in statements.addresses]
    singles.sort(key=lambda each: not in_both_eras(statements.items(each)))
    assert in_both_eras(statements.items(singles[0]))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        for account in [*some(singles), statements.addresses[:4]]:
            wanted = statements.items(account)
            page = await whole(client, account)
            assert without_cursors(page["items"]) == wanted
            assert page["closingBalance"] == str(statements.balance(account, statements.last))
            assert without_cursors(await walk(client, 3, addresses=",".join(account), start=45)) == (
                statements.items(account, 45)
            )
    store.close()


def in_both_eras(items: Sequence[Json]) -> bool:
    return {each["milestoneIndex"] > LAST for each in items} == {True, False}


def two_eras_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kind: tuple[str, str]
) -> StoreSettings:
    name, how = kind
    if name == "sqlite":
        folder = tmp_path_factory.mktemp("eras")
        return StoreSettings(f"sqlite:///{folder}", "mixed-1", *GEOMETRIES[how])
    keyspaces: Keyspaces = request.getfixturevalue("keyspaces")
    return keyspaces.lend(StoreSettings("", "mixed-1", reader=how))


@pytest.mark.thorough
async def test_values_are_exact_and_begin_with_the_first_price(
    stardust: StardustLedger, tmp_path_factory: pytest.TempPathFactory, filled: Filled
) -> None:
    """By the price of the base token's symbol on the milestone's day, in a Wormhole network's store."""
    statements = of_stardust(Explorer(stardust))
    address, days = busiest(statements)[0], sorted({each.time // 86_400 for each in statements.effects if each.time})
    prices = StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('prices')}", "wormhole-mainnet")
    migrate(prices)
    priced = open_store(prices, writable=True)
    price = "0.000000000000123456789012345678"
    rows = [("symbol/TST", days[0] + 1, "7"), ("symbol/OTHER", 0, "9"), ("1/" + "00" * 32, 0, "9")]
    with priced.batch() as batch:
        batch.upsert(wormhole_tables.prices, wormhole_tables.prices.names, rows)
    store = fill_stardust(StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('own')}", stardust.network), stardust)
    mounted = replace(stardust.mount(store), prices=priced)
    app = create_app({"one": mounted}, "one", ApiSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        for first_price in (None, price):
            if first_price is not None:
                with priced.batch() as batch:
                    batch.upsert(
                        wormhole_tables.prices, wormhole_tables.prices.names, [("symbol/TST", days[0], first_price)]
                    )
            wanted = []
            for each in statements.items([address]):
                time = each["milestoneTimestamp"]
                known = None if time is None else {days[0]: first_price, days[0] + 1: "7"}.get(time // 86_400)
                exact = None if known is None else Fraction(each["amount"]) * Fraction(known) / 10**6
                wanted.append(each | {"valueUsd": exact})
            for found in (
                (await whole(client, [address]))["items"],
                (await lines_of(client, "csv", addresses=address))[1:-1],
                (await lines_of(client, "ndjson", addresses=address))[1:-1],
            ):
                values = [None if each["valueUsd"] is None else Fraction(each["valueUsd"]) for each in found]
                assert values == [each["valueUsd"] for each in wanted]
                assert any(values) == (first_price is not None)
                assert all("E" not in (each["valueUsd"] or "") for each in found)
    priced.close()
    store.close()


async def test_without_genesis_there_is_no_statement(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> None:
    network, hrp = oracle.expected["network"], oracle.expected["bech32Hrp"]
    settings = StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('without')}", network)
    store = fill(settings, oracle, with_genesis=False)
    app = create_app({"one": NetworkMount(store, network, hrp)}, "one", ApiSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        for form in ("json", "csv"):
            address = of_chrysalis(oracle).addresses[0]
            assert "genesis" in await rejected(client, PATH, 501, addresses=address, format=form)
    store.close()


@pytest.fixture
def wrong(stardust: StardustLedger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WritableStore]:
    store = fill_stardust(StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('wrong')}", stardust.network), stardust)
    yield store
    store.close()


async def add_one(store: WritableStore, table: Table, item: Json, address: str, balance: int) -> None:
    """Adds 1 to the amount of a movement, or to the balance after its milestone."""
    key, index = parse_address(address)[1], item["milestoneIndex"]
    if table is schema.address_balances:
        place, column, value = (key, 0, index), "balance", balance
    else:
        rows = await store.slice(table, (key.hex(), 0, 0), limit=1000)
        (found,) = (each for each in rows if f"0x{each['transaction_id']}" == item["transactionId"])
        place = key, 0, 0, index, found["white_flag_index"], bytes.fromhex(found["transaction_id"])
        column, value = "amount", int(item["amount"])
    with store.batch() as batch:
        batch.upsert(table, (*table.key, column), [(*place, value + 1)])


async def parts_until_error(parts: AsyncIterator[str]) -> list[Json]:
    """The lines before the error."""
    found: list[Json] = []
    try:
        async for part in parts:
            found += [json.loads(line) for line in part.splitlines()]
    except WrongBalance:
        return found
    raise AssertionError("the lines end without an error")


@pytest.mark.thorough
@pytest.mark.parametrize("table", [schema.address_balances, schema.address_movements], ids=lambda each: each.name)
@pytest.mark.parametrize("number", [0, 7, -1])
async def test_rows_that_contradict_each_other_are_an_error(
    wrong: WritableStore, stardust: StardustLedger, monkeypatch: pytest.MonkeyPatch, table: Table, number: int
) -> None:
    """One balance, or one movement, is off by one."""
    monkeypatch.setattr(statement_lines, "BATCH_ROWS", 1)
    statements, network = of_stardust(Explorer(stardust)), stardust.mount(wrong)
    address = busiest(statements)[0]
    items = statements.items([address])
    index = items[number]["milestoneIndex"]
    await add_one(wrong, table, items[number], address, statements.balance([address], index))
    app = create_app({"one": network}, "one", ApiSettings())
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
        wanted: Json = {"addresses": address, "pageSize": 1000}
        for order in ("oldest", "newest"):
            message = await rejected(client, PATH, 500, **wanted, end=index, sort=order)
            assert f"after milestone {index} its" in message or order == "newest"
            if table is schema.address_balances and index < LAST:
                assert "does not reconcile" in await rejected(client, PATH, 500, **wanted, start=index + 1, sort=order)
            elif index < LAST:
                await body(client, PATH, StatementOfAccount, **wanted, start=index + 1, sort=order)
            if items[0]["milestoneIndex"] < index:
                await body(client, PATH, StatementOfAccount, **wanted, end=index - 1, sort=order)
    for newest in (False, True):
        given = (parse_address(address),), After(1000), {"start": None, "end": Edge(milestone=index)}
        cursors, _ = await statement_routes.opened(network, *given, newest=newest)
        lines = await parts_until_error(statement_lines.lines(network, cursors, "ndjson", page_size=1000))
        kinds = [each["kind"] for each in lines]
        assert not {"opening", "closing"} <= {*kinds}
        if kinds:
            assert (kinds[0], kinds[-1]) == ("closing" if newest else "opening", "error")
            assert abs(int(lines[-1]["amount"])) == 1
            assert newest or [each["milestoneIndex"] for each in lines[1:-1]][-1:] <= [index]
