"""Converts outputs of transactions and receipts to Arrow: a column of lists with the same type for both eras.

Fields that only Stardust outputs have are a nested struct, which is null for all others.
"""

from collections.abc import Sequence

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
"""The additional fields of a Stardust output: ids of aliases and NFTs (32 bytes) and foundries (38), addresses with
their type byte, unix seconds, and the number of native tokens.
"""

OUTPUT = f"""STRUCT<
  kind: TINYINT, address: BINARY, amount: DECIMAL(20,0), output_id: BINARY, data: BINARY,
  stardust: {STARDUST_OUTPUT}>"""
"""`kind` is the number of the protocol. `address` is the owner that the output names: the address, for an alias its
state controller, for a foundry its alias.
"""

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
"""STARDUST_OUTPUT as an Arrow type; the fields of ledger.stardust.named.Named."""

_FIELDS = {"kind": pa.int8(), "address": pa.binary(), "amount": U64, "output_id": pa.binary(), "data": pa.binary()}
_STARDUST = {each.name: each.type for each in STARDUST_TYPE}


class OutputColumn:
    """Lists of outputs, a list per row."""

    def __init__(self) -> None:
        self._outputs = ListColumn()
        self._stardust = StructColumn()

    def add(self, identity: bytes, outputs: Sequence[chrysalis.Output]) -> None:
        """Appends the outputs that a Chrysalis transaction, or the receipt of a milestone, created."""
        self._outputs.add(
            (
                each.KIND,
                None if isinstance(each, TreasuryOutput) else each.address,
                each.amount,
                output_id(identity, position),
                chrysalis.encode_output(each),
            )
            for position, each in enumerate(outputs)
        )
        self._stardust.nulls(len(outputs))

    def add_stardust(self, identity: bytes, outputs: Sequence[v2.TransferOutput]) -> None:
        """Appends the outputs of a Stardust transaction or receipt. Migrated funds are basic outputs."""
        items = []
        for position, each in enumerate(outputs):
            own = output_id(identity, position)
            # No expiration is before this time.
            owner = stardust.owner_at(each, 0)
            items.append((each.KIND, owner, each.amount, own, stardust.encode_output(each)))
            self._stardust.row(named(each, own))
        self._outputs.add(items)

    def array(self) -> pa.ListArray:
        """The column with items of type OUTPUT."""
        return self._outputs.struct_array(_FIELDS, {"stardust": self._stardust.array(_STARDUST)})
