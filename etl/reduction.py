"""Reduces a full permanode to a selection: `permanode purge --keep` (docs/decisions/0044-selective-permanode.md).

The cones of the lake are verified again from their bytes, as `permanode verify` does, and replaced in one commit. The
store is built from the lake afterwards, also by a run that finds the lake reduced with the same filters.

Invariants:
1. Filters cover a milestone only if the purge that replaced its messages had these filters.
2. From before the messages are replaced until the filters cover what is left, the lake has the note of an unfinished
   purge. Meanwhile loads and rebuilds are rejected, and so is a purge with other filters, unless all messages are left.
"""

from collections.abc import Iterator, Sequence, Set
from functools import partial

import pyarrow as pa

from db.coverage import Coverage
from db.intervals import Intervals, in_words, of_indices
from etl.engine.arrow_frames import arrow_frame
from etl.engine.process_pool import run_tasks
from etl.engine.queries import parallelism
from etl.lake.coverage import begin_purge, end_purge, find_unfinished_purge, read_coverage, write_coverage
from etl.lake.delta import either, intervals_of
from etl.lake.milestone_rows import milestone_rows
from etl.lake.part_commits import replace_messages
from etl.lake.watch_list import add_watched, read_watched
from etl.lake.watched_outputs import WATCHED
from etl.report import Progress
from etl.selective import chosen_for, note, watch_genesis
from etl.verification.coordinators import find_coordinator
from etl.verification.decode_worker import Decoded, DecodeTask, Known, check_planned, decode_to_files
from etl.verification.load_eras import eras_of
from etl.verification.spenders import decode_selected
from etl.writers.publish import Publication
from ledger.selection import Selection

MILESTONES_A_TASK = 1_000

STAGE = "purge"


def reduce_lake(publication: Publication, keep: Sequence[str]) -> Coverage:
    """Replaces the messages of the lake by those that the filters select, each with its proof. Milestones that are
    incomplete lose their messages. Returns what the lake keeps then.

    Raises ValueError for an invalid filter, a lake that keeps another selection already or has an unfinished purge with
    other filters, and milestones that are not `signed`; then nothing was changed.
    """
    lake = publication.lake
    held, unfinished = read_coverage(lake), find_unfinished_purge(lake)
    coverage = chosen_for(publication, keep)
    if not lake.exists():
        raise ValueError("purge --keep: a lake with milestones expected")
    if held is not None and unfinished is None:
        if held.keys() == coverage.keys():
            # An earlier run may have ended before the store was built.
            return held
        raise ValueError("purge --keep: the lake keeps a selection already; a load with --keep adds filters to it")
    is_replaced = False
    if unfinished is not None and lake.read("messages").count() != unfinished.messages:
        if unfinished.filters != coverage.keys():
            raise unfinished.error
        is_replaced = True
    milestones = lake.read("milestones")
    whole, complete = intervals_of(milestones), intervals_of(milestones.where("verified IS NOT NULL"))
    if not is_replaced:
        _replace(publication, coverage, complete, whole)
    rejects = lake.read("rejects").where(either(complete)) if lake.has("rejects") else None
    lake.replace("milestones", milestone_rows(lake.messages(complete), rejects), whole)
    kept = dict.fromkeys(coverage, complete)
    write_coverage(lake, kept)
    end_purge(lake)
    note(publication, kept)
    return kept


def _replace(publication: Publication, coverage: Coverage, complete: Intervals, whole: Intervals) -> None:
    """Replaces the messages. Raises ValueError if a milestone is not `signed`."""
    lake = publication.lake
    if lake.has("watched"):
        # Of an unfinished purge, which may have had other filters.
        lake.replace("watched", arrow_frame(lake.spark, WATCHED.empty_table()))
    watch_genesis(lake, coverage)
    decoded, watched = _decode(publication, Selection(frozenset(coverage)), complete)
    lost = of_indices(index for each in decoded for index in each.results.without_messages())
    if lost:
        raise ValueError(
            f"purge --keep: milestones {in_words(lost)} are not signed, or their proof fails; nothing was changed. "
            "`permanode verify` shows the reasons"
        )
    begin_purge(lake, coverage)
    write_coverage(lake, coverage)
    # The store has all rows until it is built again, but nobody may publish the lake as if it had all messages.
    note(publication, coverage)
    add_watched(lake, coverage, watched, complete)
    replace_messages(lake, [part for each in decoded for part in each.parts], whole)


def _decode(publication: Publication, selection: Selection, milestones: Intervals) -> tuple[list[Decoded], pa.Table]:
    """Decodes the cones of the lake and writes what is kept of them to files. Returns also the WATCHED of it."""
    lake, folder = publication.lake, publication.staging.folder("kept")
    check_one = partial(
        check_planned,
        eras=eras_of(publication.store_settings, publication.reads, None),
        coordinator=find_coordinator(publication.store_settings, lake),
        selection=selection,
    )
    spans = [
        (start, min(last, start + MILESTONES_A_TASK - 1))
        for first, last in milestones
        for start in range(first, last + 1, MILESTONES_A_TASK)
    ]
    tasks = [
        DecodeTask(number, _planned(*span), Known(tuple(lake.local_files("messages", [span])), [span]), folder)
        for number, span in enumerate(spans)
    ]
    size = sum(path.stat().st_size for path in lake.local_files("messages"))

    def done(finished: int, total: int) -> None:
        publication.notify(Progress(STAGE, finished, total, "tasks"))

    def decode(tasks: Sequence[DecodeTask], spent: Set[bytes]) -> Iterator[Decoded]:
        function = partial(decode_to_files, check=partial(check_one, spent=spent), selection=selection)
        return run_tasks(function, tasks, processes=parallelism(lake.spark), size=size, done=done)

    if not selection.addresses:
        return list(decode(tasks, frozenset())), WATCHED.empty_table()
    found = decode_selected(tasks, decode, read_watched(lake))
    return found.decoded, found.watched


def _planned(first: int, last: int) -> pa.Table:
    """Milestones without lines of files: their only copy is that of the lake."""
    count = last - first + 1
    return pa.table({"milestone_index": range(first, last + 1), "copies": pa.array([[]] * count, pa.list_(pa.null()))})
