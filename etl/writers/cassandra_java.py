"""Apache Cassandra's Java code: its version, its jars, and the options of a JVM that runs it.

It writes SSTables for `--bulk`, and is the server of tests and benchmarks. The jars are resolved on first use into a
cache, with Maven if available, else with the Ivy inside pyspark. A marker that is written last says that the cache is
complete; one process downloads and others wait. These jars never share a JVM with Spark's, whose versions differ.
"""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from etl.engine.java import java
from etl.engine.spark.jars import Coordinates

VERSION = "5.0.5"
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


def cassandra_jars(cache: Path = CACHE) -> list[Path]:
    """The class path of the server. Raises RuntimeError if the jars cannot be downloaded."""
    return class_path(cache, [("org.apache.cassandra", "cassandra-all", VERSION)])


def class_path(cache: Path, coordinates: Sequence[Coordinates]) -> list[Path]:
    """The artifacts and all their dependencies, one version of each, in a separate cache."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / "whole").exists():
            _fetch(cache, coordinates)
            (cache / "whole").touch()
    return sorted(cache.glob("*.jar"))


def _fetch(cache: Path, coordinates: Sequence[Coordinates]) -> None:
    scratch = cache / "scratch"
    scratch.mkdir(exist_ok=True)
    if shutil.which("mvn"):
        module = scratch / "pom.xml"
        module.write_text(_pom(coordinates))
        command: list[str | Path] = ["mvn", "--batch-mode", "--quiet", "--file", module, "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={cache}", "-DincludeScope=runtime"]
    else:
        import pyspark

        module = scratch / "ivy.xml"
        module.write_text(_ivy(coordinates))
        ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
        pattern = cache / "[artifact]-[revision](-[classifier]).[ext]"
        command = [java(), "-jar", ivy, "-cache", scratch, "-ivy", module, "-retrieve", pattern]
        command += ["-types", "jar", "bundle"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        names = ", ".join(f"{name} {version}" for _, name, version in coordinates)
        raise RuntimeError(f"cannot fetch {names}: {done.stdout[-2000:]}")
    shutil.rmtree(scratch)


def _pom(coordinates: Sequence[Coordinates]) -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        for group, name, version in coordinates
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>permanode</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def _ivy(coordinates: Sequence[Coordinates]) -> str:
    dependencies = "".join(
        f'<dependency org="{group}" name="{name}" rev="{version}" conf="default->default"/>'
        for group, name, version in coordinates
    )
    return (
        '<ivy-module version="2.0"><info organisation="permanode" module="jars"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )
