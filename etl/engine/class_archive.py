"""The JVM's class archive: the classes that a load uses, parsed and verified once and then mapped (JEP 350).

Loading and verifying the classes of Spark and Delta takes seconds of every run (docs/performance.md). Rules of this
file: the first JVM that finds no archive writes one as it ends; an archive is named by all that it depends on; without
one everything works, only slower.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

QUIET = "-Xlog:cds*=off"
"""What the JVM cannot archive is no news for an operator, and would go to stdout."""


@contextmanager
def class_archive(cache: Path, classpath: Sequence[Path]) -> Iterator[list[str]]:
    """Java options for a JVM that starts and ends inside this block, with `classpath` before Spark's own jars.

    One process at a time writes an archive; others start without one meanwhile.
    """
    archive = cache / f"classes-{_version(classpath)}.jsa"
    if archive.exists():
        yield [QUIET, f"-XX:SharedArchiveFile={archive}"]
        return
    with (cache / ".archiving").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield []
            return
        unfinished = cache / "unfinished.jsa"
        unfinished.unlink(missing_ok=True)
        yield [QUIET, f"-XX:ArchiveClassesAtExit={unfinished}"]
        if unfinished.exists():
            for outdated in cache.glob("classes-*.jsa"):
                outdated.unlink()
            unfinished.rename(archive)


def java() -> str:
    """The `java` that Spark starts: JAVA_HOME's, else the PATH's."""
    return str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"


def _version(classpath: Sequence[Path]) -> str:
    """Of the JVM and of every jar, by place, size and time: the JVM compares the same."""
    found = shutil.which(java())
    digest = blake2b(digest_size=8)
    for path in (*([Path(found).resolve()] if found else []), *classpath):
        stat = path.stat()
        digest.update(f"{path}:{stat.st_size}:{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
