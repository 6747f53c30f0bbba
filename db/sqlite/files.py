"""The files of a SQLite store: generations, the CURRENT pointer, what a crash left behind. No SQL.

Rules of this file: a generation is never replaced, only superseded; CURRENT changes by an atomic rename; every file
and folder entry that matters is fsynced before the next step relies on it.
"""

import os
from pathlib import Path

CURRENT = "CURRENT"
GENERATION_GLOB = "gen-*.sqlite*"


def current_generation(directory: Path) -> str | None:
    """The name of the generation that is served; None when the store was never created."""
    try:
        return (directory / CURRENT).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None


def current_stamp(directory: Path) -> tuple[int, int] | None:
    """Changes whenever CURRENT is replaced; one stat, by the cheaper of two ways as readers do it often."""
    try:
        status = os.stat(directory / CURRENT)  # noqa: PTH116
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def next_generation(directory: Path) -> str:
    """The name after the served one."""
    current = current_generation(directory)
    number = int(current.removeprefix("gen-").removesuffix(".sqlite")) + 1 if current else 1
    return f"gen-{number:06}.sqlite"


def fsync_generation(directory: Path, generation: str) -> None:
    """Makes a finished generation durable; the long part of a publication."""
    fsync(directory / generation)


def publish(directory: Path, generation: str) -> None:
    """Makes a durable generation the served one."""
    pointer = directory / f"{CURRENT}.new"
    pointer.write_text(f"{generation}\n", encoding="ascii")
    fsync(pointer)
    fsync(directory)
    pointer.replace(directory / CURRENT)
    fsync(directory)


def remove_leftovers(directory: Path) -> None:
    """Removes every generation but the served one, with its side files, and a pointer that was never switched.

    Readers that still hold an old generation open keep their bytes until they let go.
    """
    current = current_generation(directory)
    for path in directory.glob(GENERATION_GLOB):
        if current is None or not path.name.startswith(current):
            path.unlink(missing_ok=True)
    (directory / f"{CURRENT}.new").unlink(missing_ok=True)


def fsync(path: Path) -> None:
    """Waits until the bytes of a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def half_of_memory() -> int:
    """Bytes: a file smaller than this is expected to stay in the page cache."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
