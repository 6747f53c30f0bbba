"""Converts checked milestones to Arrow: a row per message in the lake's columns, and a row per reject.

Values are appended to flat lists, which become Arrow arrays with offsets and positions. There are no dicts per row,
because every message of a load passes through here. The DDL is the only declaration of a decoded row.
"""

from array import array
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etl.lake.arrow_builders import ListColumn, StructColumn
from etl.lake.checked import Checked
from etl.lake.output_rows import OUTPUT, U64, OutputColumn
from etl.sources.cone import TRANSACTIONS
from etl.sources.fields import MAX_MILESTONE_INDEX
from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis.codec import Indexation, SigLockedSingle, SignatureUnlock, TreasuryInput
from ledger.eras import CHRYSALIS
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
        self._parents = ListColumn()
        self._network_ids = array("Q")
        self._nonces = array("Q")
        self._tagged = StructColumn()
        self._transaction = StructColumn()
        self._inputs = ListColumn()
        self._outputs = OutputColumn()
        self._unlocks = ListColumn()
        self._transaction_tagged = StructColumn()
        self._milestone = StructColumn()
        self._receipt = StructColumn()
        self._funds = OutputColumn()
        self._parameters = StructColumn()
        self._reject = StructColumn()

    def add(self, checked: Checked) -> None:
        """Adds all messages and rejects of a milestone, and in Stardust the payload of the milestone."""
        index, milestone, version = checked.milestone_index, checked.milestone, checked.codec.protocol_version
        micros = None
        if milestone is not None and milestone.timestamp <= MAX_TIMESTAMP_S:
            micros = milestone.timestamp * 1_000_000
        of_index = {"milestone_index": index, "lake_range": index // LAKE_RANGE, "version": version}
        of_all = {**of_index, "timestamp": micros, "verified": checked.verified}
        self._add_messages(checked, of_all)
        if isinstance(milestone, v2.Milestone):
            size = len(checked.messages) if checked.kept is None else checked.kept.cone_size
            size_of_cone = size if checked.verified else None
            self._add_rows(1, **of_all, white_flag_index=size_of_cone, payload_kind=milestone.KIND)
            self._add_nothing()
            self._add_stardust_milestone(milestone, message_id(stardust.milestone_block_bytes(milestone)))
            self._reject.null()
        for reject in checked.rejects:
            self._add_rows(1, **of_index)
            self._add_nothing()
            self._milestone.null()
            self._reject.row((reject.file, reject.line, reject.item, reject.reason))

    def _add_rows(self, count: int, **columns: Any) -> None:
        """Adds rows of the flat columns: a list of values, or one value for all. Other columns are null."""
        for name, values in self._columns.items():
            given = columns.get(name)
            values += given if isinstance(given, list) else [given] * count
        self.count += count

    def _add_messages(self, checked: Checked, of_all: dict[str, Any]) -> None:
        entries, kept = checked.messages, checked.kept
        messages = [entry.message for entry in entries]
        payloads = [message.payload for message in messages]
        places = range(len(entries)) if kept is None else kept.places
        self._add_rows(
            len(entries),
            **of_all,
            message_id=[entry.message_id for entry in entries],
            white_flag_index=[*places] if checked.verified else None,
            message=[entry.data for entry in entries],
            inclusion_state=[entry.inclusion_state for entry in entries],
            conflict_reason=[entry.conflict_reason for entry in entries],
            payload_kind=[None if payload is None else payload.KIND for payload in payloads],
            proof=None if kept is None else [*kept.proofs],
        )
        self._network_ids.extend(each.network_id if isinstance(each, chrysalis.Message) else 0 for each in messages)
        self._nonces.extend(message.nonce for message in messages)
        self._parents.add_all([message.parents for message in messages])
        self._reject.nulls(len(entries))
        own = _own_message(checked)
        for entry, payload in zip(entries, payloads, strict=True):
            if isinstance(payload, _TAGGED):
                self._tagged.row(_tag(payload))
            else:
                self._tagged.null()
            if isinstance(payload, TRANSACTIONS):
                self._add_transaction(payload, transaction_id(checked.codec.payload_bytes(entry.data)))
            else:
                self._transaction.null()
            if isinstance(payload, chrysalis.Milestone):
                self._add_milestone(payload, is_own=entry.message_id == own)
            elif isinstance(payload, v2.Milestone):
                self._add_stardust_milestone(payload, None)
            else:
                self._milestone.null()

    def _add_transaction(self, payload: chrysalis.Transaction | v2.Transaction, identity: bytes) -> None:
        self._transaction.row((identity,))
        essence = payload.essence
        self._inputs.add([(each.KIND, _spent_output(each)) for each in essence.inputs])
        if isinstance(payload, chrysalis.Transaction):
            self._outputs.add(identity, payload.essence.outputs)
            self._unlocks.add(map(_unlock, payload.unlock_blocks))
        else:
            self._outputs.add_stardust(identity, payload.essence.outputs)
            self._unlocks.add(map(_unlock, payload.unlocks))
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

    def _add_nothing(self) -> None:
        """Adds nulls for the fields that a row without a message does not have."""
        self._network_ids.append(0)
        self._nonces.append(0)
        self._parents.add(())
        self._tagged.null()
        self._transaction.null()

    def batch(self) -> pa.RecordBatch:
        """The rows so far, in the order of DECODED_DDL."""
        flat = {name: pa.array(self._columns[name], kind) for name, kind in _FLAT.items()}
        transaction = self._transaction.array(
            {"transaction_id": pa.binary()},
            extra={
                "inputs": self._inputs.struct_array(_INPUT),
                "outputs": self._outputs.array(),
                "unlocks": self._unlocks.struct_array(_UNLOCK),
                "tagged_data": self._transaction_tagged.array(_TAGGED_FIELDS),
            },
        )
        receipt = self._receipt.array(_RECEIPT, extra={"funds": self._funds.array()})
        parameters = self._parameters.array(_PARAMETERS)
        arrays = {
            "message_id": flat["message_id"],
            "milestone_index": flat["milestone_index"],
            "lake_range": flat["lake_range"],
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
            "tagged_data": self._tagged.array(_TAGGED_FIELDS),
            "transaction": transaction,
            "milestone": self._milestone.array(_MILESTONE, extra={"receipt": receipt, "parameters": parameters}),
            "proof": flat["proof"],
            "reject": self._reject.array(_REJECT),
        }
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


_FLAT: dict[str, pa.DataType] = {
    "message_id": pa.binary(),
    "milestone_index": pa.int32(),
    "lake_range": pa.int32(),
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
_TAGGED_FIELDS = {"tag": pa.binary(), "data": pa.binary()}
_INPUT = {"kind": pa.int8(), "output_id": pa.binary()}
_UNLOCK = {
    "kind": pa.int8(),
    "public_key": pa.binary(),
    "signature": pa.binary(),
    "reference": pa.int32(),
    "address": pa.binary(),
}
_MILESTONE = {
    "milestone_id": pa.binary(),
    "milestone_index": pa.int32(),
    "timestamp": pa.int64(),
    "payload": pa.binary(),
    "block_id": pa.binary(),
}
_RECEIPT = {
    "migrated_at": pa.int32(),
    "treasury_input": pa.binary(),
    "treasury_amount": U64,
    "payload": pa.binary(),
}
_PARAMETERS = {"target_milestone_index": pa.int32(), "protocol_version": pa.int16(), "params": pa.binary()}
_REJECT = {"file": pa.string(), "line": pa.int32(), "item": pa.string(), "reason": pa.string()}
_NO_NETWORK = pa.scalar(None, U64)
_TAGGED = (Indexation, v2.TaggedData)


def _own_message(checked: Checked) -> bytes | None:
    """The message that carries a Chrysalis milestone: the first in white-flag order, else by id."""
    own = (
        entry.message_id
        for entry in checked.messages
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


def _spent_output(spent: chrysalis.Input) -> bytes:
    return spent.milestone_id if isinstance(spent, TreasuryInput) else output_id(spent.transaction_id, spent.index)


def _unlock(unlock: v2.Unlock) -> tuple[int, bytes | None, bytes | None, int | None, bytes | None]:
    if isinstance(unlock, SignatureUnlock):
        return unlock.KIND, unlock.public_key, unlock.signature, None, ed25519_address(unlock.public_key)
    return unlock.KIND, None, None, unlock.index, None


def _u64_array(numbers: "array[int]") -> pa.Array:
    """u64 values as decimal(20, 0): each is the low half of a 128-bit little-endian number whose high half is zero."""
    pairs = np.zeros((len(numbers), 2), np.uint64)
    pairs[:, 0] = numbers
    return pa.Array.from_buffers(U64, len(numbers), [None, pa.py_buffer(pairs)])
