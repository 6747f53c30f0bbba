"""Names, ranges and the manifest of a static archive.

A file is named FOLDER/FIRST-LAST-SHA256.SUFFIX after its milestones and its bytes, and never changes. manifest.json
names the current ones and is replaced atomically.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from etl.static_client import FORMAT, MANIFEST

SMALLEST, FACTOR, LARGEST = 100, 10, 100_000
"""A file has 100 · 10^k milestones at multiples of that number, up to 100,000; fewer at both ends of the archive."""

NAME = re.compile(r"(?P<folder>[a-z]+)/(?P<first>\d+)-(?P<last>\d+)-(?P<sha256>[0-9a-f]{64})\.[a-z.]+")

MANIFEST_KEYS = {"format", "network", "first", "last", "messages", "indexes", "tables", "genesis", "listings", "log"}

PARTIAL = ".part"
COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class StoredFile:
    """A file of an archive: its milestones, its name relative to the archive, and its bytes."""

    first: int
    last: int
    name: str
    size: int


def span_of(name: str) -> tuple[int, int] | None:
    """The milestones in the name of a file; None for another name."""
    found = NAME.fullmatch(name)
    return None if found is None else (int(found["first"]), int(found["last"]))


def is_named_by(name: str, checksum: str) -> bool:
    """Whether a name has this SHA-256."""
    found = NAME.fullmatch(name)
    return found is not None and found["sha256"] == checksum


def ranges(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yields the ranges of the files of an archive of these milestones: the largest aligned ones, in order."""
    at = first
    while at <= last:
        size = LARGEST
        while size > SMALLEST and ((at % size and at != first) or _end(at, size) > last):
            size //= FACTOR
        end = min(_end(at, size), last)
        yield at, end
        at = end + 1


def _end(milestone_index: int, size: int) -> int:
    return milestone_index // size * size + size - 1


def boundary(first: int, last: int) -> int:
    """The first milestone of the second index of an archive; `first` if it has only one.

    It is the number of milestones with its two highest digits, in units of SMALLEST. So the first index is built again
    after the archive has grown by 1 to 10 %, and the second one has at most a tenth of the milestones.
    """
    units = (last + 1) // SMALLEST
    step: int = FACTOR ** max(0, len(str(units)) - 2)
    return max(first, units // step * step * SMALLEST)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a folder; None without one. Raises ValueError for another file."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{folder / MANIFEST}: the manifest of a static archive expected: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{folder / MANIFEST}: a manifest of the format {FORMAT} expected")
    return manifest


def listed_files(manifest: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the files that a manifest names, without those of the log."""
    yield from (*manifest["messages"], *manifest["indexes"])
    for files in manifest["tables"].values():
        yield from files
    if manifest.get("genesis"):
        yield manifest["genesis"]
    yield from (manifest.get("listings") or {}).get("files", ())


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Replaces the manifest atomically and durably."""
    growing = folder / f"{MANIFEST}{PARTIAL}"
    with growing.open("w") as file:
        file.write(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        file.flush()
        os.fsync(file.fileno())
    growing.replace(folder / MANIFEST)
    sync_folder(folder)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class HashingFile:
    """A file that is written once, and its SHA-256."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.size = 0
        self.named: StoredFile | None = None

    def write(self, data: bytes) -> int:
        """Appends bytes."""
        self._digest.update(data)
        self.size += len(data)
        return self._file.write(data)

    def copy(self, path: Path) -> None:
        """Appends the bytes of another file."""
        with path.open("rb") as source:
            while data := source.read(COPY_BYTES):
                self.write(data)

    @property
    def stored(self) -> StoredFile:
        """The file, once it has its name."""
        assert self.named is not None, "the block of new_file has ended"
        return self.named

    def checksum(self) -> str:
        """The SHA-256 of all bytes so far, in hex."""
        return self._digest.hexdigest()


def existing(folder: Path, kind: str, first: int, last: int) -> Iterator[StoredFile]:
    """Yields the files with these milestones whose bytes match their names, also those of killed runs."""
    for path in sorted((folder / kind).glob(f"{first}-{last}-*")):
        name = f"{kind}/{path.name}"
        if NAME.fullmatch(name) and is_named_by(name, sha256_of(path)):
            yield StoredFile(first, last, name, path.stat().st_size)


@contextmanager
def new_file(folder: Path, kind: str, first: int, last: int, suffix: str) -> Iterator[HashingFile]:
    """Yields a file to write. If the block succeeds, the file is durable, then gets its name and is `stored`."""
    (folder / kind).mkdir(exist_ok=True)
    growing = folder / kind / f"{first}-{last}{PARTIAL}"
    with _naming(growing), growing.open("wb") as stream:
        file = HashingFile(stream)
        yield file
        stream.flush()
        os.fsync(stream.fileno())
    path = folder / kind / f"{first}-{last}-{file.checksum()}.{suffix}"
    growing.replace(path)
    sync_folder(path.parent)
    file.named = StoredFile(first, last, f"{kind}/{path.name}", file.size)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Names the file in errors of writing, which name none."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def sync_folder(folder: Path) -> None:
    """Returns when the names in a folder are on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
