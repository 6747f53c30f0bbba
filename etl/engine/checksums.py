"""Checksums of a table's files: SHA-256, in hex, at the end of a file's name.

The name is in the commit, in every checkpoint and in the paths that engines read, so a checksum cannot get lost. Files
of earlier versions have none and are not checked.
"""

import json
import os
import re
import threading
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pyarrow.fs as pafs

from etl.engine.damage import FileDamaged
from etl.engine.delta_state import DataFile
from etl.engine.file_systems import file_system

BLOCK_BYTES = 4 << 20
"""Bytes that are read at once. Each thread holds one block."""

THREADS = os.cpu_count() or 1

_NAME = re.compile(r"-([0-9a-f]{64})\.parquet$")


def name_with(checksum: str) -> str:
    """Returns a new, unique file name with that checksum."""
    return f"part-{uuid.uuid4().hex[:12]}-{checksum}.parquet"


def checksum_in(path: str) -> str | None:
    """Returns the checksum in a file's name; None for a file of an earlier version."""
    found = _NAME.search(path)
    return None if found is None else found[1]


def checksum_of(system: pafs.FileSystem, path: str) -> str:
    """Returns the checksum of a file's bytes."""
    found = sha256()
    with system.open_input_stream(path, buffer_size=0) as source:
        while block := source.read(BLOCK_BYTES):
            found.update(block)
    return found.hexdigest()


def checksums_of(system: pafs.FileSystem, paths: Sequence[str]) -> list[str]:
    """Returns the checksums of files, on all cores: hashing runs without the interpreter's lock."""
    if len(paths) < 2:
        return [checksum_of(system, path) for path in paths]
    with ThreadPoolExecutor(min(THREADS, len(paths)), thread_name_prefix="checksums") as threads:
        return [*threads.map(lambda path: checksum_of(system, path), paths)]


def log_checksums(root: str, version: int) -> dict[str, str]:
    """Returns the checksums of a log's commit of that version and of its newest checkpoint, by file name. Those that do
    not exist are left out.
    """
    system = file_system(f"{root}/_delta_log")
    names = [f"{version:020}.json"]
    try:
        with system.open_input_stream("_last_checkpoint") as source:
            names.append(f"{json.loads(source.read())['version']:020}.checkpoint.parquet")
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    files = system.get_file_info(names)
    found = [name for name, each in zip(names, files, strict=True) if each.type == pafs.FileType.File]
    return {name: checksum_of(system, name) for name in found}


class VerifiedFiles:
    """The files whose bytes this process has compared with their checksum. A local file that has another time or size
    since then counts as another file.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int, int]] = {}

    def add(self, root: str, paths: Iterable[str]) -> None:
        """Adds files whose checksum is right."""
        with self._lock:
            self._known |= {f"{root}/{path}": _identity(root, path) for path in paths}

    def forget(self, root: str, paths: Iterable[str]) -> None:
        """Removes files that are no longer part of their table."""
        with self._lock:
            for path in paths:
                self._known.pop(f"{root}/{path}", None)

    def missing(self, root: str, files: Iterable[DataFile]) -> list[DataFile]:
        """Returns the files with a checksum that are not here yet."""
        with self._lock:
            return [
                each
                for each in files
                if checksum_in(each.path) and self._known.get(f"{root}/{each.path}") != _identity(root, each.path)
            ]


VERIFIED = VerifiedFiles()
"""Those of this process."""


def find_damaged(root: str, key: str | None, files: Sequence[DataFile]) -> list[FileDamaged]:
    """Compares files of the table at `root` with the checksums in their names, each once per process. Returns an error
    for each that differs or is missing. `key`: that of the table's layout.
    """
    system, wrong, right = file_system(root), list[FileDamaged](), list[str]()
    new = VERIFIED.missing(root, files)
    present = [each for each in new if system.get_file_info(each.path).type == pafs.FileType.File]
    found = dict(
        zip([each.path for each in present], checksums_of(system, [each.path for each in present]), strict=True)
    )
    for each in new:
        if each.path in found and found[each.path] == checksum_in(each.path):
            right.append(each.path)
            continue
        cause = "its bytes differ from the checksum in its name" if each.path in found else "the file is missing"
        ends = None if each.least is None or each.greatest is None else (each.least, each.greatest)
        wrong.append(FileDamaged(root, each.path, cause, key, ends))
    VERIFIED.add(root, right)
    return wrong


def check_files(root: str, key: str | None, files: Sequence[DataFile]) -> None:
    """Raises FileDamaged for the first damaged file of `find_damaged`."""
    for error in find_damaged(root, key, files):
        raise error


def _identity(root: str, path: str) -> tuple[int, int]:
    """Time and size of a local file. Files in object stores never change."""
    if "://" in root:
        return 0, 0
    try:
        status = os.stat(f"{root}/{path}")  # noqa: PTH116 (every read of the lake calls this for all its files)
    except FileNotFoundError:
        return -1, -1
    return status.st_mtime_ns, status.st_size
