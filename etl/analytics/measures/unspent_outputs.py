"""What is unspent after a milestone, by kind.

Rules of this file: as in standing.py.
"""

from pyspark.sql import Column

from db.schema import OUTPUT_KINDS
from etl.analytics.measures.created_outputs import is_kind
from etl.analytics.standing import count_and_amount


def unspent_outputs() -> dict[str, Column]:
    """Outputs and base tokens by kind."""
    return {name: column for kind in OUTPUT_KINDS for name, column in count_and_amount(kind, is_kind(kind)).items()}
