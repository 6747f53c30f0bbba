"""A small ledger of listings with hot keys, and its rows, trees and log as rows of a store."""

import json
from collections.abc import Iterator, Sequence
from random import Random

from db import schema
from db.queries.log import LogHead, head_values, key_of
from db.store import Batch, Value, WritableStore
from ledger.completeness.families import BY_NAME, milestone_of
from ledger.completeness.intervals import Interval, closing, cover
from ledger.completeness.tiles import WIDTH, paths_of
from ledger.completeness.trees import family_of, place_of
from ledger.crypto.log_tree import tree_root
from ledger.transparency.checkpoint import Checkpoint, sign_checkpoint
from ledger.transparency.growth import LogBuilder
from ledger.transparency.keys import SigningKey
from tests.db.stores import CHUNK_SIZE
from tests.ledger.completeness.ledgers import Archive

FIRST, FRONTIER = 3, 2_150

BEGIN, END = 100, 2_099
"""The milestones that are in complete intervals."""

TAGS, PARENTS, UPDATES = (
    BY_NAME[name] for name in ("messages_by_tag", "messages_by_parent", "ledger_updates_by_address")
)
RNG = Random(7)


def row_of(milestone: int, size: int) -> bytes:
    return milestone.to_bytes(4, "big") + RNG.randbytes(size)


def spread(count: int, first: int, last: int, size: int) -> list[bytes]:
    return sorted(row_of(RNG.randint(first, last), size) for _ in range(count))


def update(milestone: int) -> bytes:
    return row_of(milestone, 34) + bytes([RNG.randint(0, 1)])


ROWS = {
    place_of(TAGS, b"hot"): spread(1_500, FIRST, FRONTIER, 32),
    place_of(TAGS, b"hot "): spread(700, 1_610, 1_690, 32),
    place_of(TAGS, b""): spread(40, FIRST, FRONTIER, 32),
    place_of(TAGS, b"once"): [row_of(1_200, 32)],
    place_of(TAGS, b"late"): [row_of(2_120, 32)],
    place_of(TAGS, b"turns"): spread(256, FIRST, 399, 32) + spread(257, 400, 1_599, 32),
    place_of(UPDATES, b"\0" + b"\7" * 32): sorted(update(RNG.randint(FIRST, FRONTIER)) for _ in range(300)),
    **{place_of(PARENTS, RNG.randbytes(32)): spread(1, milestone, milestone, 32) for milestone in range(5, 1_800, 2)},
}
"""Hot keys, keys with rows in one interval only, keys without rows up to END, and enough keys for many tiles."""

MISSING = [
    place_of(TAGS, b"hota"),
    place_of(TAGS, b"~"),
    place_of(PARENTS, bytes(32)),
    place_of(PARENTS, b"\xff" * 32),
    place_of(UPDATES, b"\x10" + b"\xff" * 32),
]


def interval_rows(
    archive: Archive, intervals: Sequence[Interval], chunk_size: int = CHUNK_SIZE
) -> Iterator[tuple[Value, ...]]:
    for each in intervals:
        record = archive.record(each)
        yield each.end // chunk_size, each.end, each.level, record.key_count, record.root, b""


def tile_rows(archive: Archive, interval: Interval) -> Iterator[tuple[Value, ...]]:
    leaves = archive.tree(interval)
    starts = range(0, len(leaves), WIDTH)
    hashes = [tree_root(leaves.hashes[start : start + WIDTH]) for start in starts]
    for number, (start, path) in enumerate(zip(starts, paths_of(hashes), strict=True)):
        tile = [leaves[index] for index in range(start, min(start + WIDTH, len(leaves)))]
        encoded = b"".join(each.encode() for each in tile)
        yield interval.level, interval.number, 0, tile[0].place, number, encoded, path


def part_rows(archive: Archive, intervals: Sequence[Interval]) -> Iterator[tuple[Value, ...]]:
    for interval in intervals:
        for place in archive.tree(interval).places if interval.level else ():
            found = []
            for child in interval.children():
                index = archive.find(child, place)
                found += [(child, each) for each in archive.leaves(child, index, index + 1) if each.place == place]
            if len(found) > 1 and sum(leaf.count for _, leaf in found) >= schema.DIVIDED_FROM:
                children = b"".join(
                    child.number.to_bytes(4, "big") + leaf.count.to_bytes(4, "big") + leaf.root for child, leaf in found
                )
                yield place, interval.level, interval.number, children


def write_rows(store: WritableStore, archive: Archive, chunk_size: int = CHUNK_SIZE) -> None:
    """Writes the rows of the listings of an archive, and their hints."""
    with store.batch() as batch:
        for place, rows in archive.rows_of.items():
            write_listing(batch, place, rows, chunk_size)


def write_listing(batch: Batch, place: bytes, rows: Sequence[bytes], chunk_size: int) -> None:
    family, key = family_of(place), place[1:]
    ids = [(milestone_of(row), row[4:36]) for row in rows]
    ranges = sorted({milestone // chunk_size for milestone, _ in ids})
    if family is PARENTS:
        names = ("parent_id", "milestone_index", "message_id")
        batch.upsert(schema.parents, names, [(key, *row) for row in ids])
    elif family is TAGS:
        tagged = [(key, row[0] // chunk_size, 0, *row, 10_000 * row[0], 0) for row in ids]
        batch.upsert(schema.tags, schema.tags.names, tagged)
        batch.upsert(schema.tag_hints, schema.tag_hints.names, [(key, "message", each, 0) for each in ranges])
    else:
        names = ("address", "ms_range_id", "partition_id", "milestone_index", "output_id", "is_spent")
        updates = [
            (key, milestone_of(row) // chunk_size, 0, milestone_of(row), row[4:38], bool(row[38])) for row in rows
        ]
        batch.upsert(schema.ledger_updates_by_address, names, updates)
        hints = [(key, "ledger", "address", True, each, 0) for each in ranges]
        names = ("address", "output_kind", "variant", "included", "ms_range_id", "partition_id")
        batch.upsert(schema.addresses_hints, names, hints)


def shown(place: bytes) -> list[bytes]:
    """The rows of a key that can be proved."""
    return [row for row in ROWS.get(place, ()) if BEGIN <= milestone_of(row) <= END]


def write_archive(store: WritableStore, archive: Archive, chunk_size: int = CHUNK_SIZE) -> None:
    """Writes rows and trees."""
    write_trees(store, archive, END, chunk_size)
    write_rows(store, archive, chunk_size)
    with store.batch() as batch:
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [("chunk_size", str(chunk_size))])


def write_complete(store: WritableStore, network: str, chunk_size: int) -> None:
    """Makes all milestones complete, without their messages."""
    begins = range(FIRST // chunk_size * chunk_size, FRONTIER + 1, chunk_size)
    spans = [[max(FIRST, begin), min(FRONTIER, begin + chunk_size - 1)] for begin in begins]
    ranges = [
        (
            network,
            first // chunk_size,
            json.dumps([[first, last]]),
            "[]",
            last - first + 1,
            0,
            10_000 * first,
            10_000 * last,
        )
        for first, last in spans
    ]
    names = ("network", "ms_range_id", "complete", "incomplete", "milestone_count", "message_count")
    with store.batch() as batch:
        batch.upsert(schema.ranges, (*names, "min_timestamp", "max_timestamp"), ranges)


def write_trees(store: WritableStore, archive: Archive, end: int, chunk_size: int) -> None:
    """Writes the roots, and the leaves of the cover up to `end` only, as if those of smaller intervals were deleted."""
    closed = list(closing(archive.first, archive.first - 1, archive.frontier))
    with store.batch() as batch:
        batch.upsert(schema.interval_roots, schema.interval_roots.names, interval_rows(archive, closed, chunk_size))
        for interval in cover(archive.first, end):
            batch.upsert(schema.listing_tiles, schema.listing_tiles.names, tile_rows(archive, interval))
        batch.upsert(schema.listing_parts, schema.listing_parts.names, part_rows(archive, closed))


def write_log(store: WritableStore, archive: Archive, key: SigningKey | None) -> Checkpoint:
    """Writes the log, signed by a key. Its records of milestones are only their indices."""
    builder = LogBuilder()
    places = [*builder.extend(archive.log), *builder.edge()]
    checkpoint = Checkpoint(f"permanode/{archive.network}/{archive.first}", builder.size, builder.root())
    signed = None if key is None else bytes(sign_checkpoint(checkpoint, key))
    verifier = None if key is None else key.verifier.text
    with store.batch() as batch:
        tiles = [(*key_of(place), place.width, data) for place, data in places]
        batch.upsert(schema.log_tiles, schema.log_tiles.names, tiles)
        row = head_values(archive.network, LogHead(checkpoint, verifier, signed))
        batch.upsert(schema.log_heads, schema.log_heads.names, [row])
    return checkpoint
