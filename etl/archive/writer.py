"""Writes archive files so that a crash never leaves an incomplete file that looks complete.

A file grows as `{from}.part`. Closing it syncs it, writes its checksum, then renames it. So a `.log` with a checksum is
complete and durable. The next run reads a `.part` that a killed run left, keeps its complete lines, truncates a torn
end and continues the file.

A killed run leaves whole lines and the beginning of another one. After a power failure, blocks of the file may not have
been written; they then contain NUL bytes, which no line contains. A torn end is therefore an incomplete or unreadable
last line, or a line with NUL bytes after which no line is readable.

A line contains a milestone, or another numbered item with a Form: a VAA has the sequence of its emitter.

Invariants:
1. The end of a file depends only on the numbers and `max_bytes`, not on when a run was killed. A repeated run writes
   the same bytes.
2. Closed files are never changed.
3. Only a torn end is deleted. A `.part` with anything else that this writer would not have written raises ValueError,
   and no file is changed: nodes may no longer have the milestones behind a damaged line.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from db.intervals import Intervals, add, intervals, of_indices
from etl.archive import MAX_FILE_BYTES
from etl.archive.names import LOG, closed_path, growing_path, promise_of
from etl.sources import milestones_of
from etl.sources.checksum_files import DIGEST_BYTES, checksum_path
from etl.sources.limits import UNLIMITED
from etl.sources.lines import lines
from etl.sources.unpacking import open_stream

OnClosed: TypeAlias = Callable[[Path, int, int], None]
"""Called for each durable file with its path, its first milestone and the one after its last."""


@dataclass(frozen=True, slots=True)
class Form:
    """The form of the JSON lines in a folder: the suffix of closed files, the first bytes of every line, and the
    numbers of a line. `numbers_of` raises ValueError for an invalid line.
    """

    suffix: str
    head: bytes
    numbers_of: Callable[[bytes], list[int]]


MILESTONES = Form(LOG, b'{"milestone', milestones_of)


class FolderInUse(Exception):
    """Another run writes to the folder."""


@dataclass(slots=True)
class _Growing:
    """A growing file: its numbers first ≤ m < end, its size and the hash of its bytes."""

    path: Path
    first: int
    end: int
    size: int
    digest: Any


class ArchiveWriter:
    """Writes lines by ascending number to the files of a folder. A gap starts a new file."""

    def __init__(
        self,
        folder: Path,
        max_bytes: int = MAX_FILE_BYTES,
        on_closed: OnClosed | None = None,
        form: Form = MILESTONES,
    ) -> None:
        self.folder = folder
        self._form = form
        self._max_bytes = max_bytes
        self._on_closed = on_closed
        self._left = list(_recover(folder, form))
        self._file: _Growing | None = None

    def held(self) -> Intervals:
        """The numbers in the folder's files, including files of killed runs."""
        left = intervals((each.first, each.end - 1) for each in self._left)
        return add(held_by_closed(self.folder, self._form), left)

    def append(self, number: int, line: bytes) -> None:
        """Writes the line of a number that is greater than all numbers before."""
        file = self._file
        if file is not None and (file.end != number or file.size + len(line) > self._max_bytes):
            self._close(file)
            file = None
        if file is None:
            file = next((each for each in self._left if each.end == number), None)
            if file is not None:
                self._left.remove(file)
                if file.size + len(line) > self._max_bytes:
                    self._close(file)
                    file = None
        if file is None:
            path = growing_path(self.folder, number)
            file = _Growing(path, number, number, 0, hashlib.blake2b(digest_size=DIGEST_BYTES))
        try:
            with file.path.open("ab") as stream:
                stream.write(line)
        except OSError as error:
            # A failed write names no file.
            error.filename = str(file.path)
            raise
        file.digest.update(line)
        file.size += len(line)
        file.end = number + 1
        self._file = file

    def close(self) -> None:
        """Closes the growing file, and files that killed runs left."""
        for file in [*self._left, *([self._file] if self._file else [])]:
            self._close(file)
        self._left, self._file = [], None

    def _close(self, file: _Growing) -> None:
        path = closed_path(self.folder, file.first, file.end, self._form.suffix)
        if path.exists():
            raise ValueError(f"{path}: exists, but {file.path.name} must get this name: move the existing file away")
        sync(file.path)
        write_durably(checksum_path(path), f"{file.digest.hexdigest()}  {path.name}\n".encode())
        file.path.replace(path)
        sync(self.folder)
        if self._on_closed is not None:
            self._on_closed(path, file.first, file.end)


@contextmanager
def archive_writer(
    folder: Path,
    max_bytes: int = MAX_FILE_BYTES,
    on_closed: OnClosed | None = None,
    form: Form = MILESTONES,
) -> Iterator[ArchiveWriter]:
    """Opens a writer for a folder, and closes it if the block succeeds. Creates a missing folder. Raises FolderInUse if
    another run writes there, and ValueError if a damaged file or one of another program is in the way.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if is_new:
        sync(folder.parent)
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(f"{folder}: another run writes archive files there; wait until it ends") from None
        writer = ArchiveWriter(folder, max_bytes, on_closed, form)
        yield writer
        writer.close()
    finally:
        os.close(lock)


def held_by_closed(folder: Path, form: Form = MILESTONES) -> Intervals:
    """The numbers in a folder's closed files: from the names of files with a checksum, from the content of others.
    Raises ValueError for an unreadable file.
    """
    found: list[tuple[int, int]] = []
    for path in sorted(folder.iterdir()):
        promise = promise_of(path, form.suffix)
        if promise is None or promise.end is None:
            continue
        span = sealed_span(path, form)
        found += of_indices(_numbers_in(path, form)) if span is None else [span]
    return intervals(found)


def sealed_span(path: Path, form: Form = MILESTONES) -> tuple[int, int] | None:
    """The first and last number of a closed file, from its name. None without a checksum, because then this writer did
    not close the file.
    """
    promise = promise_of(path, form.suffix)
    if promise is None or promise.end is None or promise.first >= promise.end:
        return None
    return (promise.first, promise.end - 1) if checksum_path(path).exists() else None


def write_durably(path: Path, data: bytes) -> None:
    """Replaces a file atomically and durably. The caller must sync the folder."""
    growing = path.with_name(path.name + ".new")
    growing.write_bytes(data)
    sync(growing)
    growing.replace(path)


def sync(path: Path) -> None:
    """Returns when a file's bytes, or a folder's names, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _numbers_in(path: Path, form: Form) -> Iterator[int]:
    try:
        with open_stream(str(path), UNLIMITED) as stream:
            for _, _, line in lines(stream, UNLIMITED):
                with suppress(ValueError):
                    yield from form.numbers_of(line)
    except (OSError, EOFError) as error:
        raise ValueError(f"{path}: a file that can be read to its end expected: {error}") from error


def _recover(folder: Path, form: Form) -> Iterator[_Growing]:
    """Makes the files that killed runs left durable and yields them. Reads all of them before it changes any."""
    promises = [(path, promise_of(path)) for path in sorted(folder.glob("*.part"))]
    for file in [_whole_lines(path, promise.first, form) for path, promise in promises if promise is not None]:
        if file.size == 0:
            file.path.unlink()
            continue
        if file.size < file.path.stat().st_size:
            os.truncate(file.path, file.size)
        sync(file.path)
        yield file
    sync(folder)


def _whole_lines(path: Path, first: int, form: Form) -> _Growing:
    """The complete lines of a growing file, without its torn end. Raises ValueError for any other content."""
    file = _Growing(path, first, first, 0, hashlib.blake2b(digest_size=DIGEST_BYTES))
    torn: bytes | None = None

    def fault(number: int, found: str) -> ValueError:
        expected = f"the line of {file.end} that an earlier run wrote"
        return ValueError(f"{path}:{number}: expected {expected}, found {found}; move the file away")

    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            is_readable = _is_readable(line)
            if torn is not None:
                if is_readable or not _is_torn(torn, form):
                    raise fault(file.end - first + 1, "an unreadable line and data after it")
            elif not is_readable:
                if file.size == 0 and not _is_torn(line, form):
                    raise fault(number, "data of another program")
                torn = line
            elif not _is_line_of(line, file.end, form):
                raise fault(number, "another line")
            elif not line.endswith(b"\n"):
                torn = line
            else:
                file.digest.update(line)
                file.size += len(line)
                file.end += 1
    return file


def _is_torn(line: bytes, form: Form) -> bool:
    """Whether a crash leaves this line: the beginning of one, then its end or NUL bytes."""
    written, gap, _ = line.partition(b"\0")
    if not written:
        return not line.strip(b"\0\n")
    return (bool(gap) or not line.endswith(b"\n")) and (written.startswith(form.head) or form.head.startswith(written))


def _is_readable(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except ValueError:
        return False
    return True


def _is_line_of(line: bytes, number: int, form: Form) -> bool:
    try:
        return form.numbers_of(line) == [number]
    except ValueError:
        return False
