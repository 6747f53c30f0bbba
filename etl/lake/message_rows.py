"""Converts checked milestones to Arrow: a row per message in the lake's columns, and a row per reject.

Values are appended to flat lists, which become Arrow arrays with offsets and positions. There are no dicts per row,
because every message of a load passes through here. The DDL is the only declaration of a decoded row.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from etl.lake.arrow_builders import ListColumn, StructColumn
from etl.lake.checked import Checked
from etl.lake.output_rows import OUTPUT, U64, OutputColumn
from etl.sources.cone import Message
from etl.sources.fields import MAX_MILESTONE_INDEX
from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis.codec import Indexation, SigLockedSingle, SignatureUnlock, TreasuryInput
from ledger.eras import CHRYSALIS, Codec
from ledger.ids import ed25519_address, message_id, milestone_id, output_id, transaction_id
from ledger.stardust import codec as stardust
from ledger.stardust import values as v2

TAGGED_DATA = "STRUCT<tag: BINARY, data: BINARY>"

RECEIPT = f"""STRUCT<
  migrated_at: INT, treasury_input: BINARY, treasury_amount: DECIMAL(20,0), payload: BINARY, funds: ARRAY<{OUTPUT}>>"""
"""Values of the milestone itself. In Chrysalis only the first attachment of its message has them, so that they count
once. `funds` are outputs like those of a transaction, with ids derived from the milestone's id.
"""

PARAMETERS = "STRUCT<target_milestone_index: INT, protocol_version: SMALLINT, params: BINARY>"
"""Protocol parameters that a Stardust milestone announces."""

MILESTONE = f"""STRUCT<
  milestone_id: BINARY, milestone_index: INT, timestamp: BIGINT, payload: BINARY, block_id: BINARY, receipt: {RECEIPT},
  parameters: {PARAMETERS}>"""
"""`block_id` is the Stardust block that contains the payload. For receipt and parameters see RECEIPT."""

MESSAGE_DDL = f"""
message_id BINARY, milestone_index INT, lake_range INT, white_flag_index INT, timestamp TIMESTAMP, version TINYINT,
network_id DECIMAL(20,0), parents ARRAY<BINARY>, nonce DECIMAL(20,0), message BINARY,
inclusion_state TINYINT, conflict_reason SMALLINT, verified STRING, payload_kind TINYINT,
tagged_data {TAGGED_DATA},
transaction STRUCT<
  transaction_id: BINARY,
  inputs: ARRAY<STRUCT<kind: TINYINT, output_id: BINARY>>,
  outputs: ARRAY<{OUTPUT}>,
  unlocks: ARRAY<STRUCT<kind: TINYINT, public_key: BINARY, signature: BINARY, reference: INT, address: BINARY>>,
  tagged_data: {TAGGED_DATA}>,
milestone {MILESTONE},
proof BINARY
"""
"""A row per message. A Stardust milestone, whose block is in a later cone, has an additional row with its payload:
message_id is null, white_flag_index is the size of the cone, and `milestone` is not null. `proof` has the form of
ledger.message_proof, and is null if the lake has all messages of the milestone.
"""

REJECT_DDL = "reject STRUCT<file: STRING, line: INT, item: STRING, reason: STRING>"

DECODED_DDL = f"{MESSAGE_DDL}, {REJECT_DDL}"

LAKE_RANGE = 100_000
"""Milestones per partition of the lake. It does not depend on the chunk_size of stores."""

MAX_TIMESTAMP_S = 253_402_300_799
"""9999-12-31T23:59:59Z, the last second of timestamps in Spark and SQL."""


class MessageRows:
    """Builds the rows of one Arrow batch."""

    def __init__(self) -> None:
        self.count = 0
        self._columns: dict[str, list[Any]] = {name: [] for name in _FLAT}
        self._parents = ListColumn(("parent",))
        self._network_ids = array("Q")
        self._nonces = array("Q")
        self._tagged = StructColumn(("tag", "data"))
        self._transaction = StructColumn(("transaction_id",))
        self._inputs = ListColumn(("kind", "output_id"))
        self._outputs = OutputColumn()
        self._unlocks = ListColumn(("kind", "public_key", "signature", "reference", "address"))
        self._transaction_tagged = StructColumn(("tag", "data"))
        self._milestone = StructColumn(("milestone_id", "milestone_index", "timestamp", "payload", "block_id"))
        self._receipt = StructColumn(("migrated_at", "treasury_input", "treasury_amount", "payload"))
        self._funds = OutputColumn()
        self._parameters = StructColumn(("target_milestone_index", "protocol_version", "params"))
        self._reject = StructColumn(("file", "line", "item", "reason"))

    def add(self, checked: Checked) -> None:
        """Adds all messages and rejects of a milestone, and in Stardust the payload of the milestone."""
        index, milestone, version = checked.milestone_index, checked.milestone, checked.codec.protocol_version
        micros = None
        if milestone is not None and milestone.timestamp <= MAX_TIMESTAMP_S:
            micros = milestone.timestamp * 1_000_000
        own = _own_message(checked)
        places: Sequence[int] = range(len(checked.messages))
        proofs: Iterable[bytes | None] = repeat(None)
        if checked.kept is not None:
            places, proofs = checked.kept.places, checked.kept.proofs
        for place, proof, (entry, data) in zip(places, proofs, checked.messages, strict=False):
            self._add_row(
                entry.message_id,
                index,
                place if checked.verified else None,
                micros,
                version,
                data,
                entry.inclusion_state,
                entry.conflict_reason,
                checked.verified,
                proof,
            )
            self._add_message(entry.message, data, checked.codec, is_own=entry.message_id == own)
            self._reject.null()
        if isinstance(milestone, v2.Milestone):
            size = len(checked.messages) if checked.kept is None else checked.kept.cone_size
            size_of_cone = size if checked.verified else None
            self._add_row(None, index, size_of_cone, micros, version, None, None, None, checked.verified, None)
            self._add_payload(milestone)
            self._reject.null()
        for reject in checked.rejects:
            self._add_row(None, index, None, None, version, None, None, None, None, None)
            self._add_nothing(payload_kind=None)
            self._milestone.null()
            self._reject.row((reject.file, reject.line, reject.item, reject.reason))

    def _add_row(self, *values: Any) -> None:
        for name, value in zip(_ROW, values, strict=True):
            self._columns[name].append(value)
        self.count += 1

    def _add_message(self, message: Message, data: bytes, codec: Codec, *, is_own: bool) -> None:
        self._network_ids.extend((message.network_id if isinstance(message, chrysalis.Message) else 0, 0))
        self._nonces.extend((message.nonce, 0))
        self._parents.rows([message.parents])
        payload = message.payload
        self._columns["payload_kind"].append(None if payload is None else payload.KIND)
        if isinstance(payload, Indexation | v2.TaggedData):
            self._tagged.row(_tag(payload))
        else:
            self._tagged.null()
        if isinstance(payload, chrysalis.Transaction | v2.Transaction):
            self._add_transaction(payload, transaction_id(codec.payload_bytes(data)))
        else:
            self._transaction.null()
        if isinstance(payload, chrysalis.Milestone):
            self._add_milestone(payload, is_own=is_own)
        elif isinstance(payload, v2.Milestone):
            self._add_stardust_milestone(payload, None)
        else:
            self._milestone.null()

    def _add_transaction(self, payload: chrysalis.Transaction | v2.Transaction, identity: bytes) -> None:
        self._transaction.row((identity,))
        essence = payload.essence
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
        unlocks: Sequence[v2.Unlock]
        if isinstance(payload, chrysalis.Transaction):
            self._outputs.add(identity, payload.essence.outputs)
            unlocks = payload.unlock_blocks
        else:
            self._outputs.add_stardust(identity, payload.essence.outputs)
            unlocks = payload.unlocks
        signed = [each if isinstance(each, SignatureUnlock) else None for each in unlocks]
        self._unlocks.rows(
            (
                [each.KIND for each in unlocks],
                [None if each is None else each.public_key for each in signed],
                [None if each is None else each.signature for each in signed],
                [None if isinstance(each, SignatureUnlock) else each.index for each in unlocks],
                [None if each is None else ed25519_address(each.public_key) for each in signed],
            )
        )
        if essence.payload is None:
            self._transaction_tagged.null()
        else:
            self._transaction_tagged.row(_tag(essence.payload))

    def _add_milestone(self, payload: chrysalis.Milestone, *, is_own: bool) -> None:
        data = chrysalis.encode_payload(payload)
        identity = milestone_id(data)
        self._milestone.row((identity, _index(payload.index), min(payload.timestamp, MAX_TIMESTAMP_S), data, None))
        self._parameters.null()
        receipt = payload.receipt if is_own else None
        if receipt is None:
            self._receipt.null()
            return
        self._add_receipt(receipt.migrated_at, receipt.transaction, chrysalis.encode_payload(receipt))
        self._funds.add(identity, [SigLockedSingle(fund.address, fund.deposit) for fund in receipt.funds])

    def _add_payload(self, milestone: v2.Milestone) -> None:
        """Adds the milestone itself, separate from its cone."""
        self._add_nothing(payload_kind=milestone.KIND)
        self._add_stardust_milestone(milestone, message_id(stardust.milestone_block_bytes(milestone)))

    def _add_stardust_milestone(self, payload: v2.Milestone, block_id: bytes | None) -> None:
        """Adds the values of a milestone. `block_id` is None for a block of a cone, whose milestone is counted in its
        own row.
        """
        identity = stardust.milestone_id(payload)
        data = stardust.encode_payload(payload)
        self._milestone.row((identity, _index(payload.index), payload.timestamp, data, block_id))
        options = {each.KIND: each for each in payload.options} if block_id is not None else {}
        parameters, receipt = options.get(v2.ParametersOption.KIND), options.get(v2.ReceiptOption.KIND)
        if isinstance(parameters, v2.ParametersOption):
            self._parameters.row(
                (_index(parameters.target_milestone_index), parameters.protocol_version, parameters.params)
            )
        else:
            self._parameters.null()
        if not isinstance(receipt, v2.ReceiptOption):
            self._receipt.null()
            return
        self._add_receipt(receipt.migrated_at, receipt.transaction, stardust.encode_option(receipt))
        funds = [v2.BasicOutput(each.deposit, (), (v2.AddressCondition(each.address),), ()) for each in receipt.funds]
        self._funds.add_stardust(identity, funds)

    def _add_receipt(self, migrated_at: int, treasury: chrysalis.TreasuryTransaction, data: bytes) -> None:
        self._receipt.row((_index(migrated_at), treasury.input.milestone_id, treasury.output.amount, data))

    def _add_nothing(self, *, payload_kind: int | None) -> None:
        """Adds nulls for the fields that a row without a message does not have."""
        self._network_ids.extend((0, 0))
        self._nonces.extend((0, 0))
        self._parents.empty()
        self._columns["payload_kind"].append(payload_kind)
        self._tagged.null()
        self._transaction.null()

    def batch(self) -> pa.RecordBatch:
        """The rows so far, in the order of DECODED_DDL."""
        flat = {name: pa.array(self._columns[name], kind) for name, kind in _FLAT.items()}
        lake_range = [None if m is None else m // LAKE_RANGE for m in self._columns["milestone_index"]]
        tagged = self._transaction_tagged.array((pa.binary(), pa.binary()))
        transaction = self._transaction.array(
            (pa.binary(),),
            extra={
                "inputs": self._inputs.struct_array((pa.int8(), pa.binary())),
                "outputs": self._outputs.array(),
                "unlocks": self._unlocks.struct_array((pa.int8(), pa.binary(), pa.binary(), pa.int32(), pa.binary())),
                "tagged_data": tagged,
            },
        )
        receipt = self._receipt.array((pa.int32(), pa.binary(), U64, pa.binary()), extra={"funds": self._funds.array()})
        parameters = self._parameters.array((pa.int32(), pa.int16(), pa.binary()))
        arrays = {
            "message_id": flat["message_id"],
            "milestone_index": flat["milestone_index"],
            "lake_range": pa.array(lake_range, pa.int32()),
            "white_flag_index": flat["white_flag_index"],
            "timestamp": flat["timestamp"],
            "version": flat["version"],
            "network_id": pc.if_else(
                pc.equal(flat["version"], CHRYSALIS.protocol_version), _u64_array(self._network_ids), _NO_NETWORK
            ),
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
                (pa.binary(), pa.int32(), pa.int64(), pa.binary(), pa.binary()),
                extra={"receipt": receipt, "parameters": parameters},
            ),
            "proof": flat["proof"],
            "reject": self._reject.array((pa.string(), pa.int32(), pa.string(), pa.string())),
        }
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


_FLAT: dict[str, pa.DataType] = {
    "message_id": pa.binary(),
    "milestone_index": pa.int32(),
    "white_flag_index": pa.int32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "version": pa.int8(),
    "message": pa.binary(),
    "inclusion_state": pa.int8(),
    "conflict_reason": pa.int16(),
    "verified": pa.string(),
    "proof": pa.binary(),
    "payload_kind": pa.int8(),
}
_NO_NETWORK = pa.scalar(None, U64)
_ROW = tuple(name for name in _FLAT if name != "payload_kind")


def _own_message(checked: Checked) -> bytes | None:
    """The message that carries a Chrysalis milestone: the first in white-flag order, else by id."""
    own = (
        entry.message_id
        for entry, _ in checked.messages
        if isinstance(entry.message, chrysalis.Message)
        and (milestone := chrysalis.milestone_of(entry.message)) is not None
        and milestone.index == checked.milestone_index
    )
    return next(own, None) if checked.verified else min(own, default=None)


def _index(value: int) -> int:
    """A u32 as INT. Only milestones that nobody issued exceed it."""
    return min(value, MAX_MILESTONE_INDEX)


def _tag(payload: Indexation | v2.TaggedData) -> tuple[bytes, bytes]:
    return (payload.index if isinstance(payload, Indexation) else payload.tag), payload.data


def _u64_array(pairs: "array[int]") -> pa.Array:
    """u64 values as decimal(20, 0): each is the low half of a 128-bit little-endian number whose high half is zero."""
    return pa.Array.from_buffers(U64, len(pairs) // 2, [None, pa.py_buffer(pairs.tobytes())])
