"""The zip of Python packages that a session sends to the executors of a cluster."""

import importlib.metadata
import zipfile
from pathlib import Path

DISTRIBUTIONS = ("orjson", "zstandard", "pynacl", "cffi", "base58", "coincurve", "pycryptodome", "numpy")
"""Distributions that executors need beside this project's packages, pyspark and pyarrow."""

SUFFIXES = {".py", ".java", ".xml", ".txt"}
"""Suffixes of the files that are packed. The JVM that writes SSTables needs the latter two."""

UNUSED = {"..", "__pycache__", "tests"}
"""Directories of distributions that are not packed."""

DIRECTORY = "permanode_env"
"""Where an executor unpacks the zip, relative to the working directory of its Python workers."""


def pack_environment(folder: Path) -> Path:
    """Writes a zip of this project's packages and DISTRIBUTIONS. Executors' machines have only pyspark and pyarrow."""
    target = folder / "environment.zip"
    root = Path(__file__).parents[3]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for package in ("ledger", "db", "etl"):
            for path in sorted((root / package).rglob("*")):
                if path.suffix in SUFFIXES:
                    archive.write(path, path.relative_to(root))
        for name in DISTRIBUTIONS:
            distribution = importlib.metadata.distribution(name)
            for file in distribution.files or ():
                if not UNUSED & set(file.parts):
                    archive.write(str(distribution.locate_file(file)), str(file))
    return target
