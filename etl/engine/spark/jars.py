"""The jars that are used in addition to Spark's own: their versions and checksums, and the cache of them.

A list names all jars of a class path, one line each: GROUP:ARTIFACT:VERSION[:CLASSIFIER] SHA256. The Ivy in pyspark
downloads each jar once, without its dependencies; a jar with another checksum is not used.
"""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Sequence
from hashlib import file_digest
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pyspark

from etl.engine.java import java


class Jar(NamedTuple):
    """A jar on Maven. `classifier` is empty for a module's main jar; `sha256` is in hex."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"


def read_jars(file: Path) -> tuple[Jar, ...]:
    """Returns the jars of a list."""
    found = []
    for line in file.read_text("utf-8").splitlines():
        coordinates, sha256 = line.split(" ")
        group, artifact, version, classifier = (*coordinates.split(":"), "")[:4]
        found.append(Jar(group, artifact, version, classifier, sha256))
    return tuple(found)


CONNECTOR = read_jars(Path(__file__).with_name("connector_jars.txt"))
"""Jars that write to a Cassandra cluster. pyspark contains scala-library, scala-reflect, slf4j and metrics-core: a
second, older copy would break it.
"""


def jar_cache(folder: str) -> Path:
    """Returns the directory of jars. `folder` empty: a directory inside the Python environment."""
    return Path(folder) if folder else Path(sys.prefix) / "share" / "permanode" / "jars"


def resolve_jars(cache: Path, jars: Sequence[Jar]) -> list[Path]:
    """Returns the paths of those jars and downloads missing ones; other processes wait.

    Raises RuntimeError if a jar cannot be downloaded, or does not have its checksum.
    """
    paths = [cache / jar.name for jar in jars]
    if all(path.exists() for path in paths):
        return paths
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if missing := [jar for jar in jars if not (cache / jar.name).exists()]:
            _download(cache, missing)
    return paths


def _download(cache: Path, jars: Sequence[Jar]) -> None:
    scratch = cache / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    module = scratch / "ivy.xml"
    module.write_text(_ivy(jars))
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    pattern = str(scratch / "[artifact]-[revision](-[classifier]).[ext]")
    # It ends before the optimizing compiler pays off: 14 s of CPU time instead of 30 for the jars of Cassandra.
    command = [java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", str(ivy)]
    command += ["-cache", str(scratch / "ivy"), "-ivy", str(module), "-retrieve", pattern]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        names = ", ".join(jar.name for jar in jars)
        raise RuntimeError(f"cannot fetch {names} from Maven: {done.stdout[-2000:]}")
    for jar in jars:
        check_jar(scratch / jar.name, jar)
    for jar in jars:
        (scratch / jar.name).replace(cache / jar.name)
    shutil.rmtree(scratch)


def check_jar(file: Path, jar: Jar) -> None:
    """Raises RuntimeError if a file does not have the checksum of its jar."""
    with file.open("rb") as data:
        found = file_digest(data, "sha256").hexdigest()
    if found != jar.sha256:
        raise RuntimeError(f"{jar.name} from Maven: SHA-256 {jar.sha256} expected, found {found}; it is not used")


def _ivy(jars: Sequence[Jar]) -> str:
    dependencies = ""
    for (group, artifact, version), parts in groupby(jars, key=lambda jar: jar[:3]):
        artifacts = "".join(
            f'<artifact name="{artifact}" type="jar" ext="jar"'
            + (f' m:classifier="{part.classifier}"/>' if part.classifier else "/>")
            for part in parts
        )
        dependencies += (
            f'<dependency org="{group}" name="{artifact}" rev="{version}" transitive="false">{artifacts}</dependency>'
        )
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        f'<info organisation="permanode" module="jars"/><dependencies>{dependencies}</dependencies></ivy-module>'
    )
