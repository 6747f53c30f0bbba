"""The Java that Spark and Cassandra's SSTable writer run on."""

import os
from pathlib import Path


def java() -> str:
    """Returns the command `java`: JAVA_HOME's, or the one on the PATH."""
    return str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
