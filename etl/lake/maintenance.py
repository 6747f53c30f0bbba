"""Keeps the lake's tables fast: merges small files, writes checkpoints, deletes what no reader needs any more.

It needs no engine: delta-rs and pyarrow work in this process, and stream rows of small files only.
"""

from etl.engine.delta_compaction import merge_files
from etl.engine.delta_files import delete_leftovers
from etl.engine.delta_log import CommitConflict, DeltaLog
from etl.lake.delta import TABLES
from etl.report import Notify, Progress

SMALL_BYTES = 64 << 20
"""`lake compact` merges files of fewer bytes."""

RETAIN_HOURS = 168
"""Hours for which `lake compact` keeps files that are no longer part of a table, for readers that named them."""

TIERS = ((1 << 20, 50), (32 << 20, 32))
"""A follower merges files of fewer bytes than the first number, once a partition has at least the second number of
them. So a byte is written about three times, and the last tier, which takes a second, is rare.
"""

RETAIN_FOLLOWED_HOURS = 24
"""As RETAIN_HOURS, for files that a follower merged."""

MERGE = {"task": "merge"}


def compact(root: str, retain_hours: int, notify: Notify) -> dict[str, int]:
    """Merges the small files of all tables of a lake, gives files of earlier versions a checksum, and deletes files
    that no version of the last `retain_hours` uses and those that killed writers left. Returns the number of files by
    table.

    Raises CommitConflict if a load commits to a table at the same time, and FileDamaged for a damaged file.
    """
    for name in TABLES:
        # First, because merging needs space.
        delete_leftovers(f"{root}/{name}")
    files = {}
    for name, log in _existing(root):
        before = len(log.files())
        notify(Progress(name, 0, before, "files"))
        merge_files(log, MERGE, below=SMALL_BYTES, add_checksums=True)
        log.checkpoint()
        log.delete_unused(retain_hours)
        files[name] = len(log.files())
        notify(Progress(name, before, before, "files"))
    return files


def maintain(root: str, retain_hours: int = RETAIN_FOLLOWED_HOURS) -> None:
    """Merges the files of many small commits, writes checkpoints and deletes old log entries and merged files.

    A table to which another process commits at the same time is left for the next call. Raises FileDamaged.
    """
    for _, log in _existing(root):
        try:
            for below, least in TIERS:
                merge_files(log, MERGE, below=below, least=least)
            log.checkpoint()
            log.delete_unused(retain_hours)
        except CommitConflict:
            continue


def _existing(root: str) -> list[tuple[str, DeltaLog]]:
    logs = [(name, DeltaLog(f"{root}/{name}", layout)) for name, layout in TABLES.items()]
    return [(name, log) for name, log in logs if log.exists()]
