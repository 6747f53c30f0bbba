"""Apache Cassandra as jars: its one version, and where they come from.

Rules of this file: resolved once, through Maven where there is one, else through the Ivy that ships inside pyspark,
into a cache that a marker written last declares whole; one process fetches, others wait.
"""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

from etl.class_archive import java

VERSION = "5.0.5"
CACHE = Path(sys.prefix) / "share" / "permanode" / f"cassandra-{VERSION}"

POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>permanode</groupId><artifactId>cassandra</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>{VERSION}</version>
  </dependency></dependencies>
</project>
"""
IVY = f"""\
<ivy-module version="2.0">
  <info organisation="permanode" module="cassandra"/>
  <dependencies>
    <dependency org="org.apache.cassandra" name="cassandra-all" rev="{VERSION}" conf="default->default"/>
  </dependencies>
</ivy-module>
"""


def cassandra_jars(cache: Path = CACHE) -> list[Path]:
    """The server's class path; RuntimeError when the jars cannot be fetched."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / "whole").exists():
            _fetch(cache)
            (cache / "whole").touch()
    return sorted(cache.glob("*.jar"))


def _fetch(cache: Path) -> None:
    scratch = cache / "scratch"
    scratch.mkdir(exist_ok=True)
    if shutil.which("mvn"):
        module = scratch / "pom.xml"
        module.write_text(POM)
        command: list[str | Path] = ["mvn", "--batch-mode", "--quiet", "--file", module, "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={cache}", "-DincludeScope=runtime"]
    else:
        import pyspark

        module = scratch / "ivy.xml"
        module.write_text(IVY)
        ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
        pattern = cache / "[artifact]-[revision](-[classifier]).[ext]"
        command = [java(), "-jar", ivy, "-cache", scratch, "-ivy", module, "-retrieve", pattern]
        command += ["-types", "jar", "bundle"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"cannot fetch Cassandra {VERSION}: {done.stdout[-2000:]}")
    shutil.rmtree(scratch)
