"""Compares balances and treasury with the token supply after each milestone.

The changes of a milestone and the treasury output of its receipt come from different columns of the messages, and the
supply from the genesis, so each can prove the others wrong. A difference is a state, not an error of the run: a
coordinator may have included a transaction that creates more than it spends. The engine's errors are found before
(etl/expectations).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.queries.reconciliation import RECONCILED, Reconciliation, parse_reconciliation
from etl.ledger_state.state_step import StateStep
from etl.report import Report
from etl.store_reads import StoreReads
from etl.tables.frames import TREASURY_OUTPUT

COLUMNS = ["milestone_index", "is_spent", "amount"]
BATCH_ROWS = 65_536


def at_genesis(genesis: DataFrame, index: int, balances: int) -> Reconciliation:
    """Compares the balances at the genesis with its rows in the lake."""
    supply, treasury = genesis_sums(genesis)
    return _after(Reconciliation(supply, index, index), {index: balances + treasury})


def genesis_sums(genesis: DataFrame) -> tuple[int, int]:
    """Returns the base tokens of a genesis, and those of its treasury."""
    of_treasury = F.when(F.col("kind") == TREASURY_OUTPUT, F.col("amount")).otherwise(0)
    row = genesis.agg(F.sum("amount").alias("supply"), F.sum(of_treasury).alias("treasury")).first()
    assert row is not None
    return int(row["supply"] or 0), int(row["treasury"] or 0)


def after(reads: StoreReads, genesis: DataFrame, step: StateStep, balances_before: int) -> Reconciliation:
    """Returns the comparison after a step. `balances_before`: the sum of all balances at the frontier."""
    text, found, frontier, to = reads.info(RECONCILED), step.found, step.frontier, step.to
    treasury, *changed = reads.treasury(frontier, to)
    if text is None:
        before = Reconciliation(genesis_sums(genesis)[0], frontier, frontier)
        before = _after(before, {frontier: balances_before + treasury[1]})
    else:
        before = parse_reconciliation(text)
    source = found.of_files() if found.near is None else found.near.changes
    sums = sums_after(net_changes(source, frontier, to), balances_before, treasury[1], changed)
    return replace(_after(before, sums), last=to)


def net_changes(changes: pa.Table | Sequence[Path], frontier: int, to: int) -> Mapping[int, int]:
    """Returns what each milestone of (frontier, to] created minus what it spent, where these differ."""
    net = np.zeros(to - frontier, np.int64)
    batches = changes.select(COLUMNS).to_batches() if isinstance(changes, pa.Table) else _batches(changes)
    for batch in batches:
        milestone, is_spent, amount = (batch.column(name).to_numpy(zero_copy_only=False) for name in COLUMNS)
        inside = (milestone > frontier) & (milestone <= to)
        signed = np.where(is_spent[inside].astype(bool), -1, 1) * amount[inside].astype(np.int64)
        np.add.at(net, milestone[inside].astype(np.int64) - frontier - 1, signed)
    return {frontier + 1 + int(at): int(net[at]) for at in np.flatnonzero(net)}


def sums_after(
    net: Mapping[int, int], balances: int, treasury: int, changed: Sequence[tuple[int, int]]
) -> Mapping[int, int]:
    """Returns balances and treasury together after each milestone that changes either.

    Args:
        net: what milestones add to the balances.
        balances: the sum of the balances before.
        treasury: the treasury before.
        changed: milestones with the treasury after them, ascending.
    """
    treasuries, sums = dict(changed), dict[int, int]()
    for milestone in sorted({*net, *treasuries}):
        balances += net.get(milestone, 0)
        treasury = treasuries.get(milestone, treasury)
        sums[milestone] = balances + treasury
    return sums


def report_wrong_sum(report: Report, state: Reconciliation) -> None:
    """Adds a wrong sum to the report."""
    if state.wrong_at is not None and state.wrong_sum is not None:
        report.unreconciled = (
            f"after milestone {state.wrong_at}, balances and treasury are {state.wrong_sum:,} base tokens; the token "
            f"supply is {state.supply:,}"
        )


def _after(before: Reconciliation, sums: Mapping[int, int]) -> Reconciliation:
    if before.wrong_at is not None:
        return before
    wrong = next((index for index, total in sorted(sums.items()) if total != before.supply), None)
    return before if wrong is None else replace(before, wrong_at=wrong, wrong_sum=sums[wrong])


def _batches(changes: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    for part in changes:
        yield from pq.ParquetFile(part).iter_batches(BATCH_ROWS, columns=COLUMNS, use_threads=False)
