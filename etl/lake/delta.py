"""The lake: verified, decoded history in Delta Lake, from which every table can be rebuilt.

Invariants:
1. A run replaces exactly its milestone intervals and never appends.
2. `milestones` is committed last, so a milestone is in the lake exactly if it has a row there.
3. Nothing here depends on a store.
"""

import threading
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.intervals import Intervals, add, intersect, intervals, size, subtract
from etl.engine.arrow_frames import arrow_frame
from etl.engine.checksums import check_files, find_damaged
from etl.engine.columns import names_of
from etl.engine.current import SAIL, SPARK, on_sail
from etl.engine.delta_log import DeltaLog, Layout
from etl.engine.delta_state import DataFile
from etl.engine.delta_tables import append_rows, append_table, commit_files, read_files, reads_listed, replace_rows
from etl.engine.ordering import in_lake_order
from etl.engine.queries import runs_here
from etl.engine.row_selection import Selection
from etl.engine.session import Session, session_beside
from etl.engine.spans import Planning
from etl.lake.genesis_tables import GENESIS_DDL, KEY_RANGES_DDL, genesis_digest
from etl.lake.message_rows import LAKE_RANGE, MESSAGE_DDL, PARAMETERS, RECEIPT
from etl.lake.selective_tables import KEPT_PROOFS_DDL, SELECTION_DDL, UNFINISHED_PURGE_DDL, WATCHED_DDL
from etl.lake.wormhole_tables import LISTED_DDL, PRICES_DDL, VAAS_DDL
from etl.sources.plan import UNKNOWN_MILESTONE
from ledger.eras import STARDUST

MILESTONE_DDL = f"""
milestone_index INT, lake_range INT, timestamp TIMESTAMP, verified STRING, rejects INT,
milestone_id BINARY, message_id BINARY, seconds BIGINT, payload BINARY, receipt {RECEIPT}, parameters {PARAMETERS},
message_count INT, included INT, conflicting INT, no_transaction INT,
transactions INT, tagged_data INT, no_payload INT
"""
"""verified is the proof level (ledger/milestone_proof.py); rejects of a complete milestone are refuted claims of its
sources. It is null if the cone is incomplete; then the milestone is not complete in any store.
"""

REJECTS_DDL = "milestone_index INT, file STRING, line INT, item STRING, reason STRING"
SOURCES = pa.schema(
    {
        "file": pa.string(),
        "lines": pa.int32(),
        "bytes": pa.int64(),
        "checksum": pa.binary(),
        "loaded_at": pa.timestamp("us", tz="UTC"),
    }
)
SOURCES_DDL = "file STRING, lines INT, bytes BIGINT, checksum BINARY, loaded_at TIMESTAMP"

KEY = "milestone_index"
"""The column by which rows are replaced."""

TABLES: dict[str, Layout] = {
    "messages": Layout(MESSAGE_DDL, ("lake_range",), (KEY, "white_flag_index"), KEY),
    "milestones": Layout(MILESTONE_DDL, ("lake_range",), (KEY,), KEY),
    "pending": Layout(MESSAGE_DDL),
    "rejects": Layout(REJECTS_DDL, key=KEY),
    "sources": Layout(SOURCES_DDL),
    "selection": Layout(SELECTION_DDL),
    "unfinished_purge": Layout(UNFINISHED_PURGE_DDL),
    "watched": Layout(WATCHED_DDL),
    "kept_proofs": Layout(KEPT_PROOFS_DDL),
    "genesis": Layout(GENESIS_DDL),
    "key_ranges": Layout(KEY_RANGES_DDL),
    "vaas": Layout(VAAS_DDL, ("emitter_chain",), ("emitter_chain",)),
    "prices": Layout(PRICES_DDL),
    "token_list": Layout(LISTED_DDL),
}
"""How each table is stored."""

REPLACED = tuple(name for name, layout in TABLES.items() if layout.key is not None)
"""The tables whose rows are replaced by milestone."""

MANY = 1_000
"""Number of milestones from which messages are read with compiled code in all runs."""


class Lake:
    """The Delta tables in a directory, or below a URL that Spark can write. Commits name `run`, tables `network`."""

    def __init__(self, spark: Session, root: str, run: str = "", network: str | None = None) -> None:
        self.spark = spark
        self._few = session_beside(spark, Planning.FEW_ROWS)
        self.root, self.network = root, network
        self.is_local = "://" not in root and runs_here(spark)
        """Whether processes of this machine may read and write the files: a directory, and no executor is elsewhere."""
        self._info = {"engine": SAIL if on_sail() else SPARK, "run": run}
        self._listing = threading.Lock()
        self._logs: dict[str, DeltaLog] = {}
        self._lock = threading.Lock()
        self._stardust: dict[str, bool] = {}
        self._genesis_index: int | None = None
        self._aside: dict[str, dict[str, tuple[int, int]]] = {}

    @cached_property
    def _many(self) -> Session:
        return session_beside(self.spark, Planning.COMPILED)

    def path(self, table: str) -> str:
        """The path of a table."""
        return f"{self.root}/{table}"

    def exists(self) -> bool:
        """Whether any milestone was ever committed."""
        return self.has("milestones")

    def has(self, table: str) -> bool:
        """Whether the table was ever committed. A run that died before its first commit leaves an empty log."""
        return self.log(table).exists()

    def log(self, table: str) -> DeltaLog:
        """The log of a table, as of the last commit of this run."""
        with self._listing:
            if table not in self._logs:
                self._logs[table] = DeltaLog(self.path(table), TABLES[table], self.network)
            return self._logs[table]

    def read(self, table: str) -> DataFrame:
        """The rows of a table; empty if it was never written."""
        return read_files(self.spark, self.log(table), self._files_of(table), TABLES[table].ddl)

    def messages(self, intervals: Intervals) -> DataFrame:
        """The messages of these milestones."""
        return self._rows("messages", intervals, self._many if size(intervals) >= MANY else self.spark)

    def milestones(self, intervals: Intervals) -> DataFrame:
        """The milestones in these intervals."""
        return self._rows("milestones", intervals, self._few)

    def has_stardust(self, intervals: Intervals) -> bool:
        """Whether these milestones contain Stardust blocks."""
        with self._lock:
            condition = either(intervals)
            if condition not in self._stardust:
                # The minimum and maximum version of a file's rows answer this without reading the rows.
                blocks = self.messages(intervals).where(f"version = {STARDUST.protocol_version}")
                self._stardust[condition] = not blocks.isEmpty()
            return self._stardust[condition]

    def known(self, run: Intervals) -> tuple[Intervals, Intervals]:
        """The milestones of the run that the lake contains, and those that it contains completely."""
        if (found := self._proofs(run)) is None:
            return [], []
        return intervals_of(found), intervals_of(found.where("verified IS NOT NULL"))

    def held(self, wanted: Intervals) -> Intervals:
        """The milestones among these that the lake contains, also those in files that are set aside.

        Reads only files with gaps between their milestones, which are rare: the log has the ends and the number of rows
        of each file.
        """
        sure = [*self._aside.get("milestones", {}).values()]
        for file in self._files_of("milestones", wanted):
            ends = file.least, file.greatest
            sure += [(a, b) for a, b in [ends] if a is not None and b is not None and file.rows == b - a + 1]
        held = intersect(wanted, intervals(sure))
        found = self._proofs(subtract(wanted, held))
        return held if found is None else add(held, intervals_of(found))

    def _proofs(self, wanted: Intervals) -> DataFrame | None:
        """milestone_index and verified of these milestones; None if the lake has no file that may contain them."""
        files = self._files_of("milestones", wanted)
        if not files:
            return None
        ddl = "milestone_index INT, verified STRING"
        return read_files(self.spark, self.log("milestones"), files, ddl).where(either(wanted))

    def _rows(self, table: str, intervals: Intervals, spark: Session) -> DataFrame:
        """The rows of the current files that may contain these milestones, without a condition where files have no
        others: Sail reads whole structs for one (etl/tables/frames.py).
        """
        ddl = TABLES[table].ddl.replace("lake_range INT,", "")
        log, files, wanted = self.log(table), self._files_of(table, intervals), Selection(KEY, intervals)
        rows = read_files(spark, log, files, ddl)
        has_no_others = all(wanted.selects_all(each.least, each.greatest) for each in files)
        return rows if has_no_others and reads_listed(log, files, ddl) else rows.where(either(intervals))

    def _files_of(self, table: str, intervals: Intervals | None = None) -> list[DataFile]:
        """The current files of a table, without those set aside. With `intervals` only those that may contain one of
        these milestones.
        """
        files = self.log(table).files()
        if aside := self._aside.get(table):
            files = [each for each in files if each.path not in aside]
        if intervals is None:
            return files
        wanted = Selection(KEY, intervals)
        return [each for each in files if wanted.may_select(each.least, each.greatest)]

    def check(self) -> None:
        """Raises FileDamaged if a file of any table differs from its checksum."""
        for table in TABLES:
            check_files(self.path(table), TABLES[table].key, self._files_of(table))

    def set_aside(self, milestones: Intervals, tables: Collection[str] = REPLACED) -> None:
        """Sets damaged files aside whose rows are all of these milestones, which the run replaces, instead of the ones
        before. No method returns their rows. Raises FileDamaged for a damaged file that also has others.
        """
        self._aside = {}
        replaced = Selection(KEY, milestones)
        for table in tables:
            for error in find_damaged(self.path(table), KEY, self._files_of(table, milestones)):
                if error.ends is None or not replaced.selects_all(*error.ends):
                    raise error
                self._aside.setdefault(table, {})[error.path] = error.ends

    def local_files(self, table: str, intervals: Intervals | None = None) -> list[Path]:
        """The current files of a local lake, by milestone. With `intervals` only those that may contain one of them.
        Raises FileDamaged.
        """
        found = self._files_of(table, intervals)
        check_files(self.path(table), TABLES[table].key, found)
        files = sorted((each.least or 0, each.greatest or 0, each.path) for each in found)
        return [Path(self.path(table), path) for _, _, path in files]

    def replace(
        self, table: str, frame: DataFrame, milestones: Intervals | None = None, *, files: Collection[str] = ()
    ) -> None:
        """Replaces the rows of these milestones with `frame`. None: all rows.

        `files`: also replaces the rejects of lines of these files that name no milestone. Raises RowsOutside for other
        rows in `frame`, and CommitConflict if another process writes to the table; then the table does not change.
        """
        selection = None
        if milestones is not None:
            also = (UNKNOWN_MILESTONE, "file", frozenset(files)) if files else None
            selection = Selection(KEY, milestones, also)
        replace_rows(self.log(table), frame.select(*names_of(TABLES[table].ddl)), selection, self._info)
        self._forget()

    def replace_by_files(self, table: str, write: Callable[[str], None], milestones: Intervals) -> None:
        """Replaces the rows of these milestones with the Parquet files that `write` makes in a new folder, in the
        directories of their partitions. Raises what `replace` raises.
        """
        commit_files(self.log(table), write, Selection(KEY, milestones), self._info)
        self._forget()

    def _forget(self) -> None:
        """Drops what is cached of a table that changed."""
        with self._lock:
            self._stardust.clear()

    def add(self, table: str, rows: DataFrame, known: DataFrame, key: str) -> None:
        """Adds the rows that are not in `known`, the rows of the table that may have the same `key`.

        A lake has a single writer, and commits are atomic, so there are no duplicates.
        """
        new = rows.join(known.select(key), key, "left_anti")
        counted = new.agg(F.count("*"), F.countDistinct(key)).first()
        assert counted is not None
        number, distinct = counted
        if distinct < number:
            # With Sail it takes five times as long as the rest.
            new = new.dropDuplicates([key])
        append_rows(self.log(table), new.select(*names_of(TABLES[table].ddl)), self._info)

    def replace_messages(self, rows: DataFrame, intervals: Intervals) -> None:
        """Replaces all messages of these milestones with `rows`, the same messages with other values."""
        ranged = rows.withColumn("lake_range", F.expr(f"milestone_index DIV {LAKE_RANGE}").cast("int"))
        rows = ranged.select(*names_of(MESSAGE_DDL))
        self.replace("messages", in_lake_order(rows, "milestone_index", "white_flag_index"), intervals)

    def add_pending(self, rows: DataFrame, oldest_s: int) -> None:
        """Adds pending messages. Existing ones do not change; those received before `oldest_s` are removed."""
        known = self.read("pending").where(F.col("timestamp") > F.timestamp_seconds(F.lit(oldest_s)))
        self.replace("pending", known.unionByName(rows.join(known, "message_id", "left_anti")))

    def genesis(self) -> DataFrame:
        """GENESIS, also for a lake that was created before Stardust."""
        return self.read("genesis")

    def genesis_index(self) -> int:
        """The milestone whose ledger state is the genesis."""
        with self._lock:
            if self._genesis_index is None:
                row = self.genesis().agg(F.min("milestone_index")).first()
                assert row is not None
                self._genesis_index = int(row[0])
            return self._genesis_index

    def set_genesis(self, rows: DataFrame) -> None:
        """Stores GENESIS. Raises ValueError if the lake contains a different one. A lake of an older version gets the
        milestones that booked the outputs.
        """
        if not self.has("genesis"):
            self.replace("genesis", rows)
            return
        held, new = (genesis_digest(frame) for frame in (self.genesis(), rows))
        is_booked = "booked_milestone_index IS NOT NULL"
        if held == new and self.genesis().where(is_booked).isEmpty() and not rows.where(is_booked).isEmpty():
            self.replace("genesis", rows)
        if held != new:
            raise ValueError(
                f"another genesis than the lake's: {new[1]} outputs after milestone {new[0]}, "
                f"and the lake has {held[1]} after milestone {held[0]}. A lake holds one beginning, for both eras of a "
                "network too: load this one into a store of its own"
            )

    def add_sources(self, files: Iterable[tuple[str, int, int, bytes]]) -> None:
        """Records files as SOURCES of this run."""
        now = datetime.now(UTC)
        rows = [(*each, now) for each in files]
        columns = list(zip(*rows, strict=True)) or [()] * len(SOURCES)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SOURCES, strict=True)]
        self.append("sources", pa.table(arrays, schema=SOURCES))

    def append(self, table: str, rows: pa.Table) -> None:
        """Appends few rows to a table, or creates it."""
        append_table(self.log(table), rows, self._info)


def few_rows(spark: Session, schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> DataFrame:
    """Rows of the driver as part of the plan, so that broadcasting them needs no job."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return arrow_frame(spark, pa.table(arrays, schema=schema))


def either(intervals: Intervals, column: str = "milestone_index") -> str:
    """A SQL condition for the milestones of the intervals."""
    return " OR ".join(f"({column} >= {first} AND {column} <= {last})" for first, last in intervals) or "false"


def intervals_of(frame: DataFrame) -> Intervals:
    """The distinct milestone indexes of a frame as closed intervals, ascending. The driver gets a single small row."""
    islands = (
        frame.select("milestone_index")
        .distinct()
        .selectExpr("milestone_index", "milestone_index - row_number() OVER (ORDER BY milestone_index) AS island")
        .groupBy("island")
        .agg(F.min("milestone_index").alias("first"), F.max("milestone_index").alias("last"))
    )
    row = islands.agg(F.sort_array(F.collect_list(F.struct("first", "last"))).alias("all")).first()
    return [(each["first"], each["last"]) for each in row["all"]] if row else []
