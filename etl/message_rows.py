"""Checked milestones → Arrow: one row a message in the lake's columns, one row a reject beside them.

Rules of this file: values are appended to flat lists and become Arrow arrays by offsets, never dict by dict, because
every message of a load passes here; the DDL is the one declaration of what a decoded row is.
"""

from array import array
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from etl.verify import Checked
from ledger.chrysalis import (
    Indexation,
    Message,
    Milestone,
    Output,
    SigLockedSingle,
    SignatureUnlock,
    Transaction,
    TreasuryInput,
    TreasuryOutput,
    encode_output,
    encode_payload,
)
from ledger.ids import ed25519_address, milestone_id, output_id, transaction_id

CHRYSALIS = 1

TAGGED_DATA = "STRUCT<tag: BINARY, data: BINARY>"

RECEIPT = """STRUCT<
  migrated_at: INT, treasury_input: BINARY, treasury_amount: DECIMAL(20,0), payload: BINARY,
  funds: ARRAY<STRUCT<kind: TINYINT, address: BINARY, amount: DECIMAL(20,0), output_id: BINARY, data: BINARY>>>"""
"""Of the milestone's own message alone (its first attachment), so that it counts once. `funds` are outputs like a
transaction's, their ids made of the milestone's."""

MILESTONE = f"""STRUCT<
  milestone_id: BINARY, milestone_index: INT, timestamp: BIGINT, payload: BINARY, receipt: {RECEIPT}>"""

MESSAGE_DDL = f"""
message_id BINARY, milestone_index INT, lake_range INT, white_flag_index INT, timestamp TIMESTAMP, version TINYINT,
network_id DECIMAL(20,0), parents ARRAY<BINARY>, nonce DECIMAL(20,0), message BINARY,
inclusion_state TINYINT, conflict_reason SMALLINT, verified STRING, payload_kind TINYINT,
tagged_data {TAGGED_DATA},
transaction STRUCT<
  transaction_id: BINARY,
  inputs: ARRAY<STRUCT<kind: TINYINT, output_id: BINARY>>,
  outputs: ARRAY<STRUCT<kind: TINYINT, address: BINARY, amount: DECIMAL(20,0), output_id: BINARY, data: BINARY>>,
  unlocks: ARRAY<STRUCT<kind: TINYINT, public_key: BINARY, signature: BINARY, reference: INT, address: BINARY>>,
  tagged_data: {TAGGED_DATA}>,
milestone {MILESTONE}
"""

REJECT_DDL = "reject STRUCT<file: STRING, line: INT, item: STRING, reason: STRING>"

DECODED_DDL = f"{MESSAGE_DDL}, {REJECT_DDL}"

LAKE_RANGE = 100_000
"""Milestones a partition of the lake holds; fixed, whatever chunk_size the stores use."""

MAX_TIMESTAMP_S = 253_402_300_799
"""9999-12-31T23:59:59Z, the last second that Spark and SQL timestamps can tell."""

OUTPUT_FIELDS = ("kind", "address", "amount", "output_id", "data")

_U64 = pa.decimal128(20, 0)
_OUTPUT_TYPES = (pa.int8(), pa.binary(), _U64, pa.binary(), pa.binary())


class MessageRows:
    """Rows of one Arrow batch in the making."""

    def __init__(self) -> None:
        self.count = 0
        self._columns: dict[str, list[Any]] = {name: [] for name in _FLAT}
        self._parents = _List(("parent",))
        self._network_ids = array("Q")
        self._nonces = array("Q")
        self._tagged = _Struct(("tag", "data"))
        self._transaction = _Struct(("transaction_id",))
        self._inputs = _List(("kind", "output_id"))
        self._outputs = _List(OUTPUT_FIELDS)
        self._unlocks = _List(("kind", "public_key", "signature", "reference", "address"))
        self._transaction_tagged = _Struct(("tag", "data"))
        self._milestone = _Struct(("milestone_id", "milestone_index", "timestamp", "payload"))
        self._receipt = _Struct(("migrated_at", "treasury_input", "treasury_amount", "payload"))
        self._funds = _List(OUTPUT_FIELDS)
        self._reject = _Struct(("file", "line", "item", "reason"))

    def add(self, checked: Checked) -> None:
        """All messages and rejects of a milestone."""
        index = checked.milestone_index
        seconds = checked.milestone.timestamp if checked.milestone is not None else None
        micros = None if seconds is None or seconds > MAX_TIMESTAMP_S else seconds * 1_000_000
        own = _own_message(checked)
        for position, (entry, data) in enumerate(checked.messages):
            self._add_row(
                entry.message_id,
                index,
                position if checked.verified else None,
                micros,
                data,
                entry.inclusion_state,
                entry.conflict_reason,
                checked.verified,
            )
            self._add_message(entry.message, is_own=entry.message_id == own)
            self._reject.null()
        for reject in checked.rejects:
            self._add_row(None, index, None, None, None, None, None, None)
            self._add_nothing()
            self._reject.row((reject.file, reject.line, reject.item, reject.reason))

    def _add_row(self, *values: Any) -> None:
        for name, value in zip(_ROW, values, strict=True):
            self._columns[name].append(value)
        self.count += 1

    def _add_message(self, message: Message, *, is_own: bool) -> None:
        self._network_ids.extend((message.network_id, 0))
        self._nonces.extend((message.nonce, 0))
        self._parents.rows([message.parents])
        payload = message.payload
        self._columns["payload_kind"].append(None if payload is None else payload.KIND)
        if isinstance(payload, Indexation):
            self._tagged.row((payload.index, payload.data))
        else:
            self._tagged.null()
        if isinstance(payload, Transaction):
            self._add_transaction(payload)
        else:
            self._no_transaction()
        if isinstance(payload, Milestone):
            self._add_milestone(payload, is_own=is_own)
        else:
            self._no_milestone()

    def _add_transaction(self, payload: Transaction) -> None:
        identity = transaction_id(encode_payload(payload))
        essence = payload.essence
        self._transaction.row((identity,))
        inputs = essence.inputs
        self._inputs.rows(
            (
                [each.KIND for each in inputs],
                [
                    each.milestone_id if isinstance(each, TreasuryInput) else output_id(each.transaction_id, each.index)
                    for each in inputs
                ],
            )
        )
        self._outputs.rows(_output_columns(identity, essence.outputs))
        signed = [each if isinstance(each, SignatureUnlock) else None for each in payload.unlock_blocks]
        self._unlocks.rows(
            (
                [each.KIND for each in payload.unlock_blocks],
                [None if each is None else each.public_key for each in signed],
                [None if each is None else each.signature for each in signed],
                [None if isinstance(each, SignatureUnlock) else each.index for each in payload.unlock_blocks],
                [None if each is None else ed25519_address(each.public_key) for each in signed],
            )
        )
        tagged = essence.payload
        if tagged is None:
            self._transaction_tagged.null()
        else:
            self._transaction_tagged.row((tagged.index, tagged.data))

    def _add_milestone(self, payload: Milestone, *, is_own: bool) -> None:
        data = encode_payload(payload)
        identity = milestone_id(data)
        self._milestone.row((identity, payload.index, min(payload.timestamp, MAX_TIMESTAMP_S), data))
        receipt = payload.receipt if is_own else None
        if receipt is None:
            self._receipt.null()
            self._funds.empty()
            return
        treasury = receipt.transaction
        self._receipt.row(
            (receipt.migrated_at, treasury.input.milestone_id, treasury.output.amount, encode_payload(receipt))
        )
        outputs = [SigLockedSingle(fund.address, fund.deposit) for fund in receipt.funds]
        self._funds.rows(_output_columns(identity, outputs))

    def _no_milestone(self) -> None:
        self._milestone.null()
        self._receipt.null()
        self._funds.empty()

    def _no_transaction(self) -> None:
        self._transaction.null()
        self._inputs.empty()
        self._outputs.empty()
        self._unlocks.empty()
        self._transaction_tagged.null()

    def _add_nothing(self) -> None:
        self._network_ids.extend((0, 0))
        self._nonces.extend((0, 0))
        self._parents.empty()
        self._columns["payload_kind"].append(None)
        self._tagged.null()
        self._no_transaction()
        self._no_milestone()

    def batch(self) -> pa.RecordBatch:
        """The rows so far, in the order of DECODED_DDL."""
        flat = {name: pa.array(self._columns[name], kind) for name, kind in _FLAT.items()}
        lake_range = [None if m is None else m // LAKE_RANGE for m in self._columns["milestone_index"]]
        tagged = self._transaction_tagged.array((pa.binary(), pa.binary()))
        transaction = self._transaction.array(
            (pa.binary(),),
            extra={
                "inputs": self._inputs.struct_array((pa.int8(), pa.binary())),
                "outputs": self._outputs.struct_array(_OUTPUT_TYPES),
                "unlocks": self._unlocks.struct_array((pa.int8(), pa.binary(), pa.binary(), pa.int32(), pa.binary())),
                "tagged_data": tagged,
            },
        )
        receipt = self._receipt.array(
            (pa.int32(), pa.binary(), _U64, pa.binary()), extra={"funds": self._funds.struct_array(_OUTPUT_TYPES)}
        )
        arrays = {
            "message_id": flat["message_id"],
            "milestone_index": flat["milestone_index"],
            "lake_range": pa.array(lake_range, pa.int32()),
            "white_flag_index": flat["white_flag_index"],
            "timestamp": flat["timestamp"],
            "version": pa.array([CHRYSALIS] * self.count, pa.int8()),
            "network_id": _u64_array(self._network_ids),
            "parents": self._parents.array(pa.binary()),
            "nonce": _u64_array(self._nonces),
            "message": flat["message"],
            "inclusion_state": flat["inclusion_state"],
            "conflict_reason": flat["conflict_reason"],
            "verified": flat["verified"],
            "payload_kind": flat["payload_kind"],
            "tagged_data": self._tagged.array((pa.binary(), pa.binary())),
            "transaction": transaction,
            "milestone": self._milestone.array(
                (pa.binary(), pa.int32(), pa.int64(), pa.binary()), extra={"receipt": receipt}
            ),
            "reject": self._reject.array((pa.string(), pa.int32(), pa.string(), pa.string())),
        }
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


_FLAT: dict[str, pa.DataType] = {
    "message_id": pa.binary(),
    "milestone_index": pa.int32(),
    "white_flag_index": pa.int32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "message": pa.binary(),
    "inclusion_state": pa.int8(),
    "conflict_reason": pa.int16(),
    "verified": pa.string(),
    "payload_kind": pa.int8(),
}
_ROW = tuple(name for name in _FLAT if name != "payload_kind")


class _List:
    """A list column of structs (or of one plain value), kept flat."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields
        self._offsets = array("i", (0,))
        self._values: list[list[Any]] = [[] for _ in fields]

    def rows(self, columns: Sequence[Sequence[Any]]) -> None:
        for values, column in zip(self._values, columns, strict=True):
            values.extend(column)
        self._offsets.append(len(self._values[0]))

    def empty(self) -> None:
        self._offsets.append(len(self._values[0]))

    def array(self, kind: pa.DataType) -> pa.ListArray:
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), pa.array(self._values[0], kind))

    def struct_array(self, kinds: Sequence[pa.DataType]) -> pa.ListArray:
        arrays = [pa.array(values, kind) for values, kind in zip(self._values, kinds, strict=True)]
        struct = pa.StructArray.from_arrays(arrays, names=list(self._fields))
        return pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), struct)


class _Struct:
    """A nullable struct column, kept by field."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields
        self._values: list[list[Any]] = [[] for _ in fields]
        self._null: list[bool] = []

    def row(self, values: Sequence[Any]) -> None:
        for column, value in zip(self._values, values, strict=True):
            column.append(value)
        self._null.append(False)

    def null(self) -> None:
        for column in self._values:
            column.append(None)
        self._null.append(True)

    def array(self, kinds: Sequence[pa.DataType], extra: dict[str, pa.Array] | None = None) -> pa.StructArray:
        arrays = [pa.array(values, kind) for values, kind in zip(self._values, kinds, strict=True)]
        names = list(self._fields)
        for name, values in (extra or {}).items():
            names.append(name)
            arrays.append(values)
        return pa.StructArray.from_arrays(arrays, names=names, mask=pa.array(self._null, pa.bool_()))


def _own_message(checked: Checked) -> bytes | None:
    """The message that carries the milestone itself: the first in white-flag order, else by id."""
    own = (
        entry.message_id
        for entry, _ in checked.messages
        if isinstance(entry.message.payload, Milestone) and entry.message.payload.index == checked.milestone_index
    )
    return next(own, None) if checked.verified else min(own, default=None)


def _output_columns(identity: bytes, outputs: Sequence[Output]) -> Sequence[Sequence[Any]]:
    """OUTPUT_FIELDS of what a transaction, or a milestone's receipt, created."""
    return (
        [each.KIND for each in outputs],
        [None if isinstance(each, TreasuryOutput) else each.address for each in outputs],
        [each.amount for each in outputs],
        [output_id(identity, position) for position in range(len(outputs))],
        [encode_output(each) for each in outputs],
    )


def _u64_array(pairs: "array[int]") -> pa.Array:
    """u64 values as decimal(20, 0): each is its own low half beside a zero high half, little-endian."""
    return pa.Array.from_buffers(_U64, len(pairs) // 2, [None, pa.py_buffer(pairs.tobytes())])
