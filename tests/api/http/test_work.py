"""The work of a request is bounded: no listing reads more than ten rows for each item that its page may contain."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from ledger.crypto.bech32 import format_address
from tests.api.asgi import ask
from tests.api.contract import described
from tests.api.oracle import Oracle
from tests.api.paths import OF_CHAINS, OF_WORMHOLE

pytestmark = pytest.mark.thorough

ROWS_PER_RESULT = 10
LEAST_PAGE = 100
"""Small pages may cost as much as a page of this size."""

PARAMETERS = {
    each.path: {parameter["name"] for parameter in each.operation.get("parameters", ())}
    for each in described()
    if each.method == "get"
}
PENDING = "/explorer/v2/pending/"
"""The oracle ledger has no pending transactions."""

# The tests of chain objects count their reads: tests/api/indexer_v1 and tests/api/explorer_v2/test_native_tokens.py.
ALIASES = {each.path for each in described() if each.is_alias}

LISTINGS = sorted(
    path
    for path, names in PARAMETERS.items()
    if names & {"page_size", "pageSize"}
    # An alias is served by the handler of its operation.
    and path not in ALIASES
    and not OF_CHAINS.search(path)
    and PENDING not in path
    and not OF_WORMHOLE.search(path)
    # The oracle ledger is shorter than an interval. A proof reads the rows of one interval beside its page.
    and not path.endswith("/proofs/listing")
)
PAGE_SIZES = (1, 100, 1000)


class CountingStore:
    """A Store that counts the rows it returns. A key without a row counts as one, because it was read."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.rows = 0

    async def get(self, table: Any, key: Any) -> Any:
        self.rows += 1
        return await self._store.get(table, key)

    async def get_many(self, table: Any, keys: Sequence[Any]) -> Any:
        self.rows += len(keys)
        return await self._store.get_many(table, keys)

    async def slice(self, *arguments: Any, **bounds: Any) -> Any:
        rows = await self._store.slice(*arguments, **bounds)
        self.rows += len(rows)
        return rows

    async def scan(self, *arguments: Any, **bounds: Any) -> Any:
        found = await self._store.scan(*arguments, **bounds)
        self.rows += found.examined
        return found

    async def ping(self) -> None:
        await self._store.ping()


def bound(page_size: int) -> int:
    return ROWS_PER_RESULT * max(page_size, LEAST_PAGE)


@pytest.fixture
def counted(mount: NetworkMount) -> tuple[Any, CountingStore]:
    store: Any = CountingStore(mount.store)
    return create_app({"testing": NetworkMount(store, mount.name, mount.bech32_hrp)}, "testing", ApiSettings()), store


def most_used(oracle: Oracle) -> tuple[str, str]:
    """The address with most outputs, in hex and as bech32."""
    owned = {each: oracle.address_outputs(each, output_type=None, include_spent=True) for each in oracle.addresses}
    address = max(owned, key=lambda each: len(owned[each]))
    return address, format_address(oracle.expected["bech32Hrp"], b"\0" + bytes.fromhex(address))


def largest(path: str, oracle: Oracle) -> str:
    """The longest listing at that path."""
    parent = max(oracle.children, key=lambda each: len(oracle.children[each]))
    address, bech32 = most_used(oracle)
    line = max(oracle.milestones, key=lambda each: len(each["messages"]))
    return path.format(
        network="testing",
        messageId=parent,
        transactionId=next(iter(oracle.included)),
        address=address if "/ed25519/" in path else bech32,
        index=line["milestone"]["index"],
        migratedAt=100,
        blockId=parent,
        milestoneId=line["milestone"]["milestoneId"],
    )


@pytest.mark.parametrize("path", LISTINGS)
async def test_no_page_of_the_oracle_ledger_reads_more(
    counted: tuple[Any, CountingStore], oracle: Oracle, path: str
) -> None:
    app, store = counted
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    # Rows that a process reads only once from a store.
    await ask(app, largest(path, oracle))
    for page_size, sort, more in itertools.product(PAGE_SIZES, ("newest", "oldest"), ({}, {"include-spent": "false"})):
        query: dict[str, Any] = {
            "addresses": most_used(oracle)[1],
            "index": tag,
            "tag": tag,
            "page_size": page_size,
            "pageSize": page_size,
            "sort": sort,
        } | more
        taken = PARAMETERS[path] - ({"index"} if "{index}" in path else set())
        if "page_size" in taken:
            del query["pageSize"]
        query = {name: value for name, value in query.items() if name in taken}
        for _ in range(3):
            store.rows = 0
            status, body = await ask(app, largest(path, oracle), query)
            assert status == 200, body
            assert 0 < store.rows <= bound(page_size), (page_size, sort, more)
            data = body.get("data", body)
            following = {name: data[name] for name in ("state", "cursor") if data.get(name) is not None}
            if not following:
                break
            query |= following


SPENT = 4000


@pytest.fixture(scope="module")
def spent_store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store with one address that owned SPENT outputs in as many milestones, all spent."""
    folder: Path = tmp_path_factory.mktemp("spent")
    settings = StoreSettings(url=f"sqlite:///{folder}", network="spent-1")
    migrate(settings)
    store = open_store(settings, writable=True)
    address = "00" + "aa" * 32
    names = ("address", "output_kind", "variant", "included", "ms_range_id", "partition_id")
    key = (bytes.fromhex(address), "legacy", "address", True, 0, 0)
    ids = [(number, number.to_bytes(34, "big"), number.to_bytes(32, "big")) for number in range(1, SPENT + 1)]
    with store.batch() as batch:
        batch.upsert(schema.addresses_hints, names, [key])
        listed = [(*key, number, output_id, message_id, 0) for number, output_id, message_id in ids]
        columns = (*names, "milestone_index", "output_id", "message_id", "output_type")
        batch.upsert(schema.outputs_by_address, columns, listed)
        columns = ("output_id", "created_milestone_index", "created_message_id", "spent_milestone_index")
        spent = [(output_id, number, message_id, number) for number, output_id, message_id in ids]
        batch.upsert(schema.outputs, columns, spent)
    yield store
    store.close()


@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_what_a_filter_drops_is_bounded_too_and_its_end_is_reached(spent_store: Any, page_size: int) -> None:
    store: Any = CountingStore(spent_store)
    app = create_app({"spent": NetworkMount(store, "spent-1", "atoi")}, "spent", ApiSettings())
    query: dict[str, Any] = {"page_size": page_size, "include-spent": "false"}
    for number in itertools.count(1):
        store.rows = 0
        status, body = await ask(app, f"/api/v1/addresses/ed25519/{'aa' * 32}/outputs", query)
        assert (status, body["data"]["outputIds"]) == (200, [])
        assert store.rows <= bound(page_size)
        if body["data"]["state"] is None:
            assert number * bound(page_size) >= SPENT
            return
        query["state"] = body["data"]["state"]
        assert number < SPENT, "the listing does not end"


UNSPENT = range(SPENT + 1, SPENT + 8)
"""Numbers of the outputs that an address still owns."""


@pytest.fixture(scope="module")
def left_store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An address that spent as many, with a ledger state and UNSPENT outputs left; compacted."""
    folder: Path = tmp_path_factory.mktemp("left")
    settings = StoreSettings(url=f"sqlite:///{folder}", network="left-1")
    migrate(settings)
    store = open_store(settings, writable=True)
    address = "aa" * 32
    owner, key = bytes.fromhex(f"00{address}"), ("address", "legacy", f"00{address}", 0, 0)
    numbers = range(1, UNSPENT.stop)
    with store.batch() as batch:
        batch.upsert(schema.ledger_frontier, schema.ledger_frontier.names, [("left-1", UNSPENT.stop)])
        names = ("address", "output_kind", "variant", "included", "ms_range_id", "partition_id")
        batch.upsert(schema.addresses_hints, names, [(owner, "legacy", "address", True, 0, 0)])
        batch.upsert(
            schema.outputs_by_address,
            (*names, "milestone_index", "output_id", "message_id", "output_type"),
            [
                (owner, "legacy", "address", True, 0, 0, at, at.to_bytes(34, "big"), at.to_bytes(32, "big"), 0)
                for at in numbers
            ],
        )
        batch.upsert(
            schema.outputs,
            ("output_id", "created_milestone_index", "created_message_id", "spent_milestone_index"),
            [(at.to_bytes(34, "big"), at, at.to_bytes(32, "big"), None if at in UNSPENT else at + 1) for at in numbers],
        )
        batch.upsert(schema.unspent_hints, schema.unspent_hints.names, [key])
        columns = (*schema.unspent_hints.names, "milestone_index", "output_id", "spent_milestone_index", "output_type")
        # Compaction keeps outputs spent recently, too.
        batch.upsert(
            schema.unspent_outputs,
            columns,
            [
                (*key, at, at.to_bytes(34, "big"), None if at in UNSPENT else at + 1, 0)
                for at in range(UNSPENT.start - 5, UNSPENT.stop)
            ],
        )
    yield store
    store.close()


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("sort", ["newest", "oldest"])
async def test_what_is_left_of_thousands_is_found_without_the_others(
    left_store: Any, page_size: int, sort: str
) -> None:
    store: Any = CountingStore(left_store)
    app = create_app({"left": NetworkMount(store, "left-1", "atoi")}, "left", ApiSettings())
    query: dict[str, Any] = {"page_size": page_size, "include-spent": "false", "sort": sort}
    found: list[str] = []
    while True:
        store.rows = 0
        status, body = await ask(app, f"/api/v1/addresses/ed25519/{'aa' * 32}/outputs", query)
        assert status == 200, body
        assert store.rows <= ROWS_PER_RESULT * max(page_size, 5)
        assert len(body["data"]["outputIds"]) == min(page_size, len(UNSPENT) - len(found))
        found += body["data"]["outputIds"]
        if body["data"]["state"] is None:
            break
        query["state"] = body["data"]["state"]
    expected = [at.to_bytes(34, "big").hex() for at in UNSPENT]
    assert found == (expected[::-1] if sort == "newest" else expected)


async def test_sync_is_one_slice_of_each_summary_however_many_milestones(mount: NetworkMount) -> None:
    requested: list[str] = []

    class Noting(CountingStore):
        async def slice(self, *arguments: Any, **bounds: Any) -> Any:
            requested.append(arguments[0].name)
            return await super().slice(*arguments, **bounds)

    store: Any = Noting(mount.store)
    app = create_app({"testing": NetworkMount(store, mount.name, mount.bech32_hrp)}, "testing", ApiSettings())
    status, body = await ask(app, "/api/testing/sync")
    assert (status, body["completed"]) == (200, [{"start": 1, "end": 51}])
    assert sorted(requested) == ["proofs", "ranges"]
