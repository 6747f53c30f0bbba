"""The folder of an archive: the lock of the run that writes it, and its files."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from etl.static_archive.genesis import GENESIS
from etl.static_archive.listings.publish import LISTINGS
from etl.static_archive.names import PARTIAL, listed_files, span_of

MESSAGES, INDEX, TABLE = "messages", "index", "tables"
FOLDERS = (MESSAGES, INDEX, TABLE, GENESIS, LISTINGS)


class ArchiveInUse(Exception):
    """Another run writes to the archive."""


def named_files(manifest: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yields name and bytes of each file that a manifest names, without those of the log."""
    for each in listed_files(manifest):
        yield each["name"], each["size"]


def delete_unnamed(folder: Path, manifest: dict[str, Any]) -> int:
    """Deletes the files of an archive that its manifest does not name, and those of killed runs. Returns their
    number.
    """
    named = {name for name, _ in named_files(manifest)}
    deleted = 0
    for path in folder.glob("*/*.*"):
        name = f"{path.parent.name}/{path.name}"
        is_own = path.parent.name in FOLDERS and (span_of(name) or name.endswith(PARTIAL))
        if is_own and name not in named:
            path.unlink()
            deleted += 1
    return deleted


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other runs from writing to an archive, and deletes what a killed run left in scratch folders. Raises
    ArchiveInUse.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArchiveInUse(f"{folder}: another run writes this archive; wait until it ends") from None
        for each in folder.glob(f".keys-*{PARTIAL}"):
            shutil.rmtree(each)
        yield
    finally:
        os.close(lock)
