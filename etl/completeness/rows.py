"""The rows of the families of listings (ledger/completeness/families.py) that follow from the messages of a lake.

They are read and computed with Arrow, without an engine: every row comes to this process anyway, because it is hashed
here.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from db.output_kinds import types_of
from db.roles import CHAIN, ROLES, Role
from etl.completeness.leaves import whole
from etl.lake.delta import KEY
from etl.lake.reader import LakeReader
from ledger.completeness.families import BY_NAME
from ledger.completeness.intervals import size_of

ROWS = pa.schema({"place": pa.binary(), "row": pa.binary()})
"""Family and key; row id. Rows are hashed in the order of these columns."""

ORDER = [(name, "ascending") for name in ROWS.names]

OUTPUT_FIELDS = (
    "kind",
    "output_id",
    "address",
    *(f"stardust.{name}" for name in sorted({role.column for role in ROLES} - {"address"})),
)
"""The fields of an output that its roles depend on. Reading all fields takes a quarter longer."""

COLUMNS = (
    "message_id",
    "parents",
    "inclusion_state",
    "tagged_data.tag",
    "transaction.transaction_id",
    "transaction.tagged_data.tag",
    *(f"transaction.outputs.list.element.{name}" for name in OUTPUT_FIELDS),
    "transaction.unlocks.list.element.address",
    "milestone.receipt.treasury_input",
    *(f"milestone.receipt.funds.list.element.{name}" for name in OUTPUT_FIELDS),
)

INCLUDED = 1


def listing_rows(lake: LakeReader, first: int, last: int) -> Iterator[tuple[int, pa.Table]]:
    """Yields the number of each interval of level 0 that has messages, ascending, and its ROWS in any order.

    Those of the milestones first ≤ m ≤ last, which are complete, without the ledger's changes
    (etl/completeness/updates.py).
    """
    for rows in lake.rows(first, last, COLUMNS, size_of(0)):
        rows = rows.combine_chunks()
        parts = [*_messages(rows), *_of_ledger(rows)]
        yield rows[KEY][0].as_py() // size_of(0), pa.concat_tables([ROWS.empty_table(), *parts])


def _messages(rows: pa.Table) -> Iterator[pa.Table]:
    """Messages under their tag and under each of their parents."""
    own = rows.filter(rows["message_id"].is_valid())
    ids = joined(u32(own["milestone_index"]), own["message_id"])
    parents = whole(own["parents"])
    pairs = pa.table({"message": pc.list_parent_indices(parents), "parent": pc.list_flatten(parents)})
    pairs = pairs.group_by(["message", "parent"]).aggregate([])
    yield rows_of("messages_by_parent", pairs["parent"], ids.take(whole(pairs["message"])))
    tags = whole(
        pc.coalesce(
            pc.struct_field(own["tagged_data"], "tag"), pc.struct_field(own["transaction"], ["tagged_data", "tag"])
        )
    )
    yield rows_of("messages_by_tag", tags.drop_null(), ids.filter(tags.is_valid()))


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
        lists = whole(pc.struct_field(own[outputs[0]], outputs[1]))
        items, parents = pc.list_flatten(lists), pc.list_parent_indices(lists)
        milestones = u32(own["milestone_index"])
        carriers = pc.fill_null(whole(own["message_id"]), bytes(32))
        values = _Outputs(
            items, milestones.take(parents), u32(own["white_flag_index"]).take(parents), carriers.take(parents)
        )
        for role in ROLES:
            name = f"{role.output_kind}_outputs_by_{role.variant}"
            if name in BY_NAME:
                yield values.table(name, role)
        addresses = [(parents, pc.struct_field(items, "address"))]
        if outputs[0] == "transaction":
            unlocks = whole(pc.struct_field(own["transaction"], "unlocks"))
            signers = pc.struct_field(pc.list_flatten(unlocks), "address")
            addresses.append((pc.list_parent_indices(unlocks), signers))
        pairs = pa.concat_tables([pa.table([*each], names=["message", "address"]) for each in addresses])
        pairs = pairs.filter(pairs["address"].is_valid()).group_by(["message", "address"]).aggregate([])
        ids = joined(milestones, pc.struct_field(own[identity[0]], identity[1]), carriers)
        yield rows_of("transactions_by_address", pairs["address"], ids.take(whole(pairs["message"])))


class _Outputs:
    """Outputs, and where each was created. Arrays of the same length."""

    def __init__(self, items: pa.Array, milestones: pa.Array, positions: pa.Array, messages: pa.Array) -> None:
        self._items, self._milestones, self._positions, self._messages = items, milestones, positions, messages
        self._kinds = pc.struct_field(items, "kind")

    def table(self, family: str, role: Role) -> pa.Table:
        """ROWS of the outputs that have a role."""
        path = ["address"] if role.column == "address" else ["stardust", role.column]
        keys = pc.struct_field(self._items, path)
        chosen = pc.and_(pc.is_in(self._kinds, pa.array(types_of(role.output_kind), pa.int8())), keys.is_valid())
        ids = pc.struct_field(self._items, "output_id")
        own = (self._positions, ids) if role.variant == CHAIN else (ids, self._messages)
        parts = (each.filter(chosen) for each in (self._milestones, *own))
        return rows_of(family, keys.filter(chosen), joined(*parts))


def rows_of(family: str, keys: Any, rows: Any) -> pa.Table:
    """ROWS of a family, from columns of keys and row ids."""
    places = joined(pa.scalar(bytes([BY_NAME[family].number]), pa.binary()), keys)
    return pa.table([whole(each).cast(pa.binary()) for each in (places, rows)], schema=ROWS)


def joined(*parts: Any) -> pa.Array:
    """The values of binary columns and scalars, one after another in each row."""
    arrays = [whole(each) if isinstance(each, pa.Array | pa.ChunkedArray) else each for each in parts]
    return pc.binary_join_element_wise(*arrays, pa.scalar(b"", pa.binary()))


def u32(numbers: pa.ChunkedArray) -> pa.Array:
    """Numbers as big-endian u32."""
    data = numbers.to_numpy().astype(">u4").tobytes()
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(4), len(numbers), [None, pa.py_buffer(data)]).cast(
        pa.binary()
    )
