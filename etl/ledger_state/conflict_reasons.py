"""Determines why transactions conflict: Hornet's reasons, if the ledger state determines them.

A reason follows from the inputs and the dust of addresses at the position of the message
(ledger/chrysalis/conflicts.py, ledger/stardust/conflicts.py). Near the frontier these facts come from the store,
otherwise from the changes since genesis and from earlier messages of the lake; all further steps are the same. A reason
that the source contains is kept, and a different one is reported.
"""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from etl.engine.arrow_frames import arrow_frame, collected
from etl.lake.delta import few_rows
from etl.ledger_state.before_genesis import OF_CREATED, with_earlier
from etl.ledger_state.conflict_worker import JUDGED_DDL, judge
from etl.ledger_state.state_step import StateStep
from etl.report import Report
from etl.sources.cone import CONFLICTING
from etl.tables import frames as tables
from etl.tables.frames import FrameMaker
from etl.tables.message_frames import conflict_reasons
from etl.tables.partition_columns import hex_text
from etl.writers.publish import Publication
from ledger.chrysalis.conflicts import Conflict
from ledger.chrysalis.dust import DUST_THRESHOLD

FACTS = pa.schema(
    {
        "output_id": pa.binary(),
        "output_type": pa.int8(),
        "address": pa.binary(),
        "amount": pa.int64(),
        "created_milestone_index": pa.int32(),
        "created_white_flag_index": pa.int32(),
        "spent_milestone_index": pa.int32(),
        "spent_white_flag_index": pa.int32(),
        "data": pa.binary(),
    }
)
"""An output, where it was created (without white_flag_index for genesis) and where it was spent, if it was. `data`
contains its bytes, which may be missing for Chrysalis outputs.
"""

DUST_STEPS = pa.schema(
    {
        "address": pa.binary(),
        "milestone_index": pa.int32(),
        "white_flag_index": pa.int32(),
        "dust_allowance": pa.int64(),
        "dust_outputs": pa.int64(),
    }
)
"""A change to the dust of an address and its position. Without white_flag_index it precedes those that have one."""

AT = ("milestone_index", "white_flag_index", "message_id")

MESSAGE_COLUMNS = ("conflict_reason", "version", "ms_timestamp", "message")
"""The columns of the message itself that a verdict needs."""

DIFFERENCES_SHOWN = 20
"""Maximum number of differing reasons in a report."""


def reason_makers(publication: Publication, step: StateStep) -> list[FrameMaker]:
    """The missing reasons of conflicting transactions in the complete milestones of a step. The report lists reasons
    that differ.
    """
    if not step.totals.conflicting:
        return []
    rows, changes, frontier = conflicting(publication.messages(step.run)), step.applied, step.frontier
    if step.is_near and publication.few:
        return _few_makers(publication, rows, dust_steps(changes), frontier)
    staging, spark = publication.staging, publication.spark
    folder = staging.write("conflicting", rows)
    conflicts = spark.read.schema(rows.schema).parquet(str(folder))
    steps = dust_steps(changes)
    if step.is_near:
        inputs, receivers = pq.read_table(folder, columns=["inputs", "receivers"]).columns
        facts, before = facts_of_store(publication, frontier, flat(inputs), flat(receivers))
        steps = steps.unionByName(before)
    else:
        facts = known_facts(with_earlier(publication, changes), conflicts)
    judged_folder = staging.write("judged", judged(conflicts, facts, steps))
    verdicts = spark.read.schema(JUDGED_DDL).parquet(str(judged_folder))
    _compare(verdicts, publication.report)
    missing = verdicts.where(F.col("conflict_reason").isNull() & (F.col("found_reason") != int(Conflict.NONE)))
    return [lambda _: conflict_reasons().of(missing.withColumn("conflict_reason", F.col("found_reason")))]


def _few_makers(publication: Publication, rows: DataFrame, steps: DataFrame, frontier: int) -> list[FrameMaker]:
    """The same frames of few conflicting transactions (`conflicting`), without files."""
    held = collected(rows)
    if not held.num_rows:
        return []
    facts, before = facts_of_store(publication, frontier, flat(held["inputs"]), flat(held["receivers"]))
    conflicts = arrow_frame(publication.spark, held)
    known = collected(with_facts(conflicts, facts, steps.unionByName(before)))
    found = pa.Table.from_batches(judge(known.to_batches()))
    reason, source = found["found_reason"], found["conflict_reason"]
    is_none = pc.equal(reason, int(Conflict.NONE))
    differs = pc.fill_null(pc.or_kleene(is_none, pc.not_equal(reason, source)), fill_value=False)
    if pc.any(differs).as_py():
        _compare(arrow_frame(publication.spark, found), publication.report)
    missing = found.filter(pc.and_(pc.is_null(source), pc.invert(is_none)))
    if not missing.num_rows:
        return []
    reasons = missing.drop_columns("conflict_reason").rename_columns({"found_reason": "conflict_reason"})
    return [lambda _: conflict_reasons().of(arrow_frame(publication.spark, reasons))]


def conflicting(messages: DataFrame) -> DataFrame:
    """Conflicting transactions of the lake: their position and timestamp, the source's reason and the bytes; the ids of
    their `inputs` and the addresses that would receive dust or its allowance (`receivers`).
    """
    is_conflicting = F.when(F.col("inclusion_state") == CONFLICTING, F.col("transaction_id")).isNotNull()
    return spending(messages).where(is_conflicting)


def spending(messages: DataFrame) -> DataFrame:
    """The columns of `conflicting` for all transactions, with the inclusion state of the source."""
    rows = messages.withColumn("ms_timestamp", tables.ms_timestamp()).select(
        *AT,
        *MESSAGE_COLUMNS,
        "inclusion_state",
        "transaction.transaction_id",
        F.col("transaction.inputs.output_id").alias("inputs"),
        F.col("transaction.outputs").alias("outputs"),
    )
    dust = F.filter("outputs", lambda output: _counts(output["kind"], output["amount"]))
    receivers = F.transform(dust, lambda output: output["address"]).alias("receivers")
    return rows.where("transaction_id IS NOT NULL").select("*", receivers).drop("outputs")


def known_facts(changes: DataFrame, conflicts: DataFrame) -> DataFrame:
    """FACTS of the inputs that these changes (etl.ledger_state.before_genesis.with_earlier) created."""
    wanted = conflicts.select(F.explode("inputs").alias("output_id")).distinct()
    place = F.struct("milestone_index", "white_flag_index")
    # Sail holds the left side of a join in memory.
    found = (
        wanted.join(changes, "output_id")
        .groupBy("output_id")
        .agg(
            *(F.any_value(name, ignoreNulls=True).alias(name) for name in OF_CREATED),
            F.min(F.when(~F.col("is_spent"), place)).alias("created"),
            F.min(F.when(F.col("is_spent"), place)).alias("spent"),
        )
    )
    places = [
        F.col(f"{end}.{name}").alias(f"{end}_{name}")
        for end in ("created", "spent")
        for name in ("milestone_index", "white_flag_index")
    ]
    return found.select("output_id", "output_type", "address", "amount", *places, "data")


def dust_change() -> tuple[Column, Column]:
    """What a change (etl.ledger_state.changes.CHANGES) adds to the dust of its address: to its allowance, to its number
    of outputs.
    """
    sign = F.when(F.col("is_spent"), -1).otherwise(1)
    allows = F.col("output_type") == tables.DUST_ALLOWANCE_OUTPUT
    is_dust = _counts(F.col("output_type"), F.col("amount")) & ~allows
    return F.when(allows, sign * F.col("amount")).otherwise(0), F.when(is_dust, sign).otherwise(0)


def dust_steps(changes: DataFrame) -> DataFrame:
    """DUST_STEPS of changes that are not zero."""
    allowance, outputs = dust_change()
    return changes.where(_counts(F.col("output_type"), F.col("amount"))).select(
        "address",
        "milestone_index",
        "white_flag_index",
        allowance.cast("bigint").alias("dust_allowance"),
        outputs.cast("bigint").alias("dust_outputs"),
    )


def dust_before(requests: DataFrame, steps: DataFrame) -> DataFrame:
    """The dust of each address directly before each message that needs it (AT, address), with both sums.

    A message that only reads adds no step. The sums run once over the steps of the requested addresses.
    """
    sums = DUST_STEPS.names[3:]
    readers = requests.withColumns({name: F.lit(0).cast("bigint") for name in sums})
    wanted = steps.join(requests.select("address").distinct(), "address", "left_semi")
    # A message reads the dust before its own steps.
    is_step = F.col("message_id").isNull()
    so_far = Window.partitionBy("address").orderBy("milestone_index", "white_flag_index", is_step)
    so_far = so_far.rowsBetween(Window.unboundedPreceding, 0)
    return (
        readers.unionByName(wanted.withColumn("message_id", F.lit(None).cast("binary")))
        .select(*AT, "address", *(F.sum(name).over(so_far).alias(name) for name in sums))
        .where("message_id IS NOT NULL")
    )


def judged(conflicts: DataFrame, facts: DataFrame, steps: DataFrame) -> DataFrame:
    """JUDGED_DDL for each row of `spending`, from FACTS of its inputs and DUST_STEPS of its addresses."""
    return with_facts(conflicts, facts, steps).mapInArrow(judge, JUDGED_DDL)


def with_facts(conflicts: DataFrame, facts: DataFrame, steps: DataFrame) -> DataFrame:
    """`spending` with the facts `known` about the inputs, in their order, and the `dust` of its addresses."""
    spends = conflicts.select(*AT, F.posexplode("inputs").alias("idx", "output_id")).join(facts, "output_id", "left")
    known = spends.groupBy(*AT).agg(
        F.sort_array(F.collect_list(F.struct("idx", *(name for name in FACTS.names[1:])))).alias("known")
    )
    senders = spends.where(_counts(F.col("output_type"), F.col("amount"))).select(*AT, "address")
    requests = conflicts.select(*AT, F.explode("receivers").alias("address")).unionByName(senders).distinct()
    dust = (
        dust_before(requests, steps)
        .groupBy(*AT)
        .agg(F.collect_list(F.struct("address", "dust_allowance", "dust_outputs")).alias("dust"))
    )
    return conflicts.join(known, list(AT)).join(dust, list(AT), "left")


def facts_of_store(
    publication: Publication, frontier: int, inputs: list[bytes], receivers: list[bytes]
) -> tuple[DataFrame, DataFrame]:
    """The facts of the store: FACTS of the inputs, and as DUST_STEPS the dust at the frontier of the addresses that the
    inputs or the receivers change.
    """
    spark, reads = publication.spark, publication.reads
    facts = reads.facts(sorted(set(inputs)))
    senders = {
        address
        for _, output_type, address, amount, *_ in facts
        if output_type == tables.DUST_ALLOWANCE_OUTPUT
        or (output_type == tables.SINGLE_OUTPUT and amount < DUST_THRESHOLD)
    }
    balances = reads.balances(sorted(senders.union(receivers)), frontier)
    before = [(address, at, None, *dust) for address, at, _, _, *dust in balances]
    return few_rows(spark, FACTS, facts), few_rows(spark, DUST_STEPS, before)


def flat(lists: pa.ChunkedArray) -> list[bytes]:
    """The items of all lists."""
    return [each for values in lists.to_pylist() for each in values]


def _counts(output_type: Column, amount: Column) -> Column:
    """Whether an output changes the dust of its address. Stardust outputs do not."""
    is_dust = (output_type == tables.SINGLE_OUTPUT) & (amount < DUST_THRESHOLD)
    return (output_type == tables.DUST_ALLOWANCE_OUTPUT) | is_dust


def _compare(verdicts: DataFrame, report: Report) -> None:
    """Reports the reasons that differ, including rows without a computed reason, because an archive may contain a wrong
    state.
    """
    differing = verdicts.where(
        (F.col("found_reason") == int(Conflict.NONE)) | (F.col("found_reason") != F.col("conflict_reason"))
    )
    count = differing.count()
    if not count:
        return
    report.differing += count
    source = F.coalesce(F.col("conflict_reason").cast("string"), F.lit("none"))
    text = F.format_string("%s: the source's %s, computed %d", hex_text(F.col("message_id")), source, "found_reason")
    shown = differing.orderBy("milestone_index", "white_flag_index").limit(DIFFERENCES_SHOWN - len(report.differences))
    row = shown.agg(F.collect_list(text)).first()
    report.differences += row[0] if row else []
