"""Lists archive files below paths, and names them in reports."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from etl.engine.choice import bytes_of
from etl.sources.raw_blocks import BLOCK_SUFFIX, MILESTONE_SUFFIX
from etl.sources.static_blocks import message_files

SUFFIXES = (".log", ".log.fin", ".log.active", ".part", ".jsonl", ".blocks", ".messages")
COMPRESSIONS = (".gz", ".zst")

UNPACKED = 4
"""Bytes of lines in a byte of a compressed file, about. The samples have 5.6 to 8.5 (messages), 2.1 to 2.5 (VAAs)."""


def archive_files(paths: list[Path]) -> list[Path]:
    """Lists the files below `paths`, sorted. A named file is used whatever its suffix; a directory contributes the
    files with a known suffix; a directory of raw blocks is a single file; a static archive contributes the message
    files that its manifest names, also missing ones. Links to directories are followed. Directories and links that
    cannot be read are part of the list: reading them is the reject. Raises FileNotFoundError for a missing path, and
    ValueError if there are no files.
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


def unpacked_bytes(files: Iterable[Path]) -> int:
    """Returns the bytes of archive files without their compression, about. For folders and missing files see
    `bytes_of`.
    """
    return sum(bytes_of([path]) * (UNPACKED if path.suffix in COMPRESSIONS else 1) for path in files)


def list_files(paths: Iterable[Path], taken: Callable[[Path], Path | None], otherwise: str) -> list[Path]:
    """Lists named files, and what `taken` makes of each file in a directory, sorted. For errors see `archive_files`;
    `otherwise` is the text of ValueError.
    """
    found, folders = set[Path](), list[Path]()
    for path in paths:
        if _is_directory(path):
            folders.append(path)
        elif os.path.lexists(path):
            found.add(path)
        else:
            raise FileNotFoundError(f"{shown_name(path)}: no such file or directory")
    unreadable: list[OSError] = []
    for path in _files_below(folders, unreadable.append):
        if (each := taken(path)) is not None:
            found.add(each)
        elif not path.suffix and _is_broken_link(path):
            # It may be a link to a directory.
            found.add(path)
    found |= {Path(error.filename) for error in unreadable}
    if not found:
        raise ValueError(f"{', '.join(map(shown_name, paths))}: {otherwise}")
    return sorted(found)


def _files_below(folders: Iterable[Path], onerror: Callable[[OSError], None]) -> Iterator[Path]:
    """Yields the files below directories, also behind links to directories. Each directory is read once, because links
    can form a loop, and links are followed last and by name, so a path without a link takes precedence.
    """
    seen = set[tuple[int, int]]()
    while folders:
        links: list[Path] = []
        for top in folders:
            for folder, below, names in os.walk(top, onerror=onerror):
                try:
                    status = Path(folder).stat()
                except OSError as error:
                    onerror(error)
                    below.clear()
                    continue
                if (identity := (status.st_dev, status.st_ino)) in seen:
                    below.clear()
                    continue
                seen.add(identity)
                paths = [Path(folder, name) for name in below]
                links += [path for path in paths if os.path.islink(path)]  # noqa: PTH114 (Path.is_symlink can raise)
                yield from (Path(folder, name) for name in names)
        folders = sorted(links)


def _is_broken_link(path: Path) -> bool:
    try:
        return path.is_symlink() and not path.exists()
    except OSError:
        # The target is below an unreadable directory.
        return True


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
