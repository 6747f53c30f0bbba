"""How many addresses own anything after a milestone.

Rules of this file: as in standing.py, of balances (etl.ledger_state.advance.balances) in place of changes.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def holders(balances: DataFrame) -> DataFrame:
    """A row an address and milestone: whether it began to own, or ceased to."""
    owns, owned = F.col("balance") > 0, F.coalesce("balance_before", F.lit(0)) > 0
    return balances.select("milestone_index", (owns.cast("bigint") - owned.cast("bigint")).alias("holders"))
