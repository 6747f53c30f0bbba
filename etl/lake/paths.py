"""The path of a lake: a local directory or a URL. The folder of scratch files."""

import re
from pathlib import Path

PATTERN = frozenset("{}[]*?\\")
"""Characters that make a path a pattern in Spark and DuckDB."""

NETWORK = "{network}"
"""Stands for the name of the network in etl.lake and etl.staging."""

FIELD = re.compile(r"\{\w*\}")

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

    Raises ValueError for a cluster without the setting, for another field in braces, and for a path that Spark
    interprets as a pattern.
    """
    if setting:
        return lake_root(_filled("lake", setting, network))
    scheme, _, path = url.partition("://")
    if scheme != "sqlite":
        raise ValueError(f"lake: a directory that the executors share, as {scheme} stores have none of their own")
    return literal_path("store", lake_root(Path(path.removeprefix("/")).expanduser() / "lake"))


def staging_of(setting: str, network: str, lake: str) -> Path:
    """Returns the folder of the scratch files of a network's runs, in the one that etl.staging names, with the
    network's name for {network}, or else beside the lake. A run deletes it at its beginning and at its end, so it is
    never one that a user named, nor that of another network.

    Raises ValueError for another field in braces, and for a path that Spark interprets as a pattern.
    """
    below = Path(_filled("staging", setting, network), "permanode") if setting else Path(lake).parent
    return below / f"staging-{network}"


def downloads_of(setting: str, network: str, lake: str) -> Path:
    """Returns the folder of copied archive files, beside the scratch files. Raises what `staging_of` raises."""
    return (Path(_filled("staging", setting, network)) if setting else Path(lake).parent) / "downloads"


def _filled(setting: str, path: str, network: str) -> str:
    """Returns a path with the network's name for {network}. Raises ValueError with the setting's name."""
    filled = path.replace(NETWORK, network)
    if field := FIELD.search(filled):
        raise ValueError(f"{setting}: unknown field {field[0]} in {path}; expected {NETWORK}, for the network's name")
    return literal_path(setting, filled)


def lake_root(path: str | Path) -> str:
    """Makes a local path absolute. URLs do not change."""
    text = str(path)
    return text if "://" in text else str(Path(text).absolute())
