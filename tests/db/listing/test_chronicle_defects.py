"""Defects of Chronicle v1's listings. Each test is named after the defect; they were found in its source code.

tests/api tests its wrong responses about reattached transactions (chronicle.rs#132).
"""

import pytest

from db import schema
from db.queries import messages, outputs
from tests.db.listing.test_paging import bind, ids, message_id, pages, put_pending, put_tagged

TAG = b"tag"


@pytest.mark.parametrize("newest", [True, False])
@pytest.mark.parametrize("page_size", [7, 8, 10, 20, 21, 61, 62, 63, 100])
async def test_a_page_that_ends_where_a_partition_does_neither_repeats_nor_loses_nor_loops(store, page_size, newest):
    """62 rows in 4 partitions: pages of 8 looped forever and missed 30 rows; pages of 62 repeated."""
    rows = [(n // 16 * 7, message_id(n)) for n in range(62)]
    put_tagged(store, TAG, rows)
    found = await pages(bind(messages.list_tagged, store, TAG.hex()), page_size, newest)
    assert ids(found) == [i.hex() for _, i in sorted(rows, reverse=newest)]
    assert len(found) == -(-62 // page_size)


async def test_a_milestone_filled_in_later_hides_nothing_newer(store):
    """A hint contained the milestone written last, and reads started there: filling in 31 hid 32 to 35."""
    rows = [(m, message_id(m)) for m in range(29, 36)]
    put_tagged(store, TAG, [row for row in rows if row[0] != 31])
    put_tagged(store, TAG, [rows[2]])
    page = await messages.list_tagged(store, TAG.hex(), newest=True, page_size=100, cursor=None)
    assert [row["milestone_index"] for row in page.rows] == [35, 34, 33, 32, 31, 30, 29]


@pytest.mark.parametrize("newest", [True, False])
async def test_a_hint_whose_rows_are_gone_is_passed_over(store, newest):
    """Its hints were never deleted, and guessed rows left hints behind that lead nowhere."""
    rows = [(m, message_id(m)) for m in (1, 15, 29)]
    put_tagged(store, TAG, rows)
    with store.batch() as batch:
        stale = [(TAG, "message", range_id, partition) for range_id, partition in ((0, 3), (1, 0), (3, 0), (9, 0))]
        batch.upsert(schema.tag_hints, schema.tag_hints.names, stale)
    for page_size in (1, 2, 3, 4):
        found = await pages(bind(messages.list_tagged, store, TAG.hex()), page_size, newest)
        assert ids(found) == [i.hex() for _, i in sorted(rows, reverse=newest)]


async def test_a_row_whose_milestone_was_guessed_wrong_is_listed_once_and_where_it_belongs(store):
    """A wrong guess stayed as a second row of the same message once the cache had evicted it."""
    put_pending(store, "tags", TAG.hex(), [(5, message_id("guessed")), (5, message_id("still pending"))])
    put_tagged(store, TAG, [(4, message_id(4)), (9, message_id("guessed")), (11, message_id(11))])
    page = await messages.list_tagged(store, TAG.hex(), newest=True, page_size=100, cursor=None)
    wanted = ["still pending", 11, "guessed", 4]
    assert [row["message_id"] for row in page.rows] == [message_id(each).hex() for each in wanted]


async def test_a_conflicting_reattachment_in_the_same_milestone_takes_nothing_from_the_included_one(store):
    """The key of its address rows did not contain the message: one attachment overwrote another and its state."""
    address, transaction_id = b"\0" * 33, message_id("transaction")
    low, high = sorted((message_id("a"), message_id("b")))
    for included, conflicting in ((low, high), (high, low)):
        with store.batch() as batch:
            for attachment in (included, conflicting):
                state = 1 if attachment == included else 2
                row = (address, "legacy", "address", state == 1, 1, 0, 8, transaction_id + b"\0\0", attachment)
                batch.upsert(schema.outputs_by_address, schema.outputs_by_address.key, [row])
                batch.upsert(schema.addresses_hints, schema.addresses_hints.names, [row[:6]])
                batch.upsert(
                    schema.transactions_by_state,
                    schema.transactions_by_state.names,
                    [(transaction_id, state, attachment, 8)],
                )
            columns = ("output_id", "created_milestone_index", "created_message_id")
            batch.upsert(schema.outputs, columns, [(transaction_id + b"\0\0", 8, included)])
        for only_included in (True, False):
            page = await outputs.list_outputs_by_address(
                store,
                address.hex(),
                included=only_included,
                with_inclusion=True,
                newest=True,
                page_size=9,
                cursor=None,
            )
            assert [(row["message_id"], row["included"]) for row in page.rows] == [(included.hex(), True)]
        with store.batch() as batch:
            for flag in (True, False):
                batch.delete(schema.outputs_by_address, (address, "legacy", "address", flag, 1, 0))


@pytest.mark.parametrize("newest", [True, False])
@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 9])
async def test_an_output_that_only_conflicting_attachments_have_comes_once(store, newest, page_size):
    """It was listed once per page, so twice when its attachments were on two pages."""
    address, lookup = b"\0" * 33, (b"\0" * 33, "legacy", "address")
    outside = {n: [message_id((n, attachment)) for attachment in range(3)] for n in range(4)}
    inside = [message_id(("included", n)) for n in range(4)]
    rows = [
        (*lookup, False, (3 * n + k) // 7, 0, 3 * n + k, message_id(n) + b"\0\0", attachment)
        for n, attachments in outside.items()
        for k, attachment in enumerate(attachments)
    ]
    rows += [(*lookup, True, 4 * n // 7, 0, 4 * n, i + b"\0\0", i) for n, i in enumerate(inside)]
    with store.batch() as batch:
        batch.upsert(schema.outputs_by_address, schema.outputs_by_address.key, rows)
        batch.upsert(schema.addresses_hints, schema.addresses_hints.names, {row[:6] for row in rows})
        batch.upsert(schema.outputs, ("output_id", "created_milestone_index"), [(i + b"\0\0", 1) for i in inside])
        batch.upsert(
            schema.transactions_by_state,
            schema.transactions_by_state.names,
            [(message_id(n), 2, attachment, 1) for n, attachments in outside.items() for attachment in attachments],
        )
    ask = bind(outputs.list_outputs_by_address, store, address.hex(), included=False)
    found = await pages(ask, page_size, newest)
    shown = [row["output_id"] for page in found for row in page.rows]
    assert len(shown) == 8
    assert set(shown) == {(i + b"\0\0").hex() for i in [*inside, *(message_id(n) for n in outside)]}
    order = [(row["milestone_index"], row["output_id"]) for page in found for row in page.rows]
    assert order == sorted(order, reverse=newest)
    assert all(len(page.rows) == page_size for page in found[:-1]), "no page is short"
    ask = bind(outputs.list_outputs_by_address, store, address.hex())
    assert sorted(ids(await pages(ask, page_size, newest))) == sorted(i.hex() for i in inside)
