"""Python worker for conflict reasons: takes conflicting transactions with the facts about their inputs, returns
reasons.

Only transactions that a source calls conflicting are processed in Python; the rest of the ledger state is native
columns. The rules of each era are in ledger/ (chrysalis/conflicts.py, stardust/conflicts.py).
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

import pyarrow as pa

from ledger.chrysalis import conflicts
from ledger.chrysalis import values as chrysalis_values
from ledger.chrysalis.codec import SigLockedDustAllowance, SigLockedSingle, decode_message
from ledger.chrysalis.dust import Dust
from ledger.eras import CHRYSALIS
from ledger.inputs import OutputFacts, Position, resolve_at
from ledger.stardust import codec as stardust
from ledger.stardust import conflicts as stardust_conflicts
from ledger.stardust import values as stardust_values

JUDGED_DDL = (
    "milestone_index INT, white_flag_index INT, message_id BINARY, conflict_reason SMALLINT, found_reason SMALLINT"
)
"""A conflicting transaction, the reason of the source and the computed reason."""

KEPT = ["milestone_index", "white_flag_index", "message_id", "conflict_reason"]


def judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields JUDGED_DDL for rows with etl.ledger_state.conflict_reasons.AT and MESSAGE_COLUMNS, the facts
    `known` about their inputs in order (etl.ledger_state.conflict_reasons.FACTS; null if unknown), and the `dust` of
    each address that they change.
    """
    for batch in batches:
        found = pa.array([find_reason(row, payload_of(row)) for row in batch.to_pylist()], pa.int16())
        yield batch.select(KEPT).append_column("found_reason", found)


def payload_of(row: dict[str, Any]) -> Any:
    """The transaction in the bytes of a message of either era."""
    if row["version"] == CHRYSALIS.protocol_version:
        return decode_message(row["message"]).payload
    return stardust.decode_block(row["message"]).payload


def find_reason(row: dict[str, Any], payload: Any) -> IntEnum:
    """Why a transaction (`payload_of`) conflicts by the facts of its row; 0 if it does not."""
    at = (row["milestone_index"], row["white_flag_index"])
    inputs = [resolve_at(at, facts_of(each)) for each in row["known"]]
    if row["version"] != CHRYSALIS.protocol_version:
        assert isinstance(payload, stardust_values.Transaction)
        return stardust_conflicts.find_conflict(payload, inputs, row["ms_timestamp"] // 1_000)
    assert isinstance(payload, chrysalis_values.Transaction)
    dust = {each["address"]: Dust(each["dust_allowance"], each["dust_outputs"]) for each in row["dust"] or ()}
    return conflicts.find_conflict(payload, inputs, dust.__getitem__)


def facts_of(known: dict[str, Any]) -> OutputFacts[Any] | None:
    """Converts etl.ledger_state.conflict_reasons.FACTS of either era; None for an output that does not exist."""
    if known["created_milestone_index"] is None:
        return None
    # Only genesis outputs have no index: they were there before the first.
    created = (known["created_milestone_index"], known["created_white_flag_index"] or 0)
    return OutputFacts(_output(known), created, spent_of(known))


def spent_of(known: dict[str, Any]) -> Position | None:
    """The position at which an output (etl.ledger_state.conflict_reasons.FACTS) was spent."""
    milestone_index = known["spent_milestone_index"]
    return None if milestone_index is None else (milestone_index, known["spent_white_flag_index"])


def _output(known: dict[str, Any]) -> Any:
    """Decodes an output of either era."""
    for kind in (SigLockedSingle, SigLockedDustAllowance):
        if known["output_type"] == kind.KIND:
            return kind(known["address"], known["amount"])
    return stardust.decode_output(known["data"])
