"""Parquet files that a Delta table is about to contain."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class NewFile:
    """A Parquet file in a table's directory: its partition's values, rows, and the least and greatest values of columns
    by which readers skip files.
    """

    path: Path
    partition: Mapping[str, str]
    rows: int
    least: Mapping[str, int]
    greatest: Mapping[str, int]
