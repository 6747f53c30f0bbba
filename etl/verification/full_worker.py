"""Python worker for the level `full`: transactions with the facts about their inputs → faults.

Each transaction is decoded once, and all that its bytes and these facts decide is checked: its inclusion state and
conflict reason (ledger/chrysalis/conflicts.py, ledger/stardust/conflicts.py), and, if it changed the ledger of
Stardust, deposits, sums and network by the protocol parameters of its milestone
(ledger/stardust/protocol_parameters.py). Milestones with unknown parameters are not checked against them.

Worker processes and Spark's executors import this module, so it imports neither PySpark nor delta-rs.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from etl.ledger_state.conflict_worker import find_reason, payload_of
from etl.sources.cone import CONFLICTING, INCLUDED
from ledger.eras import Eras
from ledger.stardust.protocol_parameters import find_violation
from ledger.stardust.values import Transaction

FAULTS = pa.schema({"milestone_index": pa.int32(), "message_id": pa.binary(), "reason": pa.string()})
"""A message that does not follow from the ledger, and why."""


def find_faults(batches: Iterable[pa.RecordBatch], *, eras: Eras) -> Iterator[pa.RecordBatch]:
    """FAULTS of transactions with the columns of etl.ledger_state.conflict_reasons.with_facts. `eras` has the protocol
    parameters of their milestones.
    """
    for batch in batches:
        found = [
            {"milestone_index": row["milestone_index"], "message_id": row["message_id"], "reason": reason}
            for row in batch.to_pylist()
            for reason in _faults(row, eras)
        ]
        yield pa.RecordBatch.from_pylist(found, schema=FAULTS)


def _faults(row: dict[str, Any], eras: Eras) -> Iterator[str]:
    payload = payload_of(row)
    if fault := _wrong_state(row["inclusion_state"], row["conflict_reason"], int(find_reason(row, payload))):
        yield fault
    if row["inclusion_state"] == INCLUDED and isinstance(payload, Transaction):
        parameters = eras.at(row["milestone_index"]).parameters_at(row["milestone_index"])
        if parameters is not None and (violation := find_violation(payload.essence, parameters)):
            yield violation


def _wrong_state(state: int | None, reason: int | None, found: int) -> str | None:
    """Why a state or conflict reason contradicts the reason that the ledger leads to. 0: nothing conflicts."""
    if state is None:
        return "inclusion state: no source states it"
    if state == INCLUDED and found:
        return f"included, and by the ledger it conflicts: {found}"
    if state == CONFLICTING and not found:
        return "conflicting, and by the ledger nothing is wrong with it"
    if reason is not None and reason != found:
        return f"conflict reason: {found} expected, found {reason}"
    return None
