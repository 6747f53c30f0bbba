"""Names of archive files, and the milestones or sequences that a name announces. Opens no files.

- `{from}to{to}.log`: milestones from ≤ m < to, as in Chronicle
- `….log.fin`: the same; the file reached its maximum size
- `{from}.log.active`, `{from}.part`: a growing file

A closed file has its checksum beside it (etl/sources/checksum_files.py).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from etl.sources.files import COMPRESSIONS

LOG = ".log"

_GROWING = re.compile(r"(\d+)(?:\.part|\.log\.active)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Promise:
    """The milestones or sequences that a name announces: first ≤ m < end. `end` is None for a growing file."""

    first: int
    end: int | None

    def holds(self, milestone_index: int) -> bool:
        """Whether the file may contain that milestone."""
        return self.first <= milestone_index and (self.end is None or milestone_index < self.end)


def promise_of(path: Path, suffix: str = LOG) -> Promise | None:
    """Parses the name of an archive file; None for other names. `suffix` is the suffix of closed files."""
    name = path.name
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    if found := re.fullmatch(rf"(\d+)to(\d+){re.escape(suffix)}(?:\.fin)?", name, re.ASCII):
        return Promise(int(found[1]), int(found[2]))
    if found := _GROWING.fullmatch(name):
        return Promise(int(found[1]), None)
    return None


def should_promise(path: Path) -> bool:
    """Whether the name of such a file must announce milestones."""
    return any(suffix in (".log", ".part") for suffix in path.suffixes)


def closed_path(folder: Path, first: int, end: int, suffix: str = LOG) -> Path:
    """The path of the closed file for first ≤ m < end."""
    return folder / f"{first}to{end}{suffix}"


def growing_path(folder: Path, first: int) -> Path:
    """The path of the growing file that starts at that milestone."""
    return folder / f"{first}.part"
