"""Keeps the transactions that spend watched outputs (etl/lake/watched_outputs.py) and that no filter matches.

Tasks decode in parallel, so none knows which outputs the others create. Each writes the watched outputs that its
messages create, and the outputs whose spending it did not keep. A join of both finds the tasks to decode again, which
are few.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.lake.watched_outputs import WATCHED
from etl.verification.decode_worker import Decoded, DecodeTask


@dataclass(frozen=True)
class Selected:
    """Results of all tasks, and the WATCHED that their messages created."""

    decoded: list[Decoded]
    watched: pa.Table


def decode_selected(
    tasks: Sequence[DecodeTask],
    decode: Callable[[Sequence[DecodeTask], Set[bytes]], Iterable[Decoded]],
    earlier: pa.Table,
) -> Selected:
    """Decodes tasks of a selection with addresses.

    Args:
        tasks: the tasks.
        decode: decodes tasks, with the ids of outputs whose spending is kept.
        earlier: the WATCHED of the lake.
    """
    decoded = list(decode(tasks, frozenset()))
    # What is decoded again creates no more of them: a transaction that creates one was kept at once.
    watched = pa.concat_tables([_read_watched(each) for each in decoded] or [WATCHED.empty_table()])
    watched_ids = pa.concat_tables([earlier, watched])["output_id"]
    again: dict[int, set[bytes]] = {}
    for number, each in enumerate(decoded):
        if found := _spent_in(each, watched_ids):
            again[number] = found
    if again:
        spent = frozenset[bytes]().union(*again.values())
        repeated = decode([tasks[number] for number in again], spent)
        for number, each in zip(again, repeated, strict=True):
            decoded[number] = each
    return Selected(decoded, watched)


def _read_watched(decoded: Decoded) -> pa.Table:
    assert decoded.outputs is not None, "a selection with addresses"
    return pq.read_table(decoded.outputs.watched, schema=WATCHED)


def _spent_in(decoded: Decoded, watched: pa.ChunkedArray) -> set[bytes]:
    """The watched outputs whose spending a task did not keep."""
    assert decoded.outputs is not None, "a selection with addresses"
    spent = pq.read_table(decoded.outputs.spent_elsewhere)["output_id"]
    return set(pc.filter(spent, pc.is_in(spent, value_set=watched)).to_pylist())
