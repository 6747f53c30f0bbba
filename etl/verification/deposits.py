"""Checks Stardust transactions against the protocol parameters of their milestones: deposits, sums, network.

The rules are in ledger/stardust/protocol_parameters.py, the parameters of each milestone in ledger/eras.py. Milestones
with unknown parameters are not checked.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from ledger.eras import Eras
from ledger.stardust import codec as stardust
from ledger.stardust.protocol_parameters import find_violation
from ledger.stardust.values import Transaction

FAULTS = pa.schema({"milestone_index": pa.int32(), "message_id": pa.binary(), "reason": pa.string()})
FAULTS_DDL = "milestone_index INT, message_id BINARY, reason STRING"


def find_violations(eras: Eras, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """FAULTS of (milestone_index, message_id, message) of transactions that changed the ledger."""
    for batch in batches:
        found = []
        for row in batch.to_pylist():
            parameters = eras.at(row["milestone_index"]).parameters_at(row["milestone_index"])
            payload = stardust.decode_block(row["message"]).payload
            assert isinstance(payload, Transaction)
            if parameters is not None and (reason := find_violation(payload.essence, parameters)):
                found.append(
                    {"milestone_index": row["milestone_index"], "message_id": row["message_id"], "reason": reason}
                )
        yield pa.RecordBatch.from_pylist(found, schema=FAULTS)
