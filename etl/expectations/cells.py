"""What a Wormhole load must write: sums of cells and rows where Python makes them, before the engine takes them.

Workers add the sums of each batch to a set. A task that ran twice may have cut its batches in another way; then their
ids overlap, and nothing is compared.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.expectations.comparison import Comparison, WrongRows, wrong_rows
from etl.expectations.fingerprints import ASSEMBLED, Fingerprint
from etl.expectations.message_batch import column
from etl.expectations.words import Words, among, row_hashes, words
from etl.lake.wormhole_tables import VAAS

ID = ("emitter_chain", "emitter_address", "sequence_key")
"""The columns that identify a message."""

BATCH_ROWS = 8_000

_PARTITION = "emitter_chain"
"""The column of the lake's cells that their paths contain, and not their files."""


@dataclass(frozen=True)
class BatchSums:
    """The sums of a batch of one worker.

    Attributes:
        ids: hashes of the messages of the batch, or of the places of lines in files. No other batch has them.
        rows: (number, sum of hashes): of cells; for messages, too, of the rows of each table of ASSEMBLED.
    """

    ids: bytes
    rows: tuple[tuple[int, int], ...]


def cell_sums(places: Sequence[tuple[str, int]], batch: pa.RecordBatch) -> BatchSums:
    """Returns the sums of a batch of cells and rejects, which do not count. `places`: file and number of each line
    whose first row is in the batch.
    """
    ids = _hashes({"file": [file for file, _ in places], "line": [line for _, line in places]})
    cells = pa.Table.from_batches([batch]).filter(pc.is_null(batch.column("reject")))
    return BatchSums(ids.tobytes(), (_sums(_cell_hashes(cells)),))


def row_sums(keys: Sequence[tuple[int, bytes, str]], cell_ids: Sequence[bytes], batch: pa.RecordBatch) -> BatchSums:
    """Returns the sums of a batch of messages, which has a list of rows for each table.

    Args:
        keys: the columns of ID of each message.
        cell_ids: the ids of all cells that the messages were made from.
        batch: a row for each message.
    """
    ids = _hashes({name: [key[position] for key in keys] for position, name in enumerate(ID)})
    sums = [_sums(words(pa.array(cell_ids, pa.binary())))]
    for frame in ASSEMBLED:
        rows = pc.list_flatten(batch.column(frame.table.name))
        found = {name: words(pc.struct_field(rows, name)) for name in frame.columns}
        sums.append(_sums(row_hashes(found, frame.columns, len(rows))))
    return BatchSums(ids.tobytes(), tuple(sums))


def compare_staged(batches: Iterable[BatchSums], staged: Path) -> None:
    """Raises WrongRows unless the staged cells are those that the workers made."""
    made = _total(batches)
    if made is not None:
        found = sum((_fingerprint(_cell_hashes(cells)) for cells in _staged_cells(staged)), Fingerprint())
        _compare("cells", made[1][0], found)


def compare_added(staged: Path, earlier: Collection[Path], files: Collection[Path]) -> None:
    """Raises WrongRows unless the lake got the staged cells that it did not have, each once.

    Args:
        staged: the folder of the cells.
        earlier: the lake's files before.
        files: its files after.
    """
    chains, ids, hashes = set[int](), [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
    for cells in _staged_cells(staged):
        chains.update(cells[_PARTITION].unique().to_pylist())
        ids.append(words(column(cells, "cell_id")))
        hashes.append(_cell_hashes(cells))
    before = [_words_of(path, "cell_id") for path in earlier if _chain_of(path) in chains]
    known = np.concatenate([np.zeros(0, np.uint64), *before])
    distinct, first = np.unique(np.concatenate(ids), return_index=True)
    new = _fingerprint(np.concatenate(hashes)[first[~np.isin(distinct, known)]])
    found = Fingerprint()
    for path in sorted({*files} - {*earlier}):
        for rows in _read(path, VAAS.names):
            found += _fingerprint(_cell_hashes(rows))
    _compare("cells of the lake", new, found)


def compare_messages(batches: Iterable[BatchSums], files: Collection[Path]) -> Comparison | None:
    """Returns the comparison of the tables. None: a task ran twice.

    Raises WrongRows unless the messages were made from all their cells of the lake.
    """
    made = _total(batches)
    if made is None:
        return None
    ids, (cells, *rows) = made
    found = Fingerprint()
    for path in files:
        for held in _read(path, [*ID, "cell_id"]):
            kept = among(_hashes({name: column(held, name) for name in ID}), ids)
            found += _fingerprint(words(column(held, "cell_id"))[kept])
    _compare("cells of messages", found, cells)
    return Comparison([], {frame.name: each for frame, each in zip(ASSEMBLED, rows, strict=True)})


def _total(batches: Iterable[BatchSums]) -> tuple[Words, list[Fingerprint]] | None:
    """The ids of all batches, in ascending order, and the sums."""
    parts = list(batches)
    ids = np.sort(np.concatenate([np.zeros(0, np.uint64), *(np.frombuffer(each.ids, np.uint64) for each in parts)]))
    if not parts or np.any(ids[1:] == ids[:-1]):
        return None
    sums = [[Fingerprint(count, 0, hashes) for count, hashes in each.rows] for each in parts]
    return ids, [sum(each, Fingerprint()) for each in zip(*sums, strict=True)]


def _cell_hashes(cells: pa.Table) -> Words:
    return row_hashes({name: words(column(cells, name)) for name in VAAS.names}, VAAS.names, cells.num_rows)


def _hashes(columns: dict[str, list[object] | pa.Array]) -> Words:
    arrays = {name: each if isinstance(each, pa.Array) else pa.array(each) for name, each in columns.items()}
    count = len(next(iter(arrays.values())))
    return row_hashes({name: words(each) for name, each in arrays.items()}, tuple(arrays), count)


def _sums(hashes: Words) -> tuple[int, int]:
    return len(hashes), int(hashes.sum(dtype=np.uint64))


def _fingerprint(hashes: Words) -> Fingerprint:
    count, total = _sums(hashes)
    return Fingerprint(count, 0, total)


def _staged_cells(staged: Path) -> Iterator[pa.Table]:
    """The staged cells, without rejects."""
    for part in sorted(staged.glob("*.parquet")):
        with pq.ParquetFile(part) as file:
            for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
                rows = pa.Table.from_batches([batch])
                yield rows.filter(pc.is_null(rows["reject"]))


def _read(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    """Columns of a file of the lake's cells."""
    with pq.ParquetFile(path) as file:
        columns = [name for name in names if name != _PARTITION]
        for batch in file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
            rows = pa.Table.from_batches([batch])
            if _PARTITION in names:
                rows = rows.append_column(_PARTITION, pa.array([_chain_of(path)] * rows.num_rows, pa.int32()))
            yield rows


def _words_of(path: Path, name: str) -> Words:
    """The words of a column of a file."""
    return np.concatenate([np.zeros(0, np.uint64), *(words(column(rows, name)) for rows in _read(path, [name]))])


def _chain_of(path: Path) -> int:
    return int(path.parent.name.partition("=")[2])


def _compare(name: str, expected: object, found: object) -> None:
    if found != expected:
        raise WrongRows(wrong_rows(name, [], expected, found))
