"""The richest addresses and the distribution of tokens at the end of many days, from one pass over all changes.

Only this process computes, because the balances of all addresses fit into it: 8 bytes each, and 16 bytes per change. A
day changes few of them, so the distribution is updated, and only balances of the power of ten down to which the list
reaches are sorted.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from db import schema
from db.queries.ledger import POWERS, RICHEST
from db.utc_days import DAY_S, format_day
from etl.ledger_state import rich_list
from etl.ledger_state.rich_list import Wealth
from etl.store_reads import StoreReads

COLUMNS = ["milestone_index", "address", "is_spent", "amount"]
ADDRESSES = pa.dictionary(pa.int32(), pa.binary())
BATCH_ROWS = 65_536

Numbers = npt.NDArray[np.int64]

TENS: Numbers = 10 ** np.arange(POWERS - 1, dtype=np.int64)
"""The powers of ten in an i64."""


def after(changes: Sequence[Path], milestones: Sequence[int], *, shown: int = RICHEST) -> Iterator[tuple[int, Wealth]]:
    """Yields the list of `shown` addresses and the distribution after each of these milestones.

    Args:
        changes: the files of all changes since genesis (etl.ledger_state.changes.CHANGES).
        milestones: ascending.
        shown: the length of the lists.
    """
    owner, addresses, step, amount = _steps(changes, np.array(milestones, np.int64))
    place = np.empty(len(addresses), np.int64)
    place[pc.sort_indices(addresses).to_numpy()] = np.arange(len(addresses))
    order = np.argsort(step, kind="stable")
    bounds = np.searchsorted(step[order], np.arange(len(milestones) + 1))
    balance = np.zeros(len(addresses), np.int64)
    counts, amounts = np.zeros(POWERS, np.int64), np.zeros(POWERS, np.int64)
    for milestone, first, end in zip(milestones, bounds[:-1], bounds[1:], strict=True):
        rows = order[first:end]
        touched, position = np.unique(owner[rows], return_inverse=True)
        change = np.zeros(len(touched), np.int64)
        np.add.at(change, position, amount[rows])
        for sign in (-1, 1):
            if sign > 0:
                balance[touched] += change
            held = balance[touched]
            held = held[held > 0]
            power = np.searchsorted(TENS, held, side="right") - 1
            np.add.at(counts, power, sign)
            np.add.at(amounts, power, sign * held)
        # The greatest power of ten that enough addresses own.
        enough = np.flatnonzero(np.cumsum(counts[::-1])[::-1] >= shown)
        least = TENS[min(enough[-1], len(TENS) - 1)] if len(enough) else 1
        rich = np.flatnonzero(balance >= least)
        best = rich[np.lexsort((place[rich], -balance[rich]))[:shown]]
        richest = list(zip(addresses.take(pa.array(best)).to_pylist(), balance[best].tolist(), strict=True))
        powers = {
            power: sums for power, sums in enumerate(zip(counts.tolist(), amounts.tolist(), strict=True)) if sums[0]
        }
        yield milestone, Wealth(richest, powers)


def compared(days: Iterable[tuple[int, Wealth]], to: int, wealth: Wealth) -> Iterator[tuple[int, Wealth]]:
    """Yields all but the last of `days`, which must be `wealth`, the one of the engine at `to`. Raises WrongRows."""
    for milestone, of_day in days:
        if milestone < to:
            yield milestone, of_day
        else:
            rich_list.compare(of_day, wealth, to)


def find_ends(reads: StoreReads, days: Iterable[int]) -> list[int]:
    """Returns the last complete milestone of each of these UTC days since 1970, ascending."""
    rows = reads.many(schema.date_cache, [(format_day(day),) for day in days])
    return sorted(row["end_ms"] for row in rows if row is not None)


def ends_day(reads: StoreReads, milestone: int) -> bool:
    """Whether this is the last complete milestone of its UTC day."""
    (row,) = reads.many(schema.milestones, [(milestone,)])
    return row is not None and find_ends(reads, [row["timestamp"] // DAY_S]) == [milestone]


def _steps(
    changes: Sequence[Path], milestones: Numbers
) -> tuple[npt.NDArray[np.int32], pa.Array, npt.NDArray[np.int32], Numbers]:
    """The owner of each change as a position among the addresses, the addresses, the first of the milestones that
    includes the change, and what it adds to the balance.
    """
    owners: list[pa.Array] = []
    steps, amounts = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for part in changes:
        for batch in pq.ParquetFile(part).iter_batches(BATCH_ROWS, columns=COLUMNS, use_threads=False):
            milestone = batch.column("milestone_index").to_numpy(zero_copy_only=False)
            kept = np.flatnonzero(milestone <= milestones[-1])
            taken = batch.take(pa.array(kept))
            is_spent, amount = (taken.column(name).to_numpy(zero_copy_only=False) for name in COLUMNS[2:])
            owners.append(taken.column("address").cast(pa.binary()).dictionary_encode())
            steps.append(np.searchsorted(milestones, milestone[kept]).astype(np.int32))
            amounts.append(np.where(is_spent.astype(bool), -1, 1) * amount.astype(np.int64))
    encoded = pa.chunked_array(owners, ADDRESSES).unify_dictionaries().combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    return encoded.indices.to_numpy(), encoded.dictionary, np.concatenate(steps), np.concatenate(amounts)
