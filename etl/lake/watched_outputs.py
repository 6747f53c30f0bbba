"""Outputs of selected addresses that a transaction may spend without naming the address, in native columns.

A transaction names an address if it contains its signature or creates an output that names it (matches, in
etl/verification/selection.py). It need not name the addresses of the outputs that it spends: a return address spends an
expired output, a governor destroys an alias, and an NFT is destroyed with the outputs that it owns. Such outputs are
watched: the selection keeps what spends them.

Worker processes import this module, so it imports neither PySpark nor delta-rs.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.sources.cone import INCLUDED
from ledger.stardust.conditions import ALIAS, ED25519, NFT
from ledger.stardust.values import AliasOutput, NftOutput

Column: TypeAlias = pa.Array | pa.ChunkedArray

WATCHED = pa.schema({"milestone_index": pa.int32(), "address": pa.binary(), "output_id": pa.binary()})
"""A watched output once for each selected address that it belongs to, and the milestone that created it."""

SPENT = pa.schema({"output_id": pa.binary()})

ALWAYS_NAMED = (ED25519, ALIAS)
"""Types of addresses that a transaction names if it unlocks them: by a signature, or by the next state of the alias."""

HOLDERS = ("governor", "expiration_return")
"""Fields of an output with addresses that may spend it, beside its owner."""

_READ = ("milestone_index", "output_id", "kind", "address", "stardust")


def find_watched(outputs: pa.RecordBatch | pa.Table, addresses: Collection[bytes]) -> pa.Table:
    """The WATCHED of these outputs and addresses.

    Args:
        outputs: columns milestone_index, output_id, kind, address and stardust (etl/lake/output_rows.py).
        addresses: the selected addresses, serialized.
    """
    selected = pa.array(sorted(addresses), pa.binary())
    named = pa.array([each for each in sorted(addresses) if each[0] in ALWAYS_NAMED], pa.binary())
    holders = [outputs["address"], *(pc.struct_field(outputs["stardust"], name) for name in HOLDERS)]
    is_named = pc.is_in(holders[0], value_set=named)
    for each in holders[1:]:
        is_named = pc.and_(is_named, pc.or_(pc.is_null(each), pc.is_in(each, value_set=named)))
    found = []
    for each in (*holders, _own_address(outputs)):
        chosen = pc.and_not(pc.is_in(each, value_set=selected), is_named)
        columns = [pc.filter(column, chosen) for column in (outputs["milestone_index"], each, outputs["output_id"])]
        found.append(pa.table(columns, names=WATCHED.names).cast(WATCHED))
    return pa.concat_tables(found).group_by(WATCHED.names).aggregate([])


def find_watched_of_batch(batch: pa.RecordBatch, addresses: Collection[bytes]) -> pa.Table:
    """The WATCHED of the outputs that the included transactions of these messages (MESSAGE_DDL) created."""
    is_included = pc.and_(pc.equal(batch["inclusion_state"], INCLUDED), pc.is_valid(batch["transaction"]))
    rows = batch.filter(is_included)
    lists = pc.struct_field(rows["transaction"], "outputs")
    items = pc.list_flatten(lists)
    columns = {name: pc.struct_field(items, name) for name in _READ[1:]}
    columns[_READ[0]] = pc.take(rows["milestone_index"], pc.list_parent_indices(lists))
    return find_watched(pa.table(columns), addresses)


def find_watched_in_file(file: Path, addresses: Collection[bytes]) -> pa.Table:
    """The WATCHED of a file of genesis outputs (GENESIS)."""
    with pq.ParquetFile(file) as opened:
        found = [find_watched(batch, addresses) for batch in opened.iter_batches(columns=[*_READ], use_threads=False)]
    return pa.concat_tables([WATCHED.empty_table(), *found])


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """What a decoding task found of outputs.

    Attributes:
        watched: file of the WATCHED that kept transactions created.
        spent_elsewhere: file of the ids (SPENT) that transactions spent which were not kept.
    """

    watched: Path
    spent_elsewhere: Path


@dataclass
class OutputWriter:
    """Writes OutputFiles of one task below a folder of the run.

    Attributes:
        folder: the folder.
        number: the number of the task, in the names of its files.
        addresses: the selected addresses.
    """

    folder: Path
    number: int
    addresses: Collection[bytes]
    _watched: list[pa.Table] = field(default_factory=lambda: [WATCHED.empty_table()])
    _spent: list[pa.Array] = field(default_factory=list)
    _ids: list[bytes] = field(default_factory=list)

    def add_created(self, batch: pa.RecordBatch) -> None:
        """Adds the watched outputs of kept messages (MESSAGE_DDL)."""
        self._watched.append(find_watched_of_batch(batch, self.addresses))
        self._pack()

    def add_spent(self, output_ids: Sequence[bytes]) -> None:
        """Adds ids of spent outputs."""
        self._ids += output_ids

    def close(self) -> OutputFiles:
        """Writes the files."""
        self._pack()
        tables = {"watched": pa.concat_tables(self._watched), "spent": pa.table([pa.chunked_array(self._spent)], SPENT)}
        files = []
        for name, table in tables.items():
            files.append(self.folder / name / f"part-{self.number:05}.parquet")
            files[-1].parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, files[-1], use_dictionary=False)
        return OutputFiles(*files)

    def _pack(self) -> None:
        """Python objects need three times the memory of the column."""
        self._spent.append(pa.array(self._ids, pa.binary()))
        self._ids = []


def _own_address(outputs: pa.RecordBatch | pa.Table) -> Column:
    """The address of the alias or NFT that an output is a state of; null for other outputs."""
    chain_id = pc.struct_field(outputs["stardust"], "chain_id")

    def of(address_type: int) -> Column:
        first, nothing = (pa.scalar(each, pa.binary()) for each in (bytes([address_type]), b""))
        return pc.binary_join_element_wise(first, chain_id, nothing)

    is_alias = pc.equal(outputs["kind"], AliasOutput.KIND)
    is_nft = pc.equal(outputs["kind"], NftOutput.KIND)
    return pc.if_else(is_alias, of(ALIAS), pc.if_else(is_nft, of(NFT), pa.scalar(None, pa.binary())))
