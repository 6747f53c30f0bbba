"""Starts the driver's JVM with a session and ends it with the session.

The JVM's output goes to this process's stderr, because stdout is for the report. It passes through `sys.stderr`, so
that progress bars stay intact. NOISE lists the lines that are dropped.
"""

import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from etl.engine.spark.compiler import DIRECTIVES
from etl.engine.spark.java_sources import open_local_files
from etl.engine.spark.py4j_cache import cache_java_lookups

NOISE = ("WARNING: Using incubator modules: jdk.incubator.vector", f"{DIRECTIVES} compiler directives added")
"""Lines that no setting suppresses. The JDK prints the first for a module that Spark's launcher always adds, before any
logging is configured, and the second for every file of compiler directives."""


@contextmanager
def spark_context(conf: SparkConf) -> Iterator[SparkContext]:
    """Starts a JVM and a context in it, and ends both with the block.

    Raises RuntimeError for an error of Spark or of the JVM that the block does not handle.
    """
    gateway = _launch(conf)
    try:
        with _readable_errors():
            open_local_files(gateway.jvm)
            context = SparkContext(conf=conf, gateway=gateway)
            try:
                yield context
            finally:
                with warnings.catch_warnings():
                    # The error of the block says that the JVM ended.
                    warnings.simplefilter("ignore", RuntimeWarning)
                    context.stop()
    finally:
        gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None
        # None under spark-submit, which ends the JVM itself.
        if gateway.proc is not None:
            gateway.proc.stdin.close()
            gateway.proc.wait()


@contextmanager
def _readable_errors() -> Iterator[None]:
    """A block whose errors of Spark and of the JVM become a RuntimeError, because they read their text from the JVM."""
    try:
        yield
    except Py4JNetworkError:
        raise
    except (PySparkException, Py4JError) as error:
        raise RuntimeError(str(error)) from error


def jvm_gateway(session: SparkSession) -> JavaGateway:
    """Returns the py4j connection to the session's JVM."""
    gateway = session.sparkContext._gateway
    assert gateway is not None
    return gateway


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """Whether a record of the root logger is not py4j's, which logs a traceback there for a JVM that ended."""
    return Path(record.pathname).parent.name != "py4j"


def _launch(conf: SparkConf) -> JavaGateway:
    logging.getLogger().addFilter(_is_not_py4j)
    read, write = os.pipe()
    stream = os.fdopen(read, errors="replace")
    threading.Thread(target=_forward, args=(stream,), name="jvm-output", daemon=True).start()
    try:
        gateway: JavaGateway = launch_gateway(conf, {"stdout": write, "stderr": write})  # type: ignore[no-untyped-call]
    finally:
        os.close(write)
    cache_java_lookups(gateway)
    return gateway


def _forward(stream: TextIO) -> None:
    with stream:
        for line in stream:
            if not line.startswith(NOISE):
                sys.stderr.write(line)
