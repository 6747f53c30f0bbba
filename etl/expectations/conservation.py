"""Base tokens that transactions create beyond what they spend, from the lake's files, read without the engine.

It is 0 unless a coordinator has included an invalid transaction, so it is computed only where sums differ.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from db.intervals import Intervals
from etl.expectations.message_batch import Items, Messages, Numbers, column, inside, numbers, positions
from etl.expectations.words import Words, plain_amounts, words
from etl.lake.delta import Lake
from etl.sources.cone import INCLUDED

BATCH_ROWS = 8_000
_COLUMNS = ["milestone_index", "message_id", "timestamp", "inclusion_state", "transaction", "milestone"]
_TREASURY_OUTPUT = 2


def surplus(lake: Lake, milestones: Intervals) -> int:
    """Returns what the included transactions of these milestones create minus what they spend. Spent outputs come from
    genesis or any milestone up to the last of these.
    """
    created, inputs = 0, [np.zeros(0, np.uint64)]
    for of in _batches(lake, milestones):
        taken = positions(of.is_transaction & (of.state == INCLUDED))
        created += sum(int(each.sum(dtype=np.uint64)) for _, each in _created(of.outputs, taken))
        is_output = np.isin(of.inputs.messages, taken) & (numbers(of.inputs.field("kind")) == 0)
        inputs.append(words(of.inputs.field("output_id"))[is_output])
    spent, times = np.unique(np.concatenate(inputs), return_counts=True)
    amounts = np.zeros(len(spent), np.uint64)
    for ids, each in _all_created(lake, milestones[-1][1]):
        known = np.isin(ids, spent)
        amounts[np.searchsorted(spent, ids[known])] = each[known]
    return created - int((amounts * times.astype(np.uint64)).sum(dtype=np.uint64))


def _all_created(lake: Lake, last: int) -> Iterator[tuple[Words, Words]]:
    """The words of ids and the amounts of genesis outputs and of all outputs created up to a milestone."""
    for path in lake.local_files("genesis"):
        with pq.ParquetFile(path) as file:
            rows = file.read(columns=["output_id", "amount"], use_threads=False).combine_chunks()
        yield words(column(rows, "output_id")), plain_amounts(column(rows, "amount"))
    for of in _batches(lake, [(0, last)]):
        yield from _created(of.outputs, positions(of.took_effect))
        yield from _created(of.funds, positions(of.took_effect))


def _created(items: Items, taken: Numbers) -> Iterator[tuple[Words, Words]]:
    """The words of ids and the amounts of the outputs of these messages."""
    if not len(items.messages):
        return
    chosen = np.isin(items.messages, taken) & (numbers(items.field("kind")) != _TREASURY_OUTPUT)
    yield words(items.field("output_id"))[chosen], plain_amounts(items.field("amount"))[chosen]


def _batches(lake: Lake, milestones: Intervals) -> Iterator[Messages]:
    for path in lake.local_files("messages", milestones):
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=_COLUMNS, use_threads=False):
                rows = batch.filter(pa.array(inside(numbers(batch.column("milestone_index")), milestones)))
                if rows.num_rows:
                    yield Messages(rows)
