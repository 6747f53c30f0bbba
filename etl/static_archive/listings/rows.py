"""The rows of all families of listings (ledger/completeness/families.py) in milestones of a lake, with Arrow.

What is written is compared with the trees of the store, key by key, so rows that differ from those that the pipeline
hashed end the run.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from db.output_kinds import types_of
from db.roles import CHAIN, ROLES, Role
from etl.static_archive.lake_rows import LakeReader
from ledger.completeness.families import BY_NAME

SCHEMA = pa.schema({"place": pa.binary(), "row": pa.binary()})
"""Family and key; row id."""

COLUMNS = (
    "message_id",
    "parents",
    "inclusion_state",
    "tagged_data.tag",
    "transaction.transaction_id",
    "transaction.tagged_data.tag",
    "transaction.outputs",
    "transaction.unlocks",
    "milestone.receipt.treasury_input",
    "milestone.receipt.funds",
)

INCLUDED = 1

Change: TypeAlias = tuple[int, int, int, bool, bytes, bytes]
"""A result of `StoreReads.changes`."""


def listing_rows(lake: LakeReader, first: int, last: int) -> Iterator[pa.Table]:
    """Yields SCHEMA of the milestones first ≤ m ≤ last in any order, without the ledger's changes."""
    for rows in lake.rows(first, last, COLUMNS):
        rows = rows.combine_chunks()
        parts = [*_messages(rows), *_of_ledger(rows)]
        yield pa.concat_tables([SCHEMA.empty_table(), *parts])


def change_rows(changes: Iterable[Change]) -> pa.Table:
    """SCHEMA of the ledger's changes, each under the owner of the output."""
    family = bytes([BY_NAME["ledger_updates_by_address"].number])
    pairs = [
        (family + owner, index.to_bytes(4, "big") + output_id + bytes([is_spent]))
        for index, _, _, is_spent, output_id, owner in changes
    ]
    return pa.table([pa.array([pair[at] for pair in pairs], pa.binary()) for at in (0, 1)], schema=SCHEMA)


def _messages(rows: pa.Table) -> Iterator[pa.Table]:
    """Messages under their tag and under each of their parents."""
    own = rows.filter(rows["message_id"].is_valid())
    ids = _joined(_u32(own["milestone_index"]), own["message_id"])
    parents = _whole(own["parents"])
    pairs = pa.table({"message": pc.list_parent_indices(parents), "parent": pc.list_flatten(parents)})
    pairs = pairs.group_by(["message", "parent"]).aggregate([])
    yield _table("messages_by_parent", pairs["parent"], ids.take(_whole(pairs["message"])))
    tags = _whole(
        pc.coalesce(
            pc.struct_field(own["tagged_data"], "tag"), pc.struct_field(own["transaction"], ["tagged_data", "tag"])
        )
    )
    yield _table("messages_by_tag", tags.drop_null(), ids.filter(tags.is_valid()))


def _of_ledger(rows: pa.Table) -> Iterator[pa.Table]:
    """Outputs of included transactions and of receipts under each of their roles, and transactions by address."""
    transactions = rows.filter(pc.fill_null(pc.equal(rows["inclusion_state"], INCLUDED), fill_value=False))
    receipts = rows.filter(
        pc.and_(
            pc.struct_field(rows["milestone"], ["receipt", "funds"]).is_valid(),
            pc.struct_field(rows["transaction"], "transaction_id").is_null(),
        )
    )
    for own, outputs, identity in (
        (transactions, ("transaction", ["outputs"]), ("transaction", ["transaction_id"])),
        (receipts, ("milestone", ["receipt", "funds"]), ("milestone", ["receipt", "treasury_input"])),
    ):
        own = own.combine_chunks()
        lists = _whole(pc.struct_field(own[outputs[0]], outputs[1]))
        items, parents = pc.list_flatten(lists), pc.list_parent_indices(lists)
        milestones = _u32(own["milestone_index"])
        carriers = pc.fill_null(_whole(own["message_id"]), bytes(32))
        values = _Outputs(
            items, milestones.take(parents), _u32(own["white_flag_index"]).take(parents), carriers.take(parents)
        )
        for role in ROLES:
            name = f"{role.output_kind}_outputs_by_{role.variant}"
            if name in BY_NAME:
                yield values.table(name, role)
        addresses = [(parents, pc.struct_field(items, "address"))]
        if outputs[0] == "transaction":
            unlocks = _whole(pc.struct_field(own["transaction"], "unlocks"))
            signers = pc.struct_field(pc.list_flatten(unlocks), "address")
            addresses.append((pc.list_parent_indices(unlocks), signers))
        pairs = pa.concat_tables([pa.table([*each], names=["message", "address"]) for each in addresses])
        pairs = pairs.filter(pairs["address"].is_valid()).group_by(["message", "address"]).aggregate([])
        ids = _joined(milestones, pc.struct_field(own[identity[0]], identity[1]), carriers)
        yield _table("transactions_by_address", pairs["address"], ids.take(_whole(pairs["message"])))


class _Outputs:
    """Outputs, and where each was created. Arrays of the same length."""

    def __init__(self, items: pa.Array, milestones: pa.Array, positions: pa.Array, messages: pa.Array) -> None:
        self._items, self._milestones, self._positions, self._messages = items, milestones, positions, messages
        self._kinds = pc.struct_field(items, "kind")

    def table(self, family: str, role: Role) -> pa.Table:
        """SCHEMA of the outputs that have a role."""
        path = ["address"] if role.column == "address" else ["stardust", role.column]
        keys = pc.struct_field(self._items, path)
        chosen = pc.and_(pc.is_in(self._kinds, pa.array(types_of(role.output_kind), pa.int8())), keys.is_valid())
        ids = pc.struct_field(self._items, "output_id")
        own = (self._positions, ids) if role.variant == CHAIN else (ids, self._messages)
        parts = (each.filter(chosen) for each in (self._milestones, *own))
        return _table(family, keys.filter(chosen), _joined(*parts))


def _table(family: str, keys: Any, rows: Any) -> pa.Table:
    places = _joined(pa.scalar(bytes([BY_NAME[family].number]), pa.binary()), keys)
    return pa.table([_whole(each).cast(pa.binary()) for each in (places, rows)], schema=SCHEMA)


def _joined(*parts: Any) -> pa.Array:
    whole = [_whole(each) if isinstance(each, pa.Array | pa.ChunkedArray) else each for each in parts]
    return pc.binary_join_element_wise(*whole, pa.scalar(b"", pa.binary()))


def _u32(numbers: pa.ChunkedArray) -> pa.Array:
    """Numbers as big-endian u32."""
    data = numbers.to_numpy().astype(">u4").tobytes()
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(4), len(numbers), [None, pa.py_buffer(data)]).cast(
        pa.binary()
    )


def _whole(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
