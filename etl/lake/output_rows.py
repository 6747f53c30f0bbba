"""Outputs of transactions and receipts → Arrow: one column of lists, the same for both eras.

Rules of this file: as in message_rows.py. What only Stardust's outputs have is one nested struct, null for all others.
"""

from collections.abc import Sequence
from dataclasses import astuple

import pyarrow as pa

from etl.lake.arrow_builders import ListColumn, StructColumn
from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis.codec import TreasuryOutput
from ledger.ids import output_id
from ledger.stardust import codec as stardust
from ledger.stardust import values as v2
from ledger.stardust.named import named

STARDUST_OUTPUT = """STRUCT<
  chain_id: BINARY, sender: BINARY, issuer: BINARY, state_controller: BINARY, governor: BINARY,
  storage_deposit_return: BINARY, storage_deposit_return_amount: DECIMAL(20,0), timelock: BIGINT, expiration: BIGINT,
  expiration_return: BINARY, tag: BINARY, native_tokens: SMALLINT>"""
"""What a Stardust output may have beside an owner and an amount: ids of aliases and NFTs (32 bytes) and foundries (38),
addresses with their type byte, unix seconds, and how many native tokens."""

OUTPUT = f"""STRUCT<
  kind: TINYINT, address: BINARY, amount: DECIMAL(20,0), output_id: BINARY, data: BINARY,
  stardust: {STARDUST_OUTPUT}>"""
"""`kind` is the protocol's number; `address` whom the output names its owner: the address, of an alias the state
controller, of a foundry its alias."""

U64 = pa.decimal128(20, 0)

STARDUST_TYPE = pa.struct(
    {
        "chain_id": pa.binary(),
        "sender": pa.binary(),
        "issuer": pa.binary(),
        "state_controller": pa.binary(),
        "governor": pa.binary(),
        "storage_deposit_return": pa.binary(),
        "storage_deposit_return_amount": U64,
        "timelock": pa.int64(),
        "expiration": pa.int64(),
        "expiration_return": pa.binary(),
        "tag": pa.binary(),
        "native_tokens": pa.int16(),
    }
)
"""STARDUST_OUTPUT as Arrow has it; the fields of ledger.stardust.named.Named."""

_FIELDS = {"kind": pa.int8(), "address": pa.binary(), "amount": U64, "output_id": pa.binary(), "data": pa.binary()}
_STARDUST = {each.name: each.type for each in STARDUST_TYPE}


class OutputColumn:
    """Lists of outputs, a list a row."""

    def __init__(self) -> None:
        self._outputs = ListColumn(tuple(_FIELDS))
        self._stardust = StructColumn(tuple(_STARDUST))

    def add(self, identity: bytes, outputs: Sequence[chrysalis.Output]) -> None:
        """What a Chrysalis transaction of that id, or the receipt of a milestone, created."""
        self._outputs.rows(
            (
                [each.KIND for each in outputs],
                [None if isinstance(each, TreasuryOutput) else each.address for each in outputs],
                [each.amount for each in outputs],
                [output_id(identity, position) for position in range(len(outputs))],
                [chrysalis.encode_output(each) for each in outputs],
            )
        )
        self._stardust.nulls(len(outputs))

    def add_stardust(self, identity: bytes, outputs: Sequence[v2.TransferOutput]) -> None:
        """The same of Stardust; migrated funds are basic outputs."""
        ids = [output_id(identity, position) for position in range(len(outputs))]
        self._outputs.rows(
            (
                [each.KIND for each in outputs],
                # No expiration is that early.
                [stardust.owner_at(each, 0) for each in outputs],
                [each.amount for each in outputs],
                ids,
                [stardust.encode_output(each) for each in outputs],
            )
        )
        for each, own in zip(outputs, ids, strict=True):
            self._stardust.row(astuple(named(each, own)))

    def array(self) -> pa.ListArray:
        """The column, of OUTPUT."""
        stardust = self._stardust.array(tuple(_STARDUST.values()))
        return self._outputs.struct_array(tuple(_FIELDS.values()), {"stardust": stardust})
