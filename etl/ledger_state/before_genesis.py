"""Outputs that messages up to the genesis created or spent. A ledger may begin with a snapshot, and its lake may have
milestones before the snapshot.

The ledger state does not follow from them, but `outputs` has what they created and spent.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from etl.tables import frames as tables
from etl.writers.publish import Publication

OF_CREATED = {"output_type": "tinyint", "address": "binary", "amount": "bigint", "data": "binary"}
"""The columns of facts about an output that its spender does not contain."""


def without_created(publication: Publication, genesis: int, outputs: DataFrame) -> DataFrame:
    """The genesis outputs without those that messages of the lake created, whose milestone and message are known."""
    messages = _messages(publication, genesis)
    if messages is None:
        return outputs
    return outputs.join(tables.created(messages, ("output_id", "kind")).select("output_id"), "output_id", "left_anti")


def with_earlier(publication: Publication, changes: DataFrame) -> DataFrame:
    """Changes since genesis (etl.ledger_state.changes.CHANGES) with those of messages up to the genesis: the columns
    that facts about outputs are computed from. Those in OF_CREATED are null where an earlier message spent the output.
    """
    messages = _messages(publication, publication.lake.genesis_index())
    if messages is None:
        return changes
    made = tables.created(messages, tables.LEGACY_FIELDS).withColumn("is_spent", F.expr("false"))
    spent = tables.spent(messages).withColumns(
        {"is_spent": F.expr("true")} | {name: F.lit(None).cast(kind) for name, kind in OF_CREATED.items()}
    )
    columns = ("output_id", "milestone_index", "white_flag_index", "is_spent", *OF_CREATED)
    return changes.select(*columns).unionByName(made.select(*columns)).unionByName(spent.select(*columns))


def _messages(publication: Publication, genesis: int) -> DataFrame | None:
    """The messages of the milestones up to the genesis that the lake has; None without any."""
    held = publication.lake.held([(0, genesis)])
    return publication.lake.messages(held) if held else None
