"""`permanode fsck` of a lake: reads every row of every table, and names each damaged one. It needs no engine.

The log of each table is replayed and compared with its checksums (etl/engine/delta_replay.py). Worker processes read
the files (etl/lake/file_check.py). The messages of each milestone are counted and compared with the table `milestones`.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from db.damage import Checked, Damage
from db.intervals import Intervals, add, in_words, of_indices, subtract
from etl.engine.delta_log import DeltaLog
from etl.engine.delta_replay import LogCheck
from etl.engine.file_systems import file_system
from etl.engine.process_pool import run_tasks
from etl.lake.delta import KEY, TABLES
from etl.lake.file_check import FileResult, FileTask, check_file
from etl.lake.paths import lake_root
from etl.lake.row_checks import COUNTS, COUNTS_BY_MILESTONE, sums_of

COUNTED = ("messages", "milestones")
"""Tables that are read together, range by range of milestones."""


@dataclass
class LakeSums:
    """What a check has read so far.

    Attributes:
        files: the number of files.
        unsummed: those of earlier versions, whose names have no checksum. `permanode lake compact` gives them one.
        rows: the number of rows.
        size: bytes of the files.
    """

    files: int = 0
    unsummed: int = 0
    rows: int = 0
    size: int = 0


def check_lake(root: str, checked: Checked, sums: LakeSums | None = None) -> Iterator[Damage]:
    """Reads every row of the lake at a path or URL and yields what is damaged.

    `checked` receives the name of each file that was read, the bytes read so far, and all bytes. `sums` receives
    totals. Loads may run at the same time if they do not compact the lake.
    """
    sums = LakeSums() if sums is None else sums
    tasks: list[FileTask] = []
    for table, layout in TABLES.items():
        path = f"{lake_root(root)}/{table}"
        log = DeltaLog(path, layout)
        if not log.exists():
            continue
        check = LogCheck(path, layout.key)
        for fault in check.faults(log):
            yield Damage(table, f"{table}/{fault.place}", "all rows of the table", fault.cause)
        tasks += [FileTask(path, table, layout.key, file) for file in check.files]
    tasks.sort(key=lambda task: (*_group(task), task.table, task.file.least or 0))
    total = sum(task.file.size for task in tasks)
    results = run_tasks(check_file, tasks, processes=os.cpu_count() or 1, size=total)
    for _, group in groupby(zip(tasks, results, strict=True), key=lambda pair: _group(pair[0])):
        yield from _checked_group(group, checked, sums, total)


def known_milestones(root: str) -> Intervals:
    """The milestones in the files of a lake that can be read."""
    log = DeltaLog(f"{lake_root(root)}/milestones", TABLES["milestones"])
    if not log.exists():
        return []
    system, found = file_system(log.root), Intervals()
    for file in log.files():
        with suppress(OSError, pa.ArrowException), system.open_input_file(file.path) as source:
            indices = pq.read_table(source, columns=[KEY]).column(KEY)
            found = add(found, of_indices(indices.drop_null().to_pylist()))
    return found


def _group(task: FileTask) -> tuple[str, int]:
    """The files of one range of messages and of its milestones belong together."""
    if task.table not in COUNTED:
        return task.table, 0
    return "", int(dict(task.file.partition).get("lake_range") or -1)


def _checked_group(
    group: Iterable[tuple[FileTask, FileResult]], checked: Checked, sums: LakeSums, total: int
) -> Iterator[Damage]:
    counts: dict[str, list[pa.Table]] = {name: [] for name in COUNTED}
    damaged: Intervals = []
    for task, result in group:
        sums.files += 1
        sums.unsummed += not result.has_checksum
        sums.rows += result.rows
        sums.size += task.file.size
        checked(task.place, sums.size, total)
        for each in result.damage:
            damaged = add(damaged, each.milestones)
        yield from result.damage
        if result.counts is not None:
            counts[task.table].append(result.counts)
    yield from _compare(counts["messages"], counts["milestones"], damaged)


def _compare(messages: Sequence[pa.Table], milestones: Sequence[pa.Table], damaged: Intervals) -> Iterator[Damage]:
    """The milestones in several rows, and those with other messages than they have counted. `damaged` are known."""
    if not milestones:
        return
    listed = pa.concat_tables(milestones)
    numbers = listed.group_by("milestone_index").aggregate([([], "count_all")])
    twice = numbers.filter(pc.greater(numbers["count_all"], 1))["milestone_index"].to_pylist()
    for each in of_indices(twice):
        yield _of_milestones("milestones", each, "several rows of a milestone")
    known = add(damaged, of_indices(twice))
    found = sums_of(pa.concat_tables([*messages, COUNTS_BY_MILESTONE.empty_table()]))
    joined = listed.join(found, "milestone_index", right_suffix="_found")
    for name in COUNTS:
        wrong = joined.filter(pc.not_equal(joined[name], pc.fill_null(joined[f"{name}_found"], 0)))
        differing = of_indices(wrong["milestone_index"].to_pylist())
        for each in subtract(differing, known):
            yield _of_milestones("messages", each, f"not as many messages as {name} in the table milestones")
        known = add(known, differing)


def _of_milestones(table: str, interval: tuple[int, int], cause: str) -> Damage:
    return Damage(table, table, f"milestones {in_words([interval])}", cause, [interval])
