"""The driver's JVM: started once a process, what it says forwarded to our stderr.

Rules of this file: a line of noise is named here with the reason why no setting can hush it; everything else passes,
through sys.stderr, so that progress bars on a terminal stay whole.
"""

import os
import sys
import threading
from typing import TextIO

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

NOISE = ("WARNING: Using incubator modules: jdk.incubator.vector",)
"""The JDK prints it for a module that Spark's launcher always adds, before any logging is configured."""


def spark_context(conf: SparkConf) -> SparkContext:
    """A context in this process's JVM, whose memory and Java options are those of its first context."""
    return SparkContext(conf=conf, gateway=SparkContext._gateway or _launch(conf))


def _launch(conf: SparkConf) -> JavaGateway:
    read, write = os.pipe()
    stream = os.fdopen(read, errors="replace")
    threading.Thread(target=_forward, args=(stream,), name="jvm-stderr", daemon=True).start()
    try:
        return launch_gateway(conf, {"stderr": write})  # type: ignore[no-untyped-call]
    finally:
        os.close(write)


def _forward(stream: TextIO) -> None:
    with stream:
        for line in stream:
            if not line.startswith(NOISE):
                sys.stderr.write(line)
