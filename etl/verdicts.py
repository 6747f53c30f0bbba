"""The lesser Python crossing: conflicting transactions with what is known where they stand in, their reasons out.

Rules of this file: only transactions that a source calls conflicting pass here, the rest of the ledger state is native
columns; what is decided is decided in ledger/conflicts.py.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from ledger.chrysalis import (
    SigLockedDustAllowance,
    SigLockedSingle,
    Transaction,
    TransferOutput,
    decode_message,
)
from ledger.conflicts import Conflict, OutputFacts, find_conflict, resolve_at
from ledger.dust import Dust

JUDGED_DDL = (
    "milestone_index INT, white_flag_index INT, message_id BINARY, conflict_reason SMALLINT, found_reason SMALLINT"
)
"""A conflicting transaction, the source's reason for that and ours."""

KEPT = ["milestone_index", "white_flag_index", "message_id", "conflict_reason"]


def judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """JUDGED_DDL of rows with KEPT, the `message`, what is `known` of its inputs in their order (etl.conflicts.FACTS,
    nulls for an unknown one), and the `dust` of each address whose dust it changes.
    """
    for batch in batches:
        found = pa.array([_reason(row) for row in batch.to_pylist()], pa.int16())
        yield batch.select(KEPT).append_column("found_reason", found)


def _reason(row: dict[str, Any]) -> Conflict:
    transaction = decode_message(row["message"]).payload
    assert isinstance(transaction, Transaction)
    at = (row["milestone_index"], row["white_flag_index"])
    dust = {each["address"]: Dust(each["dust_allowance"], each["dust_outputs"]) for each in row["dust"] or ()}
    inputs = [resolve_at(at, _facts(each)) for each in row["known"]]
    return find_conflict(transaction, inputs, dust.__getitem__)


def _facts(known: dict[str, Any]) -> OutputFacts | None:
    if known["created_milestone_index"] is None:
        return None
    kind = SigLockedDustAllowance if known["output_type"] == SigLockedDustAllowance.KIND else SigLockedSingle
    output: TransferOutput = kind(known["address"], known["amount"])
    # Only genesis outputs have no index: they were there before the first.
    created = (known["created_milestone_index"], known["created_white_flag_index"] or 0)
    if known["spent_milestone_index"] is None:
        return OutputFacts(output, created)
    return OutputFacts(output, created, (known["spent_milestone_index"], known["spent_white_flag_index"]))
