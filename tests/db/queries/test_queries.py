"""Queries that take several reads: pending messages, half-written outputs, and how far the ledger is complete."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from db import schema, sync
from db.queries import messages, milestones, outputs, transactions
from db.store import NotFound, StoreDamaged
from etl.store_reads import StoreReads
from etl.writers.archived_marks import find_logged, note_logged, write_logged
from ledger import ids

A, B = b"\xaa" * 32, b"\xbb" * 32


def put(store, table, columns, rows):
    with store.batch() as batch:
        batch.upsert(table, columns, rows)


def sync_rows(indices, *, incomplete=(), layout=schema.LAYOUT, times=None):
    return [
        dict(zip(schema.sync.names, (0, index, (times or {}).get(index, 10 * index), None if index in incomplete else 0,
                                     None, 3, "ids", layout), strict=True))
        for index in indices
    ]  # fmt: skip


def put_range(store, range_id, rows):
    row = sync.range_row("n", range_id, rows)
    put(store, schema.ranges, schema.ranges.names, [tuple(row[name] for name in schema.ranges.names)])


async def test_a_message_is_final_before_it_is_pending(store):
    final, pending = ids.message_id(b"f"), ids.message_id(b"p")
    put(store, schema.pending_messages, ("message_id", "message"), [(final, b"f"), (pending, b"p")])
    put(store, schema.messages, ("message_id", "message", "milestone_index"), [(final, b"f", 0)])
    assert (await messages.get_message(store, final.hex()))["milestone_index"] == 0
    assert "milestone_index" not in await messages.get_message(store, pending.hex())
    assert await messages.find_message(store, "cc" * 32) is None
    with pytest.raises(NotFound, match="message cccc"):
        await messages.get_message(store, "cc" * 32)


async def test_bytes_that_are_not_those_of_the_id_are_damage(store):
    right, wrong = ids.message_id(b"f"), ids.message_id(b"p")
    put(store, schema.messages, ("message_id", "message"), [(right, b"f"), (wrong, b"q")])
    assert [row["message"] for row in await messages.find_messages(store, [right.hex(), "cc" * 32])] == [b"f"]
    assert store.damage() is None
    for query in (messages.get_message(store, wrong.hex()), messages.find_messages(store, [right.hex(), wrong.hex()])):
        with pytest.raises(StoreDamaged, match=f"message {wrong.hex()} have another hash"):
            await query
    assert store.damage() == f"the bytes of message {wrong.hex()} have another hash"


async def test_an_output_whose_creator_is_not_loaded_is_not_found(store):
    output_id = A + b"\x00\x00"
    put(store, schema.outputs, ("output_id", "spent_milestone_index"), [(output_id, 9)])
    with pytest.raises(NotFound, match="output aa"):
        await outputs.get_output(store, output_id.hex())
    put(store, schema.outputs, ("output_id", "created_milestone_index"), [(output_id, 0)])
    assert (await outputs.get_output(store, output_id.hex()))["spent_milestone_index"] == 9


@pytest.mark.parametrize("newest", [True, False])
async def test_a_history_begins_after_genesis_and_a_row_on_both_sides_of_a_page_comes_once(store, newest):
    address = b"\x00" + A
    placed = [(address, m % 3 > 0, m // 7, 0, m, message, message) for m in range(20) for message in (A, B)]
    with store.batch() as batch:
        batch.upsert(schema.transactions_by_address, schema.transactions_by_address.key, placed)
        hints = {(address, "transaction", "address", *row[1:4]) for row in placed}
        batch.upsert(schema.addresses_hints, schema.addresses_hints.names, hints)
    cursor, shown = None, []
    while True:
        page = await transactions.list_history(
            store, address.hex(), range(5, 16), newest=newest, page_size=3, cursor=cursor
        )
        assert page.as_of == 15
        shown += [(row["milestone_index"], row["message_id"]) for row in page.rows]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page.rows) == 3
    expected = [(m, message.hex()) for m in range(5, 16) for message in (A, B)]
    assert shown == (expected[::-1] if newest else expected)


async def test_milestones_are_found_by_index_and_by_id(store):
    put(store, schema.milestones, ("milestone_index", "milestone_id"), [(0, A)])
    put(store, schema.milestone_ids, schema.milestone_ids.names, [(A, 0)])
    assert (await milestones.get_milestone(store, 0))["milestone_id"] == A.hex()
    assert (await milestones.find_milestone_by_id(store, A.hex()))["milestone_index"] == 0
    assert await milestones.find_milestone_by_id(store, B.hex()) is None
    with pytest.raises(NotFound, match="milestone 1"):
        await milestones.get_milestone(store, 1)


def test_a_range_row_sums_what_is_complete_and_lists_what_is_not():
    rows = sync_rows([8, 7, 10, 11, 12], incomplete={11}, times={8: 500})
    assert sync.range_row("n", 1, rows) == {
        "network": "n",
        "ms_range_id": 1,
        "complete": "[[7, 8], [10, 10], [12, 12]]",
        "incomplete": "[[11, 11]]",
        "milestone_count": 4,
        "message_count": 12,
        "min_timestamp": 70,
        "max_timestamp": 500,
        "rising": False,
        "layout": 2,
        "logged": "[]",
    }


def test_repeated_timestamps_rise_and_an_empty_range_has_none():
    assert sync.range_row("n", 0, sync_rows([1, 2, 3], times={1: 5, 2: 5, 3: 5}))["rising"] is True
    empty = sync.range_row("n", 0, sync_rows([1], incomplete={1}))
    assert (empty["milestone_count"], empty["min_timestamp"], empty["complete"]) == (0, None, "[]")


def test_a_milestone_of_an_earlier_layout_is_not_complete():
    row = sync.range_row("n", 0, sync_rows([1, 2], layout=schema.LAYOUT - 1))
    assert (row["complete"], row["incomplete"]) == ("[]", "[[1, 2]]")


async def test_the_ledger_index_is_the_end_of_the_first_complete_run_across_ranges(store):
    assert await milestones.get_ledger_index(store, "n") == 0
    assert await sync.find_newest_milestone(store, "n") is None
    put_range(store, 0, sync_rows([2, 3, 4, 5, 6]))
    put_range(store, 1, sync_rows([7, 8, 10], incomplete={11}))
    put_range(store, 5, sync_rows([35, 36, 37], incomplete={36}))
    assert await sync.complete(store, "n") == [(2, 8), (10, 10), (35, 35), (37, 37)]
    assert (await sync.held(store, "n")).incomplete == [(36, 36)]
    assert await milestones.get_ledger_index(store, "n") == 8
    assert await sync.find_newest_milestone(store, "n") == 37
    assert await sync.complete(store, "another") == []


def test_what_archive_files_hold_is_noted_once_and_only_of_what_is_complete(store):
    """Complete: 2–8, 10, 30–34; files contain 5–31. Marks of a killed run are in `sync` but not yet in `ranges`."""
    for range_id, held in ((0, range(2, 7)), (1, (7, 8, 10, 11)), (4, range(30, 35))):
        rows = sync_rows(held, incomplete={11})
        put(store, schema.sync, schema.sync.names, [(range_id, *list(row.values())[1:]) for row in rows])
        put_range(store, range_id, rows)
    with store.batch() as batch:
        write_logged(batch, 7, [(6, 7)])
    marked = [5, 6, 7, 8, 10, 30, 31]
    with closing(StoreReads(store, "n")) as reads:
        assert reads.held() == sync.Held([(2, 8), (10, 10), (30, 34)], [(11, 11)], [], 13 * 3)
        assert find_logged(reads, 7, [(2, 34)]) == [(6, 7)]
        for _ in range(2):
            note_logged(store, reads, 7, [(5, 31)])
            assert reads.held().logged == [(5, 8), (10, 10), (30, 31)]
            assert reads.held().unlogged == [(2, 4), (32, 34)]
            assert find_logged(reads, 7, [(2, 34)]) == [(5, 8), (10, 10), (30, 31)]
        found = [row for each in (0, 1, 4) for row in reads.sync_rows(each)]
        assert sorted(row["milestone_index"] for row in found if row["logged_by"] == 0) == marked
        assert {row["message_count"] for row in found} == {3}, "the rest of a row stays"


def test_any_thread_may_query_and_leaves_no_read_under_way(store):
    put(store, schema.keyspace_info, schema.keyspace_info.names, [(f"name {each}", str(each)) for each in range(50)])
    with closing(StoreReads(store, "n")) as reads, ThreadPoolExecutor(8) as pool:
        assert [*pool.map(lambda each: reads.info(f"name {each % 50}"), range(400))] == [
            str(each % 50) for each in range(400)
        ]
        put(store, schema.keyspace_info, schema.keyspace_info.names, [("name 7", "later")])
        assert {*pool.map(reads.info, ["name 7"] * 100)} == {"later"}


async def test_a_range_written_before_logged_milestones_were_summed_names_none(store):
    put(store, schema.ranges, ("network", "ms_range_id", "complete"), [("n", 0, "[[1, 6]]")])
    found = await sync.held(store, "n")
    assert (found.logged, found.unlogged, found.messages) == ([], [(1, 6)], 0)


async def test_ranges_are_read_a_hundred_at_a_time_to_the_end(store):
    for range_id in range(205):
        put_range(store, range_id, sync_rows([range_id * 7 + offset for offset in range(7)]))
    assert await sync.complete(store, "n") == [(0, 205 * 7 - 1)]
    assert await milestones.get_ledger_index(store, "n") == 205 * 7 - 1


async def test_parameters_are_those_announced_by_then_and_of_several_for_one_milestone_the_last(store):
    columns = ("network", "milestone_index", "announced_by", "params")
    announced = [(40, 30, b"first"), (40, 31, b"second"), (60, 45, b"later"), (20, 10, b"early")]
    put(store, schema.protocol_parameters, columns, [("n", *row) for row in announced])

    async def known(milestone_index):
        rows = await milestones.list_parameters(store, "n", milestone_index)
        return [(row["milestone_index"], row["params"]) for row in rows]

    assert await known(9) == []
    assert await known(10) == [(20, b"early")]
    assert await known(30) == [(40, b"first"), (20, b"early")]
    assert await known(44) == [(40, b"second"), (20, b"early")]
    assert await known(45) == [(60, b"later"), (40, b"second"), (20, b"early")]
    assert await milestones.list_parameters(store, "another", 50) == []


async def test_a_milestone_that_is_not_loaded_has_no_timestamp(store):
    put(store, schema.milestones, ("milestone_index", "timestamp"), [(3, 30), (4, 40)])
    assert await milestones.find_timestamps(store, [4, 5, 3]) == [40, None, 30]
