"""The Spark session: its settings and options.

The session and its Python workers use UTC. No option contains a secret.
"""

import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pyspark
from pyspark import SparkConf
from pyspark.sql import SparkSession

from etl.engine.class_archive import class_archive
from etl.engine.compiler import compiler_options
from etl.engine.current import ENGINES, SAIL, SPARK, on_sail
from etl.engine.executors import DIRECTORY, pack_environment
from etl.engine.gateway import spark_context
from etl.engine.jars import CONNECTOR, LAKE, jar_cache, resolve_jars
from etl.engine.sail import running_session, sail_session
from etl.engine.spans import Span
from ledger.levels import FULL, SIGNED

Session: TypeAlias = SparkSession
"""The engine's session. Code outside `etl/engine` names this type only."""


LOCAL_OPTIONS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Shuffled rows are mostly hashes, which do not compress, and they stay on this machine.
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
}

UNREVISED = {"spark.sql.adaptive.enabled": "false"}
"""No query is planned again after its first stages."""

INTERPRETED = UNREVISED | {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""As UNREVISED, and no code is generated and compiled for a query."""

COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""Code is generated and compiled, whatever the run's span is."""

OPTIONS_OF: dict[Span, dict[str, str]] = {
    Span.SECONDS: INTERPRETED,
    Span.MINUTE: UNREVISED,
    Span.ANALYTICS: {},
    Span.MINUTES: {},
}

GROUPINGS = ("", "partition", "replica_set", "none")


@dataclass(frozen=True)
class EtlSettings:
    """Settings of the engine and of the load, in addition to those of the store."""

    engine: str = field(
        default=SPARK,
        metadata={"help": "engine of the pipelines: `spark`, or `sail` for an IOTA network in a SQLite store"},
    )

    master: str = field(
        default="local[*]", metadata={"help": "Spark master: local[N], spark://host:port, yarn, k8s://…"}
    )
    lake: str = field(default="", metadata={"help": "directory of the lake; default: lake/ inside the SQLite store"})
    staging: str = field(
        default="",
        metadata={"help": "scratch directory that driver and executors share; default: staging/ next to the lake"},
    )
    jars: str = field(default="", metadata={"help": "cache of resolved jars; default: in the Python environment"})
    driver_memory: str = field(default="2g", metadata={"help": "heap of the driver JVM"})
    executor_memory: str = field(default="1g", metadata={"help": "heap of each executor of a Spark cluster"})
    max_result_size: str = field(
        default="16m", metadata={"help": "spark.driver.maxResultSize; small, because the driver collects no rows"}
    )
    shuffle_partitions: int = field(
        default=0,
        metadata={
            "help": "partitions of a shuffle; 0: one in loads of seconds, one per core in analytics of a minute, else "
            "two per core"
        },
    )
    executor_python: str = field(
        default="python3",
        metadata={"help": "Python interpreter of a Spark cluster's executors; it needs only pyspark and pyarrow"},
    )
    batch_messages: int = field(
        default=20_000,
        metadata={"help": "maximum of messages per transaction in a small load; milestones are not split"},
    )
    ledger_near: int = field(
        default=10_000,
        metadata={
            "help": "maximum of milestones by which the ledger state may lag to be updated from the store instead of "
            "the lake; at most 1000 while it is at genesis"
        },
    )
    ledger_margin: int = field(
        default=8_640,
        metadata={
            "help": "milestones (about a day) after which spent outputs may leave the list of unspent outputs; cursors "
            "of older listings become invalid"
        },
    )
    level: str = field(
        default=SIGNED,
        metadata={
            "help": "proof level of a load: `signed`, or `full`, which needs another pass over changes since genesis"
        },
    )
    bulk_share: float = field(
        default=0.1,
        metadata={"help": "share of the store's messages above which a load builds a new generation of the store"},
    )

    cluster_grouping: str = field(
        default="",
        metadata={
            "help": "rows of a Cassandra batch: of one `partition`, of one `replica_set`, or any (`none`); default: "
            "`replica_set` on a cluster of one node, else `partition`"
        },
    )
    cluster_batch_bytes: int = field(default=16_384, metadata={"help": "approximate bytes of a Cassandra batch"})
    cluster_concurrent_writes: int = field(default=16, metadata={"help": "concurrent Cassandra batches per Spark task"})

    def __post_init__(self) -> None:
        for name in ("ledger_margin", "cluster_batch_bytes", "cluster_concurrent_writes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if self.engine not in ENGINES:
            raise ValueError(f"engine must be {SPARK} or {SAIL}, not {self.engine!r}")
        if self.level not in (SIGNED, FULL):
            raise ValueError(f"level must be {SIGNED} or {FULL}, not {self.level!r}")
        if self.cluster_grouping not in GROUPINGS:
            expected = ", ".join(GROUPINGS[1:])
            raise ValueError(f"cluster_grouping must be {expected} or empty, not {self.cluster_grouping!r}")


@contextmanager
def spark_session(settings: EtlSettings, *, span: Span = Span.MINUTES, cluster: bool = False) -> Iterator[Session]:
    """Starts a session and stops it at the end of the block. `cluster`: it can write into a Cassandra cluster.

    Inside another such block, yields that one's session with its settings: start-up dominates small runs.
    """
    if settings.engine == SAIL:
        if (running := running_session()) is not None:
            yield running
            return
        with sail_session() as session:
            yield session
        return
    if SparkSession.getActiveSession() is not None:
        # getOrCreate returns the first session. The active one may be another, with other options.
        yield SparkSession.builder.getOrCreate()
        return
    local = settings.master.startswith("local")
    os.environ["PYSPARK_PYTHON"] = sys.executable if local else settings.executor_python
    os.environ["TZ"] = "UTC"
    time.tzset()
    cache = jar_cache(settings.jars)
    jars = resolve_jars(cache, (*LAKE, *CONNECTOR) if cluster else LAKE)
    options = {
        "spark.master": settings.master,
        "spark.app.name": "permanode",
        # The class archive covers jars on this path. `spark.jars` is for executors.
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.maxResultSize": settings.max_result_size,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Options of a write may contain a secret, and plans show them. Spark hides only some by itself.
        "spark.sql.redaction.options.regex": "(?i)url|secret|password",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.executorEnv.TZ": "UTC",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.parquet.compression.codec": "snappy",
        # Most bytes are hashes. Building dictionaries of them takes a quarter of the writing time.
        "spark.hadoop.parquet.enable.dictionary": "false",
        # Queries filter by these columns only. Delta has its own statistics of files in its log.
        "spark.hadoop.parquet.column.statistics.enabled": "false",
        "spark.hadoop.parquet.column.statistics.enabled#milestone_index": "true",
        "spark.hadoop.parquet.column.statistics.enabled#version": "true",
        "spark.hadoop.parquet.size.statistics.enabled": "false",
        # A task that writes to the lake has one or two partitions. With open files for all, Spark sorts nothing before.
        "spark.sql.maxConcurrentOutputFileWriters": "8",
        # For few rows a hash join is faster than sorting both sides.
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "64m",
        # Lookups collect a list of counts per key. Above this number of keys Spark sorts all rows first.
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "50000",
        "spark.python.worker.reuse": "true",
        # If queries of a session differ in this option, Spark starts separate Python workers for them.
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
        # Nothing shows which line made a column, and recording it is two thirds of the calls to the JVM.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.scheduler.mode": "FAIR",
        # Only hex is converted to lower case. This avoids loading tables of all alphabets.
        "spark.sql.icu.caseMappings.enabled": "false",
        **OPTIONS_OF[span],
    }
    if local:
        options |= LOCAL_OPTIONS
    with ExitStack() as stack:
        scratch = stack.enter_context(TemporaryDirectory(prefix="permanode-"))
        java_options = [
            "-Duser.timezone=UTC",
            *collector_options(span),
            *compiler_options(span, Path(scratch)),
            *stack.enter_context(_prepared_jvm(cache / "beside" if cluster else cache, jars)),
        ]
        options["spark.driver.extraJavaOptions"] = shlex.join(java_options)
        options["spark.sql.warehouse.dir"] = f"{scratch}/warehouse"
        if not local:
            options |= {
                "spark.jars": ",".join(str(jar) for jar in jars),
                "spark.archives": f"{pack_environment(Path(scratch))}#{DIRECTORY}",
                "spark.executorEnv.PYTHONPATH": DIRECTORY,
                "spark.executor.memory": settings.executor_memory,
            }
        conf = SparkConf().setAll(list(options.items()))
        stack.enter_context(spark_context(conf))
        session = SparkSession.builder.config(conf=conf).getOrCreate()
        stack.callback(session.stop)
        partitions = settings.shuffle_partitions or _partitions(span, session.sparkContext.defaultParallelism)
        session.conf.set("spark.sql.shuffle.partitions", str(partitions))
        yield session


def collector_options(span: Span) -> list[str]:
    """Returns the Java options for garbage collection."""
    if span is Span.SECONDS:
        return ["-XX:+UseSerialGC"]
    return ["-XX:+UseParallelGC", "-XX:+UseTransparentHugePages"]


def new_session(spark: Session) -> Session:
    """Returns another session of the same run, with the run's default options and its own temporary views."""
    return spark if on_sail() else spark.newSession()


def session_beside(spark: Session, options: dict[str, str]) -> Session:
    """Returns another session of the same run, with other options for its queries."""
    if on_sail():
        return spark
    beside = new_session(spark)
    partitions = "spark.sql.shuffle.partitions"
    for name, value in ({partitions: str(spark.conf.get(partitions))} | options).items():
        beside.conf.set(name, value)
    return beside


def _partitions(span: Span, cores: int) -> int:
    return {Span.SECONDS: 1, Span.ANALYTICS: cores}.get(span, 2 * cores)


@contextmanager
def _prepared_jvm(cache: Path, jars: Sequence[Path]) -> Iterator[list[str]]:
    """Yields Java options that reduce Spark's logging and use the class archive in that directory.

    An archive is for one class path. If SPARK_CONF_DIR is set, yields no options.
    """
    if "SPARK_CONF_DIR" in os.environ:
        yield []
        return
    # Spark adds this directory to the class path. The JVM archives no classes if a directory there has content.
    empty = cache / "conf"
    empty.mkdir(parents=True, exist_ok=True)
    os.environ["SPARK_CONF_DIR"] = str(empty)
    classpath = (*jars, *sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar")))
    try:
        with class_archive(cache, classpath) as options:
            yield [f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}", *options]
    finally:
        del os.environ["SPARK_CONF_DIR"]
