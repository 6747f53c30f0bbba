"""What the tables `outputs` and `spends` must have, from the bytes of messages and not from the lake.

Tables are compared by sums of hashes of their rows, so that a file of any size needs no memory.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from etl.static_archive.records import NamedRecord
from etl.static_client import CHRYSALIS_MESSAGE, STARDUST_MILESTONE, Record
from ledger.chrysalis import codec as chrysalis
from ledger.ids import milestone_id, output_id, transaction_id
from ledger.stardust import codec as stardust
from ledger.stardust import values as v2

COLUMNS = {
    "outputs": ("output_id", "address", "amount", "kind", "milestone_index", "message_id"),
    "spends": ("output_id", "milestone_index", "message_id"),
}

INCLUDED = 1


class LedgerSums:
    """Sums over the rows that the messages of a file lead to."""

    def __init__(self) -> None:
        self._sums = dict.fromkeys(COLUMNS, 0)
        self._funds: bytes | None = None

    def add(self, named: NamedRecord) -> None:
        """Adds the rows of a message or milestone. Raises CodecError."""
        record = named.record
        place = record.milestone_index, named.message_id
        data = record.payload
        match _decoded(record, data):
            case chrysalis.Transaction() | v2.Transaction() as payload:
                essence = payload.essence
                self._add("outputs", ((*row, *place) for row in _outputs(transaction_id(data), essence.outputs)))
                inputs = (each for each in essence.inputs if isinstance(each, chrysalis.UtxoInput))
                self._add("spends", ((output_id(each.transaction_id, each.index), *place) for each in inputs))
            case chrysalis.Milestone() | v2.Milestone() as payload if payload.index == record.milestone_index:
                identity = stardust.milestone_id(payload) if isinstance(payload, v2.Milestone) else milestone_id(data)
                # Several messages can contain the milestone. The first one counts.
                if identity != self._funds:
                    self._funds = identity
                    self._add("outputs", ((*row, *place) for row in _funds(identity, payload)))

    def are_of(self, table: str, file: Path) -> bool:
        """Whether the rows of a Parquet file have this sum. Raises OSError and ArrowException."""
        return _sum(_rows(table, file)) == self._sums[table]

    def _add(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._sums[table] = (self._sums[table] + _sum(rows)) % (1 << 256)


def _decoded(record: Record, data: bytes) -> Any:
    """The payload of a record if it can have rows, else None."""
    if record.kind == STARDUST_MILESTONE or (record.inclusion_state == INCLUDED and record.kind != CHRYSALIS_MESSAGE):
        return stardust.decode_payload(data)
    is_milestone = data[:4] == chrysalis.Milestone.KIND.to_bytes(4, "little")
    if record.kind == CHRYSALIS_MESSAGE and (is_milestone or record.inclusion_state == INCLUDED):
        return chrysalis.decode_payload(data)
    return None


def _outputs(identity: bytes, outputs: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    for index, each in enumerate(outputs):
        is_chrysalis = isinstance(each, chrysalis.SigLockedSingle | chrysalis.SigLockedDustAllowance)
        # No expiration is before this time, so the owner is the one that the output names.
        address = each.address if is_chrysalis else stardust.owner_at(each, 0)
        yield output_id(identity, index), address, each.amount, each.KIND


def _funds(identity: bytes, milestone: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(milestone, v2.Milestone):
        receipts = [each for each in milestone.options if isinstance(each, v2.ReceiptOption)]
        kind = v2.BasicOutput.KIND
    else:
        receipts, kind = [milestone.receipt] if milestone.receipt else [], chrysalis.SigLockedSingle.KIND
    for index, each in enumerate(receipts[0].funds if receipts else ()):
        yield output_id(identity, index), each.address, each.deposit, kind


def _rows(table: str, file: Path) -> Iterator[tuple[Any, ...]]:
    names = COLUMNS[table]
    with pq.ParquetFile(file) as opened:
        for batch in opened.iter_batches(columns=[*names]):
            columns = [batch.column(name).to_pylist() for name in names]
            if "amount" in names:
                at = names.index("amount")
                columns[at] = [int(each) for each in columns[at]]
            yield from zip(*columns, strict=True)


def _sum(rows: Iterable[tuple[Any, ...]]) -> int:
    hashes = (blake2b(repr(row).encode(), digest_size=32).digest() for row in rows)
    return sum(int.from_bytes(each, "big") for each in hashes) % (1 << 256)
