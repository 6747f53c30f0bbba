"""Writes the files of the intervals that cover the milestones of a signed log, and where the log proves them."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from db import schema
from db.partitions import ms_range_id
from etl.completeness.rows import listing_rows
from etl.completeness.updates import update_rows, updates_of
from etl.lake.reader import STEP, LakeReader
from etl.report import Notify, Progress
from etl.static_archive.listings.interval_file import find_root, write_interval
from etl.static_archive.listings.sorting import sorted_rows
from etl.static_archive.names import PARTIAL, StoredFile, existing, new_file
from etl.static_archive.published_log import PublishedLog
from etl.store_reads import StoreReads
from ledger.completeness.intervals import Interval, complete_to, cover, log_place_of_cover

LISTINGS = "listings"


class ListingWriter:
    """Writes the listings of an archive.

    Args:
        lake: the lake.
        reads: of its store.
        folder: the archive.
        log: its signed log.
        notify: receives the progress.
    """

    def __init__(self, lake: LakeReader, reads: StoreReads, folder: Path, log: PublishedLog, notify: Notify) -> None:
        self._lake, self._reads, self._folder, self._log, self._notify = lake, reads, folder, log, notify
        self.written: list[StoredFile] = []

    def write(self, before: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Writes the files that an archive does not have, and returns `listings` of its manifest; None without a
        complete interval. `before`: that of the old manifest.

        Raises ValueError if rows of the lake differ from the trees, or the store has no trees up to that end.
        """
        first = self._log.first
        end = complete_to(first, self._log.last)
        if end is None:
            return None
        held = {(each["first"], each["last"]): each for each in (before or {}).get("files", ())}
        files, intervals = list[dict[str, Any]](), cover(first, end)
        for at, interval in enumerate(intervals):
            value = held.get((interval.start, interval.end))
            files.append(self._file(interval) if value is None else value)
            self._notify(Progress("listings", at + 1, len(intervals), "intervals"))
        path = self._log.prove(log_place_of_cover(first, end))
        return {"first": first, "end": end, "log_path": b64encode(b"".join(path)).decode(), "files": files}

    def _file(self, interval: Interval) -> dict[str, Any]:
        keys, root = self._record(interval)
        found = next(existing(self._folder, LISTINGS, interval.start, interval.end), None)
        if found is None:
            with (
                TemporaryDirectory(dir=self._folder, prefix=".keys-", suffix=PARTIAL) as scratch,
                new_file(self._folder, LISTINGS, interval.start, interval.end, "listings") as file,
            ):
                rows = sorted_rows(self._rows(interval), Path(scratch))
                if write_interval(file, self._reads.tiles(*interval), rows) != keys:
                    raise ValueError(
                        f"listings: the trees of milestones {interval.start} to {interval.end} expected in the store"
                    )
            found = file.stored
        self.written.append(found)
        position = find_root(self._folder / found.name)
        return asdict(found) | {"keys": keys, "root": root.hex(), "directory": position}

    def _record(self, interval: Interval) -> tuple[int, bytes]:
        """The number of keys and the root of an interval's tree."""
        chunk_size = int(self._reads.info("chunk_size") or 0)
        key = (ms_range_id(interval.end, chunk_size), interval.end, interval.level)
        (row,) = self._reads.many(schema.interval_roots, [key])
        if row is None:
            raise ValueError(f"listings: the tree of milestones {interval.start} to {interval.end} expected")
        return row["key_count"], row["root"]

    def _rows(self, interval: Interval) -> Iterator[pa.Table]:
        first = max(self._log.first, interval.start)
        for _, rows in listing_rows(self._lake, first, interval.end):
            yield rows
        for start in range(first, interval.end + 1, STEP):
            end = min(start + STEP - 1, interval.end)
            yield update_rows(updates_of(self._reads.changes(start, end)), start, end)
