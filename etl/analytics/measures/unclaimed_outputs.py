"""What stood in genesis and was never touched, as the rewards that nobody claimed.

Rules of this file: as in standing.py.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from etl.analytics.standing import count_and_amount


def unclaimed_outputs(genesis: int) -> dict[str, Column]:
    """Those of the milestone `genesis`."""
    return count_and_amount("unclaimed", F.col("created_milestone_index") == genesis)
