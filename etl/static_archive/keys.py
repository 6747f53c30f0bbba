"""The keys of an index: ids of messages, transactions and milestones, with the blocks that contain them.

An output needs no key: its id begins with that of the transaction that created it, or of the milestone that migrated
its funds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from etl.lake.reader import LakeReader
from etl.static_archive.blocks import BlockTable
from etl.static_archive.conflict_reasons import CONFLICTING
from ledger.eras import CHRYSALIS


class Keys(NamedTuple):
    """Keys of the records `rows`: ids of 32 bytes one after another, and whether the transaction is conflicting."""

    ids: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.int64]
    conflicting: npt.NDArray[np.bool_]


ID_COLUMNS = ("version", "message_id", "transaction.transaction_id", "milestone.milestone_id", "inclusion_state")


@dataclass
class KeyReader:
    """Reads the keys of the message file of these milestones. `table`: its blocks. `start`: its position, in units."""

    lake: LakeReader
    first: int
    last: int
    table: BlockTable
    start: int

    def __iter__(
        self,
    ) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.bool_]]]:
        """Yields what IndexBuilder.add takes. Raises ValueError if the file has other records than the lake."""
        units = np.repeat(self.table.units, self.table.counts) + np.uint64(self.start)
        classes = np.repeat(self.table.classes, self.table.counts)
        at = 0
        for rows in self.lake.rows(self.first, self.last, ID_COLUMNS):
            if at + rows.num_rows > len(units):
                break
            for keys in _keys_of(rows):
                places = keys.rows + at
                yield keys.ids, units[places], classes[places], keys.conflicting
            at += rows.num_rows
        else:
            if at == len(units):
                return
        raise ValueError(
            f"the message file of milestones {self.first} to {self.last} has other messages than the lake; delete it"
        )


def _keys_of(rows: pa.Table) -> Iterator[Keys]:
    conflicting = pc.fill_null(pc.equal(rows["inclusion_state"], CONFLICTING), fill_value=False)
    is_chrysalis = pc.equal(rows["version"], CHRYSALIS.protocol_version)
    messages = rows["message_id"]
    transactions = pc.struct_field(rows["transaction"], "transaction_id")
    milestones = pc.struct_field(rows["milestone"], "milestone_id")
    never = pa.scalar(value=False)
    # The block of a Stardust milestone is in a later cone and would be found there.
    own = pc.and_(milestones.is_valid(), pc.or_(is_chrysalis, messages.is_null()))
    for ids, chosen, conflict in (
        (messages, messages.is_valid(), never),
        (transactions, transactions.is_valid(), conflicting),
        (milestones, own, never),
    ):
        places = np.flatnonzero(_array(chosen).to_numpy(zero_copy_only=False))
        flags = np.zeros(len(places), np.bool_)
        if conflict is not never:
            flags = _array(conflict).to_numpy(zero_copy_only=False)[places]
        yield Keys(_bytes(_array(ids).take(pa.array(places))), places, flags)


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _bytes(ids: pa.Array) -> npt.NDArray[np.uint8]:
    fixed = ids.cast(pa.binary(32))
    return np.frombuffer(fixed.buffers()[1], np.uint8)[32 * fixed.offset : 32 * (fixed.offset + len(fixed))]
