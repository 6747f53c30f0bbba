"""The lake: verified, decoded history in Delta Lake, from which every table can be rebuilt.

Invariants:
1. A run replaces exactly its milestone intervals and never appends.
2. `milestones` is committed last, so a milestone is in the lake exactly if it has a row there.
3. Nothing here depends on a store.
"""

import threading
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.intervals import Intervals, size
from etl.engine.arrow_frames import arrow_frame
from etl.engine.columns import names_of
from etl.engine.current import on_sail
from etl.engine.delta_tables import append_rows, compact_files, replace_rows
from etl.engine.files import list_names
from etl.engine.ordering import in_lake_order
from etl.engine.session import Session, session_beside
from etl.engine.spans import Planning
from etl.lake.files import LakeFile, lake_files
from etl.lake.message_rows import LAKE_RANGE, MESSAGE_DDL, PARAMETERS, RECEIPT
from etl.lake.output_rows import STARDUST_OUTPUT, STARDUST_TYPE
from etl.lake.wormhole_tables import PRICES_DDL, VAAS_DDL
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
SOURCES = pa.schema({"file": pa.string(), "lines": pa.int32(), "bytes": pa.int64(), "checksum": pa.binary()})
GENESIS = pa.schema(
    {
        "milestone_index": pa.int32(),
        "ms_timestamp": pa.int64(),
        "output_id": pa.binary(),
        "message_id": pa.binary(),
        "kind": pa.int8(),
        "address": pa.binary(),
        "amount": pa.int64(),
        "data": pa.binary(),
        "stardust": STARDUST_TYPE,
    }
)
GENESIS_DDL = f"""
milestone_index INT, ms_timestamp BIGINT, output_id BINARY, message_id BINARY, kind TINYINT, address BINARY,
amount BIGINT, data BINARY, stardust {STARDUST_OUTPUT}
"""
"""The unspent outputs after that milestone. The treasury is one of them; its output_id is the id of its milestone."""

KEY_RANGES = pa.schema(
    {
        "public_key": pa.binary(),
        "first_milestone": pa.int32(),
        "last_milestone": pa.int32(),
        "threshold": pa.int32(),
    }
)
KEY_RANGES_DDL = "public_key BINARY, first_milestone INT, last_milestone INT, threshold INT"
"""The keys that sign milestones according to genesis (ledger/milestone_proof.py), and how many must sign."""

SOURCES_DDL = "file STRING, lines INT, bytes BIGINT, checksum BINARY, loaded_at TIMESTAMP"

TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "messages": (MESSAGE_DDL, ("lake_range",)),
    "milestones": (MILESTONE_DDL, ("lake_range",)),
    "pending": (MESSAGE_DDL, ()),
    "rejects": (REJECTS_DDL, ()),
    "sources": (SOURCES_DDL, ()),
    "genesis": (GENESIS_DDL, ()),
    "key_ranges": (KEY_RANGES_DDL, ()),
    "vaas": (VAAS_DDL, ("emitter_chain",)),
    "prices": (PRICES_DDL, ()),
}
"""The columns and partition columns of each table."""

MANY = 1_000
"""Number of milestones from which messages are read with compiled code in all runs."""


class Lake:
    """The Delta tables in one directory, or below an object store prefix that Spark can write."""

    def __init__(self, spark: Session, root: str) -> None:
        self.spark = spark
        self._few = session_beside(spark, Planning.FEW_ROWS)
        self.root = root
        self._listing = threading.Lock()
        self._files: dict[str, list[LakeFile]] = {}
        self._lock = threading.Lock()
        self._stardust: dict[str, bool] = {}
        self._genesis_index: int | None = None

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
        return any(name[0].isdecimal() for name in list_names(self.spark, f"{self.path(table)}/_delta_log"))

    def read(self, table: str) -> DataFrame:
        """The rows of a table; empty if it was never written."""
        ddl, partitions = TABLES[table]
        if on_sail() and self.has(table):
            return self._read_delta(table, self.spark, ddl)
        if not (files := self._listed(table)):
            return self.spark.createDataFrame([], ddl)
        reader = self.spark.read.schema(ddl)
        if partitions:
            reader = reader.option("basePath", self.path(table))
        return reader.parquet(*(file.path for file in files))

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
        """The milestones among these that the lake contains. Compares them only if some are missing, which is rare."""
        if (found := self._proofs(wanted)) is None:
            return []
        return wanted if found.count() == size(wanted) else intervals_of(found)

    def _proofs(self, wanted: Intervals) -> DataFrame | None:
        """milestone_index and verified of these milestones; None if the lake has no file that may contain them."""
        files = [file.path for file in self._listed("milestones") if file.may_hold(wanted)]
        if not files:
            return None
        if on_sail():
            rows = self._read_delta("milestones", self.spark, "milestone_index INT, verified STRING")
            return rows.where(either(wanted))
        return self.spark.read.schema("milestone_index INT, verified STRING").parquet(*files).where(either(wanted))

    def _rows(self, table: str, intervals: Intervals, spark: Session) -> DataFrame:
        """The rows of the current files that may contain these milestones."""
        schema = TABLES[table][0].replace("lake_range INT,", "")
        files = [file.path for file in self._files_of(table) if file.may_hold(intervals)]
        if files and on_sail():
            return self._read_delta(table, spark, schema).where(either(intervals))
        read = spark.read.schema(schema)
        return read.parquet(*files).where(either(intervals)) if files else spark.createDataFrame([], schema)

    def _read_delta(self, table: str, spark: Session, ddl: str) -> DataFrame:
        """The columns of `ddl` of a table that exists."""
        rows = spark.read.format("delta").load(self.path(table))
        return rows.select(*names_of(ddl))

    def _files_of(self, table: str) -> list[LakeFile]:
        """The files of a table, cached between writes, because a run needs the same rows a dozen times."""
        with self._listing:
            if table not in self._files:
                self._files[table] = self._listed(table)
            return self._files[table]

    def local_files(self, table: str, intervals: Intervals) -> list[Path]:
        """The current files of a local lake that may contain these milestones, by milestone."""
        files = sorted((each.first, each.last, each.path) for each in self._files_of(table) if each.may_hold(intervals))
        return [Path(path.removeprefix("file:")) for _, _, path in files]

    def _listed(self, table: str) -> list[LakeFile]:
        """The current files of a table; empty if it was never written."""
        return lake_files(self.spark, self.path(table)) if self.has(table) else []

    def replace(self, table: str, rows: DataFrame | pa.RecordBatchReader, predicate: str) -> None:
        """Replaces the rows that match `predicate` with `rows`. Delta rejects rows that do not match it."""
        ddl, partitions = TABLES[table]
        if isinstance(rows, DataFrame):
            rows = rows.select(*(name for name in names_of(ddl) if name in rows.columns))
        replaced = predicate if self.has(table) else None
        replace_rows(self.path(table), rows, replaced, partitions=partitions, properties=properties_of(table))
        self.forget(table)

    def forget(self, table: str) -> None:
        """Drops what is cached of a table that changed."""
        with self._listing:
            self._files.pop(table, None)
        with self._lock:
            self._stardust.clear()

    def add(self, table: str, rows: DataFrame, known: DataFrame, key: str) -> None:
        """Adds the rows that are not in `known`, the rows of the table that may have the same `key`.

        A lake has a single writer, and commits are atomic, so there are no duplicates.
        """
        new = rows.dropDuplicates([key]).join(known.select(key), key, "left_anti")
        ddl, partitions = TABLES[table]
        append_rows(self.path(table), new.select(*names_of(ddl)), partitions)

    def replace_messages(self, rows: DataFrame, intervals: Intervals) -> None:
        """Replaces all messages of these milestones with `rows`, the same messages with other values."""
        ranged = rows.withColumn("lake_range", F.expr(f"milestone_index DIV {LAKE_RANGE}").cast("int"))
        rows = ranged.select(*names_of(MESSAGE_DDL))
        self.replace("messages", in_lake_order(rows, "milestone_index", "white_flag_index"), within(intervals))

    def add_pending(self, rows: DataFrame) -> None:
        """Adds pending messages. Existing ones do not change."""
        known = self.read("pending")
        self.replace("pending", known.unionByName(rows.join(known, "message_id", "left_anti")), "true")

    def genesis(self) -> DataFrame:
        """GENESIS, also for a lake that was created before Stardust."""
        if on_sail():
            return self._read_delta("genesis", self.spark, GENESIS_DDL)
        return self.spark.read.schema(GENESIS_DDL).parquet(*(file.path for file in self._files_of("genesis")))

    def genesis_index(self) -> int:
        """The milestone whose ledger state is the genesis."""
        with self._lock:
            if self._genesis_index is None:
                row = self.genesis().agg(F.min("milestone_index")).first()
                assert row is not None
                self._genesis_index = int(row[0])
            return self._genesis_index

    def set_genesis(self, rows: DataFrame) -> None:
        """Stores GENESIS. Raises ValueError if the lake contains a different one."""
        if not self.has("genesis"):
            self.replace("genesis", rows, "true")
            return
        held, new = (_digest(frame) for frame in (self.genesis(), rows))
        if held != new:
            raise ValueError(
                f"another genesis than the lake's: {new[1]} outputs after milestone {new[0]}, "
                f"and the lake has {held[1]} after milestone {held[0]}. A lake holds one beginning, for both eras of a "
                "network too: load this one into a store of its own"
            )

    def add_sources(self, files: Iterable[tuple[str, int, int, bytes]]) -> None:
        """Records files as SOURCES of this run."""
        rows = few_rows(self.spark, SOURCES, files).withColumn("loaded_at", F.current_timestamp())
        append_rows(self.path("sources"), rows)

    def compact(self, retain_hours: int) -> dict[str, int]:
        """Merges small files, and deletes those that no snapshot of the last `retain_hours` uses. Returns the number of
        files by table.
        """
        files = {}
        for table in TABLES:
            if self.has(table):
                compact_files(self.spark, self.path(table), retain_hours)
                files[table] = len(self._listed(table))
        return files


def _digest(genesis: DataFrame) -> tuple[int, int, int]:
    """The first milestone, the number of rows, and a sum that changes with any row."""
    row = genesis.agg(
        F.min("milestone_index"), F.count("*"), F.sum(F.xxhash64(*GENESIS.names).cast("decimal(38,0)"))
    ).first()
    assert row is not None
    return row[0], row[1], int(row[2] or 0)


def properties_of(table: str) -> dict[str, str]:
    """The Delta properties of a new table. Rows are replaced by rewriting files: every row in a file is current."""
    skipping = {"delta.dataSkippingStatsColumns": "milestone_index,timestamp"} if TABLES[table][1] else {}
    return {"delta.enableDeletionVectors": "false", **skipping}


def few_rows(spark: Session, schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> DataFrame:
    """Rows of the driver as part of the plan, so that broadcasting them needs no job."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return arrow_frame(spark, pa.table(arrays, schema=schema))


def either(intervals: Intervals, column: str = "milestone_index") -> str:
    """A SQL condition for the milestones of the intervals. Delta cannot replace with BETWEEN."""
    return " OR ".join(f"({column} >= {first} AND {column} <= {last})" for first, last in intervals) or "false"


def within(intervals: Intervals) -> str:
    """`either` with a condition on the partitions of the lake, so that Delta skips other files."""
    if not intervals:
        return "false"
    low, high = intervals[0][0] // LAKE_RANGE, intervals[-1][1] // LAKE_RANGE
    return f"lake_range >= {low} AND lake_range <= {high} AND ({either(intervals)})"


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


PATTERN = frozenset("{}[]*?\\")
"""Characters that make a path a pattern in Spark and DuckDB."""


def literal_path(setting: str, path: str) -> str:
    """Returns a path without pattern characters. Raises ValueError with the setting's name for other paths."""
    if PATTERN.intersection(path):
        raise ValueError(f"{setting}: expected a path without {{}}[]*?\\, which are patterns in Spark; found {path}")
    return path


def lake_root(path: str | Path) -> str:
    """Makes a local path absolute. URLs do not change."""
    text = str(path)
    return text if "://" in text else str(Path(text).absolute())
