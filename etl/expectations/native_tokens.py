"""Rows of native_token_updates that the changes of the ledger lead to, computed without the engine."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.expectations.fingerprints import NATIVE_TOKENS, Fingerprint
from etl.expectations.message_batch import numbers, positions
from etl.expectations.words import row_hashes, words
from ledger.stardust.layouts import NATIVE_TOKEN, OUTPUT_HEAD

OWN = {"milestone_index": "milestone_index", "output_id": "output_id", "is_spent": "is_spent", "address": "owner"} | {
    name: name for name in ("message_id", "transaction_id", "ms_timestamp")
}
"""Column of native_token_updates → column of changes (etl.ledger_state.changes.CHANGES)."""

BATCH_ROWS = 65_536


def expected_native_tokens(changes: pa.Table | Sequence[Path], frontier: int, to: int) -> Fingerprint:
    """Returns the fingerprint of native_token_updates for the milestones (frontier, to].

    `changes`: the changes in this process, or in Parquet files. Those of a Chrysalis ledger have no column
    `data`, and no native tokens.
    """
    return sum((_of_batch(batch, frontier, to) for batch in _batches(changes)), Fingerprint())


def _batches(changes: pa.Table | Sequence[Path]) -> Iterator[pa.RecordBatch]:
    names = [*OWN.values(), "data"]
    if isinstance(changes, pa.Table):
        yield from changes.select(names).to_batches()
        return
    for part in changes:
        file = pq.ParquetFile(part)
        if "data" in file.schema_arrow.names:
            yield from file.iter_batches(BATCH_ROWS, columns=names, use_threads=False)


def _of_batch(batch: pa.RecordBatch, frontier: int, to: int) -> Fingerprint:
    milestone, data = numbers(batch.column("milestone_index")), batch.column("data")
    counts = numbers(_token_counts(data), 0)
    kept = positions((counts > 0) & (milestone > frontier) & (milestone <= to))
    if not len(kept):
        return Fingerprint()
    tokens = [each for output in data.take(pa.array(kept)).to_pylist() for each in _tokens(output)]
    rows = pa.array(np.repeat(kept, counts[kept]))
    columns = {name: words(batch.column(own).take(rows)) for name, own in OWN.items()}
    columns |= {
        "token_id": words(pa.array([token_id for token_id, _ in tokens], pa.binary())),
        "token_amount": words(pa.array([amount for _, amount in tokens], pa.binary())),
    }
    hashes = row_hashes(columns, NATIVE_TOKENS.columns, len(tokens))
    return Fingerprint(len(tokens), 0, int(hashes.sum(dtype=np.uint64)))


def _token_counts(data: pa.Array) -> pa.Array:
    """The number of native tokens of each output, null for Chrysalis outputs."""
    count = pc.binary_slice(data, OUTPUT_HEAD.size - 1, OUTPUT_HEAD.size)
    return pc.index_in(count, pa.array([bytes([each]) for each in range(256)], count.type))


def _tokens(output: bytes) -> Iterable[tuple[bytes, bytes]]:
    """Ids and amounts, as they are stored, of the native tokens of a serialized output."""
    first = OUTPUT_HEAD.size
    return NATIVE_TOKEN.iter_unpack(output[first : first + output[first - 1] * NATIVE_TOKEN.size])
