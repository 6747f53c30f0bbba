"""Derives rows of tables from decoded messages as words, vectorized.

The same rules as in etl/tables, written a second time for Arrow: no engine is used.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from db import schema
from etl.expectations.changes import spent_changes
from etl.expectations.message_batch import (
    NOTHING,
    Derived,
    Items,
    Messages,
    Numbers,
    bigint,
    child,
    numbers,
    positions,
    text_word,
    valid,
)
from etl.expectations.outputs import address_rows, output_rows
from etl.expectations.words import Words, words
from etl.sources.cone import INCLUDED
from ledger.eras import CHRYSALIS
from ledger.levels import LEVELS
from ledger.selection import TAG, Selection


def derive(batch: pa.RecordBatch | pa.Table, selection: Selection | None = None) -> Iterator[Derived]:
    """Yields the rows of all frames, some frames in several parts. `selection`: that of a selective store."""
    of = Messages(batch, selection)
    yield from _plain(of)
    yield from _transactions(of)
    yield from _ids(of)
    yield from output_rows(of, of.outputs)
    if of.receipt.null_count < len(of.receipt):
        yield from output_rows(of, of.funds)
    yield address_rows(of)
    yield from _milestones(of)


def _plain(of: Messages) -> Iterator[Derived]:
    rows = positions(of.is_message)
    own = {"version": words(of.column("version"))[rows], "message": words(of.column("message"))[rows]}
    yield of.rows("messages", rows, own)
    reasons = of.column("conflict_reason")
    rows = positions(valid(reasons))
    if len(rows):
        yield of.rows("messages (conflict reasons)", rows, {"conflict_reason": words(reasons)[rows]})
    rows = positions(of.is_message & of.has_place)
    yield of.rows("messages_by_milestone", rows, {})
    parents = Items(of.column("parents"))
    yield of.rows("parents", parents.messages, {"parent_id": words(parents.values)})
    tagged = child(of.column("tagged_data"), "tag")
    inside = child(of.transaction_field("tagged_data"), "tag")
    tag = pc.coalesce(tagged, inside)
    rows = positions(valid(tag) & of.is_listed(TAG, tag))
    yield of.rows("tags", rows, {"tag": words(tag)[rows]})


def _transactions(of: Messages) -> Iterator[Derived]:
    rows = positions(of.is_transaction & (of.state >= 0))
    transaction_id = of.transaction_field("transaction_id")
    identity = words(transaction_id)
    yield of.rows("transactions_by_state", rows, {"transaction_id": identity[rows]})
    inputs, unlocks = of.inputs, of.unlocks
    if not len(inputs.messages):
        return
    messages = inputs.messages
    unlock_position = unlocks.starts[messages] + inputs.index
    within = inputs.index < unlocks.counts[messages]
    unlock = _unlock_bytes(unlocks).take(pa.array(unlock_position, mask=~within))
    output_id, kind = inputs.field("output_id"), numbers(inputs.field("kind"))
    spends = pa.array(np.array([b"\x00", b"\x01"], object)).take(pa.array((kind != 0).astype(np.int8)))
    yield of.rows(
        "transactions",
        messages,
        {
            "transaction_id": identity[messages],
            "idx": inputs.index.view(np.uint64),
            "variant": text_word("input"),
            "data": words(_joined(spends, output_id, unlock)),
        },
    )
    spending = positions(kind == 0)
    messages, output_id = messages[spending], output_id.take(pa.array(spending))
    place = _fixed(pc.binary_slice(output_id, 32, 34), 2).view("<u2").astype(np.uint64)
    idx = _bytes_of(inputs.index[spending].astype("<u2"), 2)
    data = _joined(transaction_id.take(pa.array(messages)), idx, unlock.take(pa.array(spending)))
    yield of.rows(
        "transactions",
        messages,
        {
            "transaction_id": words(pc.binary_slice(output_id, 0, 32)),
            "idx": place,
            "variant": text_word("unlock"),
            "data": words(data),
        },
    )
    included = positions(of.state[messages] == INCLUDED)
    messages = messages[included]
    yield Derived(
        "outputs (spent)",
        messages,
        {
            "output_id": words(output_id)[included],
            "spent_milestone_index": of.common["milestone_index"][messages],
            "spent_white_flag_index": of.common["white_flag_index"][messages],
            "spent_transaction_id": identity[messages],
            "spent_message_id": of.common["message_id"][messages],
        },
    )
    changed = {
        "output_id": words(output_id)[included],
        "idx": inputs.index[spending][included].view(np.uint64),
        "transaction_id": identity[messages],
    }
    yield from spent_changes(of, messages, changed)
    messages = of.outputs.messages
    yield of.rows(
        "transactions",
        messages,
        {
            "transaction_id": identity[messages],
            "idx": of.outputs.index.view(np.uint64),
            "variant": text_word("output"),
            "data": words(of.outputs.field("data")),
        },
    )


def _ids(of: Messages) -> Iterator[Derived]:
    """The ids of messages, transactions, milestones and chain objects. Each state of an object has its id."""
    transaction_id, milestone_id = of.transaction_field("transaction_id"), child(of.milestone, "milestone_id")
    is_own = numbers(child(of.milestone, "milestone_index")) == of.milestone_index
    parts = [(positions(valid(ids)), ids) for ids in (of.message_id, transaction_id)]
    parts.append((positions(valid(milestone_id) & is_own), milestone_id))
    found = [(rows, ids.take(pa.array(rows))) for rows, ids in parts]
    stardust, messages = of.outputs.field("stardust"), of.outputs.messages
    if stardust.null_count < len(stardust):
        chain_id = child(stardust, "chain_id")
        states = positions(valid(chain_id) & (of.took_effect & of.has_place)[messages])
        found.append((messages[states], chain_id.take(pa.array(states))))
    for rows, ids in found:
        if len(rows):
            yield of.rows("ids_by_prefix", rows, {"prefix": words(pc.binary_slice(ids, 0, 2)), "id": words(ids)})


def _unlock_bytes(unlocks: Items) -> pa.Array:
    """The bytes of the unlock blocks."""
    kind = unlocks.field("kind")
    signed = _joined(pa.scalar(bytes(2), pa.binary()), unlocks.field("public_key"), unlocks.field("signature"))
    pairs = np.zeros((len(unlocks.messages), 3), np.uint8)
    pairs[:, 0] = numbers(kind, 0)
    pairs[:, 1:] = numbers(unlocks.field("reference"), 0).astype("<u2").view(np.uint8).reshape(-1, 2)
    return pc.if_else(pc.equal(kind, 0), signed, _bytes_of(pairs, 3))


def _milestones(of: Messages) -> Iterator[Derived]:
    """The tables with a row per milestone. Its own message is the first one in the cone."""
    index = numbers(child(of.milestone, "milestone_index"))
    version = numbers(of.column("version"))
    own = ~of.is_message | ((version == CHRYSALIS.protocol_version) & (index == of.milestone_index))
    candidates = positions(own & valid(of.milestone))
    place = numbers(of.column("white_flag_index"), 2**31 - 1)
    first: dict[int, tuple[Any, ...]] = {}
    for row in candidates.tolist():
        at = (place[row], of.message_id[row].as_py() or b"", row)
        milestone = int(of.milestone_index[row])
        first[milestone] = min(first.get(milestone, at), at)
    rows = np.array(sorted(at[-1] for at in first.values()), np.int64)
    taken = of.milestone.take(pa.array(rows))
    own_id = pc.coalesce(of.message_id.take(pa.array(rows)), child(taken, "block_id"))
    value = {name: words(child(taken, name)) for name in ("milestone_id", "timestamp", "payload")}
    columns = {**value, "message_id": words(own_id)}
    yield of.rows("milestones", rows, columns)
    yield of.rows("milestone_ids", rows, columns)
    receipt = child(taken, "receipt")
    some = positions(valid(receipt))
    if len(some):
        amount = bigint(words(child(receipt, "treasury_amount")))
        more = {name: words(child(receipt, name))[some] for name in ("migrated_at", "payload")}
        held = {name: values[some] for name, values in columns.items()}
        yield of.rows("receipts", rows[some], held | more)
        yield of.rows("treasury", rows[some], held | {"amount": amount[some]})
    parameters = child(taken, "parameters")
    some = positions(valid(parameters))
    if len(some):
        more = {name: words(child(parameters, name))[some] for name in ("protocol_version", "params")}
        target = words(child(parameters, "target_milestone_index"))[some]
        own_index = of.common["milestone_index"][rows[some]]
        yield Derived("protocol_parameters", rows[some], more | {"milestone_index": target, "announced_by": own_index})
    yield _sync(of)


def _sync(of: Messages) -> Derived:
    # Messages are in the order of milestones.
    rows = positions(np.diff(of.milestone_index, prepend=-2) != 0)
    counts = np.add.reduceat(of.is_message.astype(np.int64), rows) if len(rows) else rows
    levels = numbers(pc.index_in(of.column("verified"), pa.array(LEVELS)))
    proved = np.maximum.reduceat(levels, rows) if len(rows) else rows
    timestamp = numbers(of.timestamp, -1)
    latest = np.maximum.reduceat(timestamp, rows) if len(rows) else rows
    names = np.array([*(text_word(each) for each in LEVELS), NOTHING])
    complete = proved >= 0
    return Derived(
        "sync",
        rows,
        {
            "milestone_index": of.common["milestone_index"][rows],
            "ms_timestamp": np.where(latest < 0, NOTHING, latest.view(np.uint64)),
            "synced_by": np.where(complete, np.uint64(0), NOTHING),
            "message_count": counts.view(np.uint64),
            "verified": names[proved],
            "layout": np.where(complete, np.uint64(schema.LAYOUT), NOTHING),
        },
    )


def no_messages(milestones: Numbers) -> Derived:
    """The rows of `sync` of milestones without a correct message."""
    columns: dict[str, Words | np.uint64] = dict.fromkeys(schema.sync.names, NOTHING)
    return Derived(
        "sync", milestones, columns | {"milestone_index": milestones.view(np.uint64), "message_count": np.uint64(0)}
    )


def _joined(*parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.binary()))


def _fixed(array: pa.Array, size: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(pc.cast(array, pa.binary(size)).buffers()[1], np.uint8)[: len(array) * size]


def _bytes_of(values: npt.NDArray[Any], size: int) -> pa.Array:
    buffer = pa.py_buffer(np.ascontiguousarray(values).tobytes())
    return pc.cast(pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(values), [None, buffer]), pa.binary())
