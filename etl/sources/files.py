"""Lists archive files below paths, and names them in reports."""

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from etl.sources.raw_blocks import BLOCK_SUFFIX, MILESTONE_SUFFIX
from etl.sources.static_blocks import message_files

SUFFIXES = (".log", ".log.fin", ".log.active", ".part", ".jsonl", ".blocks", ".messages")
COMPRESSIONS = (".gz", ".zst")


def archive_files(paths: list[Path]) -> list[Path]:
    """Lists the files below `paths`, sorted. A named file is used whatever its suffix; a directory contributes the
    files with a known suffix; a directory of raw blocks is a single file; a static archive contributes the message
    files that its manifest names, also missing ones. Directories and links that cannot be read are
    part of the list: reading them is the reject. Raises FileNotFoundError for a missing path, and ValueError if there
    are no files.
    """
    kinds = ", ".join(SUFFIXES)
    named, others = set[Path](), list[Path]()
    for path in paths:
        if (files := message_files(path)) is None:
            others.append(path)
        else:
            named.update(files)
    if named and not others:
        return sorted(named)
    listed = list_files(
        others,
        _archive_of,
        f"no archive file ({kinds}, also with .gz or .zst; {BLOCK_SUFFIX}, {MILESTONE_SUFFIX})",
    )
    return sorted(named.union(listed))


def list_files(paths: Iterable[Path], taken: Callable[[Path], Path | None], otherwise: str) -> list[Path]:
    """Lists named files, and what `taken` makes of each file in a directory, sorted. For errors see `archive_files`;
    `otherwise` is the text of ValueError.
    """
    found: set[Path] = set()
    for path in paths:
        if _is_directory(path):
            unreadable: list[OSError] = []
            for folder, _, names in os.walk(path, onerror=unreadable.append):
                found |= {each for name in names if (each := taken(Path(folder, name))) is not None}
            found |= {Path(error.filename) for error in unreadable}
        elif os.path.lexists(path):
            found.add(path)
        else:
            raise FileNotFoundError(f"{shown_name(path)}: no such file or directory")
    if not found:
        raise ValueError(f"{', '.join(map(shown_name, paths))}: {otherwise}")
    return sorted(found)


def shown_name(path: Path) -> str:
    """The path as UTF-8 text. Bytes that are not UTF-8 are shown as hex."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def unreadable(path: Path) -> str | None:
    """The reason why a file or a folder cannot be read at all. None if it can."""
    if shown_name(path) != str(path):
        return "a name in UTF-8 expected"
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return fault_text(error)
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "a regular file or a directory expected"


def fault_text(error: Exception) -> str:
    """The reason why a file could not be read to its end."""
    return f"readable to its end, {type(error).__name__}: {error}"


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        # A path below an unreadable directory.
        return False


def _archive_of(path: Path) -> Path | None:
    if path.suffix in (BLOCK_SUFFIX, MILESTONE_SUFFIX):
        return path.parent
    name = path.name
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return path if name.endswith(SUFFIXES) else None
