"""Loads VAA files into the lake, then computes the tables of a Wormhole network from it.

The lake contains each cell once, and every table is a function of the set of cells. A load recomputes what its cells
affect and overwrites the rows, so repeated, reordered and interrupted loads give the same result. It affects the
messages of its files; those whose guardian set became known; those that wait for the name or price of a token; and, for
the sums of a day, all messages of that day.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from db.intervals import of_indices
from db.model import Table
from db.partitions import DAY_WINDOW
from db.schema.event_columns import QUORUM
from db.schema.wormhole_tables import LOOKUP, OWN, guardian_sets, vaa_daily, vaa_days, vaa_hints, vaa_lookups
from db.store import Row, StoreMismatch
from etl.engine.arrow_frames import arrow_frame
from etl.engine.queries import parallelism, task_set
from etl.engine.task_sets import TaskSet
from etl.expectations.cells import ID, compare_added, compare_messages, compare_staged
from etl.expectations.comparison import Comparison
from etl.sources.limits import Limits
from etl.sources.plan import UNKNOWN_MILESTONE, reject_table
from etl.tables import frames as tables
from etl.tables.frames import FrameMaker
from etl.tables.partition_columns import rows_of_keys
from etl.wormhole import decode, frames
from etl.wormhole.assembly import SIGNING, written_signatures
from etl.wormhole.decode_worker import ASSEMBLED, Emitters
from etl.wormhole.places import find_places
from etl.writers.frame_writer import Earlier
from etl.writers.publish import Publication
from ledger.wormhole.emitters import GOVERNANCE_CHAIN, GOVERNANCE_EMITTER
from ledger.wormhole.guardians import PUBLISHED
from ledger.wormhole.vaa import decode_vaa
from ledger.wormhole.verify import History, learn

LINES_A_TASK = 10_000


@dataclass(frozen=True)
class Touched:
    """The rows that a load writes (etl.wormhole.decode_worker.ROWS), the days that they count for, and the days of
    their bodies. `sums` contains the sums of the rows (etl.expectations.cells.BatchSums).
    """

    rows: DataFrame
    metas: DataFrame
    counted_days: list[int]
    body_days: list[int]
    history: History
    sums: TaskSet


@dataclass(frozen=True)
class Beside:
    """What a load reads beside messages: `priced` are rows of the price file, `listed` those of the token list; None
    without such a file.
    """

    priced: DataFrame | None = None
    listed: DataFrame | None = None


@dataclass(frozen=True)
class VaaLoad:
    """One run on one store."""

    publication: Publication

    @property
    def network(self) -> str:
        """mainnet, testnet or devnet."""
        network = self.publication.store_settings.wormhole_network
        if network is None:
            raise StoreMismatch("expected the store of a Wormhole network for VAAs")
        return network

    def add_to_lake(self, files: Sequence[Path], beside: Beside, emitters: Emitters | None) -> DataFrame:
        """Adds the files' cells, the prices and the token list to the lake. Returns the files' cells. `emitters`: those
        whose cells are kept. None: all.
        """
        cells = self._decode(files, emitters)
        if beside.priced is not None:
            self._replace("prices", beside.priced, "token_key", "day")
        if beside.listed is not None:
            self._replace("token_list", beside.listed, "token_key")
        return cells

    def fill_tables(self, cells: DataFrame, beside: Beside) -> None:
        """Writes the rows that follow from those cells, prices and tokens, once the lake has them."""
        touched, priced = self._touched(cells, beside), beside.priced
        self._write(touched, priced, publish=not self._kept_sets())

    def refill_tables(self) -> None:
        """Replaces all rows of the store by those of the lake."""
        lake = self.publication.lake
        ids = lake.read("vaas").select(*ID).distinct()
        touched = self._assembled(ids, lake.read("token_list"))
        self._write(touched, lake.read("prices"), publish=True, is_rebuild=True)

    def _decode(self, files: Sequence[Path], emitters: Emitters | None) -> DataFrame:
        """The cells of the files, after they were written to the lake."""
        spark, lake, report = self.publication.spark, self.publication.lake, self.publication.report
        places, sources, broken, names = find_places(files, Limits.of(self.publication.settings))
        tasks = max(parallelism(spark), -(-places.num_rows // LINES_A_TASK))
        planned = arrow_frame(spark, places).repartition(tasks)
        sums = task_set(spark)
        folder, size = self.publication.staging.folder("cells"), pc.sum(places["length"]).as_py() or 0
        read = decode.to_cells(planned, self.network, sums, folder, size, emitters)
        cells = read.where("reject IS NULL").drop("reject")
        rejects = read.where("reject IS NOT NULL").select("reject.*")
        rejects = rejects.unionByName(arrow_frame(spark, reject_table(UNKNOWN_MILESTONE, broken)))
        report.rejects = rejects.count()
        if names:
            quoted = ", ".join(f"'{_quoted(each)}'" for each in names)
            rejected_before = f"milestone_index = {UNKNOWN_MILESTONE} AND file IN ({quoted})"
            if report.rejects or not lake.read("rejects").where(rejected_before).isEmpty():
                lake.replace("rejects", rejects, [], files=names)
            lake.add_sources(astuple(each) for each in sources)
        # Sail takes fifteen times as long for countDistinct of several columns.
        by_chain = cells.select(*ID).distinct().groupBy("emitter_chain").count()
        row = by_chain.agg(F.collect_list("emitter_chain"), F.coalesce(F.sum("count"), F.lit(0))).first()
        assert row is not None
        chains, report.messages = row
        if lake.is_local:
            compare_staged(sums.value, folder)
        if chains:
            known = lake.read("vaas").where(F.col("emitter_chain").isin(chains))
            earlier = self._files() if lake.is_local else []
            lake.add("vaas", cells, known, "cell_id")
            if lake.is_local:
                compare_added(folder, earlier, self._files())
        return cells

    def _replace(self, table: str, rows: DataFrame, *key: str) -> None:
        """Replaces the rows of a table of the lake that have the key of one of `rows`, and adds the others."""
        lake = self.publication.lake
        kept = lake.read(table).join(rows, [*key], "left_anti")
        lake.replace(table, self._staged(table, kept.unionByName(rows))[1])

    def _touched(self, cells: DataFrame, beside: Beside) -> Touched:
        lake = self.publication.lake.read("vaas")
        changed = cells
        if changed_sets := self._changed_sets():
            changed = cells.unionByName(lake.where(F.col("guardian_set_index").isin(changed_sets)))
        # Signatures alone can complete a message about a token, so all messages of the changed cells count.
        about = lake.where("payload_kind = 'asset_meta'").join(changed.select(*ID).distinct(), [*ID], "semi")
        tokens = about.select("token_key")
        if beside.priced is not None:
            tokens = tokens.unionByName(beside.priced.select("token_key")).unionByName(self._called(beside.priced))
        if beside.listed is not None:
            tokens = tokens.unionByName(beside.listed.select("token_key"))
        waiting = lake.where(F.col("payload_kind").isin(*frames.TRANSFERS)).join(tokens.distinct(), "token_key", "semi")
        return self._assembled(changed.select(*ID).unionByName(waiting.select(*ID)).distinct(), beside.listed)

    def _called(self, priced: DataFrame) -> DataFrame:
        """Tokens whose symbols have prices in the price file."""
        symbols = priced.select(F.col("token_key").alias("symbol_key")).where("symbol_key LIKE 'symbol/%'").distinct()
        if symbols.isEmpty():
            return symbols.select(F.col("symbol_key").alias("token_key"))
        lake = self.publication.lake
        about = lake.read("vaas").where("payload_kind = 'asset_meta'")
        metas = self._metas(about).select("token_key", "symbol_key")
        named = metas.unionByName(lake.read("token_list").select("token_key", "symbol_key"))
        return named.join(symbols, "symbol_key", "semi").select("token_key")

    def _metas(self, about: DataFrame) -> DataFrame:
        """METAS of the verified messages among these cells of VAAs, which are verified with all their signatures."""
        lake = self.publication.lake.read("vaas")
        signatures = lake.where(F.col("family").isin(*SIGNING)).join(about.select(*ID).distinct(), [*ID], "semi")
        cells = about.select(*signatures.columns).unionByName(signatures)
        return decode.to_metas(cells.groupBy(*ID).agg(_collected()), self.network, self._history)

    def _assembled(self, ids: DataFrame, listed: DataFrame | None) -> Touched:
        """The rows of these messages, of the other messages of their days, and of the tokens of `listed`."""
        publication = self.publication
        lake = publication.lake.read("vaas")
        found = lake.join(ids, [*ID], "semi").agg(F.collect_set("day"), F.collect_set("body_day")).first()
        assert found is not None
        counted_days, body_days = sorted(found[0]), sorted(found[1])
        beside = lake.where(F.col("day").isin(counted_days) | F.col("body_day").isin(body_days)).select(*ID)
        everything = (
            ids.withColumn("is_requested", F.lit(1))
            .unionByName(beside.withColumn("is_requested", F.lit(0)))
            .groupBy(*ID)
            .agg((F.max("is_requested") == 1).alias("is_requested"))
        )
        cells = lake.join(everything, [*ID])
        history = self._history
        named = cells.where("token_key IS NOT NULL").select("token_key", "day", "payload_kind").distinct()
        _, moved = self._staged("moved", named)
        named_tokens = moved.select("token_key")
        if listed is not None:
            named_tokens = named_tokens.unionByName(listed.select("token_key"))
        named_tokens = named_tokens.distinct()
        about = lake.where("payload_kind = 'asset_meta'").join(named_tokens, "token_key", "semi")
        attested = frames.first_metas(self._metas(about))
        known_tokens = publication.lake.read("token_list").join(named_tokens, "token_key", "semi")
        _, metas = self._staged("metas", frames.described(attested, known_tokens))
        moves = F.col("payload_kind").isin(*frames.TRANSFERS)
        known = frames.known_tokens(moved.where(moves), metas, publication.lake.read("prices"))
        grouped = (
            cells.withColumn("moved_key", F.when(moves, F.col("token_key")))
            .join(known.withColumnRenamed("token_key", "moved_key"), ["moved_key", "day"], "left")
            .groupBy(*ID)
            .agg(F.first("is_requested").alias("is_requested"), _collected("moved_key", "day", "meta", "price_usd"))
        )
        sums = task_set(publication.spark)
        rows = decode.to_rows(grouped, self.network, history, sums, self.publication.staging.folder("rows"))
        return Touched(rows, metas, counted_days, body_days, history, sums)

    def _staged(self, name: str, frame: DataFrame) -> tuple[Path, DataFrame]:
        """Computes a frame once and stages it, because several others use it. Returns the folder, too."""
        folder = self.publication.staging.write(name, frame)
        return folder, self.publication.spark.read.schema(frame.schema).parquet(str(folder))

    def _comparison(self, touched: Touched) -> Comparison | None:
        is_local = self.publication.lake.is_local
        return compare_messages(touched.sums.value, self._files()) if is_local else None

    def _files(self) -> list[Path]:
        """The current files of the lake's cells."""
        return self.publication.lake.local_files("vaas")

    @cached_property
    def _history(self) -> History:
        """The published guardian sets and those in the lake's messages, including the cells of the files. They are
        few.
        """
        is_governance = (F.col("emitter_chain") == GOVERNANCE_CHAIN) & (
            F.col("emitter_address") == F.lit(GOVERNANCE_EMITTER)
        )
        may_count = F.col("names_set").isNotNull() | F.col("family").isin(*SIGNING)
        found = self.publication.lake.read("vaas").where(is_governance & may_count)
        row = found.agg(F.collect_set(F.struct("sequence_key", "family", "value"))).first()
        assert row is not None
        vaas, signing = [], defaultdict[int, list[tuple[str, bytes]]](list)
        for sequence, family, value in row[0]:
            if family == QUORUM:
                vaas.append(decode_vaa(bytes(value)))
            else:
                signing[int(sequence)].append((family, bytes(value)))
        written = {sequence: written_signatures(cells) for sequence, cells in signing.items()}
        return learn(PUBLISHED[self.network], vaas, written)

    def _changed_sets(self) -> list[int]:
        """Guardian sets that are missing in the store or differ from the lake. Their messages are verified again."""
        kept = {(row["guardian_set_index"], row["addresses"], row["expires_at_s"]) for row in self._kept_sets()}
        rows = frames.set_rows(self.publication.store_settings.network, self._history)
        return [index for _, index, addresses, *_, expires_at in rows if (index, addresses, expires_at) not in kept]

    def _kept_sets(self) -> list[Row]:
        publication = self.publication
        return [*publication.reads.partition(guardian_sets, (publication.store_settings.network,))]

    def _write(self, touched: Touched, priced: DataFrame | None, *, publish: bool, is_rebuild: bool = False) -> None:
        publication = self.publication
        requested = touched.rows.where("is_requested")
        lookup_rows = frames.inlined(touched.rows, vaa_lookups).where(F.col("day").isin(touched.body_days))
        keys = [rows_of_keys(lookup_rows, LOOKUP, publication.store_settings.range_size)]
        opened = publication.grown(
            (LOOKUP,), keys, of_indices(touched.body_days), known=not is_rebuild, window=DAY_WINDOW
        )
        daily = frames.daily(touched.rows, touched.counted_days)
        _, sums = self._staged("daily", daily.frame)
        makers: list[FrameMaker] = [
            *(partial(_of_table, requested, table) for table in ASSEMBLED if table is not vaa_lookups),
            lambda _: frames.tokens_of(touched.metas),
            *([] if priced is None else [lambda _: frames.prices_of(priced)]),
            lambda _: frames.lookups(requested, opened.placement),
            lambda earlier: tables.hints(earlier.read, vaa_hints, {vaa_lookups}),
            lambda _: frames.sequences(requested),
            lambda _: frames.emitters_of(requested),
            lambda _: replace(daily, shares=(sums,)),
            lambda _: frames.days_of(sums),
        ]
        if is_rebuild:
            makers.append(lambda _: tables.rejects(publication.lake.read("rejects")))
        emptied = (*OWN, schema.splits, schema.tails, schema.rejects) if is_rebuild else ()
        with publication.store.batch(publish=publish, without=emptied) as batch:
            for day in touched.counted_days:
                for measure in frames.MEASURES:
                    batch.delete(vaa_daily, (measure, day))
                    batch.delete(vaa_days, (measure, day))
            publication.upsert(
                batch,
                makers,
                before_lookups=lambda: publication.record(batch, opened),
                comparison=lambda: self._comparison(touched),
            )
            # Last, because a store without them counts as empty.
            sets = frames.set_rows(publication.store_settings.network, touched.history)
            publication.report.wrote(guardian_sets.name, batch.upsert(guardian_sets, guardian_sets.names, sets))


def _of_table(rows: DataFrame, table: Table, _: Earlier) -> tables.TableFrame:
    return frames.of_table(rows, table)


def _collected(*facts: str) -> Column:
    """The cells of a group, as the workers read them, with further columns."""
    return F.collect_list(F.struct("family", "qualifier", "time_ms", "value", *facts)).alias("cells")


def _quoted(path: str) -> str:
    return path.replace("\\", "\\\\").replace("'", "\\'")
