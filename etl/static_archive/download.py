"""Copies the message files of a static archive from a URL to a folder, for `permanode load URL`.

A run that was interrupted continues at the byte where it stopped. Each file is compared with the checksum in its name.
One that differs is copied once more; if it differs again, it stays, and the load rejects it with its name.
"""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from etl.report import Notify, Progress, quiet
from etl.sources.static_blocks import NAME
from etl.static_archive.names import PARTIAL, sha256_of
from etl.static_client import HttpReader, MissingFile, open_archive

CHUNK_BYTES = 1 << 20

TRIES = 2


SCHEMES = ("http://", "https://")


@contextmanager
def local_files(
    sources: Sequence[str], folder: Path, first: int | None, last: int | None, notify: Notify = quiet
) -> Iterator[list[Path]]:
    """Yields the paths of the sources of a load, with copies in `folder` of the files of archives at URLs. The copies
    are deleted if the block succeeds; otherwise the next run continues with them.
    """
    paths, copied = list[Path](), list[Path]()
    for each in sources:
        if each.startswith(SCHEMES):
            copied.append(folder / hashlib.sha256(each.encode()).hexdigest()[:16])
            paths += download(each, copied[-1], first=first, last=last, notify=notify)
        else:
            paths.append(Path(each))
    yield paths
    for copy in copied:
        shutil.rmtree(copy)
    if copied:
        with suppress(OSError):
            # Not empty while another load copies.
            folder.rmdir()


def download(
    url: str, into: Path, *, first: int | None = None, last: int | None = None, notify: Notify = quiet
) -> list[Path]:
    """Copies the message files with milestones of [first, last). Returns their paths.

    A file that the server does not have is missing at its path, and the load rejects it. Raises OSError if the server
    cannot be reached, and ArchiveError for an invalid manifest.
    """
    archive = open_archive(url)
    reader = HttpReader(url)
    wanted = [
        each
        for each in archive.manifest["messages"]
        if (first is None or each["last"] >= first) and (last is None or each["first"] < last)
    ]
    into.mkdir(parents=True, exist_ok=True)
    total, paths = sum(each["size"] for each in wanted), list[Path]()
    for each in wanted:
        path = into / Path(each["name"]).name
        if NAME.fullmatch(path.name) is None:
            raise ValueError(f"{url}: {each['name']}: the name of a message file expected")
        for _ in range(TRIES):
            if path.is_file() and path.stat().st_size == each["size"] and _is_right(path):
                break
            _copy(reader, each, path)
        paths.append(path)
        notify(Progress("download", sum(each["size"] for each in wanted[: len(paths)]), total, "bytes"))
    return paths


def _is_right(path: Path) -> bool:
    found = NAME.fullmatch(path.name)
    return found is not None and sha256_of(path) == found["sha256"]


def _copy(reader: HttpReader, file: dict[str, Any], path: Path) -> None:
    growing = path.with_name(path.name + PARTIAL)
    path.unlink(missing_ok=True)
    with growing.open("ab") as target:
        while (held := target.tell()) < file["size"]:
            try:
                data = reader.part(file["name"], held, min(CHUNK_BYTES, file["size"] - held))
            except MissingFile:
                growing.unlink()
                return
            if not data:
                break
            target.write(data)
    growing.replace(path)
