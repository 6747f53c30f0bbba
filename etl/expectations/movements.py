"""Rows of address_movements that the changes of the ledger lead to, computed without the engine.

Counterparties are not part of it: they have no influence on a balance.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from etl.expectations.balances import ADDRESSES, batches_of
from etl.expectations.fingerprints import MOVEMENTS, Fingerprint
from etl.expectations.message_batch import Numbers, numbers
from etl.expectations.words import grouped, row_hashes, words

COLUMNS = ["milestone_index", "white_flag_index", "transaction_id", "address", "amount", "is_spent", "ms_timestamp"]
"""The columns of changes (etl.ledger_state.changes.CHANGES) that are read."""

KINDS = ("migration", "transaction")


def expected_movements(changes: pa.Table | Sequence[Path], frontier: int, to: int, shares: int = 1) -> Fingerprint:
    """Returns the fingerprint of address_movements for the milestones (frontier, to], without the genesis.

    `shares`: the number of shares of milestones, one of which is in memory at a time.
    """
    return sum((_movements(changes, frontier, to, share, shares) for share in range(shares)), Fingerprint())


def _movements(changes: pa.Table | Sequence[Path], frontier: int, to: int, share: int, shares: int) -> Fingerprint:
    found = (_between(batch, frontier, to, share, shares) for batch in batches_of(changes, COLUMNS))
    kept = [rows for rows in found if rows.num_rows]
    if not kept:
        return Fingerprint()
    rows = pa.Table.from_batches(kept)
    addresses = [batch.column("address").dictionary_encode().cast(ADDRESSES) for batch in kept]
    address, names = grouped(pa.chunked_array(addresses, ADDRESSES))
    own = {name: words(rows[name].combine_chunks()) for name in COLUMNS if name != "address"}
    milestone, place, amount = (own[name].view(np.int64) for name in ("milestone_index", "white_flag_index", "amount"))
    is_spent = own["is_spent"].view(np.int64)
    order = np.lexsort((address, place, milestone))
    of_effect = _begins(milestone[order], place[order])
    begins = np.nonzero(of_effect | _begins(address[order]))[0]
    signed = np.add.reduceat((amount * (1 - 2 * is_spent))[order], begins)
    # A transaction spends, a migration does not.
    effects = np.nonzero(of_effect)[0]
    spends = np.maximum.reduceat(is_spent[order], effects)
    kind = spends[np.searchsorted(effects, begins, "right") - 1]
    moved = np.nonzero(signed)[0]
    first = order[begins[moved]]
    columns = {name: own[name][first] for name in MOVEMENTS.columns if name in own and name != "amount"}
    columns |= {
        "address": names[address[first]],
        "kind": words(pa.array(KINDS))[kind[moved]],
        "amount": signed[moved].view(np.uint64),
    }
    hashes = row_hashes(columns, MOVEMENTS.columns, len(moved))
    return Fingerprint(len(moved), *(int(each.sum(dtype=np.uint64)) for each in (columns["amount"], hashes)))


def _between(batch: pa.RecordBatch, frontier: int, to: int, share: int, shares: int) -> pa.RecordBatch:
    milestone = numbers(batch.column("milestone_index"))
    is_kept = (milestone > frontier) & (milestone <= to) & (milestone % shares == share)
    return batch.take(pa.array(np.nonzero(is_kept)[0]))


def _begins(*columns: Numbers) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which rows differ from the one before in one of the columns."""
    differs = np.ones(len(columns[0]), np.bool_)
    differs[1:] = np.logical_or.reduce([each[1:] != each[:-1] for each in columns])
    return differs
