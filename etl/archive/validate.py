"""Validates archive files: compares their content with their names, and verifies it.

Eight kinds of fault are Chronicle's and have its names. The ninth, WrongChecksum, concerns the checksums of our own
archive files. Each level includes the previous ones:

- `basic`: file names and sizes
- `light`: every line is JSON of a known format; lists what is missing
- `full`: recomputes ids, walks the cone and verifies the proofs

A merge can instead validate each line when it reads it ("just in time").

Invariants:
1. Nothing is changed.
2. Faults are yielded file by file, so memory does not grow with the archive.
3. Overlapping files and milestones in descending order are not faults.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TypeAlias

from db.intervals import Intervals, add, gaps, in_words, of_indices, span, subtract
from etl.archive import MAX_FILE_BYTES
from etl.archive.names import promise_of, should_promise
from etl.sources import claimed, milestones_of, read_cone
from etl.sources.checksum_files import find_change
from etl.sources.files import fault_text, shown_name, unreadable
from etl.sources.limits import DEFAULT, Limits, TooLarge
from etl.sources.lines import lines
from etl.sources.raw_blocks import HEAD as RAW_HEAD
from etl.sources.raw_blocks import is_packed
from etl.sources.rejects import Reject
from etl.sources.static_blocks import is_static_block
from etl.sources.unpacking import open_stream
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
"""Verifies a copy of a milestone and returns the rejects. The milestone is None for pending messages."""


class Level(IntEnum):
    """The thoroughness of a validation."""

    BASIC = 0
    LIGHT = 1
    FULL = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a file. `line` starts at 1; 0 means the whole file. `file` is '' for milestones that no file
    contains.
    """

    kind: str
    file: str
    line: int
    detail: str


def fault_of(reject: Reject) -> Fault:
    """Converts a reject to a fault."""
    detail = f"{reject.item}: {reject.reason}".removeprefix(": ")
    return Fault(MALFORMED_MILESTONE, reject.file, reject.line, detail)


def checksum_fault(path: Path) -> Fault | None:
    """The fault of a file that does not match the checksum next to it; None if it matches or has no checksum."""
    change = find_change(path)
    return Fault(WRONG_CHECKSUM, str(path), 0, change) if change else None


@dataclass(slots=True)
class Found:
    """Counts and results of a validation."""

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
    first: int | None = None,
    last: int | None = None,
    notify: Callable[[Fault], None] = lambda _: None,
    limits: Limits = DEFAULT,
) -> Found:
    """Yields every fault of the files, and the milestones of [first, last) that are missing.

    Without `first` these begin with the first milestone of the files, without `last` they end with the last one.

    `check` verifies each milestone at level FULL.
    """
    found = Found()

    def note(fault: Fault) -> None:
        found.faults.append(fault)
        notify(fault)

    for path in files:
        found.files += 1
        for fault in _file_faults(path, level, check, max_bytes, limits, found):
            note(fault)
    if missing := subtract(span(found.held, first, last), found.held):
        note(Fault(MISSING_MILESTONES, "", 0, f"no file has {in_words(missing)}"))
    return found


def _file_faults(
    path: Path, level: Level, check: Check | None, max_bytes: int, limits: Limits, found: Found
) -> Iterator[Fault]:
    file, promise = shown_name(path), promise_of(path)
    if (reason := unreadable(path)) is not None:
        yield Fault(MALFORMED_MILESTONE, file, 0, f"file: {reason}")
        return
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
        # Milestones that are missing in the file are reported as a fault of the file.
        found.held = add(found.held, [(promise.first, promise.end - 1)])
    if level is Level.BASIC:
        return
    reading = _Reading(path, level, check, limits)
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
    """A single pass over the lines of a file."""

    def __init__(self, path: Path, level: Level, check: Check | None, limits: Limits) -> None:
        self._path, self._level, self._check, self._limits = path, level, check, limits
        self.first_lines: dict[int, int] = {}
        self.lines = 0
        self.pending = 0

    def faults(self) -> Iterator[Fault]:
        """Yields the faults of the lines and of their checksum."""
        number, file, empty = 0, str(self._path), True
        long: list[Fault] = []

        def note_long(at: int, detail: str) -> None:
            long.append(Fault(MALFORMED_MILESTONE, file, at, detail))

        try:
            with open_stream(file, self._limits) as stream:
                for number, _, line in lines(stream, self._limits, note_long):
                    empty = False
                    yield from self._line(number, line)
        except (OSError, EOFError, ValueError) as error:
            detail = str(error) if isinstance(error, TooLarge) else f"file: {fault_text(error)}"
            yield Fault(MALFORMED_MILESTONE, file, number + 1, detail)
            return
        finally:
            yield from long
        if empty and not long:
            yield Fault(EMPTY_FILE, file, 0, "no line")
        if (wrong := checksum_fault(self._path)) is not None:
            yield wrong

    def _line(self, number: int, line: bytes) -> Iterator[Fault]:
        try:
            if not is_packed(line[:RAW_HEAD]) and not is_static_block(line):
                claimed(line)
            indices = milestones_of(line)
        except (JsonError, CodecError) as error:
            yield Fault(MALFORMED_MILESTONE, str(self._path), number, str(error))
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
