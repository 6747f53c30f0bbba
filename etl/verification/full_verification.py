"""Verification for the level `full`: finds inclusion states and parents that do not follow from earlier milestones, and
transactions that the protocol parameters forbid.

Facts about inputs and parents are native columns. What only the bytes of a transaction decide, worker processes check
in one pass (etl/verification/full_worker.py). All states are already final, so no order is necessary. The lake contains
all earlier milestones since genesis.
"""

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.intervals import Intervals, intersect
from db.partitions import ranges_of
from etl.engine.process_frames import map_in_processes
from etl.lake.delta import either, few_rows
from etl.ledger_state.before_genesis import with_earlier
from etl.ledger_state.changes import Found, far
from etl.ledger_state.conflict_reasons import dust_steps, known_facts, spending, with_facts
from etl.tables.frames import conform
from etl.tables.partition_columns import hex_text
from etl.verification import full_worker
from etl.verification.full_worker import FAULTS
from etl.writers.frame_writer import upsert_frames
from etl.writers.publish import Publication
from etl.writers.ranges import rewrite_ranges
from ledger.eras import STARDUST, Eras
from ledger.levels import FULL, SIGNED
from ledger.stardust.codec import decode_payload
from ledger.stardust.values import Milestone

FAULTS_SHOWN = 20
"""Maximum number of faults in a report."""

NO_PARENT = bytes(32)
"""The parent of the first messages of a network."""

BELOW_MAX_DEPTH = 15
"""Milestones after a snapshot whose messages may have parents from before the snapshot; nodes allow this."""

WEIGHT = 8
"""The time for a byte of a transaction with its facts, compared with that of decoding one of an archive."""


def promote(publication: Publication, run: Intervals, changes: Found | None = None) -> None:
    """Marks milestones of this run as `full` if the ledger state confirms them. The report contains the faults of the
    others. `changes`: those of the ledger since genesis, if the run has computed them.
    """
    lake, report, chunk_size = publication.lake, publication.report, publication.store_settings.chunk_size
    if report.ledger_index is None or not lake.has("genesis"):
        return
    known = intersect(run, [(lake.genesis_index() + 1, report.ledger_index)])
    if not known:
        return
    faults = find_faults(publication, known[0][0], known[-1][1], changes).where(either(known))
    report.faulty = faults.count()
    if report.faulty:
        text = F.format_string("milestone %d: %s: %s", "milestone_index", hex_text(F.col("message_id")), "reason")
        row = faults.orderBy("milestone_index", "message_id").limit(FAULTS_SHOWN).agg(F.collect_list(text)).first()
        report.faults = list(row[0]) if row else []
    signed = lake.milestones(known).where(F.col("verified") == SIGNED)
    full = signed.join(faults.select("milestone_index").distinct(), "milestone_index", "left_anti").select(
        F.expr(f"milestone_index DIV {chunk_size}").alias("ms_range_id"),
        "milestone_index",
        F.lit(FULL).alias("verified"),
    )
    with publication.store.batch() as batch:
        upsert_frames(
            batch, publication.writer, [lambda _: conform(full, schema.sync, only=["verified"])], report.wrote
        )
    ranges = sorted({each for first, last in known for each in ranges_of(first, last, chunk_size)})
    rewrite_ranges(publication.store, publication.reads, ranges)


def find_faults(publication: Publication, first: int, last: int, changes: Found | None = None) -> DataFrame:
    """FAULTS of the milestones [first, last]. The lake has no gap between genesis and `last`. `changes`: those of the
    ledger from genesis to `last` or later. Default: they are computed.
    """
    genesis = publication.lake.genesis_index()
    found = changes or far(publication, genesis, genesis, last)
    eras, invalid = _eras(publication, genesis, first, last)
    faults = (
        _wrong_transactions(publication, found.changes, eras, first, last)
        .unionByName(find_strangers(publication.lake.messages([(genesis + 1, last)]), genesis, first))
        .unionByName(invalid)
    )
    folder = publication.staging.write("faults", faults)
    return publication.spark.read.schema(faults.schema).parquet(str(folder))


def _wrong_transactions(publication: Publication, changes: DataFrame, eras: Eras, first: int, last: int) -> DataFrame:
    """FAULTS: transactions whose inclusion state is wrong, and those that the protocol parameters forbid."""
    spends = spending(publication.lake.messages([(first, last)]))
    folder = publication.staging.write("spends", spends)
    spends = publication.spark.read.schema(spends.schema).parquet(str(folder))
    rows = with_facts(spends, known_facts(with_earlier(publication, changes), spends), dust_steps(changes))
    function = partial(full_worker.find_faults, eras=eras)
    return map_in_processes(rows, function, FAULTS, publication.staging.folder("wrong"), weight=WEIGHT)


def find_strangers(messages: DataFrame, genesis: int, first: int) -> DataFrame:
    """FAULTS: messages with a parent that is missing up to their milestone, and messages that an earlier milestone
    contains. `messages` are all since genesis; only those from milestone `first` are checked.
    """
    cones = messages.where("message_id IS NOT NULL")
    homes = cones.groupBy("message_id").agg(F.min("milestone_index").alias("home"))
    since = max(first, genesis + 1 + BELOW_MAX_DEPTH) if genesis > 0 else first
    named = cones.where(F.col("milestone_index") >= since).select(
        "milestone_index", "message_id", F.explode("parents").alias("parent")
    )
    named = named.where(F.col("parent") != F.lit(NO_PARENT))
    held = named.join(homes.withColumnsRenamed({"message_id": "parent"}), "parent", "left")
    missing = held.where("home IS NULL OR home > milestone_index").withColumn(
        "reason", F.format_string("parents: %s is in no milestone up to this one", hex_text(F.col("parent")))
    )
    again = cones.where(F.col("milestone_index") >= first).join(homes, "message_id").where("home < milestone_index")
    doubled = again.withColumn("reason", F.format_string("in the cone of milestone %d already", "home"))
    return missing.select(*FAULTS.names).unionByName(doubled.select(*FAULTS.names))


def _eras(publication: Publication, genesis: int, first: int, last: int) -> tuple[Eras, DataFrame]:
    """The eras with the protocol parameters that milestones up to `last` announce, and FAULTS: the milestones from
    `first` on that announce invalid ones.
    """
    lake, eras, rejected = publication.lake, publication.store_settings.eras(STARDUST), []
    announcing = lake.milestones([(genesis + 1, last)]).where("parameters IS NOT NULL")
    row = announcing.agg(F.sort_array(F.collect_list(F.struct("milestone_index", "milestone_id", "payload")))).first()
    for each in row[0] if row else []:
        milestone = decode_payload(bytes(each["payload"]))
        assert isinstance(milestone, Milestone)
        try:
            eras = eras.learn(milestone)
        except ValueError as error:
            rejected.append((each["milestone_index"], bytes(each["milestone_id"]), str(error)))
    return eras, few_rows(publication.spark, FAULTS, rejected).where(f"milestone_index >= {first}")
