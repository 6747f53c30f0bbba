"""Complete milestones → ledger state: what their included transactions and receipts did to outputs and addresses.

Rules of this file: the state after a milestone is a set function of what came before, so nothing is incremented in
place and nothing deleted; milestones are applied in order and without gaps, from genesis on; the frontier is written
last, and a reader sees nothing beyond it. Far behind the frontier, spent outputs are resolved by joins over the lake,
near it by reads of the store; both give the same changes, and all rows follow from those.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from db import schema
from db.store import Batch
from etl import history, tables
from etl.conflicts import dust_change, reason_makers
from etl.lake import few_rows
from etl.placement import SPLITS, Placement, ms_range_id
from etl.publish import Publication
from etl.report import Progress
from etl.writer import FrameMaker, upsert_frames

CHANGES = pa.schema(
    {
        "milestone_index": pa.int32(),
        "white_flag_index": pa.int32(),
        "idx": pa.int32(),
        "transaction_id": pa.binary(),
        "message_id": pa.binary(),
        "signer": pa.binary(),
        "is_spent": pa.bool_(),
        "output_id": pa.binary(),
        "output_type": pa.int8(),
        "address": pa.binary(),
        "amount": pa.int64(),
    }
)
"""One row for each output created and for each one spent; `idx` is the output's index, or that of the input, which
`signer` unlocked. `transaction_id` is the milestone's where a receipt created the output."""

BALANCES = pa.schema(
    {
        "address": pa.binary(),
        "milestone_index": pa.int32(),
        "balance": pa.int64(),
        "unspent_count": pa.int64(),
        "dust_allowance": pa.int64(),
        "dust_outputs": pa.int64(),
    }
)
SUMS = BALANCES.names[2:]

BALANCE_KIND = "balance"
"""addresses_hints.output_kind of address_balances."""

MILESTONES_AT_ONCE = 1_000
"""Applied in one transaction near the frontier; bounds what this process holds."""


@dataclass(frozen=True)
class Ledger:
    """The ledger state of one store, and the lake it follows from."""

    publication: Publication

    def advance(self) -> None:
        """Applies genesis, if that is still to do, and every complete milestone that follows without a gap.

        An included transaction that spends what nobody created holds the frontier before its milestone, and the report
        says so. Without a genesis in the lake there is no ledger state.
        """
        lake, reads, report = self.publication.lake, self.publication.reads, self.publication.report
        if not lake.has("genesis"):
            return
        genesis = lake.genesis_index()
        frontier = reads.ledger_index()
        if frontier is None:
            self._begin(genesis)
            frontier = genesis
        complete = reads.complete()
        last = next((end for first, end in complete if first <= frontier + 1 <= end), frontier)
        while frontier < last and not report.held:
            near = last - frontier <= self.publication.settings.ledger_near
            to = min(last, frontier + MILESTONES_AT_ONCE) if near else last
            self.publication.notify(Progress("ledger", frontier - genesis, last - genesis, "milestones of the ledger"))
            changes, before = self._near(frontier, to) if near else self._far(genesis, to)
            frontier = self._apply(changes, before, frontier, to, publish=not near)
        report.ledger_index = frontier

    def _begin(self, genesis: int) -> None:
        """Writes the outputs that were there before the first milestone, and their balances."""
        lake, network = self.publication.lake, self.publication.store_settings.network
        chunk_size = self.publication.store_settings.chunk_size
        outputs = _genesis_outputs(lake.read("genesis"))
        placement = self._placement(genesis, genesis)
        makers: list[FrameMaker] = [
            lambda _: tables.created_outputs(outputs),
            lambda _: tables.outputs_by_address(outputs.withColumn("included", F.expr("true")), placement),
            lambda earlier: tables.hints(earlier.read, schema.outputs_by_address),
            *_balance_makers(_balances(_created(outputs), None, genesis - 1), chunk_size),
            lambda _: tables.genesis_treasury(lake.read("genesis"), network),
        ]
        publish = outputs.count() > self.publication.settings.batch_messages
        with self.publication.store.batch(publish=publish) as batch:
            self._write(batch, makers, genesis)

    def _apply(self, changes: DataFrame, before: DataFrame | None, frontier: int, to: int, *, publish: bool) -> int:
        """Writes the state after (frontier, to], or as far as it is known; the new frontier."""
        to = self._known_to(changes, to)
        if to == frontier:
            return frontier
        applied = changes.where(F.col("milestone_index") <= to)
        news = applied.where(F.col("milestone_index") > frontier)
        chunk_size = self.publication.store_settings.chunk_size
        placement = self._placement(frontier + 1, to)
        makers: list[FrameMaker] = [
            lambda _: tables.conform(news, schema.ledger_updates_by_milestone),
            lambda _: history.spent_from(news, placement),
            *_balance_makers(_balances(applied, before, frontier), chunk_size),
            *reason_makers(self.publication, applied, frontier, to, near=before is not None),
        ]
        with self.publication.store.batch(publish=publish) as batch:
            self._write(batch, makers, to)
        return to

    def _placement(self, first: int, last: int) -> Placement:
        """Where the rows of those milestones stand."""
        chunk_size = self.publication.store_settings.chunk_size
        standing = self.publication.reads.splits(range(first // chunk_size, last // chunk_size + 1))
        hot = few_rows(self.publication.spark, SPLITS, standing) if standing else None
        return Placement(chunk_size, schema.LOOKUPS, hot)

    def _write(self, batch: Batch, makers: list[FrameMaker], ledger_index: int) -> None:
        upsert_frames(batch, self.publication.staging, makers, self.publication.report.wrote)
        row = (self.publication.store_settings.network, ledger_index)
        self.publication.report.wrote(
            schema.ledger_frontier.name, batch.upsert(schema.ledger_frontier, schema.ledger_frontier.names, [row])
        )

    def _known_to(self, changes: DataFrame, to: int) -> int:
        """The milestone before the first one that spends an unknown output, `to` if there is none."""
        unknown = changes.where("address IS NULL")
        row = unknown.agg(F.min(F.struct("milestone_index", "white_flag_index", "idx", "output_id"))).first()
        if row is None or row[0] is None:
            return to
        first = row[0]
        self.publication.report.held = (
            f"milestone {first['milestone_index']}: input {first['idx']} of the message at white-flag index "
            f"{first['white_flag_index']} spends {bytes(first['output_id']).hex()}, which nothing here created"
        )
        held: int = first["milestone_index"] - 1
        return held

    def _far(self, genesis: int, to: int) -> tuple[DataFrame, None]:
        """All changes since genesis, resolved by joins over the lake."""
        lake = self.publication.lake
        messages = lake.messages([(genesis + 1, to)])
        before = _created(_genesis_outputs(lake.read("genesis")))
        created = before.unionByName(_created(tables.created(messages)))
        owner = created.select("output_id", "output_type", "address", "amount")
        spent = _spent(tables.spent(messages)).join(owner, "output_id", "left")
        return self._staged("changes", created.unionByName(spent)), None

    def _near(self, frontier: int, to: int) -> tuple[DataFrame, DataFrame]:
        """Changes of (frontier, to] resolved from the store, and how the addresses they touch stood before."""
        spark, reads = self.publication.spark, self.publication.reads
        messages = self.publication.lake.messages([(frontier + 1, to)])
        created = self._rows("created", _created(tables.created(messages)))
        spent = self._rows("spent", _spent(tables.spent(messages)))
        found = {row["output_id"]: (row["output_type"], row["address"], row["amount"]) for row in created.to_pylist()}
        wanted = [output_id for output_id in spent["output_id"].to_pylist() if output_id not in found]
        found |= reads.owners(wanted)
        owners = [found.get(output_id, (None, None, None)) for output_id in spent["output_id"].to_pylist()]
        for position, name in enumerate(("output_type", "address", "amount")):
            values = [owner[position] for owner in owners]
            spent = spent.append_column(name, pa.array(values, CHANGES.field(name).type))
        changes = pa.concat_tables(
            [created.select(CHANGES.names).cast(CHANGES), spent.select(CHANGES.names).cast(CHANGES)]
        )
        touched = sorted(set(changes["address"].to_pylist()) - {None})
        return spark.createDataFrame(changes), few_rows(spark, BALANCES, reads.balances(touched, frontier))

    def _staged(self, name: str, frame: DataFrame) -> DataFrame:
        """The frame, computed once."""
        folder = self.publication.staging.write(name, frame)
        return self.publication.spark.read.schema(frame.schema).parquet(str(folder))

    def _rows(self, name: str, frame: DataFrame) -> pa.Table:
        """The frame's rows, of few milestones, in this process."""
        return pq.read_table(self.publication.staging.write(name, frame))


def _genesis_outputs(genesis: DataFrame) -> DataFrame:
    """Genesis as `tables.created`."""
    return genesis.where(F.col("kind") != tables.TREASURY_OUTPUT).select(
        "milestone_index",
        F.lit(None).cast("int").alias("white_flag_index"),
        "message_id",
        "ms_timestamp",
        F.lit(None).cast("int").alias("idx"),
        "output_id",
        F.col("kind").alias("output_type"),
        "address",
        "amount",
        "data",
    )


def _created(outputs: DataFrame) -> DataFrame:
    created_by = F.substring("output_id", 1, 32)
    unsigned = F.lit(None).cast("binary")
    rows = outputs.withColumns({"transaction_id": created_by, "signer": unsigned, "is_spent": F.expr("false")})
    return rows.select(CHANGES.names)


def _spent(inputs: DataFrame) -> DataFrame:
    known = [name for name in CHANGES.names if name in inputs.columns]
    return inputs.select(*known, F.expr("true").alias("is_spent"))


def _balances(changes: DataFrame, before: DataFrame | None, frontier: int) -> DataFrame:
    """BALANCES of each address after each milestone above `frontier` that changed it.

    `before` (BALANCES) is where the addresses stood at the frontier; None where the changes begin at genesis.
    """
    sign = F.when(F.col("is_spent"), -1).otherwise(1)
    dust_allowance, dust_outputs = dust_change()
    steps = changes.groupBy("address", "milestone_index").agg(
        F.sum(sign * F.col("amount")).alias("balance"),
        F.sum(sign).alias("unspent_count"),
        F.sum(dust_allowance).alias("dust_allowance"),
        F.sum(dust_outputs).alias("dust_outputs"),
    )
    if before is not None:
        steps = steps.unionByName(before)
    so_far = Window.partitionBy("address").orderBy("milestone_index").rowsBetween(Window.unboundedPreceding, 0)
    summed = steps.select("address", "milestone_index", *(F.sum(name).over(so_far).alias(name) for name in SUMS))
    return summed.where(F.col("milestone_index") > frontier)


def _balance_makers(balances: DataFrame, chunk_size: int) -> list[FrameMaker]:
    """address_balances and the hints that lead to them."""
    placed = balances.withColumn("ms_range_id", ms_range_id(chunk_size))
    hints = placed.select(
        "address",
        F.lit(BALANCE_KIND).alias("output_kind"),
        F.lit(tables.ADDRESS).alias("variant"),
        F.expr("true").alias("included"),
        "ms_range_id",
        F.lit(0).alias("partition_id"),
    ).distinct()
    return [
        lambda _: tables.conform(placed, schema.address_balances),
        lambda _: tables.conform(hints, schema.addresses_hints),
    ]
