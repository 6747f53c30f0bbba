"""Outputs that a run both created and spent, in the frames of unspent outputs, computed without the engine.

If few rows are written, both frames have all of them. Otherwise one row has both milestones, and none is written if
the output was spent long ago (etl/ledger_state/unspent.py).
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from etl.expectations.balances import batches_of
from etl.expectations.fingerprints import UNSPENT, UNSPENT_SPENT, Fingerprint
from etl.expectations.message_batch import NOTHING, numbers
from etl.expectations.words import Words, row_hashes, words

COLUMNS = ["milestone_index", "created_milestone_index", "output_id", "is_spent"]
"""The columns of changes (etl.ledger_state.changes.CHANGES) that are read."""


def brief_outputs(changes: pa.Table | Path, frontier: int, to: int, dead_to: int) -> tuple[Fingerprint, Fingerprint]:
    """Returns the differences of the frames UNSPENT and UNSPENT_SPENT from those that have a row for each change of
    (frontier, to]: outputs that were created and spent in these milestones are in rows of the first one only, with the
    milestone that spent them, and in no row if that is `dead_to` or an earlier one.
    """
    created, spent = Fingerprint(), Fingerprint()
    for batch in batches_of(changes, COLUMNS):
        milestone, made = (numbers(batch.column(name)) for name in COLUMNS[:2])
        is_spent = words(batch.column("is_spent")).astype(bool)
        kept = np.nonzero(is_spent & (milestone > frontier) & (milestone <= to) & (made > frontier))[0]
        output_id = words(batch.column("output_id").take(pa.array(kept)))
        ended = milestone[kept]
        lasting = ended > dead_to
        without, with_end = (
            row_hashes({"output_id": output_id, "spent_milestone_index": end}, UNSPENT.columns, len(kept))
            for end in (NOTHING, ended.view(np.uint64))
        )
        created += Fingerprint(int(lasting.sum()), 0, _sum(with_end[lasting]))
        created -= Fingerprint(len(kept), 0, _sum(without))
        hashes = row_hashes({"output_id": output_id}, UNSPENT_SPENT.columns, len(kept))
        spent -= Fingerprint(len(kept), 0, _sum(hashes))
    return created, spent


def _sum(hashes: Words) -> int:
    return int(hashes.sum(dtype=np.uint64))
