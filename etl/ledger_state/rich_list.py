"""The richest addresses and the distribution of tokens, from a whole ledger state or from the previous list.

An update examines only the addresses that changed. The list is complete down to its last row: all other addresses own
less. It stores more addresses than the API returns, so it is rarely recomputed from the whole state.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.queries.ledger import RICHEST
from etl.expectations.comparison import WrongRows, wrong_rows
from etl.ledger_state.changes import Near
from etl.writers.publish import Publication
from etl.writers.staging import Staging

KEPT = 2 * RICHEST

Holding: TypeAlias = tuple[bytes, int]
"""An address and its balance."""


@dataclass(frozen=True)
class Wealth:
    """`richest` by rank; `powers`: the number of addresses and their total balance by power of ten of the balance."""

    richest: Sequence[Holding]
    powers: dict[int, tuple[int, int]]

    @property
    def owners(self) -> int:
        """The number of addresses that own anything."""
        return sum(addresses for addresses, _ in self.powers.values())


NO_WEALTH = Wealth((), {})


def power_of_ten(balance: int) -> int:
    """The n of a balance from 10^n to below 10^(n+1)."""
    return len(str(balance)) - 1


def rank_key(holding: Holding) -> tuple[int, bytes]:
    """The sort key of the list."""
    address, balance = holding
    return -balance, address


def whole(staging: Staging, changes: DataFrame) -> Wealth:
    """Computes the list from all changes since genesis (etl.ledger_state.changes.CHANGES)."""
    signed = F.when(F.col("is_spent"), -F.col("amount")).otherwise(F.col("amount"))
    balances = changes.groupBy("address").agg(F.sum(signed).alias("balance")).where("balance > 0")
    held = changes.sparkSession.read.schema(balances.schema).parquet(str(staging.write("balances", balances)))
    power = F.length(F.col("balance").cast("string")) - 1
    powers = held.groupBy(power.alias("power")).agg(F.count("*").alias("addresses"), F.sum("balance").alias("amount"))
    top = held.orderBy(F.desc("balance"), "address").limit(KEPT)
    richest = _rows(staging, "richest", top)
    spread = _rows(staging, "powers", powers)
    return Wealth(
        sorted(zip(richest["address"].to_pylist(), richest["balance"].to_pylist(), strict=True), key=rank_key),
        {row["power"]: (row["addresses"], row["amount"]) for row in spread.to_pylist()},
    )


def compare(expected: Wealth, found: Wealth, milestone_index: int) -> None:
    """Raises WrongRows unless the engine's list begins as the one of this process, with the same distribution."""
    run = [(milestone_index, milestone_index)]
    if found.powers != expected.powers:
        raise WrongRows(wrong_rows("distribution", run, expected.powers, found.powers))
    for rank, (one, other) in enumerate(zip_longest(expected.richest, found.richest[: len(expected.richest)]), start=1):
        if one != other:
            raise WrongRows(wrong_rows(f"rich_list, rank {rank}", run, one, other))


def touched(near: Near, to: int) -> list[tuple[bytes, int, int]]:
    """Each address that a change up to that milestone affects, with its balance before and after."""
    before = {address: balance for address, _, balance, *_ in near.before}
    after = defaultdict[bytes, int](int)
    columns = (near.changes[name].to_pylist() for name in ("milestone_index", "address", "is_spent", "amount"))
    for milestone_index, address, is_spent, amount in zip(*columns, strict=True):
        if milestone_index <= to:
            after[address] += -amount if is_spent else amount
    return [(address, was := before.get(address, 0), was + change) for address, change in after.items()]


def moved(
    wealth: Wealth, steps: Iterable[tuple[bytes, int, int]], *, shown: int = RICHEST, kept: int = KEPT
) -> Wealth | None:
    """Updates the list after balances changed (address, before, after). Returns None if fewer than `shown` addresses
    would remain; then the list must be recomputed from the whole state.
    """
    powers = defaultdict[int, list[int]](lambda: [0, 0], {power: list(sums) for power, sums in wealth.powers.items()})
    left: set[bytes] = set()
    entering: list[Holding] = []
    for address, before, after in steps:
        left.add(address)
        for balance, sign in ((before, -1), (after, 1)):
            if balance:
                sums = powers[power_of_ten(balance)]
                sums[0] += sign
                sums[1] += sign * balance
        if after:
            entering.append((address, after))
    if len(wealth.richest) < wealth.owners:
        floor = rank_key(wealth.richest[-1])
        entering = [holding for holding in entering if rank_key(holding) <= floor]
    richest = sorted([each for each in wealth.richest if each[0] not in left] + entering, key=rank_key)[:kept]
    found = Wealth(richest, {power: (count, amount) for power, (count, amount) in powers.items() if count})
    return found if len(richest) >= min(shown, found.owners) else None


def remove_after(publication: Publication, frontier: int) -> None:
    """Deletes lists and distributions beyond the frontier, which a killed load left on a cluster. They are perhaps not
    whole, and a load of more milestones does not write them again.
    """
    if left := publication.reads.ranked_after(frontier):
        with publication.store.batch() as batch:
            for each in left:
                for table in (schema.rich_list, schema.distribution):
                    batch.delete(table, (publication.store_settings.network, each))


def _rows(staging: Staging, name: str, frame: DataFrame) -> pa.Table:
    return pq.read_table(staging.write(name, frame))
