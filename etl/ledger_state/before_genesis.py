"""Outputs that messages up to the genesis created or spent. A ledger may begin with a snapshot, and its lake may have
milestones before the snapshot.

The ledger state does not follow from them, but `outputs` has what they created and spent.
"""

from pyspark.sql import DataFrame

from etl.tables import frames as tables
from etl.writers.publish import Publication


def without_created(publication: Publication, genesis: int, outputs: DataFrame) -> DataFrame:
    """The genesis outputs without those that messages of the lake created, whose milestone and message are known."""
    messages = _messages(publication, genesis)
    if messages is None:
        return outputs
    return outputs.join(tables.created(messages, ("output_id", "kind")).select("output_id"), "output_id", "left_anti")


def _messages(publication: Publication, genesis: int) -> DataFrame | None:
    """The messages of the milestones up to the genesis that the lake has; None without any."""
    held = publication.lake.held([(0, genesis)])
    return publication.lake.messages(held) if held else None
