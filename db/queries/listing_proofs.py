"""What proves that a page of a listing is complete: the trees of the intervals that cover its milestones.

`fetch_trees` reads what `ledger.completeness.proof.prove_page` needs, a bounded number of rows: one or two tiles per
interval of the cover, and the rows or divisions of the key where the page is.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from db import schema
from db.listing.spans import within
from db.listing.streams import Source, get_chunk_size, lookup_source, partition_source
from db.listing.turns import give_way, must_give_way
from db.model import Table
from db.partitions import ms_range_id
from db.roles import LOOKUP_OF_TABLE, ROLES, listing_key
from db.store import Bound, Key, NotFound, Row, Store, StoreDamaged
from ledger.completeness.families import Family, milestone_of
from ledger.completeness.fetched_trees import FetchedTrees
from ledger.completeness.intervals import Interval, cover, size_of
from ledger.completeness.proof import Listing
from ledger.completeness.records import IntervalRecord
from ledger.completeness.tiles import Tile, decode_tile
from ledger.completeness.trees import Child, Leaf, place_of
from ledger.crypto.log_tree import HASH_BYTES

PAGE = 1_000
CHILD_BYTES = 4 + 4 + HASH_BYTES

OUTPUT_ROLES = {f"{role.output_kind}_outputs_by_{role.variant}": role for role in ROLES}
"""Name of a family → the role of its outputs."""

TABLES = {
    "messages_by_tag": schema.tags,
    "messages_by_parent": schema.parents,
    "ledger_updates_by_address": schema.ledger_updates_by_address,
    "transactions_by_address": schema.transactions_by_address,
}
"""Name of a family without such a role → the table of its rows."""


async def locate_key(store: Store, listing: Listing) -> FetchedTrees:
    """Reads the key's leaf in each interval of the cover, or its neighbours.

    Args:
        store: the store of an IOTA network.
        listing: what is proved. Its end is at most the last milestone of `find_proved`.

    Raises:
        NotFound: the trees of a cover that ends so long ago are no longer kept.
        StoreDamaged: a tile is missing.
        ValueError: no interval ends at `listing.end`.
    """
    trees = FetchedTrees(place_of(listing.family, listing.key))
    intervals = cover(listing.first, listing.end)
    chunk_size = await get_chunk_size(store)
    keys = [(ms_range_id(each.end, chunk_size), each.end, each.level) for each in intervals]
    rows = await store.get_many(schema.interval_roots, keys)
    await asyncio.gather(*(_locate(store, trees, *each) for each in zip(intervals, rows, strict=True)))
    return trees


async def fetch_rows(store: Store, trees: FetchedTrees, listing: Listing, index: int, count: int) -> None:
    """Reads what the proof of a page needs of its rows.

    Args:
        store: the store.
        trees: of `locate_key` for the same listing.
        listing: what is proved.
        index: the place of the page's first row, oldest first, from 0.
        count: the number of rows of the page.

    Raises:
        StoreDamaged: rows and trees contradict each other.
    """
    for interval, leaf, passed in _present(trees, listing):
        await _divide(store, trees, listing, interval, leaf, index - passed, index + count - passed)


async def fetch_trees(store: Store, listing: Listing, index: int, count: int) -> FetchedTrees:
    """Reads what the proof of a page needs: `locate_key`, then `fetch_rows`."""
    trees = await locate_key(store, listing)
    await fetch_rows(store, trees, listing, index, count)
    return trees


async def find_index(store: Store, trees: FetchedTrees, listing: Listing, row: bytes) -> int:
    """The number of rows of a listing before a row id. `trees`: of `locate_key` for the same listing."""
    total = 0
    for interval, leaf, passed in _present(trees, listing):
        if milestone_of(row) <= interval.end:
            return passed + await _count_before(store, listing, interval, leaf, row)
        total = passed + leaf.count
    return total


def _present(trees: FetchedTrees, listing: Listing) -> Iterator[tuple[Interval, Leaf, int]]:
    """The intervals of the cover that have the key, its leaves there, and the number of rows before each."""
    passed = 0
    for interval in cover(listing.first, listing.end):
        leaf = trees.leaf(interval)
        if leaf is not None:
            yield interval, leaf, passed
            passed += leaf.count


async def _locate(store: Store, trees: FetchedTrees, interval: Interval, row: Row | None) -> None:
    """Reads the tiles around the place in an interval of the cover."""
    if row is None:
        raise NotFound(f"the tree of milestones {interval.start} to {interval.end}")
    keys = row["key_count"]
    trees.records[interval] = IntervalRecord(interval, keys, row["root"])
    if not keys:
        trees.found[interval] = 0, []
        return
    at = Bound((trees.place.hex(),))
    part = bisect_right([*_parts(row["parts"])], trees.place)
    tile = await _tile(store, interval, part, upper=at) or await _tile(store, interval, part)
    if tile is None:
        raise NotFound(f"the leaves of the tree of milestones {interval.start} to {interval.end}")
    tiles = [tile]
    index = tile.find(trees.place)
    if index == tile.stop < keys:
        after = Bound(at.values, inclusive=False)
        following = await _tile(store, interval, part, lower=after) or await _tile(store, interval, part + 1)
        if following is None:
            raise StoreDamaged(f"listing_tiles: {interval} has {keys} keys, but no tile after {tile.number}")
        tiles.append(following)
    trees.found[interval] = index, tiles


async def _tile(
    store: Store, interval: Interval, part: int, *, lower: Bound | None = None, upper: Bound | None = None
) -> Tile | None:
    """The first tile of a partition from `lower` on, or the last one up to `upper`."""
    rows = await store.slice(
        schema.listing_tiles, (*interval, part), lower=lower, upper=upper, reverse=upper is not None, limit=1
    )
    return decode_tile(rows[0]["tile"], rows[0]["leaves"], rows[0]["path"]) if rows else None


def _parts(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        end = at + 1 + data[at]
        yield data[at + 1 : end]
        at = end


async def _divide(
    store: Store, trees: FetchedTrees, listing: Listing, interval: Interval, leaf: Leaf, start: int, stop: int
) -> None:
    """Reads the rows from `start` to before `stop` of the key in an interval, which may exceed them on both sides, with
    the leaves of the intervals inside it.
    """
    if max(0, start) >= min(leaf.count, stop):
        return
    divided = await _find_division(store, listing, interval, leaf)
    if divided is None:
        _add_rows(trees, interval, leaf, await _rows(store, listing, interval))
        return
    single, children = divided
    for level in range(single.level, interval.level):
        trees.inner[Interval(level, single.start // size_of(level))] = leaf
    if not children:
        _add_rows(trees, single, leaf, await _rows(store, listing, single))
    passed = 0
    for child in children:
        inside, of_child = Interval(single.level - 1, child.number), Leaf(leaf.place, child.count, child.root)
        trees.inner[inside] = of_child
        await _divide(store, trees, listing, inside, of_child, start - passed, stop - passed)
        passed += child.count


async def _count_before(store: Store, listing: Listing, interval: Interval, leaf: Leaf, row: bytes) -> int:
    """The number of rows of the key in an interval before a row id."""
    divided = await _find_division(store, listing, interval, leaf)
    single, children = divided or (interval, [])
    if not children:
        return bisect_left(await _rows(store, listing, single), row)
    passed = 0
    for child in children:
        inside = Interval(single.level - 1, child.number)
        if milestone_of(row) <= inside.end:
            return passed + await _count_before(store, listing, inside, Leaf(leaf.place, child.count, child.root), row)
        passed += child.count
    return passed


async def _find_division(
    store: Store, listing: Listing, interval: Interval, leaf: Leaf
) -> tuple[Interval, list[Child]] | None:
    """The largest interval, this one or inside it, several of whose children have rows of the key, and these; or the
    interval of level 0 that has all rows. None for a key with few rows, whose division follows from them.
    """
    if leaf.count < schema.DIVIDED_FROM or not interval.level:
        return None
    for level in range(interval.level, 0, -1):
        bounds = [each // size_of(level) for each in (interval.start, interval.end)]
        lower, upper = (Bound((level, number)) for number in bounds)
        rows = await store.slice(schema.listing_parts, (leaf.place.hex(),), lower=lower, upper=upper, limit=1)
        if rows:
            data = rows[0]["children"]
            children = [data[at : at + CHILD_BYTES] for at in range(0, len(data), CHILD_BYTES)]
            return Interval(level, rows[0]["number"]), [
                Child(int.from_bytes(each[:4], "big"), int.from_bytes(each[4:8], "big"), each[8:]) for each in children
            ]
    (row,) = await _rows(store, listing, interval, limit=1)
    return Interval(0, milestone_of(row) // size_of(0)), []


def _add_rows(trees: FetchedTrees, interval: Interval, leaf: Leaf, rows: Sequence[bytes]) -> None:
    try:
        trees.add_rows(interval, leaf, rows)
    except ValueError as error:
        raise StoreDamaged(f"listing_tiles: {error}") from error


async def _rows(store: Store, listing: Listing, interval: Interval, limit: int | None = None) -> list[bytes]:
    """The row ids of a listing in an interval, oldest first."""
    table, source = _table_of(listing.family), _source_of(listing.family, listing.key)
    span = (max(interval.start, listing.first), interval.end)
    stream = within(source, [span])(store, None, False)  # noqa: FBT003
    found: list[bytes] = []
    while rows := await stream.next(limit or PAGE):
        found += [_as_bytes(table, row) for row in rows]
        if limit is not None:
            return found[:limit]
        if must_give_way():
            await give_way()
    return found


def _table_of(family: Family) -> Table:
    """The table of a family's rows."""
    role = OUTPUT_ROLES.get(family.name)
    return TABLES[family.name] if role is None else role.table


def _source_of(family: Family, key: bytes) -> Source:
    """The rows of a key in the table of a family."""
    table, text = _table_of(family), key.hex()
    role = OUTPUT_ROLES.get(family.name)
    if role is not None:
        return _lookup(table, listing_key(role, text, included=True))
    if table is schema.parents:
        return partition_source(table, (text,), columns=table.clustering)
    return _lookup(table, (text, True) if table is schema.transactions_by_address else (text,))


def _lookup(table: Table, key: Key) -> Source:
    return lookup_source(LOOKUP_OF_TABLE[table], key, table.clustering)


def row_id(family: Family, row: Row) -> bytes:
    """The row id of a row of the family's table."""
    return _as_bytes(_table_of(family), row)


def _as_bytes(table: Table, row: Row) -> bytes:
    """The row's clustering columns as bytes that sort like them."""
    parts = []
    for name in table.clustering:
        value = row[name]
        if isinstance(value, bool):
            parts.append(bytes([value]))
        else:
            parts.append(value.to_bytes(4, "big") if isinstance(value, int) else bytes.fromhex(value))
    return b"".join(parts)
