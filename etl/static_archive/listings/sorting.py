"""Sorts more rows than fit into memory: sorted runs on disk, merged a bounded number of rows at a time."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from etl.completeness.rows import ORDER, ROWS

ROWS_AT_ONCE = 2_000_000
"""Rows of a run: about 300 MB while they are sorted."""

BATCH = 16_384
"""Rows of each run that a merge holds."""


def sorted_rows(tables: Iterable[pa.Table], scratch: Path) -> Iterator[pa.Table]:
    """Yields the rows of some tables by place and row id. `scratch`: a folder for sorted runs."""
    runs, waiting, size = list[Path](), list[pa.Table](), 0
    for table in tables:
        waiting.append(table)
        size += table.num_rows
        if size >= ROWS_AT_ONCE:
            runs.append(_write(waiting, scratch / f"run-{len(runs)}"))
            waiting, size = [], 0
    if not runs:
        yield _sorted(waiting)
        return
    if waiting:
        runs.append(_write(waiting, scratch / f"run-{len(runs)}"))
    yield from _merged([_read(each) for each in runs])
    for each in runs:
        each.unlink()


def _sorted(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables([ROWS.empty_table(), *tables]).sort_by(ORDER)


def _write(tables: list[pa.Table], path: Path) -> Path:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, ROWS) as writer:
        writer.write_table(_sorted(tables).combine_chunks(), max_chunksize=BATCH)
    return path


def _read(path: Path) -> Iterator[pa.Table]:
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            yield pa.Table.from_batches([reader.get_batch(number)])


def _merged(runs: list[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """Merges sorted runs: whatever is at most the least of the last rows that are held is complete."""
    held = [(run, next(run)) for run in runs]
    while held:
        place, row = min((_last(table) for _, table in held))
        taken, rest = list[pa.Table](), list[tuple[Iterator[pa.Table], pa.Table]]()
        for run, table in held:
            before = pc.less(table["place"], place)
            same = pc.and_(pc.equal(table["place"], place), pc.less_equal(table["row"], row))
            count = pc.sum(pc.or_(before, same)).as_py()
            taken.append(table.slice(0, count))
            left: pa.Table | None = table.slice(count)
            if left is not None and not left.num_rows:
                left = next(run, None)
            if left is not None:
                rest.append((run, left))
        held = rest
        yield _sorted(taken)


def _last(table: pa.Table) -> tuple[bytes, bytes]:
    return table["place"][-1].as_py(), table["row"][-1].as_py()
