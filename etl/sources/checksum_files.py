"""Checksums beside input files: `NAME.b2sum` has the BLAKE2b-256 of NAME, in the format of `b2sum --check`.

A message file of a static archive has its SHA-256 in its name.

Ids prove messages, and nothing proves other values: reasons of conflicts, times, prices. A checksum shows that one of
them was changed.
"""

import hashlib
from pathlib import Path

from etl.sources.static_blocks import NAME

SUFFIX = ".b2sum"

DIGEST_BYTES = 32


def checksum_path(path: Path) -> Path:
    """The path of a file's checksum."""
    return path.with_name(path.name + SUFFIX)


def checksum_beside(path: Path) -> str:
    """The checksum in the file next to `path`, in hex. Raises FileNotFoundError without that file."""
    return checksum_path(path).read_text("utf-8", "replace").partition(" ")[0]


def find_change(path: Path) -> str:
    """How a file differs from the checksum next to it or in its name. Empty if it does not, or has no checksum. Raises
    OSError.
    """
    if (named := NAME.fullmatch(path.name)) is not None and path.is_file():
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        return "" if found == named["sha256"] else f"{named['sha256']} expected, as its name has it, found {found}"
    beside = checksum_path(path)
    if not beside.is_file() or not path.is_file():
        return ""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()
    expected = checksum_beside(path)
    return "" if found == expected else f"{expected} expected, as {beside.name} has it, found {found}"


def reject_changed(path: Path) -> None:
    """Raises ValueError for a file that differs from the checksum next to it."""
    if change := find_change(path):
        raise ValueError(f"{path}: checksum {change}")
