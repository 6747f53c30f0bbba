"""The files of a SQLite store: generations, the CURRENT pointer, leftovers of a crash. No SQL.

Invariants:
1. A generation is never replaced, only superseded. CURRENT changes by an atomic rename.
2. Each file and folder entry is fsynced before the next step relies on it.
3. A generation has a name of its own while it is built, so a run that lost its lease shares no file with its successor.
"""

import os
import uuid
from pathlib import Path

from db.store import StoreMismatch

CURRENT = "CURRENT"
GENERATION_GLOB = "gen-*.sqlite*"


def current_generation(directory: Path) -> str | None:
    """The name of the served generation; None if the store does not exist."""
    try:
        return (directory / CURRENT).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None


def served_generation(directory: Path) -> str:
    """The name of the served generation. Raises StoreMismatch if the store does not exist."""
    current = current_generation(directory)
    if current is None:
        raise StoreMismatch(f"{directory} contains no store; create it with `permanode migrate`")
    return current


def current_stamp(directory: Path) -> tuple[int, int] | None:
    """A value that changes whenever CURRENT is replaced. Readers call this often, so it is one stat, without
    pathlib.
    """
    try:
        status = os.stat(directory / CURRENT)  # noqa: PTH116
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def next_generation(directory: Path) -> str:
    """The name after the served generation's."""
    current = current_generation(directory)
    number = int(current.removeprefix("gen-").removesuffix(".sqlite")) + 1 if current else 1
    return f"gen-{number:06}.sqlite"


def name_to_build(directory: Path) -> str:
    """A name for the next generation until it is published. Each call returns another one."""
    return f"{next_generation(directory).removesuffix('.sqlite')}-{uuid.uuid4().hex[:12]}.sqlite"


def publish(directory: Path, built: str) -> None:
    """Makes a durable generation the served one. `built`: its name until now."""
    generation = next_generation(directory)
    (directory / built).replace(directory / generation)
    pointer = directory / f"{CURRENT}.new"
    pointer.write_text(f"{generation}\n", encoding="ascii")
    fsync(pointer)
    fsync(directory)
    pointer.replace(directory / CURRENT)
    fsync(directory)


def remove_leftovers(directory: Path) -> None:
    """Removes all generations except the served one, with their side files, and a pointer that was not switched.

    Readers that still have an old generation open keep its data until they close it.
    """
    current = current_generation(directory)
    for path in directory.glob(GENERATION_GLOB):
        if current is None or not path.name.startswith(current):
            path.unlink(missing_ok=True)
    (directory / f"{CURRENT}.new").unlink(missing_ok=True)


def fsync(path: Path) -> None:
    """Waits until a file's bytes or a folder's entries are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def half_of_memory() -> int:
    """Half of the machine's memory in bytes. A smaller file is expected to stay in the page cache."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
