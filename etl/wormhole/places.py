"""Finds the lines of a load's files by position. A file that starts like a VAA is a single line.

Uses the scan of etl/sources/plan.py. Spark is not used here.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from etl.sources.files import list_files
from etl.sources.limits import DEFAULT, Limits
from etl.sources.plan import Scanned, SourceFile, lines_table, scan_files
from etl.sources.rejects import Reject
from etl.wormhole.cells import LineError, read_line

SUFFIX = ".vaa"
"""Suffix of files with the bytes of one VAA."""


def vaa_files(paths: Sequence[Path]) -> list[Path]:
    """Lists JSON lines and `.vaa` files below `paths`, sorted. A named file is used whatever its suffix.

    Raises FileNotFoundError for a missing path, and ValueError if there are no files.
    """
    return list_files(
        paths,
        lambda path: path if _is_taken(path.name) else None,
        f"no file of JSON lines (.jsonl, also with .gz or .zst) or VAAs ({SUFFIX})",
    )


def _is_taken(name: str) -> bool:
    return name.removesuffix(".gz").removesuffix(".zst").endswith((".jsonl", SUFFIX))


def find_places(
    files: Sequence[Path], limits: Limits = DEFAULT
) -> tuple[pa.Table, list[SourceFile], list[Reject], list[str]]:
    """(file, line, offset, length) of every line, the files as they were read, the rejects, and the names of all
    files. A file that differs from the checksum beside it is a reject as a whole, because nothing proves its cells.
    """
    found = scan_files(files, _note, limits)
    scanned = [Scanned(each.path, broken=each.broken) if each.change else each for each in found]
    # A load with only prices has no files.
    table = pa.concat_tables([lines_table(each) for each in (Scanned(""), *scanned)]).drop_columns("milestone_index")
    sources = [each.source for each in scanned if each.source is not None]
    return table, sources, [reject for each in scanned for reject in each.broken], [each.path for each in scanned]


def _note(found: Scanned, number: int, offset: int, line: bytes) -> None:
    """Records a line. Lines before the first valid one are read here: a file without any is rejected as a whole."""
    if not found.numbers:
        try:
            read_line(line)
        except LineError as error:
            found.reject(number, str(error))
            return
    found.milestones.append(0)
    found.numbers.append(number)
    found.offsets.append(offset)
    found.lengths.append(len(line))
