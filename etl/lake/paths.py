"""The path of a lake: a local directory or a URL."""

import re
from pathlib import Path

PATTERN = frozenset("{}[]*?\\")
"""Characters that make a path a pattern in Spark and DuckDB."""

NETWORK = "{network}"
"""Stands for the name of the network in etl.lake."""

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


def lake_of(setting: str, network: str, url: str) -> str:
    """Returns the path or URL of a network's lake: the setting etl.lake, with the network's name for {network}, or
    lake/ inside a SQLite store.

    Raises ValueError for a cluster without the setting, and for a path that Spark interprets as a pattern.
    """
    if setting:
        return literal_path("lake", lake_root(setting.replace(NETWORK, network)))
    scheme, _, path = url.partition("://")
    if scheme != "sqlite":
        raise ValueError(f"lake: a directory that the executors share, as {scheme} stores have none of their own")
    return literal_path("store", lake_root(Path(path.removeprefix("/")).expanduser() / "lake"))


def lake_root(path: str | Path) -> str:
    """Makes a local path absolute. URLs do not change."""
    text = str(path)
    return text if "://" in text else str(Path(text).absolute())
