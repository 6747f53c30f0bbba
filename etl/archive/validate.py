"""Whether archive files hold what their names promise, and whether that is right.

Eight kinds of fault are Chronicle's, under its names; the ninth, WrongChecksum, comes with the checksums that we write
beside files. Three levels, each with all that is below it: `basic` looks at names and sizes, `light` reads every line
as JSON of a known format and looks for what is missing, `full` recomputes ids, walks the cone and tries what it proves.
The fourth, just in time, is a merge's own: it judges each line when its turn comes.

Rules of this file: it reads, and changes nothing; faults come as they are found, file by file, so that memory does not
grow with the archive. Milestones in another order than ascending are no fault, and neither are files that overlap.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TypeAlias

from db.intervals import Intervals, add, gaps, in_words, intervals, of_indices
from etl.archive import MAX_FILE_BYTES
from etl.archive.names import checksum_path, promise_of, should_promise
from etl.archive.writer import DIGEST_BYTES, checksum_beside
from etl.sources import claimed, milestones_of, read_cone
from etl.sources.files import lines, open_stream
from etl.sources.raw_blocks import HEAD as RAW_HEAD
from etl.sources.raw_blocks import is_packed
from etl.sources.rejects import Reject
from etl.verification.cone_verification import Copy
from ledger.json_reader import JsonError
from ledger.reader import CodecError

EMPTY_FILE = "EmptyFile"
MISSING_MILESTONES = "MissingMilestones"
EXTRA_MILESTONES = "ExtraMilestones"
OUTSIDE_MILESTONE = "OutsideMilestone"
DUPLICATE_MILESTONE = "DuplicateMilestone"
MALFORMED_MILESTONE = "MalformattedMilestone"
INVALID_RANGE = "InvalidRange"
TOO_BIG = "TooBig"
WRONG_CHECKSUM = "WrongChecksum"

Check: TypeAlias = Callable[[int | None, Copy], list[Reject]]
"""What is refused of a copy of a milestone; of pending messages where the milestone is None."""


class Level(IntEnum):
    """How closely files are looked at."""

    BASIC = 0
    LIGHT = 1
    FULL = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file; `line` from 1, 0: the file itself. `file` is '' for what no file has."""

    kind: str
    file: str
    line: int
    detail: str


def fault_of(reject: Reject) -> Fault:
    """A reject as a fault."""
    detail = f"{reject.item}: {reject.reason}".removeprefix(": ")
    return Fault(MALFORMED_MILESTONE, reject.file, reject.line, detail)


def checksum_fault(path: Path) -> Fault | None:
    """That a file is not as the checksum beside it says, if there is one."""
    told = checksum_path(path)
    if not told.exists():
        return None
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()
    if found == (expected := checksum_beside(path)):
        return None
    return Fault(WRONG_CHECKSUM, str(path), 0, f"{expected} expected, as {told.name} has it, found {found}")


@dataclass(slots=True)
class Found:
    """What a validation saw, and what it found."""

    files: int = 0
    milestones: int = 0
    pending: int = 0
    held: Intervals = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def validate(
    files: Iterable[Path],
    level: Level,
    check: Check | None = None,
    *,
    max_bytes: int = MAX_FILE_BYTES,
    wanted: Intervals | None = None,
    notify: Callable[[Fault], None] = lambda _: None,
) -> Found:
    """Every fault of those files, and the milestones between them, or of `wanted`, that none has.

    `check` is what FULL asks of each milestone.
    """
    found = Found()

    def note(fault: Fault) -> None:
        found.faults.append(fault)
        notify(fault)

    for path in files:
        found.files += 1
        for fault in _file_faults(path, level, check, max_bytes, found):
            note(fault)
    if wanted is None:
        wanted = intervals([(found.held[0][0], found.held[-1][1])]) if found.held else []
    for first, last in wanted:
        if missing := gaps(found.held, first, last):
            note(Fault(MISSING_MILESTONES, "", 0, f"no file has {in_words(missing)}"))
    return found


def _file_faults(path: Path, level: Level, check: Check | None, max_bytes: int, found: Found) -> Iterator[Fault]:
    file, promise = str(path), promise_of(path)
    size = None if path.is_dir() else path.stat().st_size
    if promise is None and should_promise(path):
        yield Fault(INVALID_RANGE, file, 0, "a name as 1to21.log or 21.part expected")
    elif promise is not None and promise.end is not None and promise.end <= promise.first:
        yield Fault(INVALID_RANGE, file, 0, f"the first milestone below the second expected, found {path.name}")
        promise = None
    if size == 0:
        yield Fault(EMPTY_FILE, file, 0, "no line")
        return
    if size is not None and size > max_bytes:
        yield Fault(TOO_BIG, file, 0, f"at most {max_bytes} bytes expected, found {size}")
    if promise is not None and promise.end is not None:
        # Of what the name promises and the file lacks its own fault tells.
        found.held = add(found.held, [(promise.first, promise.end - 1)])
    if level is Level.BASIC:
        return
    reading = _Reading(path, level, check)
    yield from reading.faults()
    found.milestones += reading.lines
    found.pending += reading.pending
    held = of_indices(reading.first_lines)
    found.held = add(found.held, held)
    if promise is None:
        return
    for index, line in sorted(reading.first_lines.items()):
        if not promise.holds(index):
            yield Fault(OUTSIDE_MILESTONE, file, line, f"milestone {index}, which the name does not promise")
    end = promise.end if promise.end is not None else max(reading.first_lines, default=promise.first - 1) + 1
    if missing := gaps(held, promise.first, end - 1) if end > promise.first else []:
        yield Fault(MISSING_MILESTONES, file, 0, f"milestones {in_words(missing)}")
    if promise.end is not None and reading.lines > promise.end - promise.first:
        more = reading.lines - (promise.end - promise.first)
        yield Fault(EXTRA_MILESTONES, file, 0, f"{more} more than the name promises")


class _Reading:
    """One pass over a file's lines."""

    def __init__(self, path: Path, level: Level, check: Check | None) -> None:
        self._path, self._level, self._check = path, level, check
        self.first_lines: dict[int, int] = {}
        self.lines = 0
        self.pending = 0

    def faults(self) -> Iterator[Fault]:
        """What is wrong with the lines, and with their checksum."""
        number, file, empty = 0, str(self._path), True
        try:
            with open_stream(file) as stream:
                for number, _, line in lines(stream):
                    empty = False
                    yield from self._line(number, line)
        except (OSError, EOFError, ValueError) as error:
            detail = f"file: readable to its end, {type(error).__name__}: {error}"
            yield Fault(MALFORMED_MILESTONE, file, number + 1, detail)
            return
        if empty:
            yield Fault(EMPTY_FILE, file, 0, "no line")
        if (wrong := checksum_fault(self._path)) is not None:
            yield wrong

    def _line(self, number: int, line: bytes) -> Iterator[Fault]:
        try:
            if not is_packed(line[:RAW_HEAD]):
                claimed(line)
            indices = milestones_of(line)
        except (JsonError, CodecError) as refusal:
            yield Fault(MALFORMED_MILESTONE, str(self._path), number, str(refusal))
            return
        if not indices:
            self.pending += 1
        for index in indices:
            self.lines += 1
            if index in self.first_lines:
                detail = f"milestone {index} stands in line {self.first_lines[index]} too"
                yield Fault(DUPLICATE_MILESTONE, str(self._path), number, detail)
            else:
                self.first_lines[index] = number
        if self._level is Level.FULL and self._check is not None:
            milestones: list[int | None] = [*indices] or [None]
            for each in milestones:
                yield from self._verify(self._check, number, line, each)

    def _verify(self, check: Check, number: int, line: bytes, index: int | None) -> Iterator[Fault]:
        copy = Copy(str(self._path), number, lambda: read_cone(line, index))
        yield from map(fault_of, check(index, copy))
