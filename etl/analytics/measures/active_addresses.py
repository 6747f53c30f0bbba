"""Who was active in a milestone.

Rules of this file: etl.ledger_state.changes.CHANGES in; out come rows of a milestone and the columns of ms_analytics
that they add to, several a milestone.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def active_addresses(changes: DataFrame) -> DataFrame:
    """A row an address whose outputs were created or spent."""
    return (
        changes.select("milestone_index", "owner")
        .distinct()
        .select("milestone_index", F.lit(1).alias("active_addresses"))
    )
