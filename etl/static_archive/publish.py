"""`permanode publish`: writes the complete milestones of a lake as a static archive, or continues one.

Message files are slices of one stream of blocks by milestone, so a new file consists of the files that it replaces and
of the milestones after them. Nothing but the manifest refers to a file, so a killed run leaves files that the next run
takes or writes again, and readers see the archive before it or after it.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from db.connect import GENESIS_PARAMETERS
from db.coverage import KEPT
from db.intervals import in_words
from etl.lake.reader import LakeReader
from etl.report import Notify, Progress, quiet
from etl.static_archive.blocks import BlockWriter, block_table
from etl.static_archive.conflict_reasons import ConflictReasons
from etl.static_archive.folder import INDEX, MESSAGES, TABLE, delete_unnamed, locked, named_files
from etl.static_archive.genesis import GENESIS, write_genesis
from etl.static_archive.index import IndexBuilder, coefficients
from etl.static_archive.keys import KeyReader
from etl.static_archive.lake_records import read_records
from etl.static_archive.listings.publish import ListingWriter
from etl.static_archive.names import (
    PARTIAL,
    HashingFile,
    StoredFile,
    boundary,
    existing,
    new_file,
    ranges,
    read_manifest,
    write_manifest,
)
from etl.static_archive.published_log import PublishedLog, delete_partial
from etl.static_archive.tables import TABLES, write_tables
from etl.static_client import FORMAT, UNIT
from etl.store_reads import StoreReads
from ledger.completeness.intervals import complete_to

REPORTED_EVERY = 100

KEYS_A_RECORD = 2
"""The most keys of most records: its own id and that of its transaction."""


@dataclass
class Published:
    """Result of a run.

    Attributes:
        first: the first milestone of the archive.
        last: its last milestone.
        written: the names of new files.
        bytes_written: their bytes.
        keys: the keys of the indexes.
        deleted: the number of files that no manifest names, if they were to be deleted.
        log_files: the number of new files of the log.
        missing: intervals of complete milestones of the lake after a gap, which are not in the archive.
    """

    first: int
    last: int
    written: list[str] = field(default_factory=list)
    bytes_written: int = 0
    keys: int = 0
    deleted: int = 0
    log_files: int = 0
    missing: str = ""

    def add(self, file: StoredFile) -> None:
        """Counts a new file."""
        self.written.append(file.name)
        self.bytes_written += file.size


def publish(
    root: str,
    reads: StoreReads,
    folder: Path,
    *,
    last: int | None = None,
    prune: bool = False,
    notify: Notify = quiet,
) -> Published:
    """Writes the complete milestones of the lake at `root` before the first gap to an archive. `reads`: of its store.

    If the store has a ledger state, the archive ends where that ends, and has its genesis and its reasons of conflicts.
    Otherwise it has the reasons that the loaded files claim. Files of the archive with other reasons are written again.
    If the store has a signed log, the archive ends with its last milestone, and has the log and the listings that it
    proves.

    `last`: the milestone after the last one. `prune`: finally deletes files that the manifest does not name. Raises
    ArchiveInUse, FileDamaged for a damaged file of the lake, and ValueError if the folder has an archive of another
    network, the lake has no complete milestone, or the store keeps a selection.
    """
    if reads.info(KEPT) is not None:
        raise ValueError("a store with all messages of its milestones expected; this one keeps a selection")
    with locked(folder):
        manifest = read_manifest(folder)
        if manifest is not None and manifest["network"] != reads.network:
            raise ValueError(f"{folder}: an archive of {reads.network} expected, found one of {manifest['network']}")
        return _Run(LakeReader(root), reads, folder, manifest or {}, notify).publish(last, prune=prune)


class _Run:
    def __init__(
        self, lake: LakeReader, reads: StoreReads, folder: Path, manifest: dict[str, Any], notify: Notify
    ) -> None:
        self._lake, self._reads, self._folder, self._before = lake, reads, folder, manifest
        self._notify = notify
        self._ledger_index = reads.ledger_index()
        self._reasons = ConflictReasons(lake, reads, of_ledger=self._ledger_index is not None)
        # The manifest names a genesis if the store had a ledger state.
        self._has_same_reasons = (manifest.get("genesis") is not None) == self._reasons.of_ledger
        self._named = {name for name, _ in named_files(manifest)} if manifest else set()

    def publish(self, last: int | None, *, prune: bool) -> Published:
        complete = self._lake.complete()
        if not complete:
            raise ValueError("complete milestones in the lake expected")
        first, end = complete[0]
        end = end if last is None else min(end, last - 1)
        end = end if self._ledger_index is None else min(end, self._ledger_index)
        log = PublishedLog.find(self._reads)
        end = end if log is None else min(end, log.last)
        if end < first:
            raise ValueError(f"milestones from {first} on expected")
        held = self._before.get("first", first), self._before.get("last", end)
        if held[0] < first or held[1] > end:
            raise ValueError(
                f"{self._folder}: the archive has milestones {held[0]} to {held[1]}, and the lake has {first} to {end} "
                "before its first gap"
            )
        done = Published(first, end, missing=in_words(complete[1:]) if complete[1:] else "")
        messages = self._messages(done)
        manifest = {
            "format": FORMAT,
            "network": self._reads.network,
            "first": first,
            "last": end,
            "messages": messages,
            "indexes": self._indexes(done, messages),
            "tables": self._tables(done),
            "genesis": self._genesis(done),
            "listings": self._listings(done, log),
            "log": None,
        }
        if log is not None:
            done.log_files = log.write(self._folder, self._notify)
            manifest["log"] = {"checkpoint": log.checkpoint.decode(), "verifier": log.verifier}
        if manifest != self._before:
            write_manifest(self._folder, manifest)
        if prune:
            done.deleted = delete_unnamed(self._folder, manifest)
            done.deleted += 0 if log is None else delete_partial(self._folder, log.head.size)
        return done

    def _genesis(self, done: Published) -> dict[str, Any] | None:
        rows = self._lake.genesis()
        if self._ledger_index is None or not rows.num_rows:
            return None
        index = rows["milestone_index"][0].as_py()
        held = self._before.get("genesis")
        if held is not None and held["first"] == index:
            return dict(held)
        with new_file(self._folder, GENESIS, index, index, "genesis.parquet") as file:
            write_genesis(file, rows, self._lake.coordinator_keys(index + 1), self._reads.info(GENESIS_PARAMETERS))
        done.add(file.stored)
        return asdict(file.stored) | {"rows": rows.num_rows}

    def _listings(self, done: Published, log: PublishedLog | None) -> dict[str, Any] | None:
        """The listings up to the end of the archive, if the store has the trees that end there."""
        if log is None or complete_to(log.first, log.last) != complete_to(log.first, max(log.first, done.last)):
            return None
        writer = ListingWriter(self._lake, self._reads, self._folder, log, self._notify)
        found = writer.write(self._before.get("listings"))
        for each in writer.written:
            done.add(each)
        return found

    def _held(self, kind: str) -> dict[tuple[int, int], dict[str, Any]]:
        """The files of the manifest by their milestones, if the archive begins with the same milestone."""
        return {(each["first"], each["last"]): each for each in self._before.get(kind, ())}

    def _messages(self, done: Published) -> list[dict[str, Any]]:
        held = self._held("messages") if self._has_same_reasons else {}
        files, start, records = list[dict[str, Any]](), 0, 0
        for first, last in ranges(done.first, done.last):
            value = held.get((first, last))
            if value is None:
                found = self._existing_messages(first, last)
                if found is None:
                    with new_file(self._folder, MESSAGES, first, last, "messages.zst") as file:
                        self._write(file, _parts_of(held, first, last), first, last, done)
                    found = file.stored
                self._note(done, found)
                with (self._folder / found.name).open("rb") as stream:
                    counts = block_table(stream, found.size).counts
                value = asdict(found) | {"records": int(counts.sum())}
            files.append(value | {"start": start})
            start, records = start + value["size"], records + value["records"]
        return files

    def _existing_messages(self, first: int, last: int) -> StoredFile | None:
        """A message file of the folder that has what this run would write."""
        for each in existing(self._folder, MESSAGES, first, last):
            if self._reasons.are_in(self._folder / each.name, first, last):
                return each
        return None

    def _note(self, done: Published, file: StoredFile) -> None:
        """Counts a file that the manifest did not name before."""
        if file.name not in self._named:
            done.add(file)

    def _write(self, file: HashingFile, parts: list[dict[str, Any]], first: int, last: int, done: Published) -> None:
        for each in parts:
            file.copy(self._folder / each["name"])
            first = each["last"] + 1
        if first > last:
            return
        writer = BlockWriter()
        for at, records in enumerate(read_records(self._lake, first, last)):
            for block in writer.milestone(self._reasons.in_records(records)):
                file.write(block)
            if at % REPORTED_EVERY == 0:
                self._notify(Progress("messages", first + at - done.first, done.last - done.first + 1, "milestones"))

    def _indexes(self, done: Published, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        middle = boundary(done.first, done.last)
        spans = [(done.first, middle - 1), (middle, done.last)]
        held = self._held("indexes") if self._before.get("first") == done.first else {}
        made = []
        for span in spans:
            if span[0] > span[1]:
                continue
            value = held.get(span)
            if value is None or not self._points_to(messages, span):
                value = self._index(done, span, messages)
            done.keys += value["keys"]
            made.append(value)
        return made

    def _points_to(self, messages: list[dict[str, Any]], span: tuple[int, int]) -> bool:
        """Whether the index of these milestones points to blocks of these message files."""
        own = [each for each in messages if span[0] <= each["first"] <= span[1]]
        return self._has_same_reasons or all(each in self._before["messages"] for each in own)

    def _index(self, done: Published, span: tuple[int, int], messages: list[dict[str, Any]]) -> dict[str, Any]:
        own = [each for each in messages if span[0] <= each["first"] <= span[1]]
        words = coefficients(self._reads.network, self._lake.milestone_id(span[1]))
        with TemporaryDirectory(dir=self._folder, prefix=".keys-", suffix=PARTIAL) as scratch:
            total, seen = sum(each["records"] for each in own), 0
            builder = IndexBuilder(Path(scratch), words, KEYS_A_RECORD * total)
            for each in own:
                with (self._folder / each["name"]).open("rb") as stream:
                    table = block_table(stream, each["size"])
                for keys in KeyReader(self._lake, each["first"], each["last"], table, each["start"] // UNIT):
                    builder.add(*keys)
                seen += each["records"]
                self._notify(Progress("index", seen, total, "messages"))
            with new_file(self._folder, INDEX, *span, "index") as file:
                built = builder.write(file)
        self._note(done, file.stored)
        return asdict(file.stored) | asdict(built) | {"coefficients": [f"{word:016x}" for word in words]}

    def _tables(self, done: Published) -> dict[str, list[dict[str, Any]]]:
        held: dict[str, dict[tuple[int, int], dict[str, Any]]] = {
            table: {(each["first"], each["last"]): each for each in files}
            for table, files in self._before.get("tables", {}).items()
        }
        if not self._has_same_reasons:
            held.pop("messages", None)
        made: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
        for span in ranges(done.first, done.last):
            for table in TABLES:
                if (value := held.get(table, {}).get(span)) is not None:
                    made[table].append(value)
            if all(files and files[-1]["last"] == span[1] for files in made.values()):
                continue
            for table, write in write_tables(self._lake, *span, self._reasons):
                with new_file(self._folder, TABLE, *span, f"{table}.parquet") as file:
                    rows = write(file)
                self._note(done, file.stored)
                made[table] = [each for each in made[table] if each["last"] < span[0]]
                made[table].append(asdict(file.stored) | {"rows": rows})
            self._notify(Progress("tables", span[1] - done.first + 1, done.last - done.first + 1, "milestones"))
        return made


def _parts_of(held: dict[tuple[int, int], dict[str, Any]], first: int, last: int) -> list[dict[str, Any]]:
    """The files of an archive that begin a file of these milestones, in order."""
    parts: list[dict[str, Any]] = []
    by_first = {begin: each for (begin, end), each in held.items() if end <= last}
    while first in by_first:
        parts.append(by_first[first])
        first = parts[-1]["last"] + 1
    return parts
