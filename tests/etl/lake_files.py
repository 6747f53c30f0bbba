"""Reads a Delta table from its log and its Parquet files alone, without Spark and project code."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq


def live_files(table: Path) -> list[Path]:
    """The data files of the newest version: every commit's adds and removes, replayed from the first."""
    commits = sorted((table / "_delta_log").glob("*.json"))
    assert [int(commit.stem) for commit in commits] == list(range(len(commits)))
    files: set[str] = set()
    for commit in commits:
        for action in map(json.loads, commit.read_text().splitlines()):
            if "add" in action:
                assert action["add"].get("deletionVector") is None
                files.add(action["add"]["path"])
            if "remove" in action:
                files.discard(action["remove"]["path"])
    return [table / unquote(name) for name in sorted(files)]


def lake_rows(table: Path, columns: list[str]) -> list[tuple[Any, ...]]:
    """Those columns of every row, sorted."""
    parts = [pq.ParquetFile(path).read(columns=columns) for path in live_files(table)]
    rows = pa.concat_tables(parts).to_pylist() if parts else []
    return sorted(tuple(row[name] for name in columns) for row in rows)
