"""Apache Cassandra's Java code: its version, its jars, and the options of a JVM that runs it.

It writes SSTables for `--bulk`, and is the server of tests and benchmarks. These jars never share a JVM with Spark's,
whose versions differ.
"""

import sys
from pathlib import Path

from etl.engine.spark.jars import read_jars, resolve_jars

JARS = read_jars(Path(__file__).with_name("cassandra_jars.txt"))
"""Cassandra and all its dependencies."""

VERSION = next(jar.version for jar in JARS if jar.artifact == "cassandra-all")
JAVA = "17"
CACHE = Path(sys.prefix) / "share" / "permanode" / f"cassandra-{VERSION}"

EXPORTED = {
    "java.base": "jdk.internal.misc jdk.internal.ref jdk.internal.perf sun.nio.ch",
    "java.management.rmi": "com.sun.jmx.remote.internal.rmi",
    "java.rmi": "sun.rmi.registry sun.rmi.server sun.rmi.transport sun.rmi.transport.tcp",
    "java.sql": "java.sql",
    "jdk.unsupported": "sun.misc",
}
OPENED = {
    "java.base": (
        "java.io java.lang java.lang.module java.lang.reflect java.math java.net java.nio java.nio.charset "
        "java.nio.file.spi java.util java.util.concurrent java.util.concurrent.atomic jdk.internal.loader "
        "jdk.internal.math jdk.internal.module jdk.internal.ref jdk.internal.reflect jdk.internal.util.jar sun.nio.ch"
    ),
    "jdk.management": "com.sun.management.internal",
}
"""Packages of the JDK that Cassandra accesses; its own start script opens the same ones."""

JAVA_OPTIONS = (
    *(f"--add-exports={module}/{name}=ALL-UNNAMED" for module in EXPORTED for name in EXPORTED[module].split()),
    *(f"--add-opens={module}/{name}=ALL-UNNAMED" for module in OPENED for name in OPENED[module].split()),
    "-Dio.netty.tryReflectionSetAccessible=true",
)


def cassandra_jars() -> list[Path]:
    """The class path of the server. Raises RuntimeError if a jar cannot be downloaded or has another checksum."""
    return resolve_jars(CACHE, JARS)
