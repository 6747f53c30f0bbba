"""Balances and the supply that the changes of the ledger lead to, computed without the engine."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from etl.expectations.fingerprints import BALANCES, Fingerprint
from etl.expectations.message_batch import Numbers, numbers
from etl.expectations.words import grouped, row_hashes, words

COLUMNS = ["milestone_index", "address", "amount", "is_spent"]
"""The columns of changes (etl.ledger_state.changes.CHANGES) that are read."""

ADDRESSES = pa.dictionary(pa.int32(), pa.binary())
"""The type of addresses until all are known."""

BATCH_ROWS = 65_536


def batches_of(changes: pa.Table | Sequence[Path], columns: Sequence[str] = COLUMNS) -> Iterable[pa.RecordBatch]:
    """Columns of changes in this process, or in Parquet files."""
    if isinstance(changes, pa.Table):
        yield from changes.select(columns).to_batches()
        return
    for part in changes:
        yield from pq.ParquetFile(part).iter_batches(BATCH_ROWS, columns=columns, use_threads=False)


def expected_balances(
    changes: pa.Table | Sequence[Path], before: Sequence[tuple[Any, ...]], frontier: int, to: int, shares: int = 1
) -> Fingerprint:
    """Returns the fingerprint of address_balances for the milestones (frontier, to].

    Args:
        changes: the changes since `before`, or since genesis.
        before: addresses with the milestone of their last change, their balance and number of unspent outputs, from
            which the changes continue. Empty: the changes begin with genesis.
        frontier: the last milestone before those of the rows.
        to: the last milestone of the rows. Later changes are ignored.
        shares: the number of shares of addresses, one of which is in memory at a time. More than one without `before`.
    """
    assert shares == 1 or not before, "only changes since genesis come in shares"
    of_shares = (_balances(_of_share(changes, share, shares), before, frontier, to) for share in range(shares))
    return sum(of_shares, Fingerprint())


def _of_share(changes: pa.Table | Sequence[Path], share: int, shares: int) -> Iterator[pa.RecordBatch]:
    """COLUMNS of the changes of some addresses."""
    for batch in batches_of(changes):
        if shares == 1:
            yield batch
        else:
            yield batch.take(pa.array(np.nonzero(words(batch.column("address")) % np.uint64(shares) == share)[0]))


def _balances(
    batches: Iterable[pa.RecordBatch], before: Sequence[tuple[Any, ...]], frontier: int, to: int
) -> Fingerprint:
    parts = [_steps(batch, to) for batch in batches]
    if before:
        index, held, outputs = (np.array([row[at] for row in before], np.int64) for at in (1, 2, 3))
        parts.append((pa.array([row[0] for row in before], pa.binary()).dictionary_encode(), index, held, outputs))
    address, names = grouped(pa.chunked_array([part[0] for part in parts], ADDRESSES))
    if not len(address):
        return Fingerprint()
    milestone, amount, count = (np.concatenate([part[at] for part in parts]) for at in (1, 2, 3))
    order = np.lexsort((milestone, address))
    address, milestone = address[order], milestone[order]
    is_first = np.concatenate([[True], address[1:] != address[:-1]])
    begins = np.nonzero(is_first)[0]
    lengths = np.diff(np.append(begins, len(address)))
    balance, unspent = (_running(values[order], begins, lengths) for values in (amount, count))
    ends_step = np.concatenate([is_first[1:] | (milestone[1:] != milestone[:-1]), [True]])
    kept = np.nonzero(ends_step & (milestone > frontier))[0]
    columns = {
        "address": names[address[kept]],
        "milestone_index": milestone[kept].view(np.uint64),
        "balance": balance[kept].view(np.uint64),
        "unspent_count": unspent[kept].view(np.uint64),
    }
    hashes = row_hashes(columns, BALANCES.columns, len(kept))
    sums = (int(each.sum(dtype=np.uint64)) for each in (columns["balance"], hashes))
    return Fingerprint(len(kept), *sums)


def supply(powers: Mapping[int, tuple[int, int]]) -> int:
    """The base tokens of a distribution: power → addresses, amount."""
    return sum(amount for _, amount in powers.values())


def _steps(batch: pa.RecordBatch, to: int) -> tuple[pa.DictionaryArray, Numbers, Numbers, Numbers]:
    """Address, milestone, change of the balance and change of the number of outputs, of each change up to `to`."""
    milestone = numbers(batch.column("milestone_index"))
    kept = np.nonzero(milestone <= to)[0]
    sign = 1 - 2 * words(batch.column("is_spent")).view(np.int64)[kept]
    amount = numbers(batch.column("amount"))[kept]
    address = batch.column("address").take(pa.array(kept)).dictionary_encode()
    return address, milestone[kept], sign * amount, sign


def _running(values: npt.NDArray[np.int64], begins: Numbers, lengths: Numbers) -> Numbers:
    """The running sum within each group, given by the positions where groups begin and their lengths."""
    total = np.cumsum(values)
    earlier = np.concatenate([[0], total])[begins]
    found: Numbers = total - np.repeat(earlier, lengths)
    return found
