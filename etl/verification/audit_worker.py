"""Python worker of `permanode verify`: takes milestones of the lake, returns their proof levels.

Spark's executors import this module, so it imports neither PySpark nor delta-rs.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from etl.verification.cone_verification import check_milestone
from etl.verification.decode_worker import known_copy
from etl.verification.kept_check import check_kept
from ledger.eras import Coordinator, Eras
from ledger.stardust import codec as stardust
from ledger.stardust.values import Milestone

PROVED = pa.schema(
    {
        "milestone_index": pa.int32(),
        "level": pa.string(),
        "reason": pa.string(),
        "milestone_id": pa.binary(),
        "previous_id": pa.binary(),
    }
)
"""A milestone, its proof level (null if incomplete) and why it is not higher; for Stardust also its id and the id of
the previous milestone that it names.
"""


def prove(
    batches: Iterable[pa.RecordBatch], *, eras: Eras, coordinator: Coordinator | None, in_part: bool = False
) -> Iterator[pa.RecordBatch]:
    """(milestone_index, known) of milestones → PROVED. `in_part`: of a selective lake, each message with its proof."""
    for batch in batches:
        rows = []
        for planned in batch.to_pylist():
            index = planned["milestone_index"]
            if in_part:
                checked = check_kept(index, planned["known"], eras, coordinator)
            else:
                checked = check_milestone(index, [known_copy(index, planned["known"])], eras, coordinator)
            milestone = checked.milestone
            chained: tuple[bytes | None, bytes | None] = None, None
            if isinstance(milestone, Milestone):
                chained = stardust.milestone_id(milestone), milestone.previous_milestone_id
            reason = checked.rejects[0].reason if checked.rejects else None
            rows.append((index, checked.verified, reason, *chained))
        columns = list(zip(*rows, strict=True)) or [()] * len(PROVED)
        arrays = [pa.array(column, each.type) for column, each in zip(columns, PROVED, strict=True)]
        yield pa.record_batch(arrays, schema=PROVED)
