"""Determines which transactions changed the ledger if the Merkle root does not confirm the source, or the source does
not contain states.

Processes uncommitted milestones in the lake, so that all later steps see final states. Facts about inputs come from the
same places as for conflict reasons: from the store near its frontier, else from all changes since genesis. Without a
genesis nothing is determined here.
"""

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.intervals import Intervals, subtract
from etl.engine.columns import union_with_nulls
from etl.engine.ordering import map_in_order
from etl.lake.delta import either, intervals_of
from etl.ledger_state.before_genesis import with_earlier
from etl.ledger_state.changes import far, near
from etl.ledger_state.conflict_reasons import FACTS, dust_steps, facts_of_store, flat, known_facts, spending, with_facts
from etl.sources.cone import INCLUDED
from etl.tables.partition_columns import hex_text
from etl.verification.inclusion_worker import DECIDED_DDL, decide
from etl.verification.milestone_checks import STATE_NAMES, WRONG_STATES
from etl.writers.publish import Publication

LAST = 2**31 - 1
"""Greater than the position of any message in a milestone."""


def decide_states(publication: Publication, believed: Intervals, level: str) -> Intervals:
    """Writes the states that the ledger determines and the Merkle root proves to the lake, and sets the level of these
    milestones to `level`. Contradicting claims of a source become rejects. Returns these milestones.
    """
    lake = publication.lake
    if not lake.has("genesis"):
        return []
    genesis = lake.genesis_index()
    believed = subtract(believed, [(0, genesis)])
    if not believed:
        return []
    messages = lake.messages(believed)
    spends = spending(messages)
    folder = publication.staging.write("undecided", spends)
    spends = publication.spark.read.schema(spends.schema).parquet(str(folder))
    facts, steps = _known(publication, genesis, believed, spends, folder)
    own = messages.where("milestone.milestone_index = milestone_index").groupBy("milestone_index")
    ends = own.agg(F.min("version").alias("version"), F.min("milestone.payload").alias("payload"))
    closing = ends.withColumn("white_flag_index", F.lit(LAST))
    whole = union_with_nulls(with_facts(spends, facts, steps), closing)
    order = ("milestone_index", "white_flag_index")
    decided = map_in_order(whole, order, decide, DECIDED_DDL, publication.staging.folder("decided"))
    if done := intervals_of(decided):
        _settle(publication, done, decided, level)
        _reject_claims(publication, done, decided, spends)
    return done


def _known(
    publication: Publication, genesis: int, believed: Intervals, spends: DataFrame, folder: Path
) -> tuple[DataFrame, DataFrame]:
    """FACTS of the inputs and DUST_STEPS from all milestones with final states. `spends` is in `folder`."""
    frontier, last = publication.reads.ledger_index(), believed[-1][1]
    is_near = frontier is not None and frontier < believed[0][0] and last - frontier <= publication.settings.ledger_near
    if frontier is None or not is_near:
        changes = far(publication, genesis, genesis, last).changes
    else:
        changes = near(publication, genesis, frontier, last).changes
    undecided = spends.select("milestone_index", "transaction_id").distinct()
    settled = changes.join(undecided, ["milestone_index", "transaction_id"], "left_anti")
    steps = dust_steps(settled)
    if frontier is None or not is_near:
        return known_facts(with_earlier(publication, settled), spends), steps
    inputs, receivers = pq.read_table(folder, columns=["inputs", "receivers"]).columns
    stored, before = facts_of_store(publication, frontier, flat(inputs), flat(receivers))
    return _merged(stored.unionByName(known_facts(settled, spends))), steps.unionByName(before)


def _merged(facts: DataFrame) -> DataFrame:
    """Merges FACTS from two sources: an output is created once, and the first spender counts."""
    own = [name for name in FACTS.names if not name.startswith(("created_", "spent_")) and name != "output_id"]
    ends = {}
    for end in ("created", "spent"):
        place = F.struct(f"{end}_milestone_index", f"{end}_white_flag_index")
        ends[end] = F.min(F.when(F.col(f"{end}_milestone_index").isNotNull(), place)).alias(end)
    values = [F.any_value(name, ignoreNulls=True).alias(name) for name in own]
    return facts.groupBy("output_id").agg(*values, *ends.values()).select("output_id", *own, "created.*", "spent.*")


def _settle(publication: Publication, done: Intervals, decided: DataFrame, level: str) -> None:
    """Rewrites the lake's messages of these milestones."""
    states = decided.withColumnRenamed("inclusion_state", "decided")
    rows = publication.lake.messages(done).join(states, ["milestone_index", "message_id"], "left")
    rows = rows.withColumns(
        {
            "inclusion_state": F.coalesce("decided", "inclusion_state"),
            "conflict_reason": F.when(F.col("decided").eqNullSafe(INCLUDED), None).otherwise(F.col("conflict_reason")),
            "verified": F.lit(level),
        }
    )
    publication.lake.replace_messages(rows, done)


def _reject_claims(publication: Publication, done: Intervals, decided: DataFrame, spends: DataFrame) -> None:
    """Rejects for claims of the source about states, one per line whose claims were not confirmed."""
    lake = publication.lake
    if not lake.has("rejects"):
        return
    before = lake.read("rejects").where(either(done))
    is_line = F.col("reason") == WRONG_STATES
    lines = before.where(is_line).select("milestone_index", "file", "line").distinct()
    claimed = spends.select("milestone_index", "message_id", F.col("inclusion_state").alias("claimed"))
    differing = decided.join(claimed, ["milestone_index", "message_id"]).where("claimed != inclusion_state")
    names = F.create_map(*(F.lit(each) for pair in STATE_NAMES.items() for each in pair))
    reason = F.format_string(
        "inclusion state: %s expected, as is proved, found %s", names[F.col("inclusion_state")], names[F.col("claimed")]
    )
    rows = differing.join(lines, "milestone_index").select(
        "milestone_index", "file", "line", hex_text(F.col("message_id")).alias("item"), reason.alias("reason")
    )
    lake.replace("rejects", before.where(~is_line).unionByName(rows), done)
