"""Outputs by every role, tag and chain, ever created and unspent: equal to a plain filter at every page size."""

import asyncio
import dataclasses
import itertools

import pytest
from hypothesis import strategies as st

from db import schema
from db.listing.cursor import CursorError
from db.queries.lookups import By, list_created, list_states
from db.queries.unspent import COMPACTED_TO, UNSPENT_FROM, find_unspent_state, list_all_unspent, list_unspent
from db.store import Condition, LedgerUnknown
from db.times import find_window
from tests.db.examples import examples
from tests.db.listing.test_paging import Counting, bind, pages
from tests.db.made_outputs import CHAIN_BYTES, LAST, VIEWS, Keys, Made, ids_in_order, made_outputs, put_made, under
from tests.db.stores import CHUNK_SIZE
from tests.db.test_times import put_milestones

PAGE_SIZES = (1, 2, 3, 7, 100)
KINDS = sorted(VIEWS)
VARIANTS = sorted({view for views in VIEWS.values() for view in views})
OF_ADDRESSES = [view for view in VARIANTS if view not in ("chain", "tag")]
numbers = itertools.count()

NAMED_KEYS = (
    *[[(view, 0)] for view in VARIANTS if view != "chain"],
    [("address", 0), ("expiration_return", 0), ("storage_deposit_return", 0)],
    [("state_controller", 0), ("governor", 0)],
    [(view, which) for view in OF_ADDRESSES for which in (0, 1)],
)
"""Views and the keys to read in each; with several, outputs that have any of them."""


async def check_pages(ask, wanted, newest):
    """Every page size returns the same ids in that order, and all pages but the last are full."""
    for page_size in PAGE_SIZES:
        found = await pages(ask, page_size, newest)
        assert [row["output_id"] for page in found for row in page.rows] == wanted
        assert all(len(page.rows) == page_size for page in found[:-1])
        assert found[-1].rows or not wanted


def keys_of_request(keys, named_keys, kinds):
    """The keys of a request: as arguments of the queries, and as a plain filter compares them."""
    plain = {(view, keys.key(kind, view, which)) for view, which in named_keys for kind in kinds if view in VIEWS[kind]}
    return [By(view, key.hex()) for view, key in sorted(plain)], plain


MANY_TOKENS = (Condition("native_tokens", ">", 0),)


@pytest.mark.thorough
@examples(data=st.data(), named_keys=st.sampled_from(NAMED_KEYS), newest=st.booleans(), few=st.booleans())
def test_what_was_ever_created_under_any_key_comes_once_and_in_order(store, data, named_keys, newest, few):
    keys = Keys(next(numbers))
    made = data.draw(made_outputs(keys))
    put_made(store, made, data.draw(st.integers(0, 999)))
    kinds = data.draw(st.sets(st.sampled_from(KINDS), min_size=1))
    requested, plain = keys_of_request(keys, named_keys, kinds)
    wanted = [each for each in under(made, plain, kinds) if not few or each.filter_values["native_tokens"] > 0]
    ask = bind(list_created, store, requested, kinds=sorted(kinds), **({"where": [MANY_TOKENS]} if few else {}))
    asyncio.run(check_pages(ask, ids_in_order(wanted, newest=newest), newest))


@pytest.mark.thorough
@examples(data=st.data(), named_keys=st.sampled_from([*NAMED_KEYS, [("chain", 0)]]), newest=st.booleans())
def test_what_is_unspent_at_a_ledger_index_comes_once_and_every_page_shows_that_state(store, data, named_keys, newest):
    keys = Keys(next(numbers))
    made = data.draw(made_outputs(keys))
    put_made(store, made, data.draw(st.integers(0, 999)))
    kinds = data.draw(st.sets(st.sampled_from(KINDS), min_size=1))
    requested, plain = keys_of_request(keys, named_keys, kinds)
    as_of = data.draw(st.integers(0, LAST))
    wanted = [each for each in under(made, plain, kinds) if is_unspent(each, as_of)]
    ask = bind(list_unspent, store, requested, kinds=sorted(kinds), as_of=as_of)
    asyncio.run(check_pages(ask, ids_in_order(wanted, newest=newest), newest))


def is_unspent(each, as_of):
    return each.milestone <= as_of and (each.spent is None or each.spent > as_of)


@pytest.mark.thorough
@examples(data=st.data(), newest=st.booleans())
def test_all_that_is_unspent_begins_with_genesis_wherever_a_page_ends(store, data, newest):
    with store.batch() as batch:
        for table in (schema.unspent_outputs, schema.unspent_hints):
            batch.clear(table)
        batch.upsert(schema.ledger_frontier, ("network", "ledger_index"), [("net", 0), ("net", LAST)])
    keys = Keys(next(numbers))
    made = data.draw(made_outputs(keys, most=15))
    if data.draw(st.booleans()):
        made += [dataclasses.replace(each, milestone=0) for each in data.draw(made_outputs(Keys(-1 - next(numbers))))]
    put_made(store, made, data.draw(st.integers(0, 999)), genesis=0)
    kinds = sorted(data.draw(st.sets(st.sampled_from(KINDS), min_size=1)))
    as_of = data.draw(st.integers(0, LAST))
    wanted = [each for each in made if each.kind in kinds and is_unspent(each, as_of)]
    # A store is read only once for where genesis has outputs, and here each example has another genesis.
    ask = bind(list_all_unspent, Counting(store), "net", kinds=kinds, as_of=as_of)
    asyncio.run(check_pages(ask, ids_in_order(wanted, newest=newest), newest))


@pytest.mark.thorough
@examples(data=st.data(), kind=st.sampled_from(sorted(CHAIN_BYTES)), newest=st.booleans())
def test_a_chain_s_history_has_every_state_in_the_order_they_took_effect(store, data, kind, newest):
    keys = Keys(next(numbers))
    made = [each for each in data.draw(made_outputs(keys)) if each.kind == kind]
    put_made(store, made, data.draw(st.integers(0, 999)))
    chain = keys.key(kind, "chain", 0)
    states = sorted(under(made, {("chain", chain)}), key=lambda each: (each.milestone, each.position), reverse=newest)
    ask = bind(list_states, store, kind, chain.hex())
    asyncio.run(check_pages(ask, [each.output_id.hex() for each in states], newest))


async def test_the_state_of_a_chain_at_a_ledger_index_is_the_last_one_until_it_is_destroyed(store):
    """Created at 3, changed twice in 5, destroyed at 9."""
    chain, lives = b"\x07" * 32, [(3, 0, 5), (5, 1, 5), (5, 4, 9)]
    # The ids descend from state to state: within a milestone, states are not in the order of ids.
    made = [
        Made("alias", at, position, bytes([255 - number]) * 34, {"chain": chain}, spent)
        for number, (at, position, spent) in enumerate(lives)
    ]
    put_made(store, made, 1)
    found = {}
    for as_of in range(11):
        row = await find_unspent_state(store, "alias", chain.hex(), as_of)
        found[as_of] = None if row is None else row["output_id"][:2]
    assert found == {0: None, 1: None, 2: None, 3: "ff", 4: "ff"} | dict.fromkeys(range(5, 9), "fd") | {
        9: None,
        10: None,
    }
    assert await find_unspent_state(store, "nft", chain.hex(), 8) is None


@pytest.mark.thorough
@examples(data=st.data(), newest=st.booleans(), span=st.tuples(st.integers(0, LAST + 2), st.integers(0, LAST + 2)))
def test_between_two_times_comes_what_was_created_then(store, data, newest, span):
    """createdAfter and createdBefore, both exclusive."""
    number = next(numbers)
    keys, network = Keys(number), f"times-{number}"
    made = data.draw(made_outputs(keys))
    put_milestones(store, network, [1_000 * index for index in range(LAST + 1)], ["complete"] * (LAST + 1))
    put_made(store, made, data.draw(st.integers(0, 999)))
    after, before = span
    owner = keys.key("basic", "address", 0)
    wanted = [each for each in under(made, {("address", owner)}) if after < each.milestone < before]

    async def check():
        window = await find_window(store, network, 1_000 * (after + 1), 1_000 * before)
        ask = bind(list_created, store, [By("address", owner.hex())], window=window)
        await check_pages(ask, ids_in_order(wanted, newest=newest), newest)
        ask = bind(list_unspent, store, [By("address", owner.hex())], window=window, as_of=LAST)
        living = [each for each in wanted if is_unspent(each, LAST)]
        await check_pages(ask, ids_in_order(living, newest=newest), newest)

    asyncio.run(check())


def crowd(count, view="sender", kind="basic"):
    """Many outputs under one key, ten per milestone."""
    key = Keys(next(numbers)).key(kind, view, 0)
    made = [
        Made(
            kind, number // 10, number % 10, number.to_bytes(34, "big"), {view: key}, filter_values={"native_tokens": 0}
        )
        for number in range(count)
    ]
    return key, made


async def test_ranges_outside_a_window_are_not_looked_into(store):
    key, made = crowd(10 * LAST)
    put_made(store, made, 1)
    put_milestones(store, "net", [1_000 * index for index in range(LAST + 1)], ["complete"] * (LAST + 1))
    counting = Counting(store)
    window = await find_window(store, "net", 1_000 * 2 * CHUNK_SIZE, 1_000 * (2 * CHUNK_SIZE + 1))
    for ask in (
        bind(list_created, counting, [By("sender", key.hex())], window=window),
        bind(list_unspent, counting, [By("sender", key.hex())], window=window, as_of=LAST),
    ):
        (page,) = await pages(ask, 10, True)
        assert len(page.rows) == 10
    # The rows, and one read ahead.
    assert counting.rows["outputs_by_address"] <= 2 * 11
    assert counting.rows["unspent_outputs"] <= 2 * 11


async def test_a_page_of_many_merged_roles_reads_few_rows_for_each_that_it_shows(store):
    key, made = crowd(10 * LAST)
    spread = [
        dataclasses.replace(each, kind=kind, output_id=bytes([place]) + each.output_id[1:], keys={view: key})
        for place, (kind, view) in enumerate([("basic", "sender"), ("alias", "issuer"), ("nft", "address")] * 1)
        for each in made
    ]
    put_made(store, spread, 1)
    requested = [By(view, key.hex()) for view in OF_ADDRESSES]
    for newest in (True, False):
        cursor = None
        for _ in range(5):
            counting = Counting(store)
            page = await list_created(counting, requested, newest=newest, page_size=20, cursor=cursor)
            assert len(page.rows) == 20
            cursor = page.cursor
            assert counting.rows["outputs_by_address"] <= 4 * 21


async def test_a_filter_that_drops_everything_still_ends_its_page(store):
    key, made = crowd(10 * LAST)
    put_made(store, made, 1)
    none = (Condition("native_tokens", ">", 0),)
    for query, options in ((list_created, {}), (list_unspent, {"as_of": LAST})):
        counting = Counting(store)
        page = await query(
            counting, [By("sender", key.hex())], where=[none], newest=True, page_size=10, cursor=None, **options
        )
        assert page.rows == []
        assert sum(counting.rows.values()) <= 10 * LAST + 60
        assert all(len(each.rows) == 0 for each in await pages(
            bind(query, store, [By("sender", key.hex())], where=[none], **options), 10, True
        ))  # fmt: skip


async def test_a_cursor_of_another_query_is_rejected(store):
    key, made = crowd(40)
    put_made(store, made, 1)
    (sender, issuer) = (By(variant, key.hex()) for variant in ("sender", "issuer"))
    requests = [
        bind(list_created, store, [sender]),
        bind(list_created, store, [sender], kinds=["basic"]),
        bind(list_created, store, [sender], where=[MANY_TOKENS]),
        bind(list_created, store, [sender, issuer]),
        bind(list_unspent, store, [sender], as_of=LAST),
        bind(list_unspent, store, [sender], as_of=LAST, where=[MANY_TOKENS]),
    ]
    cursors = [(await ask(newest=True, page_size=2, cursor=None)).cursor for ask in requests]
    for (cursor, own), ask in itertools.product(zip(cursors, requests, strict=True), requests):
        if cursor is None or own is ask:
            continue
        with pytest.raises(CursorError):
            await ask(newest=True, page_size=2, cursor=cursor)
    assert sum(cursor is not None for cursor in cursors) == 4


@pytest.mark.parametrize("info", [UNSPENT_FROM, COMPACTED_TO])
async def test_a_state_that_was_compacted_since_comes_from_the_history_or_is_rejected(store, info):
    key, made = crowd(40)
    put_made(store, made, 1)
    ask = bind(list_unspent, store, [By("sender", key.hex())])
    first = await ask(newest=True, page_size=2, cursor=None, as_of=LAST)
    following = await ask(newest=True, page_size=2, cursor=first.cursor, as_of=LAST + 1)
    with store.batch() as batch:
        batch.upsert(schema.keyspace_info, ("name", "value"), [(info, str(LAST + 1))])
    try:
        found = await ask(newest=True, page_size=2, cursor=first.cursor, as_of=LAST + 1)
        assert [row["output_id"] for row in found.rows] == [row["output_id"] for row in following.rows]
        assert found.cursor == following.cursor
        with store.batch() as batch:
            batch.upsert(schema.ledger_frontier, ("network", "ledger_index"), [("net", 0), ("net", LAST)])
        every = bind(list_all_unspent, store, "net", newest=True, page_size=2, as_of=LAST)
        cursor = (await every(cursor=None)).cursor
        assert cursor is not None
        with pytest.raises(LedgerUnknown, match=f"at {LAST} is not kept, only that of {LAST + 1} and later"):
            await every(is_fixed=True, cursor=None)
        with pytest.raises(CursorError, match="no longer kept"):
            await every(cursor=cursor)
    finally:
        with store.batch() as batch:
            batch.delete(schema.keyspace_info, (info,))
