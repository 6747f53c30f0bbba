"""Finds the lines of a load's files by position. A file that starts like a VAA is a single line.

Uses the scan of etl/sources/plan.py. Spark is not used here.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pyarrow as pa

from etl.sources.plan import SCANNERS, Scanned, SourceFile, lines_table, scan_file
from etl.sources.rejects import Reject

SUFFIX = ".vaa"
"""Suffix of files with the bytes of one VAA."""


def vaa_files(paths: Sequence[Path]) -> list[Path]:
    """Lists JSON lines and `.vaa` files below `paths`, sorted. A named file is used whatever its suffix.

    Raises FileNotFoundError for a missing path, and ValueError if there are no files.
    """
    found: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or directory")
        below = [path] if path.is_file() else filter(Path.is_file, path.rglob("*"))
        found |= {each for each in below if each == path or _is_taken(each.name)}
    if not found:
        kinds = f"JSON lines (.jsonl, also with .gz or .zst) or VAAs ({SUFFIX})"
        raise ValueError(f"{', '.join(map(str, paths))}: no file of {kinds}")
    return sorted(found)


def _is_taken(name: str) -> bool:
    return name.removesuffix(".gz").removesuffix(".zst").endswith((".jsonl", SUFFIX))


def find_places(files: Sequence[Path]) -> tuple[pa.Table, list[SourceFile], list[Reject]]:
    """(file, line, offset, length) of every line, the files as they were read, and the rejects."""
    with ThreadPoolExecutor(SCANNERS, thread_name_prefix="scan") as pool:
        scanned = [*pool.map(scan_file, map(str, files), repeat(_note))]
    # A load with only prices has no files.
    table = pa.concat_tables([lines_table(each) for each in (Scanned(""), *scanned)]).drop_columns("milestone_index")
    sources = [each.source for each in scanned if each.source is not None]
    return table, sources, [reject for each in scanned for reject in each.broken]


def _note(found: Scanned, number: int, offset: int, line: bytes) -> None:
    found.milestones.append(0)
    found.numbers.append(number)
    found.offsets.append(offset)
    found.lengths.append(len(line))
