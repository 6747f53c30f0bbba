"""Speed of the transparency log: records appended, audit paths and consistency proofs read from tiles.

    python -m bench.transparency_log [--milestones 200000] [--proofs 2000] [--folder DIR]

It writes the records of that many milestones, their intervals and covers as bundles and tiles into a folder, in steps
of 10,000 milestones that each read the right edge again, as loads do. Then it reads proofs of random records from the
files, each with a reader of its own, and verifies audit paths. The peer of the append is SHA-256 alone: each record,
and each node. A second append is that of loads: files of a lake, each made durable, and rows of a SQLite store, with a
signed checkpoint after each step. Prints records per second of CPU and of wall time, the ratio to the peer,
microseconds and bytes of a proof.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from etl.run_lease import held_lease
from etl.store_reads import StoreReads
from etl.transparency.append import LogAppender
from etl.transparency.log_files import LogFiles
from etl.transparency.stored_log import StoredLog
from ledger.completeness.intervals import Interval
from ledger.crypto.log_tree import root_of_audit_path
from ledger.transparency.growth import LogBuilder
from ledger.transparency.keys import SigningKey
from ledger.transparency.positions import closed_by
from ledger.transparency.records import CoverRecord, IntervalRecord, MilestoneRecord
from ledger.transparency.tiled_tree import TiledTree
from ledger.transparency.tiles import Place

STEP = 10_000

NETWORK = "bench"

RATE = 5_000
"""The bar: records per second."""


def records(first: int, last: int) -> Iterator[bytes]:
    """The records of a log from milestone 1, those of the milestones `first` to `last`."""
    for milestone in range(first, last + 1):
        root = sha256(milestone.to_bytes(4, "big")).digest()
        yield bytes(MilestoneRecord(milestone, root, 1_600_000_000 + milestone, 300, root, root))
        for each in closed_by(1, milestone):
            yield bytes(IntervalRecord(each, 9, root) if isinstance(each, Interval) else CoverRecord(each, 9, root))


def append(folder: Path, milestones: int) -> LogBuilder:
    """Writes the log."""
    builder = LogBuilder()
    for first in range(1, milestones + 1, STEP):
        builder = LogBuilder.resume(builder.size, builder.root(), lambda place: (folder / place.path).read_bytes())
        for pieces in (builder.extend(records(first, min(first + STEP - 1, milestones))), builder.edge()):
            for place, data in pieces:
                path = folder / place.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    return builder


def append_as_loads(folder: Path, milestones: int) -> int:
    """Writes the log to a lake and a store. Returns the number of records."""
    settings = StoreSettings(f"sqlite:///{folder}/store", NETWORK)
    migrate(settings)
    key = SigningKey(f"permanode/{NETWORK}/1", bytes(32))
    with (
        closing(open_store(settings, writable=True)) as store,
        held_lease(store, "bench"),
        closing(StoreReads(store, NETWORK)) as reads,
    ):
        log = StoredLog(LogFiles(str(folder / "lake"), NETWORK), store, reads)
        head = None
        for last in range(STEP, milestones + STEP, STEP):
            log.open()
            appender = LogAppender(log, NETWORK, lambda _, after, to: records(after + 1, to), key)
            head = appender.append(1, min(last, milestones))
    return 0 if head is None else head.newest.size


def hash_alone(milestones: int) -> None:
    """The hashes of the log without its tree: one for each record and one for each node."""
    node = bytes(65)
    for record in records(1, milestones):
        sha256(b"\0" + record).digest()
        sha256(node).digest()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Speed of the transparency log")
    parser.add_argument("--milestones", type=int, default=200_000)
    parser.add_argument("--proofs", type=int, default=2_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        wall, cpu = time.perf_counter(), time.process_time()
        builder = append(folder, options.milestones)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        loads_wall, loads_cpu = time.perf_counter(), time.process_time()
        size = append_as_loads(folder / "as loads", options.milestones)
        loads_wall, loads_cpu = time.perf_counter() - loads_wall, time.process_time() - loads_cpu
        peer = time.process_time()
        hash_alone(options.milestones)
        peer = time.process_time() - peer
        print(
            f"{builder.size:,} records: {builder.size / cpu:,.0f}/s of CPU, {builder.size / wall:,.0f}/s; bar {RATE:,}"
        )
        print(f"ratio to SHA-256 alone: {peer / cpu:.2f}")
        print(f"to a lake and a store: {size / loads_cpu:,.0f}/s of CPU, {size / loads_wall:,.0f}/s; bar {RATE:,}")

        sizes: list[int] = []

        def tile(level: int, number: int, width: int) -> bytes:
            data = (folder / Place(level, number, width).path).read_bytes()
            sizes[-1] += len(data)
            return data

        chance, size, root = random.Random(1), builder.size, builder.root()
        for what in ("audit path", "consistency proof"):
            sizes, hashes, spent = [], 0, 0.0
            for _ in range(options.proofs):
                sizes.append(0)
                index = chance.randrange(size - 1)
                began = time.process_time()
                tree = TiledTree(size, tile)
                path = tree.audit_path(index) if what == "audit path" else tree.consistency(index + 1)
                spent += time.process_time() - began
                hashes += len(path)
                if what == "audit path" and root_of_audit_path(size, index, tree.leaf_hash(index), path) != root:
                    raise RuntimeError(f"the proof of record {index} does not lead to the root")
            print(
                f"{what}: {spent / options.proofs * 1e6:,.0f} µs of CPU, {32 * hashes / options.proofs:,.0f} bytes, "
                f"from {sum(sizes) / len(sizes):,.0f} bytes of tiles, at most {max(sizes):,}"
            )


if __name__ == "__main__":
    main()
