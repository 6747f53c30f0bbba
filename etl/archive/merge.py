"""Merges archive files of any format into files of one format without overlaps.

Invariants:
1. Input files are not changed.
2. A milestone is written if one copy, or several copies together, are complete. The written values are the verified
   ones. As in a load, the best copy counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from db.connect import StoreSettings
from db.intervals import add, contains, of_indices, span, subtract
from etl.archive import MAX_FILE_BYTES, PENDING_FILE
from etl.archive.checks import Checks
from etl.archive.lines import pending_line
from etl.archive.validate import Level, fault_of, validate
from etl.archive.writer import archive_writer, sync, write_durably
from etl.archive.written import Written
from etl.report import Notify, Progress, quiet
from etl.sources import read_cone
from etl.sources.file_eras import codec_of
from etl.sources.limits import DEFAULT, Limits
from etl.sources.lines import LineReader
from etl.sources.plan import scan
from etl.verification.cone_verification import Copy

READERS = 16
"""Maximum of open files; more than usually overlap."""

Place: TypeAlias = dict[str, Any]
"""A row of etl.sources.plan.PLACE."""


@dataclass(slots=True)
class Merged(Written):
    """Result of a merge. `pending` counts messages that no milestone references, including those already in the
    folder.
    """

    pending: int = 0


def merge(
    settings: StoreSettings,
    files: list[Path],
    into: Path,
    *,
    first: int | None = None,
    last: int | None = None,
    level: Level | None = None,
    keep_going: bool = False,
    max_bytes: int = MAX_FILE_BYTES,
    limits: Limits = DEFAULT,
    notify: Notify = quiet,
) -> Merged:
    """Writes the milestones of [first, last) in the files to `into`.

    Without `first` these begin with the first milestone of the files, without `last` they end with the last one.

    With `level` it first validates all files and writes nothing if there are faults, unless `keep_going` is set.
    Without it validates each line when it is merged.

    Raises ValueError if the folder contains one of the input files, and FolderInUse if another run writes there.
    """
    for path in files:
        if into.resolve() in path.resolve().parents:
            raise ValueError(f"{into}: a folder that holds none of the files to merge expected, found {path}")
    done, checks = Merged(), Checks.of(settings, codec_of(map(str, files), limits))
    if level is not None:
        done.faults += validate(files, level, checks.rejects_of, max_bytes=max_bytes, limits=limits).faults
        if done.faults and not keep_going:
            return done
    kept = into / PENDING_FILE
    plan = scan([*files, kept] if kept.exists() else files, first=first, last=last, limits=limits)
    done.faults += map(fault_of, plan.broken)
    readers = _Readers()

    def report(count: int) -> None:
        notify(Progress("merge", count, None, "milestones"))

    with archive_writer(into, max_bytes, lambda path, *_: done.files.append(path.name)) as writer:
        held = writer.held()
        for index, places in _by_milestone(plan.lines):
            if contains(held, index):
                done.held += 1
                continue
            checked = checks.best(index, [readers.copy(place, index) for place in places])
            done.write(writer, index, checked, report)
        pending: dict[bytes, bytes] = {}
        for (place,) in plan.pending["copies"].to_pylist():
            checked = checks.pending(readers.copy(place, None))
            done.faults += map(fault_of, checked.rejects)
            pending |= {entry.message_id: pending_line(entry) for entry in checked.messages}
        if pending:
            write_durably(kept, b"".join(line for _, line in sorted(pending.items())))
            sync(into)
        done.pending = len(pending)
    readers.close()
    planned = of_indices(plan.lines["milestone_index"].to_pylist())
    done.missing = add(done.missing, subtract(span(planned, first, last), add(held, planned)))
    # The merge finds the faults of lines again when it reads them.
    done.faults = list(dict.fromkeys(done.faults))
    return done


def _by_milestone(planned: pa.Table) -> Iterator[tuple[int, list[Place]]]:
    """The positions of each milestone's copies, ascending."""
    rows = (row for batch in planned.to_batches(max_chunksize=1_000) for row in batch.to_pylist())
    for index, places in groupby(rows, key=lambda row: int(row["milestone_index"])):
        yield index, list(places)


class _Readers:
    """Keeps readers of the last used files open."""

    def __init__(self) -> None:
        self._open: dict[str, LineReader] = {}

    def copy(self, place: Place, index: int | None) -> Copy:
        """The copy of a milestone at a position."""
        return Copy(place["file"], place["line"], lambda: read_cone(self._line(place), index))

    def _line(self, place: Place) -> bytes:
        file = place["file"]
        reader = self._open.pop(file, None) or LineReader()
        self._open[file] = reader
        if len(self._open) > READERS:
            self._open.pop(next(iter(self._open))).close()
        return reader.read(file, place["offset"], place["length"])

    def close(self) -> None:
        """Closes all readers."""
        for reader in self._open.values():
            reader.close()
