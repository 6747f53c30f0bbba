"""The sources of `permanode load`: copies the files of static archives from URLs, and opens their logs.

A run that was interrupted continues at the byte where it stopped. Each file is compared with the checksum in its name.
One that differs is copied once more; if it differs again, it stays, and the load rejects it with its name.
"""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from etl.report import Notify, Progress, quiet
from etl.sources.static_blocks import NAME, message_files
from etl.static_archive.archived_log import ArchivedLog
from etl.static_archive.names import PARTIAL, is_named_by, sha256_of
from etl.static_client import Archive, HttpReader, MissingFile, open_archive
from ledger.transparency.errors import LogError
from ledger.transparency.keys import VerifierKey

CHUNK_BYTES = 1 << 20

TRIES = 2


SCHEMES = ("http://", "https://")


@dataclass(frozen=True)
class Sources:
    """The sources of a load.

    Attributes:
        files: archive files and folders.
        genesis: that of a static archive, if one has it and the load begins with its first milestones.
        logs: of the static archives, with verified signatures. Empty if no keys were given.
    """

    files: list[Path] = field(default_factory=list)
    genesis: Path | None = None
    logs: list[ArchivedLog] = field(default_factory=list)


@contextmanager
def local_sources(
    sources: Sequence[str],
    folder: Path,
    first: int | None,
    last: int | None,
    keys: Sequence[VerifierKey] = (),
    notify: Notify = quiet,
    *,
    wants_genesis: bool = True,
) -> Iterator[Sources]:
    """Yields the sources of a load, with copies in `folder` of the files of archives at URLs. The copies are deleted if
    the block succeeds; otherwise the next run continues with them.

    `keys`: one of them must have signed the log of each static archive. `wants_genesis`: find the genesis of the first
    archive that has one.

    Raises ArchiveError for an invalid manifest, ValueError for a damaged genesis, and LogError if no key has signed a
    log, or its tiles lead to another root.
    """
    paths, genesis, logs, copied = list[Path](), list[Path](), list[ArchivedLog](), list[Path]()
    for each in sources:
        is_url = each.startswith(SCHEMES)
        if not is_url and message_files(Path(each)) is None:
            paths.append(Path(each))
            continue
        archive = open_archive(each)
        if keys:
            logs.append(_log_of(each, archive, keys))
        into = Path(each)
        if is_url:
            copied.append(into := folder / hashlib.sha256(each.encode()).hexdigest()[:16])
            paths += download(archive, each, into, first=first, last=last, notify=notify)
        else:
            paths.append(into)
        file = archive.manifest.get("genesis")
        if wants_genesis and file and (first is None or first <= file["first"] + 1):
            genesis.append(_fetch(HttpReader(each), file, into) if is_url else into / file["name"])
    yield Sources(paths, genesis[0] if genesis else None, logs)
    for copy in copied:
        shutil.rmtree(copy)
    if copied:
        with suppress(OSError):
            # Not empty while another load copies.
            folder.rmdir()


def _log_of(place: str, archive: Archive, keys: Sequence[VerifierKey]) -> ArchivedLog:
    log = ArchivedLog.of(archive.reader, archive.manifest)
    if log is None or log.network != archive.manifest["network"]:
        raise LogError(f"{place}: an archive with a signed log expected")
    try:
        log.check_signature(keys)
    except LogError as error:
        raise LogError(f"{place}: {error}") from error
    return log


def _fetch(reader: HttpReader, file: dict[str, Any], into: Path) -> Path:
    """Copies a file of an archive, unless it is there already. Raises ValueError if its bytes differ from its name."""
    path = into / Path(file["name"]).name
    for _ in range(TRIES):
        if path.is_file() and is_named_by(file["name"], sha256_of(path)):
            return path
        _copy(reader, file, path)
    if path.is_file() and is_named_by(file["name"], sha256_of(path)):
        return path
    raise ValueError(f"{reader.url}/{file['name']}: other bytes than the checksum in its name")


def download(
    archive: Archive, url: str, into: Path, *, first: int | None = None, last: int | None = None, notify: Notify = quiet
) -> list[Path]:
    """Copies the message files with milestones of [first, last) of an archive at a URL. Returns their paths.

    A file that the server does not have is missing at its path, and the load rejects it. Raises OSError if the server
    cannot be reached.
    """
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
