"""The Java that Spark and Cassandra's SSTable writer run on."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

VERSIONS = (17, 21)

INSTALL = (
    "Install it (Debian, Ubuntu: openjdk-17-jre-headless; Fedora: java-21-openjdk-headless; Homebrew: openjdk@21) or "
    "set JAVA_HOME"
)

WITHOUT_JAVA = "On one machine, etl.engine = sail needs no Java"


class JavaError(RuntimeError):
    """There is no Java of a version that Spark supports."""


def java() -> str:
    """Returns the command `java`: JAVA_HOME's, or the one on the PATH."""
    return str(Path(os.environ["JAVA_HOME"], "bin", "java")) if os.environ.get("JAVA_HOME") else "java"


def java_fault() -> str | None:
    """Returns what is wrong with the Java that Spark would use; None for a version that it supports."""
    return _fault_of(java(), os.environ.get("PATH", ""))


def require_java(without: str = WITHOUT_JAVA) -> None:
    """Raises JavaError if Spark cannot run on the Java of this machine. `without`: what the user can do without it."""
    if fault := java_fault():
        raise JavaError(f"{fault}. {INSTALL}. {without}")


@cache
def _fault_of(command: str, path: str) -> str | None:
    wanted = f"Spark requires Java {VERSIONS[0]} or {VERSIONS[1]}"
    found = shutil.which(command, path=path)
    if found is None:
        return f"{wanted}; {command} was not found"
    output = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "([^"]*)"', output.stderr + output.stdout)
    if version is None:
        return f"{wanted}; {found} is not Java"
    if re.split(r"[.-]", version[1])[0] in map(str, VERSIONS):
        return None
    return f"{wanted}; {found} is {version[1]}"
