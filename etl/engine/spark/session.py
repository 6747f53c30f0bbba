"""The Spark session and its options.

The session and its Python workers use UTC. No option contains a secret.
"""

import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from py4j.protocol import Py4JNetworkError
from pyspark import SparkConf
from pyspark.sql import SparkSession

from etl.engine.java import require_java
from etl.engine.settings import EtlSettings
from etl.engine.spans import Planning, Span
from etl.engine.spark.class_archive import class_archive
from etl.engine.spark.compiler import compiler_options, executor_options
from etl.engine.spark.executors import DIRECTORY, pack_environment
from etl.engine.spark.gateway import spark_context
from etl.engine.spark.jars import CONNECTOR, jar_cache, resolve_jars

LOCAL_OPTIONS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Shuffled rows are mostly hashes, which do not compress, and they stay on this machine.
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
}

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

UNREVISED = {"spark.sql.adaptive.enabled": "false"}
"""No query is planned again after its first stages."""

INTERPRETED = UNREVISED | {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""As UNREVISED, and no code is generated and compiled for a query."""

OPTIONS_FOR: dict[Planning, dict[str, str]] = {
    Planning.COMPILED: {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"},
    Planning.UNREVISED: UNREVISED,
    Planning.FEW_ROWS: INTERPRETED | {SHUFFLE_PARTITIONS: "1"},
}

OPTIONS_OF: dict[Span, dict[str, str]] = {
    Span.SECONDS: INTERPRETED,
    Span.MINUTE: UNREVISED,
    Span.ANALYTICS: {},
    Span.MINUTES: {},
}


@contextmanager
def spark_session(settings: EtlSettings, *, span: Span, cluster: bool) -> Iterator[SparkSession]:
    """Starts a session and stops it at the end of the block. `cluster`: it can write into a Cassandra cluster.

    Inside another such block, yields that one's session with its settings. Raises JavaError if Spark cannot run on the
    Java of this machine.
    """
    if SparkSession.getActiveSession() is not None:
        # getOrCreate returns the first session. The active one may be another, with other options.
        yield SparkSession.builder.getOrCreate()
        return
    require_java()
    local = settings.master.startswith("local")
    os.environ["PYSPARK_PYTHON"] = sys.executable if local else settings.executor_python
    os.environ["TZ"] = "UTC"
    time.tzset()
    cache = jar_cache(settings.jars)
    jars = resolve_jars(cache, CONNECTOR if cluster else ())
    options = {
        "spark.master": settings.master,
        "spark.app.name": "permanode",
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.maxResultSize": settings.max_result_size,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Options of a write may contain a secret, and plans show them. Spark hides only some by itself.
        "spark.sql.redaction.options.regex": "(?i)url|secret|password",
        "spark.sql.session.timeZone": "UTC",
        "spark.executor.extraJavaOptions": shlex.join(["-Duser.timezone=UTC", *executor_options(span)]),
        "spark.executorEnv.TZ": "UTC",
        "spark.sql.parquet.compression.codec": "snappy",
        # As all other writers have them. INT96, the default, is deprecated and has no statistics.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Most bytes are hashes. Building dictionaries of them takes a quarter of the writing time.
        "spark.hadoop.parquet.enable.dictionary": "false",
        # Queries filter by these columns only. A lake's log gets the ends of milestone_index from here.
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
    if jars:
        # The class archive covers jars on this path. `spark.jars` is for executors.
        options["spark.driver.extraClassPath"] = os.pathsep.join(str(jar) for jar in jars)
    if local:
        options |= LOCAL_OPTIONS
    with ExitStack() as stack:
        scratch = stack.enter_context(TemporaryDirectory(prefix="permanode-"))
        java_options = [
            "-Duser.timezone=UTC",
            *collector_options(span),
            *compiler_options(span, Path(scratch)),
            *stack.enter_context(_prepared_jvm(cache / "beside" if cluster else cache, jars, span)),
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
        stack.callback(_stop, session)
        partitions = settings.shuffle_partitions or _partitions(span, session.sparkContext.defaultParallelism)
        session.conf.set(SHUFFLE_PARTITIONS, str(partitions))
        yield session


def _stop(session: SparkSession) -> None:
    with suppress(Py4JNetworkError):
        # A JVM that was killed has no session to clear.
        session.stop()


def collector_options(span: Span) -> list[str]:
    """Returns the Java options for garbage collection."""
    if span is Span.SECONDS:
        return ["-XX:+UseSerialGC"]
    return ["-XX:+UseParallelGC", "-XX:+UseTransparentHugePages"]


def session_beside(spark: SparkSession, planning: Planning | None) -> SparkSession:
    """Returns another session of the same run, with its own temporary views and with options for its queries."""
    beside = spark.newSession()
    if planning is not None:
        partitions = str(spark.conf.get(SHUFFLE_PARTITIONS))
        for name, value in ({SHUFFLE_PARTITIONS: partitions} | OPTIONS_FOR[planning]).items():
            beside.conf.set(name, value)
    return beside


def _partitions(span: Span, cores: int) -> int:
    return {Span.SECONDS: 1, Span.ANALYTICS: cores}.get(span, 2 * cores)


@contextmanager
def _prepared_jvm(cache: Path, jars: Sequence[Path], span: Span) -> Iterator[list[str]]:
    """Yields Java options that reduce Spark's logging and use the class archive in that directory.

    An archive is for one class path. A run of seconds does not write it. If SPARK_CONF_DIR is set, yields no options.
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
        with class_archive(cache, classpath, may_write=span is not Span.SECONDS) as options:
            yield [f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}", *options]
    finally:
        del os.environ["SPARK_CONF_DIR"]
