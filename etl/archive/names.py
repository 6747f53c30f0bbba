"""What archive files are called, and which milestones, or sequences, their names promise.

`{from}to{to}.log` holds the milestones from ≤ m < to, as Chronicle wrote it; `.log.fin` is one that reached its full
size, `{from}.log.active` and `{from}.part` are growing. Beside a file that we close stands `NAME.b2sum`, its checksum
(BLAKE2b-256) as `b2sum --check` reads it.

Rules of this file: names only, nothing is opened.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from etl.sources.files import COMPRESSIONS

CHECKSUM = ".b2sum"

LOG = ".log"

_GROWING = re.compile(r"(\d+)(?:\.part|\.log\.active)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Promise:
    """The milestones, or sequences, that a name promises: first ≤ m < end; `end` None while the file grows."""

    first: int
    end: int | None

    def holds(self, milestone_index: int) -> bool:
        """Whether that milestone may stand in the file."""
        return self.first <= milestone_index and (self.end is None or milestone_index < self.end)


def promise_of(path: Path, suffix: str = LOG) -> Promise | None:
    """What the name of an archive file promises; None where it tells no milestones. `suffix`: of closed files."""
    name = path.name
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    if found := re.fullmatch(rf"(\d+)to(\d+){re.escape(suffix)}(?:\.fin)?", name, re.ASCII):
        return Promise(int(found[1]), int(found[2]))
    if found := _GROWING.fullmatch(name):
        return Promise(int(found[1]), None)
    return None


def should_promise(path: Path) -> bool:
    """Whether a file is of the kinds whose names tell milestones."""
    return any(suffix in (".log", ".part") for suffix in path.suffixes)


def closed_path(folder: Path, first: int, end: int, suffix: str = LOG) -> Path:
    """Where the closed file of first ≤ m < end stands."""
    return folder / f"{first}to{end}{suffix}"


def growing_path(folder: Path, first: int) -> Path:
    """Where the file stands that grows from that milestone on."""
    return folder / f"{first}.part"


def checksum_path(path: Path) -> Path:
    """Where the checksum of a file stands."""
    return path.with_name(path.name + CHECKSUM)
