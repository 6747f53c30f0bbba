"""Every lookup of the Stardust oracle ledger after a load, through the queries that the API uses, compared with its
input files.
"""

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import cache
from typing import Any, TypeAlias

import pytest

from db import schema
from db.connect import open_store
from db.listing.page import Page
from db.queries.indexer import Spent
from db.queries.lookups import By, list_created, list_states
from db.queries.native_tokens import list_token_outputs
from db.queries.unspent import find_unspent_state, list_all_unspent, list_unspent
from db.roles import NATIVE_TOKEN
from db.store import Condition, Store
from db.times import find_window
from tests.etl.archives import Json
from tests.etl.conftest import Loading, Stores
from tests.etl.stardust_archives import NETWORK, oracle
from tests.reference_lookups import ROLE_KEYS, STATES
from tests.reference_stardust import whole_rows

pytestmark = pytest.mark.loads

GEOMETRY = (7, 3)
LAST = 50
PAGE_SIZES = {"sqlite": (1, 2, 3, 7, 100), "cassandra": (3, 100)}
"""A page of a cluster takes several times as long and has the same rows."""

EVERY = {"sqlite": 1, "cassandra": 6}
"""One key in so many is requested."""

ROLES = sorted({view for views in ROLE_KEYS.values() for view in views} - {"tag", "chain"})


@cache
def reference() -> dict[str, list[Json]]:
    """The facts from the input files."""
    return whole_rows(oracle(), [], *GEOMETRY, NETWORK)


@pytest.fixture(scope="module")
def loaded(everywhere: Stores) -> Loading:
    loading, report = everywhere.kept("stardust from genesis", GEOMETRY, ledger_near=10_000, analytics=True)
    assert (report.exit_code, report.complete, report.ledger_index, report.held) == (0, LAST, LAST, "")
    return loading


Ask = Callable[..., Awaitable[Page]]


async def check(ask: Ask, wanted: list[str], page_sizes: Iterable[int]) -> None:
    """Every page size in both orders returns the same ids; `wanted` are oldest first."""
    for newest in (False, True):
        ordered = wanted[::-1] if newest else wanted
        for page_size in page_sizes:
            cursor, found = None, []
            for _ in range(len(wanted) // page_size + 1):
                page = await ask(newest=newest, page_size=page_size, cursor=cursor)
                found += [row["output_id"] for row in page.rows]
                cursor = page.cursor
                if cursor is None:
                    break
            assert cursor is None
            assert found == ordered


def ids(rows: Iterable[Json]) -> list[str]:
    """Ids of the rows in the order of listings, each once."""
    return [output_id for _, output_id in sorted({(row["milestone_index"], row["output_id"]) for row in rows})]


def by_key(rows: Iterable[Json], *key: str) -> dict[tuple[Any, ...], list[Json]]:
    found: dict[tuple[Any, ...], list[Json]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in key)].append(row)
    return found


def run(loading: Loading, checks: Callable[[Store], Coroutine[Any, Any, None]]) -> None:
    with contextlib.closing(open_store(loading.store)) as store:
        asyncio.run(checks(store))


def bound_to(store: Store, query: Callable[..., Awaitable[Page]], *arguments: Any, **options: Any) -> Ask:
    return lambda **page: query(store, *arguments, **options, **page)


def by_lookup(rows: Iterable[Json]) -> dict[tuple[Any, ...], list[Json]]:
    """Rows of `unspent_outputs` by lookup, key and kind. Outputs with a token are one listing of all kinds."""
    found: dict[tuple[Any, ...], list[Json]] = defaultdict(list)
    for row in rows:
        if row["lookup"]:
            kind = "" if row["lookup"] == NATIVE_TOKEN else row["output_kind"]
            found[row["lookup"], row["key"], kind].append(row)
    return found


def unspent(store: Store, lookup: str, key: str, kind: str, as_of: int) -> Ask:
    if lookup == NATIVE_TOKEN:
        return bound_to(store, list_token_outputs, key, Spent.UNSPENT, as_of=as_of)
    return bound_to(store, list_unspent, [By(lookup, key)], kinds=[kind], as_of=as_of)


@pytest.fixture
def page_sizes(loaded: Loading) -> tuple[int, ...]:
    return PAGE_SIZES[loaded.store.url.partition(":")[0]]


Keys: TypeAlias = dict[tuple[Any, ...], list[Json]]


def some(loaded: Loading, keys: Keys) -> Keys:
    """The keys that are requested of this store: the one with the most rows, and one in EVERY of the others."""
    most = max(keys, key=lambda key: len(keys[key]))
    chosen = {most, *list(keys)[:: EVERY[loaded.store.url.partition(":")[0]]]}
    return {key: keys[key] for key in keys if key in chosen}


def test_every_role_and_tag_lists_what_was_ever_created(loaded: Loading, page_sizes: tuple[int, ...]) -> None:
    addressed = by_key(reference()["outputs_by_address"], "variant", "address", "output_kind", "included")
    tagged_rows = ({"variant": "tag"} | row for row in reference()["outputs_by_tag"])
    tagged = by_key(tagged_rows, "variant", "tag", "output_kind", "included")
    assert {key[0] for key in addressed} == set(ROLES)

    async def checks(store: Store) -> None:
        async def check_key(variant: str, key: str, kind: str, included: bool, rows: list[Json]) -> None:
            ask = bound_to(store, list_created, [By(variant, key)], kinds=[kind], included=included)
            if included:
                await check(ask, ids(rows), page_sizes if len(rows) < 60 else (7, 100))
            else:
                page = await ask(newest=False, page_size=100, cursor=None)
                assert Counter(row["output_id"] for row in page.rows) == Counter(row["output_id"] for row in rows)

        await asyncio.gather(*(check_key(*key, rows) for key, rows in some(loaded, addressed | tagged).items()))

    run(loaded, checks)


def test_all_roles_of_an_address_are_one_listing(loaded: Loading) -> None:
    rows = [row for row in reference()["outputs_by_address"] if row["included"]]
    held = by_key(rows, "address")
    assert max(len({row["variant"] for row in each}) for each in held.values()) >= 4

    async def checks(store: Store) -> None:
        async def check_key(address: str, wanted: list[str]) -> None:
            await check(bound_to(store, list_created, [By(variant, address) for variant in ROLES]), wanted, (3, 100))

        await asyncio.gather(*(check_key(address, ids(each)) for (address,), each in some(loaded, held).items()))

    run(loaded, checks)


def test_what_is_unspent_at_the_ledger_index_by_every_lookup(loaded: Loading, page_sizes: tuple[int, ...]) -> None:
    living = [row for row in reference()["unspent_outputs"] if row["spent_milestone_index"] is None]
    requested = by_lookup(living)
    roles = {"address", "sender", "issuer", "governor", "tag", "chain", "native_token"}
    assert {lookup for lookup, _, _ in requested} >= roles

    async def checks(store: Store) -> None:
        async def check_key(lookup: str, key: str, kind: str, rows: list[Json]) -> None:
            ask = unspent(store, lookup, key, kind, LAST)
            await check(ask, ids(rows), page_sizes if len(rows) < 40 else (7, 100))

        await asyncio.gather(*(check_key(*key, rows) for key, rows in some(loaded, requested).items()))
        for kinds in (["basic"], ["alias", "foundry"], ["alias", "basic", "foundry", "nft"]):
            every = [row for row in living if not row["lookup"] and row["output_kind"] in kinds]
            assert every
            await check(bound_to(store, list_all_unspent, NETWORK, kinds=kinds, as_of=LAST), ids(every), (7, 100))

    run(loaded, checks)


def test_earlier_ledger_indexes_show_what_was_unspent_then(loaded: Loading) -> None:
    rows = by_lookup(reference()["unspent_outputs"])

    async def checks(store: Store) -> None:
        for as_of in (0, 1, 17, 30):
            for (lookup, key, kind), each in rows.items():
                then = [
                    row
                    for row in each
                    if row["milestone_index"] <= as_of and (row["spent_milestone_index"] or LAST + 1) > as_of
                ]
                ask = unspent(store, lookup, key, kind, as_of)
                page = await ask(newest=False, page_size=1_000, cursor=None)
                assert [row["output_id"] for row in page.rows] == ids(then)

    run(loaded, checks)


def test_chain_objects_have_all_their_states_and_one_at_a_time(loaded: Loading, page_sizes: tuple[int, ...]) -> None:
    ends = {row["output_id"]: row.get("spent_milestone_index") for row in reference()["outputs"]}

    async def checks(store: Store) -> None:
        for kind, table in STATES.items():
            chains = by_key(reference()[table], "chain_id")
            assert chains
            for (chain_id,), rows in chains.items():
                rows.sort(key=lambda row: (row["milestone_index"], row["white_flag_index"]))
                states = [row["output_id"] for row in rows]
                await check(bound_to(store, list_states, kind, chain_id), states, page_sizes)
                for as_of in range(LAST + 1):
                    then = [row["output_id"] for row in rows if row["milestone_index"] <= as_of][-1:]
                    wanted = [each for each in then if (ends[each] or LAST + 1) > as_of]
                    found = await find_unspent_state(store, kind, chain_id, as_of)
                    assert ([] if found is None else [found["output_id"]]) == wanted

    run(loaded, checks)


def test_a_filter_and_two_times_at_once(loaded: Loading) -> None:
    """Basic outputs with native tokens, and a sender's outputs within some milestones, filtered by the rows' own
    columns.
    """
    rows = [row for row in reference()["outputs_by_address"] if row["included"] and row["output_kind"] == "basic"]
    with_tokens = (Condition("native_tokens", ">", 0),)
    start, end = (1_000 * oracle()[number - 1]["milestone"]["timestamp"] for number in (12, 38))
    inside = [row for row in rows if row["ms_timestamp"] is not None and start <= row["ms_timestamp"] < end]
    assert any(row["native_tokens"] for row in inside)

    async def checks(store: Store) -> None:
        window = await find_window(store, NETWORK, start, end)
        for (variant, address), each in some(loaded, by_key(rows, "variant", "address")).items():
            held = {id(row) for row in each}
            wanted = ids(row for row in inside if id(row) in held)
            ask = bound_to(store, list_created, [By(variant, address)], kinds=["basic"], window=window)
            await check(ask, wanted, (7, 100))
            ask = bound_to(store, list_created, [By(variant, address)], kinds=["basic"], where=[with_tokens])
            await check(ask, ids(row for row in each if row["native_tokens"]), (7, 100))

    run(loaded, checks)


def test_ascending_the_bound_of_partitions_holds_however_hot_a_key_is(loaded: Loading) -> None:
    rows = loaded.rows()
    for lookup in (*schema.STARDUST_LOOKUPS, schema.LOOKUPS[1]):
        name, size = lookup.table.name, GEOMETRY[1]
        after_genesis = [row for row in rows[name] if row["milestone_index"] > 0]
        location = (*lookup.key, "ms_range_id", "partition_id")
        partitions = Counter(tuple(row[each] for each in location) for row in after_genesis)
        milestones = Counter(tuple(row[each] for each in (*lookup.key, "milestone_index")) for row in after_genesis)
        largest: dict[Any, int] = defaultdict(int)
        for (*key, _), count in milestones.items():
            largest[tuple(key)] = max(largest[tuple(key)], count)
        for (*key, _, _), count in partitions.items():
            assert count <= size + largest[tuple(key)], name
    tags = {(row["ms_range_id"], row["partition_id"]) for row in rows["outputs_by_tag"]}
    assert len(tags) > len({ms_range_id for ms_range_id, _ in tags}), "a hot tag is cut inside a range"
