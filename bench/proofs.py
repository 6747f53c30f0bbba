"""Size and time of proofs that a listing is complete, over 8 million milestones.

    python -m bench.proofs [--proofs 100] [--keys 150]

The store has the trees that cover the milestones as far as a proof reads them: of each interval the tiles around the
listing's key, among others, with hashes of random bytes. So a proof takes the time that it takes in a whole store whose
rows are in memory, but does not verify. The end is the milestone below 8 million with the most intervals, 23. The
listings have 0 to 100 rows at random milestones. Time is CPU: of reading the trees, creating the proof and rendering
the document.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from random import Random

from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.partitions import ms_range_id
from db.queries.listing_proofs import fetch_trees
from db.store import Batch, WritableStore
from ledger.completeness.document import render_document
from ledger.completeness.families import BY_NAME, milestone_of
from ledger.completeness.intervals import Interval, cover, size_of
from ledger.completeness.proof import Listing, prove_page
from ledger.completeness.tiles import WIDTH
from ledger.completeness.trees import Leaf, Leaves, hash_rows, merge_leaves, place_of
from ledger.crypto.log_tree import beside_leaf

END = 7_987_099
MILLISECONDS, BYTES = 10.0, 40_000
"""The bars."""

TILES = 200
"""Adjacent tiles of each interval in the store."""

FAMILY = BY_NAME["messages_by_parent"]
NETWORK = "iota-mainnet"
ROWS = (0, 1, 10, 100)


def tree_of(interval: Interval, rows: Mapping[bytes, Sequence[bytes]]) -> Leaves:
    """The leaves of a few keys in an interval."""
    inside = {
        place: [row for row in of_place if interval.start <= milestone_of(row) <= interval.end]
        for place, of_place in rows.items()
    }
    inside = {place: of_place for place, of_place in inside.items() if of_place}
    if interval.level == 0 or not inside:
        return hash_rows(inside)
    return merge_leaves(interval.level - 1, [(each.number, tree_of(each, inside)) for each in interval.children()])


def tiles(rng: Random, interval: Interval, keys: int, own: Sequence[Leaf]) -> Iterator[tuple[object, ...]]:
    """Rows of `listing_tiles`, with these leaves among random ones."""
    count = -(-keys // WIDTH)
    # A key that is not in the tree may be between two tiles, so these follow each other.
    size = min(TILES, count - 1)
    start = rng.randrange(count - size)
    number_of = range(start, start + size)
    places = sorted(place_of(FAMILY, rng.randbytes(FAMILY.key_most)) for _ in range(WIDTH * len(number_of)))
    leaves = [Leaf(place, 1, rng.randbytes(32)) for place in places]
    for leaf in own:
        # In place of the next one, so that every tile is full.
        at = min(sum(each.place < leaf.place for each in leaves), len(leaves) - 1)
        leaves[at] = leaf
    for position, number in enumerate(number_of):
        some = leaves[WIDTH * position : WIDTH * (position + 1)]
        path = rng.randbytes(32 * len(beside_leaf(count, number)))
        yield *interval, 0, some[0].place, number, b"".join(each.encode() for each in some), path


def fill(store: WritableStore, chunk_size: int, keys_per_milestone: int) -> dict[int, list[bytes]]:
    """Fills a store. Returns the keys of listings by their number of rows."""
    rng = Random(28)
    keys: dict[int, list[bytes]] = {}
    rows: dict[bytes, list[bytes]] = {}
    for count in ROWS:
        for _ in range(20):
            key = rng.randbytes(FAMILY.key_most)
            keys.setdefault(count, []).append(key)
            of_key = [rng.randint(1, END).to_bytes(4, "big") + rng.randbytes(32) for _ in range(count)]
            if of_key:
                rows[place_of(FAMILY, key)] = sorted(of_key)
    with store.batch() as batch:
        for interval in cover(1, END):
            tree = tree_of(interval, rows)
            own = [tree[index] for index in range(len(tree))]
            put_tree(batch, rng, interval, keys_per_milestone * size_of(interval.level), own, chunk_size)
        for place, of_place in rows.items():
            found = [(place[1:], milestone_of(row), row[4:], 0, 0) for row in of_place]
            batch.upsert(schema.parents, schema.parents.names, found)
    return keys


def put_tree(batch: Batch, rng: Random, interval: Interval, keys: int, own: Sequence[Leaf], chunk_size: int) -> None:
    """Writes a tree."""
    row = (ms_range_id(interval.end, chunk_size), interval.end, interval.level, keys, rng.randbytes(32), b"")
    batch.upsert(schema.interval_roots, schema.interval_roots.names, [row])
    batch.upsert(schema.listing_tiles, schema.listing_tiles.names, list(tiles(rng, interval, keys, own)))  # type: ignore[arg-type]


async def measure(store: WritableStore, keys: Sequence[bytes], proofs: int) -> tuple[list[float], list[int]]:
    """The milliseconds and the bytes of proofs of the first 100 rows."""
    seconds, sizes = [], []
    log_path = [bytes([each]) * 32 for each in range(23)]
    for number in range(proofs):
        began = time.process_time()
        listing = Listing(NETWORK, 1, FAMILY, keys[number % len(keys)], END)
        found = await fetch_trees(store, listing, 0, 100)
        document = render_document(prove_page(found, listing, 0, 100, log_path, "x" * 400))
        seconds.append(1_000 * (time.process_time() - began))
        sizes.append(len(document.encode()))
    return seconds, sizes


def main() -> int:
    """Measures and prints. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proofs", type=int, default=100, help="proofs of each kind")
    parser.add_argument("--keys", type=int, default=150, help="listing keys per milestone")
    options = parser.parse_args()
    met = True
    with tempfile.TemporaryDirectory() as folder:
        settings = StoreSettings(f"sqlite:///{folder}", NETWORK)
        migrate(settings)
        with closing(open_store(settings, writable=True)) as store:
            keys = fill(store, settings.chunk_size, options.keys)
            for count, of_count in keys.items():
                times, sizes = asyncio.run(measure(store, of_count, options.proofs))
                middle, largest = statistics.median(times), max(sizes)
                met &= middle <= MILLISECONDS and largest <= BYTES
                print(
                    f"{count:4} rows: median {middle:.1f} ms, {sorted(times)[int(len(times) * 0.95)]:.1f} ms for 95 %; "
                    f"median {statistics.median(sizes):,.0f} bytes, at most {largest:,}"
                )
    print(f"bars {MILLISECONDS:.0f} ms (median) and {BYTES:,} bytes: {'met' if met else 'missed'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
