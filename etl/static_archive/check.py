"""`permanode publish --check`: verifies a static archive from its own files, without a lake.

Compares each file with the checksum in its name, decodes all messages, looks up each of their ids in the indexes, and
compares the tables with them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from etl.report import Notify, Progress, quiet
from etl.sources.genesis_table import read_head, read_outputs
from etl.static_archive.archived_log import ArchivedLog
from etl.static_archive.index import coefficients
from etl.static_archive.ledger_rows import COLUMNS as LEDGER_TABLES
from etl.static_archive.ledger_rows import LedgerSums
from etl.static_archive.listings.check import fault_of_file, fault_of_listings
from etl.static_archive.names import (
    MANIFEST_KEYS,
    boundary,
    is_named_by,
    listed_files,
    ranges,
    read_manifest,
    sha256_of,
    span_of,
)
from etl.static_archive.published_log import LOG
from etl.static_archive.records import NamedRecord, named_records
from etl.static_client import ENTRY_BYTES, MANIFEST, UNIT, ArchiveError, FolderReader, Index
from ledger.crypto.log_tree import leaf_hash, tree_root
from ledger.reader import CodecError
from ledger.transparency.keys import VerifierKey
from ledger.transparency.logged_records import LoggedRecords


@dataclass(frozen=True)
class Fault:
    """What is wrong with a file of an archive. `file`: its name relative to the archive."""

    file: str
    cause: str


def check(folder: Path, notify: Notify = quiet, keys: Sequence[VerifierKey] = ()) -> Iterator[Fault]:
    """Yields what is wrong with an archive. Raises FileNotFoundError if the folder has no manifest.

    `keys`: one of them must have signed the log. Default: the one that the archive states.
    """
    try:
        manifest = read_manifest(folder)
    except ValueError as error:
        yield Fault(MANIFEST, str(error))
        return
    if manifest is None:
        raise FileNotFoundError(f"{folder / MANIFEST}: no such file")
    if fault := _fault_of_manifest(manifest):
        yield Fault(MANIFEST, fault)
        return
    damaged = set[str]()
    files = [*listed_files(manifest)]
    total, done = sum(each["size"] for each in files), 0
    for each in files:
        if cause := _fault_of_file(folder, each):
            damaged.add(each["name"])
            yield Fault(each["name"], cause)
        done += each["size"]
        notify(Progress("checksums", done, total, "bytes"))
    log = None
    try:
        log = ArchivedLog.of(FolderReader(folder), manifest)
        if log is not None:
            log.check_signature(keys)
            log_faults = [Fault(*each) for each in log.faults()]
            yield from log_faults
            log = None if log_faults else log
    except (OSError, ValueError) as error:
        yield Fault(f"{LOG}/checkpoint", str(error))
        log = None
    yield from _Content(folder, manifest, damaged, notify, log).faults()


def _fault_of_manifest(manifest: Mapping[str, Any]) -> str:
    """Why a manifest is not that of its milestones. Empty if it is."""
    try:
        if manifest.keys() != MANIFEST_KEYS:
            return f"the keys {', '.join(sorted(MANIFEST_KEYS))} expected"
        first, last = manifest["first"], manifest["last"]
        expected, middle = [*ranges(first, last)], boundary(first, last)
        spans = [each for each in ((first, middle - 1), (middle, last)) if each[0] <= each[1]]
        start = 0
        for each in manifest["messages"]:
            if each["start"] != start:
                return f"{each['name']}: start {start} expected, found {each['start']}"
            start += each["size"]
        lists = {"messages": (manifest["messages"], expected), "indexes": (manifest["indexes"], spans)}
        lists |= {table: (files, expected) for table, files in manifest["tables"].items()}
        for name, (files, wanted) in lists.items():
            if [(each["first"], each["last"]) for each in files] != wanted:
                return f"{name}: the files of milestones {wanted} expected"
        for each in manifest["indexes"]:
            Index.of(each)
        if (manifest["listings"] is not None or manifest["genesis"] is not None) and not _fits(manifest):
            return "listings of the log, and the genesis before the first milestone, expected"
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return f"the manifest of an archive expected, {error!r}"
    return ""


def _fits(manifest: Mapping[str, Any]) -> bool:
    """Whether listings and genesis are about milestones of the archive."""
    listings, genesis = manifest["listings"], manifest["genesis"]
    if genesis is not None and not genesis["first"] == genesis["last"] <= manifest["last"]:
        return False
    return listings is None or bool(
        manifest["log"] is not None and manifest["first"] <= listings["first"] and listings["end"] <= manifest["last"]
    )


def _fault_of_file(folder: Path, file: Mapping[str, Any]) -> str:
    path = folder / file["name"]
    if span_of(file["name"]) != (file["first"], file["last"]):
        return f"a name with the milestones {file['first']}-{file['last']} and a checksum expected"
    try:
        if not path.is_file():
            return "the file is missing"
        if path.stat().st_size != file["size"]:
            return f"{file['size']} bytes expected, found {path.stat().st_size}"
        if not is_named_by(file["name"], sha256_of(path)):
            return "its bytes differ from the checksum in its name"
    except OSError as error:
        return f"the file is not readable: {error.strerror}"
    return ""


class _Content:
    """The content of files whose checksum is right."""

    def __init__(
        self, folder: Path, manifest: Mapping[str, Any], damaged: set[str], notify: Notify, log: ArchivedLog | None
    ) -> None:
        self._folder, self._manifest, self._damaged, self._notify = folder, manifest, damaged, notify
        self._log = log
        self._logged = None if log is None else LoggedRecords(log.head, log.bundle)
        self._indexes: list[tuple[Mapping[str, Any], Index, bytes]] = []

    def faults(self) -> Iterator[Fault]:
        yield from self._check_indexes()
        tables = {
            name: {(each["first"], each["last"]): each for each in files}
            for name, files in self._manifest["tables"].items()
        }
        total, done = sum(each["records"] for each in self._manifest["messages"]), 0
        for each in self._manifest["messages"]:
            if each["name"] not in self._damaged:
                ids, sums = list[bytes](), LedgerSums()
                try:
                    yield from self._check_messages(each, ids, sums)
                except (ArchiveError, OSError) as error:
                    yield Fault(each["name"], str(error))
                else:
                    span = each["first"], each["last"]
                    yield from self._check_table(tables.get("messages", {}).get(span), ids)
                    for name in LEDGER_TABLES:
                        yield from self._check_ledger(name, tables.get(name, {}).get(span), sums)
            done += each["records"]
            self._notify(Progress("messages", done, total, "messages"))
        yield from self._check_rows()
        yield from self._check_listings()
        yield from self._check_genesis()

    def _check_indexes(self) -> Iterator[Fault]:
        for each in self._manifest["indexes"]:
            if each["name"] in self._damaged:
                continue
            data = (self._folder / each["name"]).read_bytes()
            entries = sum(any(data[at : at + ENTRY_BYTES]) for at in range(0, len(data), ENTRY_BYTES))
            if entries != each["keys"]:
                yield Fault(each["name"], f"{each['keys']} entries expected, found {entries}")
            self._indexes.append((each, Index.of(each), data))

    def _check_messages(self, file: Mapping[str, Any], ids: list[bytes], sums: LedgerSums) -> Iterator[Fault]:
        """Reads a message file. Adds the ids of its messages to `ids`, and rows that follow from them to `sums`."""
        name, expected, count, position = file["name"], file["first"], 0, 0
        last_keys, cone = list[bytes](), list[bytes]()
        for at, named in named_records(self._folder / name):
            record = named.record
            count += 1
            if record.milestone_index != expected:
                expected, position = expected + 1, 0
                yield from self._check_milestone(name, expected - 1, last_keys, cone)
                cone = []
            last_keys = [*named.keys]
            if record.milestone_index != expected or record.position != position:
                yield Fault(name, f"record {position} of milestone {expected} expected at byte {at}")
                return
            position += 1
            if not named.keys:
                yield Fault(name, f"milestone {record.milestone_index}: a readable message expected at byte {at}")
            if named.message_id is not None:
                ids.append(named.message_id)
                cone.append(named.message_id)
            try:
                sums.add(named)
            except CodecError as error:
                yield Fault(name, f"milestone {record.milestone_index}: a payload expected at byte {at}: {error}")
            yield from self._look_up(named, file["start"] + at)
        yield from self._check_milestone(name, expected, last_keys, cone)
        if expected != file["last"] or count != file["records"]:
            yield Fault(name, f"{file['records']} records up to milestone {file['last']} expected")

    def _check_milestone(self, name: str, index: int, last_keys: list[bytes], cone: list[bytes]) -> Iterator[Fault]:
        """Compares a milestone with the coefficients of indexes and with the log. The last record of a milestone has
        the ids of the milestone. `cone`: the ids of its messages.
        """
        yield from self._check_words(index, last_keys)
        if self._logged is None or not self._logged.first <= index <= self._logged.last:
            return
        record = self._logged.record(index)
        found = (last_keys[0] if last_keys else b"", len(cone), tree_root([leaf_hash(each) for each in cone]))
        if found != (record.milestone_id, record.message_count, record.messages_root):
            yield Fault(name, f"milestone {index}: other messages than in the signed log")

    def _check_words(self, milestone_index: int, keys: list[bytes]) -> Iterator[Fault]:
        """Compares the coefficients of an index with those that the id of its last milestone gives. The last record of
        a milestone has that id as its last key.
        """
        for value, index, _ in self._indexes:
            if value["last"] == milestone_index and keys:
                words = coefficients(self._manifest["network"], keys[-1])
                if (*index.places, *index.prints) != tuple(words):
                    yield Fault(index.name, f"coefficients of milestone {milestone_index} expected")

    def _look_up(self, named: NamedRecord, start: int) -> Iterator[Fault]:
        record = named.record
        for value, index, data in self._indexes:
            if not value["first"] <= record.milestone_index <= value["last"]:
                continue
            for key in named.keys:
                at = index.place(key) * ENTRY_BYTES
                window = data[at : at + (index.reach + 1) * ENTRY_BYTES]
                found = [position for position, *_ in index.find(key, window)]
                is_other = key != named.message_id and record.inclusion_state == 2
                if start // UNIT * UNIT not in found and not (is_other and found):
                    yield Fault(index.name, f"no entry of {key.hex()} in milestone {record.milestone_index}")

    def _check_table(self, file: Mapping[str, Any] | None, ids: list[bytes]) -> Iterator[Fault]:
        if file is None or file["name"] in self._damaged:
            return
        with suppress(pa.ArrowException):
            if pq.read_table(self._folder / file["name"], columns=["message_id"])[0].to_pylist() == sorted(ids):
                return
        yield Fault(file["name"], f"the ids of the {len(ids)} messages of these milestones expected")

    def _check_ledger(self, name: str, file: Mapping[str, Any] | None, sums: LedgerSums) -> Iterator[Fault]:
        if file is None or file["name"] in self._damaged:
            return
        with suppress(pa.ArrowException):
            if sums.are_of(name, self._folder / file["name"]):
                return
        yield Fault(file["name"], "the rows that follow from the messages of these milestones expected")

    def _check_rows(self) -> Iterator[Fault]:
        for files in self._manifest["tables"].values():
            for each in files:
                if each["name"] in self._damaged:
                    continue
                try:
                    rows = pq.read_metadata(self._folder / each["name"]).num_rows
                except (pa.ArrowException, OSError) as error:
                    yield Fault(each["name"], f"a readable Parquet file expected: {error}")
                    continue
                if rows != each["rows"]:
                    yield Fault(each["name"], f"{each['rows']} rows expected, found {rows}")

    def _check_listings(self) -> Iterator[Fault]:
        listings = self._manifest["listings"]
        if listings is None or self._log is None:
            return
        if fault := fault_of_listings(listings, self._log.head):
            yield Fault(MANIFEST, fault)
            return
        for at, each in enumerate(listings["files"]):
            if each["name"] not in self._damaged and (fault := fault_of_file(self._folder / each["name"], each)):
                yield Fault(each["name"], fault)
            self._notify(Progress("listings", at + 1, len(listings["files"]), "files"))

    def _check_genesis(self) -> Iterator[Fault]:
        file = self._manifest["genesis"]
        if file is None or file["name"] in self._damaged:
            return
        try:
            head = read_head(self._folder / file["name"])
            rows = sum(1 for _ in read_outputs(self._folder / file["name"])) + (head.treasury is not None)
        except ValueError as error:
            yield Fault(file["name"], str(error))
            return
        if (head.ledger_index, rows) != (file["first"], file["rows"]):
            yield Fault(file["name"], f"{file['rows']} outputs after milestone {file['first']} expected")
