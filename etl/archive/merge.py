"""Archive files of any formats, overlapping or not, become files without overlaps in one format.

Rules of this file: what is read is never changed; a milestone is written when a copy of it, or several together, are
whole, and then what was proved, not what a copy says. Of several copies the best counts, as in a load.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from db.connect import StoreSettings
from db.intervals import contains
from etl.archive import MAX_FILE_BYTES, PENDING_FILE
from etl.archive.checks import Checks
from etl.archive.lines import pending_line
from etl.archive.validate import Level, fault_of, validate
from etl.archive.writer import archive_writer, sync, write_durably
from etl.archive.written import Written
from etl.report import Notify, Progress, quiet
from etl.sources import read_cone
from etl.sources.file_eras import codec_of
from etl.sources.files import LineReader
from etl.sources.plan import scan
from etl.verification.cone_verification import Copy

READERS = 16
"""Files that are open at once: more than overlap anywhere, as a rule."""

Place: TypeAlias = dict[str, Any]
"""A row of etl.sources.plan.PLACE."""


@dataclass(slots=True)
class Merged(Written):
    """`pending`: messages that no milestone references, with those that the folder had."""

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
    notify: Notify = quiet,
) -> Merged:
    """Writes the milestones of [first, last) that those files hold into the folder `into`.

    With a level all files are validated first, and with faults nothing is written unless `keep_going`; without one each
    line is judged when its turn comes.

    Raises ValueError for a folder that holds one of the files, FolderInUse while another run writes there.
    """
    for path in files:
        if into.resolve() in path.resolve().parents:
            raise ValueError(f"{into}: a folder that holds none of the files to merge expected, found {path}")
    done, checks = Merged(), Checks.of(settings, codec_of(map(str, files)))
    if level is not None:
        done.faults += validate(files, level, checks.refused, max_bytes=max_bytes).faults
        if done.faults and not keep_going:
            return done
    kept = into / PENDING_FILE
    plan = scan([*files, kept] if kept.exists() else files, first=first, last=last)
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
            pending |= {entry.message_id: pending_line(entry) for entry, _ in checked.messages}
        if pending:
            write_durably(kept, b"".join(line for _, line in sorted(pending.items())))
            sync(into)
        done.pending = len(pending)
    readers.close()
    # What a level found wrong with a line is found again when its turn comes.
    done.faults = list(dict.fromkeys(done.faults))
    return done


def _by_milestone(planned: pa.Table) -> Iterator[tuple[int, list[Place]]]:
    """The places of each milestone's copies, ascending."""
    rows = (row for batch in planned.to_batches(max_chunksize=1_000) for row in batch.to_pylist())
    for index, places in groupby(rows, key=lambda row: int(row["milestone_index"])):
        yield index, list(places)


class _Readers:
    """Readers of the files that were read last."""

    def __init__(self) -> None:
        self._open: dict[str, LineReader] = {}

    def copy(self, place: Place, index: int | None) -> Copy:
        """The copy of a milestone at that place."""
        return Copy(place["file"], place["line"], lambda: read_cone(self._line(place), index))

    def _line(self, place: Place) -> bytes:
        file = place["file"]
        reader = self._open.pop(file, None) or LineReader()
        self._open[file] = reader
        if len(self._open) > READERS:
            self._open.pop(next(iter(self._open))).close()
        return reader.read(file, place["offset"], place["length"])

    def close(self) -> None:
        """Closes them."""
        for reader in self._open.values():
            reader.close()
