"""The driver's JVM: started and ended with a session; all that it says goes to our stderr, as stdout is the report's.

Rules of this file: a line of noise is named here with the reason why no setting can hush it; everything else passes,
through sys.stderr, so that progress bars on a terminal stay whole.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from py4j.java_gateway import JavaClass, JavaGateway, JavaMember, JavaObject, JVMView
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from etl.engine.compiler import DIRECTIVES

NOISE = ("WARNING: Using incubator modules: jdk.incubator.vector", f"{DIRECTIVES} compiler directives added")
"""The JDK prints the first for a module that Spark's launcher always adds, before any logging is configured, the second
for every file of compiler directives."""


class _KnownClass(JavaClass):  # type: ignore[misc]
    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            self.__dict__[name] = found
        return found


class _KnownClasses(JVMView):  # type: ignore[misc]
    """The JVM's classes, and their static methods, each looked up once: for every column that it makes PySpark asks for
    both anew, nearly half of its calls.
    """

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaClass):
            found = self.__dict__[name] = _KnownClass(found._fqn, self._gateway_client)
        return found


@contextmanager
def spark_context(conf: SparkConf) -> Iterator[SparkContext]:
    """A context in a JVM of its own, which has ended when the block has. RuntimeError for what fails in it and in
    Python nowhere.
    """
    gateway = _launch(conf)
    try:
        _open_local_files(gateway.jvm)
        context = SparkContext(conf=conf, gateway=gateway)
        try:
            yield context
        except (PySparkException, Py4JError) as error:
            # For their text these ask the JVM, which will have ended.
            raise RuntimeError(str(error)) from error
        finally:
            context.stop()
    finally:
        gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None
        # None under spark-submit, whose JVM is not ours to end.
        if gateway.proc is not None:
            gateway.proc.stdin.close()
            gateway.proc.wait()


def jvm_gateway(session: SparkSession) -> JavaGateway:
    """Returns the py4j connection to the session's JVM."""
    gateway = session.sparkContext._gateway
    assert gateway is not None
    return gateway


def java_classes(jvm: JVMView, name: str) -> JavaObject:
    """A class loader of what is in that file beside this one; Janino, which pyspark ships, compiles it."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    # The first Java whose interfaces have static methods.
    compiler.setTargetVersion(8)
    compiler.cookFile(str(Path(__file__).with_name(name)))
    return compiler.getClassLoader()


def _launch(conf: SparkConf) -> JavaGateway:
    read, write = os.pipe()
    stream = os.fdopen(read, errors="replace")
    threading.Thread(target=_forward, args=(stream,), name="jvm-output", daemon=True).start()
    try:
        gateway: JavaGateway = launch_gateway(conf, {"stdout": write, "stderr": write})  # type: ignore[no-untyped-call]
    finally:
        os.close(write)
    gateway.jvm = _KnownClasses(gateway.jvm._gateway_client, gateway.jvm._jvm_name, gateway.jvm._id)
    return gateway


def _open_local_files(jvm: JVMView) -> None:
    """Makes etl/engine/LocalFiles.java the file system of local paths: Hadoop keeps the first that it opens."""
    conf = jvm.org.apache.hadoop.conf.Configuration()
    conf.setClassLoader(java_classes(jvm, "LocalFiles.java"))
    conf.set("fs.file.impl", "LocalFiles")
    jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), conf)


def _forward(stream: TextIO) -> None:
    with stream:
        for line in stream:
            if not line.startswith(NOISE):
                sys.stderr.write(line)
