"""Reads the files of the transparency log in a lake, whose rows in the store must be the same."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from etl.deep_check.engine import Database

AT_ONCE = 256
"""Tiles per batch: up to 7 MB."""

HEAD_FILES = ("head", "verifier", "checkpoint", "cosigned")

_TILE = re.compile(r"(entries|[0-9]{1,2})/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([0-9]{1,3}))?", re.ASCII)

BUNDLES, FULL = -1, 256

_TILES = pa.schema({"level": pa.int64(), "number": pa.int64(), "width": pa.int64(), "data": pa.binary()})


def keep_log(database: Database, lake: str, network: str) -> None:
    """Creates the tables `log_files` (tiles and bundles) and `log_texts` (name and text of the files beside them)."""
    folder = Path(lake, "log", network)
    with database.reading(pa.RecordBatchReader.from_batches(_TILES, _batches(folder / "tile"))):
        database.run("CREATE OR REPLACE TABLE log_files AS SELECT * FROM batches")
    database.run("CREATE OR REPLACE TABLE log_texts (name VARCHAR, text VARCHAR)")
    for name in HEAD_FILES:
        with suppress(FileNotFoundError):
            database.run("INSERT INTO log_texts VALUES (?, ?)", [name, (folder / name).read_text()])


def _batches(folder: Path) -> Iterator[pa.RecordBatch]:
    waiting = []
    for row in _tiles(folder):
        waiting.append(row)
        if len(waiting) == AT_ONCE:
            yield pa.RecordBatch.from_pylist(waiting, schema=_TILES)
            waiting = []
    yield pa.RecordBatch.from_pylist(waiting, schema=_TILES)


def _tiles(folder: Path) -> Iterator[dict[str, int | bytes]]:
    for path in folder.rglob("*"):
        match = _TILE.fullmatch(path.relative_to(folder).as_posix())
        if match is None or not path.is_file():
            continue
        # A load deletes partial tiles once they are full.
        with suppress(FileNotFoundError):
            yield {
                "level": BUNDLES if match[1] == "entries" else int(match[1]),
                "number": int(match[2].replace("x", "").replace("/", "")),
                "width": FULL if match[3] is None else int(match[3]),
                "data": path.read_bytes(),
            }
