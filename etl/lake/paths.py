"""The path of a lake: a local directory or a URL."""

import re
from pathlib import Path

PATTERN = frozenset("{}[]*?\\")
"""Characters that make a path a pattern in Spark and DuckDB."""

ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
"""delta-rs 1.6 reads such parts of a local path as escaped characters."""


def literal_path(setting: str, path: str) -> str:
    """Returns a path without pattern characters and without escapes. Raises ValueError with the setting's name for
    other paths.
    """
    if PATTERN.intersection(path):
        raise ValueError(f"{setting}: expected a path without {{}}[]*?\\, which are patterns in Spark; found {path}")
    if escape := ESCAPE.search(path):
        raise ValueError(f"{setting}: expected a path without {escape[0]}, which delta-rs decodes; found {path}")
    return path


def lake_root(path: str | Path) -> str:
    """Makes a local path absolute. URLs do not change."""
    text = str(path)
    return text if "://" in text else str(Path(text).absolute())
