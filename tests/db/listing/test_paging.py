"""Pages of listings: every page size, both orders, one stream and several, pending rows, inserts between pages."""

import asyncio
import hashlib
import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db import schema
from db.listing.cursor import CHECKS, Cursor, CursorError, format_cursor, parse_cursor
from db.listing.page import list_lookup
from db.model import Type
from db.partitions import place
from db.queries import messages, outputs, transactions
from tests.db.examples import examples

CHUNK_SIZE = 7
TAGS, ADDRESSES, _ = schema.LOOKUPS
fresh_tags = (hashlib.blake2b(str(number).encode(), digest_size=20).digest() for number in itertools.count())


def message_id(number):
    return hashlib.blake2b(str(number).encode(), digest_size=32).digest()


def put_tagged(store, tag, rows, firsts=()):
    """Rows (milestone, message id) under a tag, cut at the splits given, with their hints and messages."""
    placed = [
        (m // CHUNK_SIZE, place([f for f in firsts if f // CHUNK_SIZE == m // CHUNK_SIZE], m), m, i) for m, i in rows
    ]
    with store.batch() as batch:
        batch.upsert(schema.messages, ("message_id", "milestone_index"), [(i, m) for m, i in rows])
        batch.upsert(schema.tags, schema.tags.key, [(tag, *row) for row in placed])
        batch.upsert(schema.tag_hints, schema.tag_hints.names, {(tag, "message", *row[:2]) for row in placed})


def put_pending(store, lookup, key, rows):
    """Pending rows (expected milestone, message id) of one key."""
    with store.batch() as batch:
        batch.upsert(
            schema.pending,
            schema.pending.names,
            [(lookup, key, schema.PENDING_RANGE, m // 10, m, i, i) for m, i in rows],
        )
        batch.upsert(schema.pending_hints, schema.pending_hints.names, {(lookup, key, m // 10) for m, _ in rows})


async def pages(ask, page_size, newest, between=lambda _: None):
    """All pages of a listing. The work of each is bounded, and only the last has no cursor."""
    cursor, found = None, []
    for number in itertools.count():
        page = await ask(newest=newest, page_size=page_size, cursor=cursor)
        assert len(page.rows) <= page_size
        found.append(page)
        if page.cursor is None:
            return found
        cursor = page.cursor
        between(number)
        assert number < 500, "the listing does not end"
    raise AssertionError


def ids(found):
    return [row["message_id"] for page in found for row in page.rows]


lists = st.lists(st.integers(0, 30), max_size=40)


@examples(milestones=lists, firsts=st.sets(st.integers(0, 30), max_size=8), newest=st.booleans())
def test_every_page_size_gives_the_same_rows_in_order(store, milestones, firsts, newest):
    tag = next(fresh_tags)
    rows = [(m, message_id((tag, n))) for n, m in enumerate(milestones)]
    put_tagged(store, tag, rows, sorted(firsts))
    wanted = [i.hex() for _, i in sorted(rows, reverse=newest)]

    async def ask(**page):
        return await messages.list_tagged(store, tag.hex(), **page)

    async def check():
        for page_size in [*range(1, len(rows) + 2), 1000]:
            found = await pages(ask, page_size, newest)
            assert ids(found) == wanted
            assert [len(page.rows) for page in found[:-1]] == [page_size] * (len(found) - 1)
            assert found[-1].rows or not rows

    asyncio.run(check())


@examples(data=st.data(), newest=st.booleans(), page_size=st.integers(1, 9))
def test_several_keys_are_merged_in_one_order_and_a_row_comes_once(store, data, newest, page_size):
    address = next(fresh_tags)
    kinds = ("legacy", "basic", "nft")
    key_of = {kind: (address, kind, "address", True) for kind in kinds}
    wanted = set()
    with store.batch() as batch:
        for kind in kinds:
            firsts = sorted(data.draw(st.sets(st.integers(0, 30), max_size=5)))
            for m, number in data.draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=12)):
                row_id = message_id((m, number))
                first = place([f for f in firsts if f // CHUNK_SIZE == m // CHUNK_SIZE], m)
                at = (*key_of[kind], m // CHUNK_SIZE, first)
                batch.upsert(schema.outputs_by_address, schema.outputs_by_address.key, [(*at, m, row_id, row_id)])
                batch.upsert(schema.addresses_hints, schema.addresses_hints.names, [at])
                wanted.add((m, row_id.hex()))
    keys = [(address.hex(), kind, "address", True) for kind in kinds]

    async def ask(**page):
        return await list_lookup(store, ADDRESSES, keys, **page)

    found = asyncio.run(pages(ask, page_size, newest))
    assert ids(found) == [row_id for _, row_id in sorted(wanted, reverse=newest)]
    assert all(len(page.rows) == page_size for page in found[:-1])


@examples(final=lists, expected=lists, newest=st.booleans(), page_size=st.integers(1, 9), seed=st.integers(0, 999))
def test_pending_rows_are_at_the_newest_end_while_messages_does_not_know_them(
    store, final, expected, newest, page_size, seed
):
    tag = next(fresh_tags)
    rows = [(m, message_id((tag, n))) for n, m in enumerate(final)]
    waiting = [(m, message_id((tag, "pending", n))) for n, m in enumerate(expected)]
    put_tagged(store, tag, rows)
    known = random.Random(seed).sample(rows, len(rows) // 3)
    put_pending(store, "tags", tag.hex(), [*waiting, *((3, i) for _, i in known)])
    ordered = [i.hex() for _, i in sorted(rows)] + [i.hex() for _, i in sorted(waiting)]

    async def ask(**page):
        return await messages.list_tagged(store, tag.hex(), **page)

    found = asyncio.run(pages(ask, page_size, newest))
    assert ids(found) == (ordered[::-1] if newest else ordered)
    assert all(len(page.rows) == page_size for page in found[:-1])


@pytest.mark.thorough
@examples(
    milestones=st.lists(st.integers(1, 20), max_size=12),
    pending_count=st.integers(0, 8),
    newest=st.booleans(),
    page_size=st.integers(1, 4),
    seed=st.integers(0, 999),
)
def test_rows_that_come_between_pages_disturb_nothing_that_was_there(
    store, milestones, pending_count, newest, page_size, seed
):
    """Between any two pages: new milestones, filled gaps, and pending rows that a new milestone references."""
    tag, chance = next(fresh_tags), random.Random(seed)
    rows = [(m, message_id((tag, n))) for n, m in enumerate(milestones)]
    waiting = [(21, message_id((tag, "pending", n))) for n in range(pending_count)]
    put_tagged(store, tag, rows)
    put_pending(store, "tags", tag.hex(), waiting)
    left = chance.sample(waiting, len(waiting))

    def between(number):
        if chance.random() < 0.5:
            put_tagged(store, tag, [(chance.randint(0, 20), message_id((tag, "gap", number)))])
        if chance.random() < 0.5 and number < 50:
            put_tagged(store, tag, [(21 + number, message_id((tag, "new", number)))])
        if left and chance.random() < 0.5:
            put_tagged(store, tag, [(21 + number, left.pop()[1])])

    async def ask(**page):
        return await messages.list_tagged(store, tag.hex(), **page)

    found = ids(asyncio.run(pages(ask, page_size, newest, between)))
    assert len(found) == len(set(found)), "no duplicates"
    assert {i.hex() for _, i in [*rows, *waiting]} <= set(found), "complete"
    final = [i.hex() for _, i in sorted(rows, reverse=newest)]
    assert [i for i in found if i in set(final)] == final, "in order"


async def test_children_and_milestone_messages_page_without_hints(store):
    parent, children = message_id("p"), [message_id(n) for n in range(9)]
    with store.batch() as batch:
        batch.upsert(schema.parents, schema.parents.key, [(parent, n // 3, child) for n, child in enumerate(children)])
        batch.upsert(schema.messages, ("message_id",), [(child,) for child in children])
    put_pending(store, "parents", parent.hex(), [(4, message_id("later"))])
    wanted = sorted((n // 3, child) for n, child in enumerate(children))
    for page_size in range(1, 12):
        ask = bind(messages.list_children, store, parent.hex())
        assert ids(await pages(ask, page_size, False)) == [i.hex() for _, i in wanted] + [message_id("later").hex()]
        assert ids(await pages(ask, page_size, True)) == [message_id("later").hex()] + [
            i.hex() for _, i in wanted[::-1]
        ]


async def test_the_children_of_the_null_message_are_many_and_still_a_page_is_a_page(store):
    """The first messages of a network approve 00…0, the only parent with an unbounded number of children."""
    with store.batch() as batch:
        batch.upsert(schema.parents, schema.parents.key, [(b"\0" * 32, n, message_id(n)) for n in range(5000)])
    counting = Counting(store)
    found = await pages(bind(messages.list_children, counting, "00" * 32), 700, False)
    assert ids(found) == [message_id(n).hex() for n in range(5000)]
    assert counting.rows["parents"] <= 5000 + len(found)


def bind(query, *arguments, **filters):
    async def ask(**page):
        return await query(*arguments, **filters, **page)

    return ask


@pytest.mark.parametrize("newest", [True, False])
async def test_filters_are_applied_before_a_page_is_filled(store, newest):
    address, rows = b"\x00" * 33, [(m, message_id(m)) for m in range(60)]
    put_outputs(store, address, rows, spent={m for m in range(60) if m % 3})
    for page_size in (1, 2, 3, 7, 19, 20, 21):
        ask = bind(outputs.list_outputs_by_address, store, address.hex(), include_spent=False)
        found = await pages(ask, page_size, newest)
        assert [row["milestone_index"] for page in found for row in page.rows] == sorted(
            range(0, 60, 3), reverse=newest
        )
        assert all(len(page.rows) == page_size for page in found[:-1])
    ask = bind(outputs.list_outputs_by_address, store, address.hex(), output_type=1)
    found = await pages(ask, 7, newest)
    assert [row["milestone_index"] for page in found for row in page.rows] == sorted(range(0, 60, 2), reverse=newest)


def put_outputs(store, address, rows, spent=()):
    """Included outputs of an address; even milestones have output type 1."""
    by_address = [
        (address, "legacy", "address", True, m // CHUNK_SIZE, 0, m, i + b"\x00\x00", i, int(m % 2 == 0))
        for m, i in rows
    ]
    with store.batch() as batch:
        batch.upsert(schema.outputs_by_address, (*schema.outputs_by_address.key, "output_type"), by_address)
        batch.upsert(schema.addresses_hints, schema.addresses_hints.names, {row[:6] for row in by_address})
        batch.upsert(schema.outputs, ("output_id", "created_milestone_index"), [(i + b"\x00\x00", m) for m, i in rows])
        batch.upsert(
            schema.outputs,
            ("output_id", "spent_milestone_index"),
            [(i + b"\x00\x00", 99) for m, i in rows if m in spent],
        )


class Counting:
    """A store that counts the rows read of each table."""

    def __init__(self, store):
        self._store = store
        self.rows = {}

    async def get(self, table, key):
        return await self._store.get(table, key)

    async def get_many(self, table, keys):
        return await self._store.get_many(table, keys)

    async def slice(self, table, partition, **options):
        found = await self._store.slice(table, partition, **options)
        self.rows[table.name] = self.rows.get(table.name, 0) + len(found)
        return found

    async def scan(self, table, partition, where, **options):
        found = await self._store.scan(table, partition, where, **options)
        self.rows[table.name] = self.rows.get(table.name, 0) + found.examined
        return found


async def test_the_work_of_a_page_is_bounded_and_hints_are_read_lazily(store):
    tag = b"popular"
    put_tagged(store, tag, [(m, message_id(m)) for m in range(1000)])
    cursor = None
    for newest in (True, False):
        for _ in range(5):
            counting = Counting(store)
            page = await messages.list_tagged(counting, tag.hex(), newest=newest, page_size=10, cursor=cursor)
            cursor = page.cursor
            assert counting.rows["tags"] <= 3 * 11
            assert counting.rows["tag_hints"] <= 51
        cursor = None


async def test_the_work_of_a_page_of_a_history_is_bounded_though_two_lists_are_merged(store):
    address = b"\x00" + b"\x02" * 32
    rows = [(address, m % 2 > 0, m // CHUNK_SIZE, 0, m, message_id(m), message_id(m)) for m in range(1000)]
    with store.batch() as batch:
        batch.upsert(schema.transactions_by_address, schema.transactions_by_address.key, rows)
        hints = {(address, "transaction", "address", *row[1:4]) for row in rows}
        batch.upsert(schema.addresses_hints, schema.addresses_hints.names, hints)
    listings = (
        (transactions.list_history, {"applied": range(1, 900)}),
        (transactions.list_by_address, {"included": (True, False)}),
    )
    for (list_page, filters), newest in itertools.product(listings, (True, False)):
        cursor = None
        for _ in range(5):
            counting = Counting(store)
            ask = bind(list_page, counting, address.hex(), **filters)
            page = await ask(newest=newest, page_size=10, cursor=cursor)
            assert len(page.rows) == 10
            cursor = page.cursor
            assert counting.rows["transactions_by_address"] <= 4 * 11
            assert counting.rows["addresses_hints"] <= 102


async def test_a_filter_that_drops_everything_still_ends_its_page(store):
    address = b"\x00" + b"\x01" * 32
    put_outputs(store, address, [(m, message_id(m)) for m in range(3000)], spent=set(range(3000)))
    counting, cursor, number = Counting(store), None, 0
    while cursor is not None or not number:
        counting.rows.clear()
        page = await outputs.list_outputs_by_address(
            counting, address.hex(), include_spent=False, newest=True, page_size=1, cursor=cursor
        )
        assert page.rows == []
        assert counting.rows.get("outputs_by_address", 0) <= 400
        cursor, number = page.cursor, number + 1
    assert 8 <= number <= 11


async def test_a_cursor_of_another_query_order_or_filter_is_rejected(store):
    rows = [(m, message_id(m)) for m in range(5)]
    for tag in (b"one", b"two"):
        put_tagged(store, tag, rows)
    put_outputs(store, b"\x00" * 33, rows)

    async def cursor_of(ask, *, newest):
        return (await ask(newest=newest, page_size=2, cursor=None)).cursor

    address = ("00" * 33,)
    requests = [
        bind(messages.list_tagged, store, b"one".hex()),
        bind(messages.list_tagged, store, b"two".hex()),
        bind(outputs.list_outputs_by_address, store, *address),
        bind(outputs.list_outputs_by_address, store, *address, include_spent=False),
        bind(outputs.list_outputs_by_address, store, *address, output_type=0, include_spent=True),
    ]
    cursors = [(await cursor_of(ask, newest=newest), ask, newest) for ask in requests for newest in (True, False)]
    for cursor, own, order in cursors:
        for ask, newest in itertools.product(requests, (True, False)):
            if (ask, newest) == (own, order):
                await ask(newest=newest, page_size=3, cursor=cursor)
            elif cursor is not None:
                with pytest.raises(CursorError):
                    await ask(newest=newest, page_size=3, cursor=cursor)


keys = st.tuples(st.integers(0, 2**31 - 1), st.binary(max_size=34).map(bytes.hex))
milestones_of_cursors = st.integers(0, 2**31 - 1)
cursors = st.one_of(
    st.builds(Cursor, keys),
    st.builds(Cursor, keys, final_to=milestones_of_cursors),
    st.builds(Cursor, keys, st.just(value=True), st.just(-1) | milestones_of_cursors),
)
KEY = (CHECKS[Type.INT], CHECKS[Type.HEX])


def parsed(text, query, cursor):
    has_state = not cursor.pending and cursor.final_to is not None
    return parse_cursor(text, query, KEY, pending=KEY, has_state=has_state)


@given(cursor=cursors, query=st.text())
def test_a_cursor_survives_its_text(cursor, query):
    text = format_cursor(cursor, query)
    assert parsed(text, query, cursor) == cursor
    assert text.isascii()
    assert not set(text) & set("+/=&?# ")


@given(cursor=cursors, data=st.data())
def test_a_damaged_cursor_is_rejected(cursor, data):
    text = format_cursor(cursor, "q")
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda c: c != text[at]))
    for damaged in (text[:at] + other + text[at + 1 :], text[:at], text + other):
        with pytest.raises(CursorError):
            parsed(damaged, "q", cursor)


@given(st.text())
def test_garbage_is_rejected_as_a_cursor(text):
    with pytest.raises(CursorError):
        parse_cursor(text, "q", KEY)


async def test_an_unknown_key_is_an_empty_last_page(store):
    page = await messages.list_tagged(store, "ff", newest=True, page_size=1, cursor=None)
    assert (page.rows, page.cursor) == ([], None)
