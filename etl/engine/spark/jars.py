"""The jars that a session uses in addition to Spark's own, their versions, and the cache of them.

The Ivy in pyspark resolves each jar once. Sessions then name it by path.
"""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import pyspark

from etl.engine.java import java

Coordinates: TypeAlias = tuple[str, str, str]
"""Group, artifact and version on Maven. Transitive dependencies are not resolved, so the lists name all."""

CONNECTOR: tuple[Coordinates, ...] = (
    ("com.datastax.spark", "spark-cassandra-connector_2.13", "3.5.1"),
    ("com.datastax.spark", "spark-cassandra-connector-driver_2.13", "3.5.1"),
    ("org.apache.cassandra", "java-driver-core-shaded", "4.18.1"),
    ("org.apache.cassandra", "java-driver-query-builder", "4.18.1"),
    ("org.apache.cassandra", "java-driver-mapper-runtime", "4.18.1"),
    ("com.datastax.oss", "native-protocol", "1.5.1"),
    ("com.datastax.oss", "java-driver-shaded-guava", "25.1-jre-graal-sub-1"),
    ("com.typesafe", "config", "1.4.1"),
    ("org.hdrhistogram", "HdrHistogram", "2.1.12"),
    ("org.reactivestreams", "reactive-streams", "1.0.3"),
    ("org.scala-lang.modules", "scala-collection-compat_2.13", "2.11.0"),
)
"""Jars that write to a Cassandra cluster. pyspark contains scala-library, scala-reflect, slf4j and metrics-core: a
second, older copy would break it.
"""


def jar_cache(folder: str) -> Path:
    """Returns the directory of jars. `folder` empty: a directory inside the Python environment."""
    return Path(folder) if folder else Path(sys.prefix) / "share" / "permanode" / "jars"


def resolve_jars(cache: Path, coordinates: Sequence[Coordinates]) -> list[Path]:
    """Returns the paths of those jars and downloads missing ones; other processes wait. RuntimeError if that fails."""
    jars = {cache / f"{name}-{version}.jar": (group, name, version) for group, name, version in coordinates}
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if missing := [each for jar, each in jars.items() if not jar.exists()]:
            _retrieve(cache, missing)
    return list(jars)


def _retrieve(cache: Path, coordinates: Sequence[Coordinates]) -> None:
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    dependencies = "".join(
        f'<dependency org="{group}" name="{name}" rev="{version}" transitive="false"/>'
        for group, name, version in coordinates
    )
    module = cache / "ivy.xml"
    module.write_text(
        '<ivy-module version="2.0"><info organisation="permanode" module="jars"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )
    pattern = str(cache / "[artifact]-[revision].[ext]")
    command = [java(), "-jar", str(ivy), "-cache", str(cache / "ivy"), "-ivy", str(module), "-retrieve", pattern]
    done = subprocess.run([*command, "-types", "jar", "bundle"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"cannot fetch {', '.join(name for _, name, _ in coordinates)} from Maven: {done.stdout[-2000:]}"
        )
    shutil.rmtree(cache / "ivy", ignore_errors=True)
