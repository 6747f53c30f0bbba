"""A batch of decoded messages (etl.lake.message_rows.MESSAGE_DDL) for the rules of derived.py and outputs.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from etl.expectations.fingerprints import BY_MILESTONE
from etl.expectations.words import Words, weighted, words
from etl.sources.cone import INCLUDED
from ledger.selection import Selection

Numbers: TypeAlias = npt.NDArray[np.int64]
Columns: TypeAlias = Mapping[str, Words | np.uint64]

COLUMNS = {each.name: each.columns for each in BY_MILESTONE}
"""The hashed columns of each frame."""

NOTHING = words(pa.array([None], pa.int8()))[0]
"""The word of null."""


@dataclass(frozen=True)
class Derived:
    """Rows of one of etl.expectations.fingerprints.FRAMES.

    Attributes:
        frame: the name of the frame.
        messages: the message of each row, by position.
        columns: the words of columns.
        shared: the weighted sum of hashed columns that are not among `columns` (etl.expectations.words.weighted).
        in_shared: the names of those columns.
    """

    frame: str
    messages: Numbers
    columns: Columns
    shared: Words | None = None
    in_shared: Sequence[str] = ()


@cache
def text_word(text: str) -> np.uint64:
    """The word of a text."""
    found: np.uint64 = words(pa.array([text]))[0]
    return found


def positions(mask: npt.NDArray[np.bool_]) -> Numbers:
    """The positions where a mask is true."""
    return np.nonzero(mask)[0]


def valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Which values are not null."""
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def numbers(array: pa.Array, null: int = -1) -> Numbers:
    """Integers, with `null` for null."""
    whole = pc.fill_null(array, null) if array.null_count else array
    found: Numbers = pc.cast(whole, pa.int64()).to_numpy()
    return found


def inside(indexes: Numbers, milestones: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Which indexes are those of these milestones."""
    mask = np.zeros(len(indexes), np.bool_)
    for first, last in milestones:
        mask |= (indexes >= first) & (indexes <= last)
    return mask


def column(rows: pa.Table, name: str) -> pa.Array:
    """A column as one array."""
    return rows[name].combine_chunks() if rows.num_rows else pa.array([], rows.schema.field(name).type)


def bigint(amounts: Words) -> Words:
    """Null for amounts that a signed number of 64 bits cannot hold."""
    return np.where(amounts >= np.uint64(2**63), NOTHING, amounts)


def child(structs: pa.Array, name: str) -> pa.Array:
    """A field of structs, null where the struct is. All null if the files of an older lake do not have it."""
    if structs.type.get_field_index(name) < 0:
        return pa.nulls(len(structs))
    # struct_field would combine both validities; `take` and readers of Parquet leave no value in a null struct.
    return structs.field(name)


class Items:
    """The items of a list column: the message of each item, its index in the list, and its fields."""

    def __init__(self, lists: pa.ListArray) -> None:
        self.messages: Numbers = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
        self.values = pc.list_flatten(lists)
        self.counts: Numbers = np.bincount(self.messages, minlength=len(lists)).astype(np.int64)
        self.starts: Numbers = np.cumsum(self.counts) - self.counts
        self.index: Numbers = np.arange(len(self.messages), dtype=np.int64) - self.starts[self.messages]

        self._fields: dict[str, pa.Array] = {}

    def field(self, name: str) -> pa.Array:
        """A field of the items."""
        if name not in self._fields:
            self._fields[name] = child(self.values, name)
        return self._fields[name]


class Messages:
    """A batch of decoded messages without rejects. `selection`: that of a selective store."""

    def __init__(self, batch: pa.RecordBatch | pa.Table, selection: Selection | None = None) -> None:
        self._batch = batch
        self._selection = selection
        self.milestone_index = numbers(self.column("milestone_index"))
        self.message_id = self.column("message_id")
        self.is_message = valid(self.message_id)
        self.transaction = self.column("transaction")
        self.is_transaction = valid(self.transaction)
        self.milestone = self.column("milestone")
        self.state = numbers(self.column("inclusion_state"))
        self.timestamp = pc.divide(pc.cast(self.column("timestamp"), pa.int64()), 1_000)
        self._shared: dict[tuple[str, ...], Words] = {}

    def column(self, name: str) -> pa.Array:
        """A column as one array."""
        found = self._batch.column(name)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    def is_listed(self, name: str, keys: pa.Array, messages: Numbers | None = None) -> npt.NDArray[np.bool_]:
        """Which keys a lookup of the store has in the milestones of these messages. `name`: what the keys are, ADDRESS
        or TAG. `messages`: the message of each key. Default: one for each.
        """
        selection = self._selection
        if selection is None:
            return np.ones(len(keys), np.bool_)
        indexes = self.milestone_index if messages is None else self.milestone_index[messages]
        found = inside(indexes, selection.whole_milestones)
        found |= pc.is_in(keys, value_set=pa.array(sorted(selection.values_of(name)), keys.type)).to_numpy(
            zero_copy_only=False
        )
        return found

    def transaction_field(self, name: str) -> pa.Array:
        """A field of the transactions, null for other messages."""
        return child(self.transaction, name)

    @cached_property
    def inputs(self) -> Items:
        """The inputs of the transactions."""
        return Items(self.transaction_field("inputs"))

    @cached_property
    def outputs(self) -> Items:
        """The outputs of the transactions."""
        return Items(self.transaction_field("outputs"))

    @cached_property
    def unlocks(self) -> Items:
        """The unlock blocks of the transactions."""
        return Items(self.transaction_field("unlocks"))

    @cached_property
    def funds(self) -> Items:
        """The outputs of the receipts."""
        return Items(child(self.receipt, "funds"))

    @cached_property
    def common(self) -> dict[str, Words]:
        """Words of the columns that most tables take from a message."""
        names = ("white_flag_index", "inclusion_state", "payload_kind")
        return {name: words(self.column(name)) for name in names} | {
            "message_id": words(self.message_id),
            "milestone_index": words(self.column("milestone_index")),
            "ms_timestamp": words(self.timestamp),
        }

    @cached_property
    def carrier(self) -> Words:
        """message_id; zeros for rows without a message."""
        return words(pc.fill_null(self.message_id, bytes(32)))

    @cached_property
    def has_place(self) -> npt.NDArray[np.bool_]:
        """Whether the position in the cone is known."""
        return valid(self.column("white_flag_index"))

    @cached_property
    def took_effect(self) -> npt.NDArray[np.bool_]:
        """Whether a transaction or a receipt changed the ledger state."""
        found: npt.NDArray[np.bool_] = ~self.is_transaction | (self.state == INCLUDED)
        return found

    @cached_property
    def receipt(self) -> pa.Array:
        """The receipts of milestones."""
        return child(self.milestone, "receipt")

    def rows(self, frame: str, messages: Numbers, columns: Columns) -> Derived:
        """Rows of a frame: the message of each, and their own columns. Each other column is that of the message."""
        shared = tuple(name for name in COLUMNS[frame] if name in self.common and name not in columns)
        if shared not in self._shared:
            self._shared[shared] = weighted(self.common, shared, len(self.message_id))
        return Derived(frame, messages, columns, self._shared[shared][messages], shared)
