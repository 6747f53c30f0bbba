"""Compares balances, treasury and unclaimed funds of the store with the token supply after each milestone."""

from etl.deep_check.compare import MOST_NAMED, WRONG, Compared, Fault
from etl.deep_check.engine import Database

SUPPLY = "supply"
"""The name of the result."""

SUMS = """
WITH steps AS (
  SELECT milestone_index,
    balance - coalesce(lag(balance) OVER (PARTITION BY address ORDER BY milestone_index), 0) AS gained
  FROM stored_balances
),
gains AS (SELECT milestone_index, sum(gained) AS gained FROM steps GROUP BY milestone_index),
unclaimed AS (
  SELECT milestone_index, sum(CASE WHEN is_spent THEN -amount ELSE amount END) AS unclaimed
  FROM changes WHERE created_in = genesis_index() GROUP BY milestone_index
),
milestones AS (SELECT unnest(range(genesis_index(), frontier() + 1)) AS milestone_index),
sums AS (
  SELECT milestone_index, sum(coalesce(gained, 0)) OVER in_order AS balances,
    last_value(amount IGNORE NULLS) OVER in_order AS treasury,
    sum(coalesce(unclaimed, 0)) OVER in_order AS unclaimed
  FROM milestones LEFT JOIN gains USING (milestone_index)
  LEFT JOIN stored_treasury USING (milestone_index) LEFT JOIN unclaimed USING (milestone_index)
  WINDOW in_order AS (ORDER BY milestone_index)
)
SELECT milestone_index, CAST(balances AS HUGEINT) - unclaimed AS claimed, unclaimed, coalesce(treasury, 0) AS treasury,
  (SELECT sum(amount) FROM lake_genesis) AS supply
FROM sums
"""
"""Milestone, balances without unclaimed outputs of genesis, these, treasury, and the tokens of genesis."""


def check_supply(database: Database, most: int = MOST_NAMED) -> Compared:
    """Compares the sums after each milestone of the ledger state with the supply, if it has the outputs of all."""
    result = Compared(SUPPLY)
    if not database.run("SELECT all_owned()")[0][0]:
        return result
    database.run(f"CREATE OR REPLACE TEMP TABLE sums AS {SUMS}")
    differs = "FROM sums WHERE claimed + unclaimed + treasury <> supply"
    [(result.rows, result.differing)] = database.run(f"SELECT (SELECT count(*) FROM sums), (SELECT count(*) {differs})")
    for index, claimed, unclaimed, treasury, supply in database.run(
        f"SELECT * {differs} ORDER BY milestone_index LIMIT {most}"
    ):
        total = int(claimed + unclaimed + treasury)
        found = f"{total}: balances {claimed}, unclaimed {unclaimed}, treasury {treasury}"
        columns = {"sum": (int(supply), found)}
        result.faults.append(Fault(SUPPLY, WRONG, {"milestone_index": index}, columns, index))
    return result
