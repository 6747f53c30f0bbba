"""Trees of intervals on disk: their leaves in a file of the run, and their rows in the store."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from db.schema import PART_TILES
from db.store import Value
from etl.completeness.leaves import LEAVES, in_groups, packed
from ledger.completeness.intervals import Interval
from ledger.completeness.records import IntervalRecord
from ledger.completeness.tiles import WIDTH, paths_of
from ledger.crypto.log_tree import packed_root

STEP = 1_024 * WIDTH
"""Leaves that are written and read at once."""


@dataclass(frozen=True)
class WrittenTree:
    """The tree of an interval whose leaves are in a file.

    Attributes:
        record: of the interval.
        file: LEAVES, in record batches of STEP leaves.
        roots: those of the tiles.
        parts: the first place of each partition of tiles.
    """

    record: IntervalRecord
    file: Path
    roots: list[bytes]
    parts: list[bytes]

    def leaves(self) -> Iterator[pa.Table]:
        """LEAVES, some at a time."""
        yield from read_leaves(self.file)

    def tiles(self) -> Iterator[tuple[Value, ...]]:
        """The rows of `listing_tiles`."""
        interval = self.record.interval
        paths = paths_of(self.roots)
        number = 0
        for table in self.leaves():
            for start in range(0, table.num_rows, WIDTH):
                tile = table.slice(start, WIDTH)
                place = tile["place"][0].as_py()
                yield *interval, number // PART_TILES, place, number, packed(tile["leaf"]), next(paths)
                number += 1

    @property
    def encoded_parts(self) -> bytes:
        """The value of interval_roots.parts."""
        return b"".join(bytes([len(place)]) + place for place in self.parts[1:])


def write_tree(interval: Interval, leaves: Iterable[pa.Table], file: Path) -> WrittenTree:
    """Writes LEAVES to a file and computes the tree above them.

    Args:
        interval: of the tree.
        leaves: in order.
        file: a new file.
    """
    count = 0
    roots: list[bytes] = []
    parts: list[bytes] = []
    file.parent.mkdir(parents=True, exist_ok=True)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, LEAVES) as writer:
        for table in in_groups(leaves, STEP):
            writer.write_table(table)
            hashes = packed(table["hash"])
            for start in range(0, table.num_rows, WIDTH):
                if len(roots) % PART_TILES == 0:
                    parts.append(table["place"][start].as_py())
                roots.append(packed_root(hashes[32 * start : 32 * (start + WIDTH)]))
            count += table.num_rows
    return WrittenTree(IntervalRecord(interval, count, packed_root(b"".join(roots))), file, roots, parts)


def read_leaves(file: Path) -> Iterator[pa.Table]:
    """LEAVES of a file, some at a time."""
    with pa.memory_map(str(file)) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            yield pa.Table.from_batches([reader.get_batch(number)])
