"""Checks the rows of a lake file: ids against the hashes of the bytes beside them, milestones against their payload.

Worker processes import this module, so it imports neither PySpark nor delta-rs.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from db.intervals import Intervals
from etl.lake.wormhole_tables import id_of_cell
from etl.sources.cone import CONFLICTING, INCLUDED, NO_TRANSACTION
from etl.sources.fields import MAX_MILESTONE_INDEX
from ledger.chrysalis import codec as chrysalis
from ledger.eras import CHRYSALIS, STARDUST
from ledger.ids import message_id, milestone_id, transaction_id
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.values import Milestone
from ledger.wormhole.ids import sequence_key

RowFault: TypeAlias = tuple[str, str, Intervals]
"""Which row is damaged, what is wrong, and the milestones of the row."""

CODECS = {each.protocol_version: each for each in (CHRYSALIS, STARDUST)}

COUNTS: Mapping[str, Callable[[pa.RecordBatch], pa.Array]] = {
    "message_count": lambda rows: rows.column("message_id").is_valid(),
    "included": lambda rows: pc.equal(rows.column("inclusion_state"), INCLUDED),
    "conflicting": lambda rows: pc.equal(rows.column("inclusion_state"), CONFLICTING),
    "no_transaction": lambda rows: pc.equal(rows.column("inclusion_state"), NO_TRANSACTION),
    "transactions": lambda rows: rows.column("transaction").is_valid(),
    "tagged_data": lambda rows: rows.column("tagged_data").is_valid(),
    "no_payload": lambda rows: rows.column("payload_kind").is_null(),
}
"""What the table `milestones` counts of the messages of each milestone."""


COUNTS_BY_MILESTONE = pa.schema({"milestone_index": pa.int32(), **dict.fromkeys(COUNTS, pa.int64())})


def counts_of(rows: pa.RecordBatch) -> pa.Table:
    """COUNTS_BY_MILESTONE of messages."""
    columns = [pc.cast(count(rows).fill_null(False), pa.int64()) for count in COUNTS.values()]  # noqa: FBT003
    return sums_of(pa.table([rows.column("milestone_index"), *columns], schema=COUNTS_BY_MILESTONE))


def stored_counts(rows: pa.RecordBatch) -> pa.Table:
    """COUNTS_BY_MILESTONE of rows of `milestones`, as they are stored."""
    return pa.Table.from_batches([rows]).select(COUNTS_BY_MILESTONE.names).cast(COUNTS_BY_MILESTONE)


def sums_of(counts: pa.Table) -> pa.Table:
    """The sums of COUNTS_BY_MILESTONE."""
    summed = counts.group_by("milestone_index").aggregate([(name, "sum") for name in COUNTS])
    names = ["milestone_index", *(f"{name}_sum" for name in COUNTS)]
    return summed.select(names).rename_columns(COUNTS_BY_MILESTONE.names).cast(COUNTS_BY_MILESTONE)


def check_messages(rows: pa.RecordBatch) -> Iterator[RowFault]:
    """The messages, and the payloads of Stardust milestones, that differ from their ids."""
    names = ("message_id", "milestone_index", "version", "message")
    values = zip(*(rows.column(name).to_pylist() for name in names), _ids_of_transactions(rows), strict=True)
    for identity, index, version, message, transaction in values:
        fault = _message_fault(identity, version, message, transaction)
        if fault:
            yield f"message {_hex(identity)}", fault, _milestones(index)
    yield from _check_payloads(rows)


def check_milestones(rows: pa.RecordBatch) -> Iterator[RowFault]:
    """The milestones that differ from their payloads."""
    names = ("milestone_index", "milestone_id", "payload")
    for index, identity, payload in zip(*(rows.column(name).to_pylist() for name in names), strict=True):
        if payload is not None and (fault := _payload_fault(identity, index, payload, None)):
            yield f"milestone {index}", fault, _milestones(index)


def check_pending(rows: pa.RecordBatch) -> Iterator[RowFault]:
    """The pending messages that differ from their ids."""
    for identity, message in zip(*(rows.column(name).to_pylist() for name in ("message_id", "message")), strict=True):
        if message is None or message_id(message) != identity:
            yield f"message {_hex(identity)}", "its id is not the hash of its bytes", []


def check_cells(rows: pa.RecordBatch) -> Iterator[RowFault]:
    """The cells of VAAs that differ from their ids."""
    names = ("emitter_chain", "emitter_address", "sequence_key", "family", "qualifier", "time_ms", "value", "cell_id")
    for chain, emitter, key, *column, value, identity in zip(
        *(rows.column(name).to_pylist() for name in names), strict=True
    ):
        family, qualifier, time_ms = column
        try:
            sequence = int(key)
            found = id_of_cell(chain, emitter, sequence, (family, qualifier, time_ms), value)
            is_right = found == identity and sequence_key(sequence) == key
        except (ValueError, TypeError, AttributeError):
            is_right = False
        if not is_right:
            name = f"{chain}/{_hex(emitter)}/{key}"
            yield f"message {name}, cell {family}:{qualifier}", "its id is not the hash of its values", []


CHECKS: Mapping[str, Callable[[pa.RecordBatch], Iterator[RowFault]]] = {
    "messages": check_messages,
    "milestones": check_milestones,
    "pending": check_pending,
    "vaas": check_cells,
}
"""The check of each table whose rows have ids."""


def _message_fault(identity: Any, version: Any, message: Any, transaction: Any) -> str:
    if message is None:
        return "" if identity is None else "its bytes are missing"
    if message_id(message) != identity:
        return "its id is not the hash of its bytes"
    codec = CODECS.get(version)
    if codec is None:
        return f"unknown version {version}"
    if transaction is not None and transaction_id(codec.payload_bytes(message)) != transaction:
        return "the id of its transaction is not the hash of its payload"
    return ""


def _ids_of_transactions(rows: pa.RecordBatch) -> list[bytes | None]:
    ids: list[bytes | None] = pc.struct_field(rows.column("transaction"), "transaction_id").to_pylist()
    return ids


def _check_payloads(rows: pa.RecordBatch) -> Iterator[RowFault]:
    milestones = rows.column("milestone")
    there = rows.filter(milestones.is_valid())
    for index, each in zip(*(there.column(name).to_pylist() for name in ("milestone_index", "milestone")), strict=True):
        fault = _payload_fault(each["milestone_id"], each["milestone_index"], each["payload"], each["block_id"])
        if fault:
            yield f"payload of milestone {each['milestone_index']}", fault, _milestones(index)


def _payload_fault(identity: Any, index: Any, payload: Any, block: Any) -> str:
    try:
        if int.from_bytes(payload[:4], "little") == Milestone.KIND:
            milestone = stardust.decode_payload(payload)
            assert isinstance(milestone, Milestone)
            found, number = stardust.milestone_id(milestone), milestone.index
            if block is not None and message_id(stardust.milestone_block_bytes(milestone)) != block:
                return "the id of its block is not the hash of the block"
        else:
            own = chrysalis.decode_payload(payload)
            assert isinstance(own, chrysalis.Milestone)
            found, number = milestone_id(payload), own.index
    except (CodecError, AssertionError, TypeError) as error:
        return f"its payload is not readable: {error}"
    if found != identity:
        return "its id is not the hash of its payload"
    return "" if min(number, MAX_MILESTONE_INDEX) == index else f"its payload is of milestone {number}"


def _milestones(index: Any) -> Intervals:
    return [] if index is None or index < 0 else [(index, index)]


def _hex(value: bytes | None) -> str:
    return "without an id" if value is None else value.hex()
