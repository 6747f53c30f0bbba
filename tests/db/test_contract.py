"""The contract of the Store port, the same for every adapter. Expectations are literals; none comes from an adapter."""

import asyncio
import dataclasses
import inspect
import itertools
import threading
import time
from datetime import UTC, datetime
from hashlib import blake2b

import pytest

from db import schema
from db.admin.migrate import migrate
from db.connect import open_store
from db.store import Bound, Condition, LeaseHeld, Passed, Store, StoreError, StoreMismatch, WritableStore
from tests.db.stores import WRITERS, reopened

A, B, C, D = (bytes([number]) * 32 for number in (0xA1, 0xB2, 0xC3, 0xD4))
OUTPUT = A + b"\x01\x00"


ON_EACH_WRITER = pytest.mark.parametrize("settings", WRITERS, indirect=True)


def put(store, table, columns, rows, *, publish=False):
    with store.batch(publish=publish) as batch:
        return batch.upsert(table, columns, rows)


@pytest.mark.parametrize("port", [Store, WritableStore])
def test_an_adapter_has_the_signatures_of_the_port(store, port):
    for name, wanted in inspect.getmembers(port, inspect.isfunction):
        if name.startswith("_"):
            continue
        found = getattr(type(store), name)
        assert list(inspect.signature(found).parameters.values()) == list(inspect.signature(wanted).parameters.values())
        assert inspect.iscoroutinefunction(found) == inspect.iscoroutinefunction(wanted), name


def test_a_check_names_messages_whose_bytes_have_another_hash(store):
    rows = [(blake2b(each, digest_size=32).digest(), each, 7) for each in (b"a", b"b")]
    put(store, schema.messages, ("message_id", "message", "milestone_index"), [*rows, (C, b"c", 9)])
    progress = []
    (found,) = store.check(100, lambda *of: progress.append(of))
    assert (found.table, found.rows, found.milestones) == ("messages", f"message_id {C.hex()}", [(9, 9)])
    assert found.cause == "its bytes have another hash"
    assert "messages" in [name for name, _, _ in progress]
    assert store.damage() == "messages: its bytes have another hash"


async def test_a_row_comes_back_in_the_types_of_its_columns(store):
    put(store, schema.messages, schema.messages.names, [(A, 1, b"\x00\xff", 7, 1_600_000_000_000, 3, 1, 255)])
    assert await store.get(schema.messages, (A.hex(),)) == {
        "message_id": "a1" * 32,
        "version": 1,
        "message": b"\x00\xff",
        "milestone_index": 7,
        "ms_timestamp": 1_600_000_000_000,
        "white_flag_index": 3,
        "inclusion_state": 1,
        "conflict_reason": 255,
    }
    key = (A, "legacy", "address", True, 0, 0, 5, OUTPUT, B)
    reported = (*schema.outputs_by_address.key, "ms_timestamp", "output_type", "amount")
    put(store, schema.outputs_by_address, reported, [(*key, 1, 0, 2**62)])
    row = await store.get(
        schema.outputs_by_address, (A.hex(), "legacy", "address", True, 0, 0, 5, OUTPUT.hex(), B.hex())
    )
    assert row["included"] is True
    assert row["amount"] == 2**62
    assert (
        await store.get(
            schema.outputs_by_address, (A.hex(), "legacy", "address", False, *key[4:7], OUTPUT.hex(), B.hex())
        )
        is None
    )


async def test_zero_and_empty_are_values_and_null_is_null(store):
    put(store, schema.messages, schema.messages.names, [(A, 1, b"", 0, 0, 0, 0, None)])
    row = await store.get(schema.messages, (A.hex(),))
    assert (row["message"], row["milestone_index"], row["ms_timestamp"], row["white_flag_index"]) == (b"", 0, 0, 0)
    assert (row["inclusion_state"], row["conflict_reason"]) == (0, None)
    put(store, schema.outputs, ("output_id", "amount", "data"), [(OUTPUT, 0, b"")])
    output = await store.get(schema.outputs, (OUTPUT.hex(),))
    assert (output["amount"], output["data"], output["address"]) == (0, b"", None)
    put(store, schema.ranges, ("network", "ms_range_id", "rising"), [("n", 0, False), ("n", 1, None)])
    assert [row["rising"] for row in await store.slice(schema.ranges, ("n",), reverse=True, limit=9)] == [False, None]


async def test_an_empty_tag_is_a_tag(store):
    put(
        store, schema.tags, ("tag", "ms_range_id", "partition_id", "milestone_index", "message_id"), [(b"", 0, 0, 0, A)]
    )
    put(store, schema.tag_hints, schema.tag_hints.names, [(b"", "message", 0, 0)])
    (row,) = await store.slice(schema.tags, ("", 0, 0), limit=9)
    assert (row["tag"], row["milestone_index"], row["message_id"]) == ("", 0, A.hex())
    (hint,) = await store.slice(schema.tag_hints, ("", "message"), limit=9)
    assert hint == {"tag": "", "table_kind": "message", "ms_range_id": 0, "partition_id": 0}


async def test_an_upsert_writes_only_the_columns_given(store):
    created = ("output_id", "created_milestone_index", "amount")
    spent = ("output_id", "spent_milestone_index")
    for order in ([created, spent], [spent, created]):
        values = {created: (OUTPUT, 3, 0), spent: (OUTPUT, 4)}
        for columns in order:
            put(store, schema.outputs, columns, [values[columns]])
        row = await store.get(schema.outputs, (OUTPUT.hex(),))
        assert (row["created_milestone_index"], row["amount"], row["spent_milestone_index"]) == (3, 0, 4)
        with store.batch() as batch:
            batch.delete(schema.outputs, (OUTPUT,))
    put(store, schema.outputs, created, [(OUTPUT, 3, 5), (OUTPUT, 3, 6)])
    assert (await store.get(schema.outputs, (OUTPUT.hex(),)))["amount"] == 6


async def test_an_upsert_counts_its_rows_new_or_not_and_takes_any_iterable(store):
    rows = [(0, index) for index in range(5)]
    assert put(store, schema.sync, ("ms_range_id", "milestone_index"), iter(rows)) == 5
    assert put(store, schema.sync, ("ms_range_id", "milestone_index"), (row for row in rows)) == 5
    assert put(store, schema.sync, ("ms_range_id", "milestone_index"), []) == 0
    assert len(await store.slice(schema.sync, (0,), limit=9)) == 5


def test_an_upsert_needs_the_key_and_known_columns(store):
    with pytest.raises(KeyError, match="milestone_index"):
        put(store, schema.sync, ("ms_range_id",), [(0,)])
    with pytest.raises(KeyError, match="nonsense"):
        put(store, schema.sync, ("ms_range_id", "milestone_index", "nonsense"), [(0, 0, 0)])
    with pytest.raises(StoreError):
        put(store, schema.sync, ("ms_range_id", "milestone_index"), [(0, None)])


async def test_get_many_answers_in_the_requested_order(store):
    put(store, schema.messages, ("message_id", "milestone_index"), [(A, 1), (B, 2)])
    found = await store.get_many(schema.messages, [(key.hex(),) for key in (B, C, A, B)])
    assert [row and row["milestone_index"] for row in found] == [2, None, 1, 2]
    assert await store.get_many(schema.messages, []) == []


async def test_a_slice_may_be_of_some_columns(store):
    columns = ("parent_id", "milestone_index", "message_id", "ms_timestamp", "inclusion_state")
    put(store, schema.parents, columns, [(C, 5, A, 7, None), (C, 5, B, 8, 1)])
    some = ("message_id", "inclusion_state")
    found = await store.slice(schema.parents, (C.hex(),), limit=9, columns=some)
    assert [list(row.items()) for row in found] == [
        [("message_id", B.hex()), ("inclusion_state", 1)],
        [("message_id", A.hex()), ("inclusion_state", None)],
    ]
    whole = await store.slice(schema.parents, (C.hex(),), limit=1)
    assert list(whole[0]) == list(schema.parents.names)
    with pytest.raises(KeyError, match="nonsense"):
        await store.slice(schema.parents, (C.hex(),), limit=1, columns=("nonsense",))


REPORTED = [(None, None), (0, "aa"), (3, "bb"), (7, None), (None, "bb"), (3, "aa"), (9, "bb")]
"""native_tokens and sender of seven outputs, in their order."""

SCANS = [
    ((), lambda tokens, sender: True),
    (((Condition("native_tokens", "null"),),), lambda tokens, sender: tokens is None),
    (((Condition("native_tokens", "not null"),),), lambda tokens, sender: tokens is not None),
    (((Condition("native_tokens", ">=", 3),),), lambda tokens, sender: tokens in (3, 7, 9)),
    (((Condition("native_tokens", ">", 3),),), lambda tokens, sender: tokens in (7, 9)),
    (((Condition("native_tokens", "<=", 3),),), lambda tokens, sender: tokens in (0, 3)),
    (((Condition("native_tokens", "<", 3), Condition("native_tokens", "null")),), lambda tokens, sender: not tokens),
    (
        ((Condition("sender", "=", "bb"),), (Condition("native_tokens", "=", 3),)),
        lambda *values: values == (3, "bb"),
    ),
    (
        ((Condition("sender", "=", "bb"), Condition("native_tokens", "=", 3)),),
        lambda *values: {3, "bb"} & {*values},
    ),
    (((Condition("output_kind", "=", "nft"),),), lambda tokens, sender: False),
]
"""Conditions on rows, and the same in plain Python."""


@pytest.mark.parametrize("table", [schema.outputs_by_address, schema.unspent_outputs], ids=["descending", "ascending"])
async def test_a_scan_returns_what_matches_and_its_position(store, table):
    ascending = table is schema.unspent_outputs
    key = ("address", "basic", "00", 0, 0) if ascending else (A, "basic", "address", True, 0, 0)
    ends = [(1 + at // 2, bytes([at]) * 34) for at in range(len(REPORTED))]
    rest = () if ascending else (B,)
    reported = [(tokens, sender and bytes.fromhex(sender)) for tokens, sender in REPORTED]
    rows = [(*key, *end, *rest, *columns) for end, columns in zip(ends, reported, strict=True)]
    put(store, table, (*table.key, "native_tokens", "sender"), rows)
    partition = key if ascending else (A.hex(), *key[1:])
    everything = [
        dict(zip(table.clustering, [index, *(each.hex() for each in (id_, *rest))], strict=True)) for index, id_ in ends
    ]
    bounds = [None, Bound((2,)), Bound((2,), inclusive=False), Bound((2, ends[2][1].hex()), inclusive=False)]
    queries = itertools.product(SCANS, (False, True), (1, 2, 3, len(REPORTED), 99), bounds)
    for (where, meets), reverse, limit, lower in queries:
        met = [bool(meets(*columns)) for columns in REPORTED]
        inside = [at for at, end in enumerate(ends) if _above((end[0], end[1].hex()), lower)]
        looked_at = (inside if reverse != ascending else inside[::-1])[:limit]
        wanted = [at for at in looked_at if met[at]]
        if len(looked_at) == limit or not wanted:
            wanted += [at for at in looked_at[-1:] if not met[at]]
        found = await store.scan(
            table, partition, where, lower=lower, reverse=reverse, limit=limit, columns=table.clustering
        )
        assert found == ([everything[at] for at in wanted], len(looked_at)), (where, reverse, limit, lower)
        assert [isinstance(row, Passed) for row in found.rows] == [not met[at] for at in wanted]


async def test_a_scan_rejects_unknown_columns(store):
    with pytest.raises(KeyError, match="nonsense"):
        await store.scan(
            schema.unspent_outputs,
            ("address", "basic", "00", 0, 0),
            [(Condition("nonsense", "null"),)],
            limit=1,
            columns=schema.unspent_outputs.clustering,
        )


ROWS = [(milestone, id_) for milestone in (0, 1, 2, 5) for id_ in (A, B)]
ENDS = [
    None,
    *(
        Bound(values, inclusive)
        for inclusive in (True, False)
        for values in ((0,), (1,), (3,), (5,), (9,), (1, A.hex()), (1, B.hex()), (3, A.hex()), (2, ""))
    ),
]


@pytest.mark.parametrize("table", [schema.tags, schema.messages_by_milestone], ids=["descending", "ascending"])
async def test_slices_are_bounded_by_value_both_ways(store, table):
    if table is schema.tags:
        rows, partition = [(b"t", 0, 0, *key) for key in ROWS], (b"t".hex(), 0, 0)
    else:
        rows, partition = [(7, *key) for key in ROWS], (7,)
    put(store, table, table.key, [*rows, *((b"u", 0, 0, 3, A) for _ in range(table is schema.tags))])
    keys = [(milestone, id_.hex()) for milestone, id_ in ROWS]
    # A request to a cluster takes several times as long: of its ends, two of three pairs are left out.
    for lower, upper in list(itertools.product(ENDS, ENDS))[:: 1 if store.atomic else 3]:
        wanted = [key for key in keys if _above(key, lower) and _below(key, upper)]
        for reverse, limit in itertools.product((False, True), (1, 3, 100)):
            found = await store.slice(table, partition, lower=lower, upper=upper, reverse=reverse, limit=limit)
            ordered = wanted if (table is schema.tags) == reverse else wanted[::-1]
            assert [tuple(row[name] for name in table.clustering) for row in found] == ordered[:limit], (lower, upper)


async def test_a_value_beyond_the_range_of_a_column_raises_nothing(store):
    """Milestones are requested as u32 and cursors may contain any number; columns are narrower."""
    indices = [0, 5, 2**31 - 1]
    put(store, schema.sync, ("ms_range_id", "milestone_index"), [(0, index) for index in indices])
    assert await store.get(schema.sync, (0, 2**32 - 1)) is None
    assert await store.get(schema.sync, (2**40, 5)) is None
    assert await store.get_many(schema.sync, [(0, 5), (0, -(2**40))]) == [await store.get(schema.sync, (0, 5)), None]
    assert await store.slice(schema.sync, (2**32,), limit=9) == []
    ends = [None, *(Bound((at,), of) for of in (True, False) for at in (5, 2**31, 2**40, -(2**31) - 1, -(2**40)))]
    for lower, upper in itertools.product(ends, ends):
        found = await store.slice(schema.sync, (0,), lower=lower, upper=upper, reverse=True, limit=9)
        wanted = [at for at in indices if _above((at,), lower) and _below((at,), upper)]
        assert [row["milestone_index"] for row in found] == wanted, (lower, upper)
    put(store, schema.rejects, schema.rejects.key, [(1, "a", 7, ""), (1, "b", 8, "")])
    beyond = Bound(("a", 2**40, "x"))
    assert [row["file"] for row in await store.slice(schema.rejects, (1,), upper=beyond, limit=9)] == ["a"]
    assert [row["file"] for row in await store.slice(schema.rejects, (1,), lower=beyond, limit=9)] == ["b"]


def _above(key, bound):
    cut = key[: len(bound.values)] if bound else key
    return bound is None or cut > bound.values or (bound.inclusive and cut == bound.values)


def _below(key, bound):
    cut = key[: len(bound.values)] if bound else key
    return bound is None or cut < bound.values or (bound.inclusive and cut == bound.values)


async def test_delete_removes_a_row_or_everything_under_a_prefix(store):
    put(
        store, schema.rejects, schema.rejects.names, [(m, f, n, "", "r") for m in (-1, 4) for f in "ab" for n in (1, 2)]
    )
    with store.batch() as batch:
        batch.delete(schema.rejects, (4, "a", 1, ""))
        batch.delete(schema.rejects, (-1, "b"))
    left = [*await store.slice(schema.rejects, (-1,), limit=9), *await store.slice(schema.rejects, (4,), limit=9)]
    assert [(row["milestone_index"], row["file"], row["line"]) for row in left] == [
        (-1, "a", 1), (-1, "a", 2), (4, "a", 2), (4, "b", 1), (4, "b", 2)
    ]  # fmt: skip
    with store.batch() as batch:
        batch.delete(schema.rejects, (4,))
    assert await store.slice(schema.rejects, (4,), limit=9) == []
    with pytest.raises(ValueError, match="rejects"), store.batch() as batch:
        batch.delete(schema.rejects, ())


@pytest.mark.parametrize("publish", [False, True])
async def test_clear_empties_one_table_and_no_other(store, publish):
    put(store, schema.sync, ("ms_range_id", "milestone_index"), [(0, 1), (1, 7)])
    put(store, schema.milestones, ("milestone_index",), [(1,)])
    with store.batch(publish=publish) as batch:
        batch.clear(schema.sync)
        batch.upsert(schema.sync, ("ms_range_id", "milestone_index"), [(0, 2)])
    assert [row["milestone_index"] for row in await store.slice(schema.sync, (0,), limit=9)] == [2]
    assert await store.slice(schema.sync, (1,), limit=9) == []
    assert await store.get(schema.milestones, (1,)) is not None


@pytest.mark.thorough
@ON_EACH_WRITER
async def test_rows_expire_and_writing_them_again_revives_them(store):
    short, short_hints = (dataclasses.replace(t, ttl_s=1) for t in (schema.pending_messages, schema.pending_hints))
    long = schema.pending_messages
    batches = (False, A, B, "tags"), (True, C, D, "messages")
    for publish, lost, left, table in batches:
        put(store, long, long.names, [(left, 1, b"b")], publish=publish)
        put(store, schema.pending_hints, schema.pending_hints.names, [(table, "", 7)], publish=publish)
        put(store, short, short.names, [(lost, 1, b"a")], publish=publish)
        put(store, short_hints, short_hints.names, [(table, "", 8)], publish=publish)
    time.sleep(2.05)
    for publish, lost, left, table in batches:
        kept = {"message_id": left.hex(), "version": 1, "message": b"b"}
        assert await store.get(long, (lost.hex(),)) is None
        assert await store.get_many(long, [(lost.hex(),), (left.hex(),)]) == [None, kept]
        assert [row["bucket"] for row in await store.slice(schema.pending_hints, (table, ""), limit=9)] == [7]
        put(store, long, ("message_id", "version"), [(lost, 1)], publish=publish)
    store.purge()
    for _, lost, left, _ in batches:
        assert [row and row["message_id"] for row in await store.get_many(long, [(lost.hex(),), (left.hex(),)])] == [
            lost.hex(),
            left.hex(),
        ]


@pytest.mark.parametrize("publish", [False, True])
async def test_a_batch_that_raised_is_made_good_by_running_it_again(store, settings, publish):
    put(store, schema.sync, ("ms_range_id", "milestone_index"), [(0, 1), (0, 9)])

    def run(rows):
        with store.batch(publish=publish) as batch:
            batch.delete(schema.sync, (0, 1))
            batch.upsert(schema.sync, ("ms_range_id", "milestone_index"), rows)
            batch.upsert(schema.milestones, ("milestone_index", "timestamp"), [(7, 70)])

    with pytest.raises(RuntimeError, match="source"):
        run(_failing())
    assert await store.get(schema.milestones, (7,)) is None, "no step begins before the one before it has ended"
    run([(0, 2), (0, 4)])
    other = reopened(settings)
    for each in (store, other):
        assert [row["milestone_index"] for row in await each.slice(schema.sync, (0,), limit=9)] == [9, 4, 2]
        assert (await each.get(schema.milestones, (7,)))["timestamp"] == 70
    other.close()


def _failing():
    yield (0, 4)
    raise RuntimeError("source")


@pytest.mark.parametrize("publish", [False, True])
async def test_reads_go_on_during_a_batch_and_see_all_of_it_afterwards(settings, publish):
    writer, reader = reopened(settings), open_store(settings)
    put(writer, schema.sync, ("ms_range_id", "milestone_index"), [(0, 0)])
    started, done = threading.Event(), threading.Event()

    def rows():
        for index in range(1, 1000):
            if index == 500:
                started.set()
                done.wait(10)
            yield (0, index)

    thread = threading.Thread(
        target=put, args=(writer, schema.sync, ("ms_range_id", "milestone_index"), rows()), kwargs={"publish": publish}
    )
    thread.start()
    assert started.wait(10)
    assert 1 <= len(await reader.slice(schema.sync, (0,), limit=5000)) <= 500
    done.set()
    thread.join()
    await asyncio.sleep(0.05)
    assert len(await reader.slice(schema.sync, (0,), limit=5000)) == 1000
    reader.close()
    writer.close()


async def test_what_no_longer_holds_is_taken_back_and_what_depends_on_the_data_is_kept(store):
    """In `sync` and `ranges`, None overwrites a value; elsewhere it leaves the value unchanged."""
    key = ("ms_range_id", "milestone_index")
    put(store, schema.sync, (*key, "synced_by", "message_count"), [(0, 1, 0, 5)])
    put(store, schema.sync, (*key, "synced_by"), [(0, 1, None)])
    row = await store.get(schema.sync, (0, 1))
    assert (row["synced_by"], row["message_count"]) == (None, 5)
    put(store, schema.ranges, ("network", "ms_range_id", "min_timestamp"), [("n", 0, 7)])
    put(store, schema.ranges, ("network", "ms_range_id", "min_timestamp"), [("n", 0, None)])
    assert (await store.get(schema.ranges, ("n", 0)))["min_timestamp"] is None


async def test_a_slice_longer_than_a_servers_own_page_comes_whole(store):
    put(store, schema.sync, ("ms_range_id", "milestone_index"), [(0, index) for index in range(6000)])
    assert [row["milestone_index"] for row in await store.slice(schema.sync, (0,), limit=9000)] == [
        *range(5999, -1, -1)
    ]


def test_threads_may_read_at_once(store):
    put(store, schema.sync, ("ms_range_id", "milestone_index"), [(0, index) for index in range(50)])
    lengths = []

    async def read_some():
        lengths.extend([len(await store.slice(schema.sync, (0,), limit=99)) for _ in range(25)])

    def read():
        # A reader may connect once per event loop.
        for _ in range(2):
            asyncio.run(read_some())

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == [50] * 400


@ON_EACH_WRITER
def test_a_second_writer_is_rejected_and_reports_who_holds_the_lease_and_until_when(store, settings):
    begun = time.time()
    lease = store.acquire("elsewhere:1", "run-1", 60)
    other = reopened(settings)
    with pytest.raises(LeaseHeld) as held:
        other.acquire("elsewhere:2", "run-2", 60)
    holder, _, end = str(held.value).partition("; if it was killed, its lease ends at ")
    assert holder == "another run writes to this store: process 1 on elsewhere, run run-1"
    # Whole seconds, never before the end.
    assert (
        begun + 60 <= datetime.strptime(end, "%Y-%m-%d %H:%M:%S %Z").replace(tzinfo=UTC).timestamp() <= time.time() + 61
    )
    assert other.holder() == lease
    longer = store.renew(lease, 600)
    assert longer.expires_at > lease.expires_at
    store.release(longer)
    assert other.holder() is None
    assert other.acquire("elsewhere:2", "run-2", 60).run == "run-2"
    other.close()


@pytest.mark.parametrize("publish", [False, True])
@ON_EACH_WRITER
def test_nobody_writes_past_a_living_holder(store, settings, publish):
    lease = store.acquire("elsewhere:1", "run-1", 60)
    other = reopened(settings)
    with pytest.raises(LeaseHeld, match="run-1"):
        put(other, schema.sync, ("ms_range_id", "milestone_index"), [(0, 1)], publish=publish)
    with pytest.raises(LeaseHeld, match="run-1"):
        other.purge()
    put(store, schema.sync, ("ms_range_id", "milestone_index"), [(0, 1)], publish=publish)
    store.release(lease)
    put(other, schema.sync, ("ms_range_id", "milestone_index"), [(0, 2)], publish=publish)
    other.close()


@ON_EACH_WRITER
def test_an_expired_lease_is_taken_over_and_its_holder_learns_it(store, settings):
    lost = store.acquire("elsewhere:1", "run-1", 1)
    other = reopened(settings)
    time.sleep(1.05)
    kept = other.acquire("elsewhere:2", "run-2", 60)
    with pytest.raises(LeaseHeld, match="run-2"):
        store.renew(lost, 60)
    store.release(lost)
    assert other.holder() == kept
    other.close()


@pytest.mark.thorough
@pytest.mark.parametrize("publish", [False, True])
@ON_EACH_WRITER
def test_a_run_that_lost_its_lease_learns_it_when_its_batch_ends(store, settings, publish):
    store.acquire("elsewhere:1", "run-1", 1)
    other = reopened(settings)

    def late():
        with store.batch(publish=publish) as batch:
            batch.upsert(schema.sync, ("ms_range_id", "milestone_index"), [(0, 1)])
            time.sleep(1.05)
            other.acquire("elsewhere:2", "run-2", 60)

    with pytest.raises(LeaseHeld, match="run-2"):
        late()
    other.close()


@ON_EACH_WRITER
def test_a_late_holder_that_was_not_replaced_may_renew(store):
    lease = store.acquire("elsewhere:1", "run-1", 1)
    time.sleep(1.05)
    assert store.renew(lease, 60).run == "run-1"


@pytest.mark.parametrize(("name", "value"), [("network", "another"), ("chunk_size", 8), ("partition_size", 4)])
def test_a_store_made_for_something_else_is_rejected(settings, name, value):
    other = dataclasses.replace(settings, **{name: value})
    was = getattr(settings, name)
    for reject in (open_store, migrate):
        with pytest.raises(StoreMismatch, match=f"{name} {was}, but the settings have {value}"):
            reject(other)


def test_migrating_again_does_nothing(settings):
    assert migrate(settings) == []


async def test_a_store_opened_for_reading_does_not_write(settings):
    reader = open_store(settings)
    with pytest.raises(StoreError, match="reading"), reader.batch():
        pass
    with pytest.raises(StoreError, match="reading"):
        reader.acquire("a:1", "r", 1)
    await reader.ping()
    reader.close()


async def test_the_space_of_a_store_is_known_without_reading_its_rows(store):
    put(store, schema.messages, ("message_id", "version", "message"), [(A, 1, b"m" * 100_000)])
    space = await store.disk_space()
    if store.atomic:
        assert space.used > 100_000
        assert space.free > 0
    else:
        # The nodes estimate every few minutes; what they do not know yet is 0 or unknown.
        assert space.free is None
        assert space.used is None or space.used >= 0


async def test_describe_speaks_of_every_table(store):
    put(store, schema.messages, ("message_id", "message"), [(A, b"x" * 100), (B, b"")])
    sizes = {size.table: size for size in await store.describe()}
    assert set(sizes) >= {table.name for table in schema.TABLES} - {"lease"}
    for size in sizes.values():
        assert size.rows is None or size.rows >= 0
        assert size.bytes is None or size.bytes >= 0
