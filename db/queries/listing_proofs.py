"""What proves that a page of a listing is complete: the trees of the intervals that cover its milestones.

`fetch_trees` reads what `ledger.completeness.proof.prove_page` needs, a bounded number of rows: one or two tiles per
interval of the cover, and the rows or divisions of the key where the page is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from db import schema
from db.coverage import check_proved, find_coverage, missing
from db.listing.spans import within
from db.listing.streams import Source, get_chunk_size, lookup_source, partition_source
from db.listing.turns import give_way, must_give_way
from db.model import Table
from db.partitions import ms_range_id
from db.queries.ledger import find_ledger_index
from db.roles import LOOKUP_OF_TABLE, ROLES, listing_key
from db.store import Bound, Key, NotFound, NotKeptHere, Row, Store, StoreDamaged
from db.together import together
from ledger.completeness.families import Family, milestone_of
from ledger.completeness.fetched_trees import FetchedTrees
from ledger.completeness.intervals import Interval, cover, proved_span, size_of
from ledger.completeness.proof import Listing
from ledger.completeness.records import IntervalRecord
from ledger.completeness.tiles import Tile, decode_tile
from ledger.completeness.trees import GROUP, Leaf, groups_of, place_of
from ledger.crypto.log_tree import HASH_BYTES

PAGE = 1_000
"""Rows that are read and hashed at once."""

CHILD_BYTES = 4 + 4 + HASH_BYTES

Node: TypeAlias = tuple[Interval, Leaf]
"""An interval that has rows of the key, and the key's leaf there."""

NOT_KEPT = (
    "the proof of this listing is not kept here: it was covered after the last `permanode proof keep` of this archive"
)

OUTPUT_ROLES = {f"{role.output_kind}_outputs_by_{role.variant}": role for role in ROLES}
"""Name of a family → the role of its outputs."""

OF_LEDGER = frozenset({"ledger_updates_by_address", "transactions_by_address"})
"""Families whose rows follow from the ledger state."""

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
        NotFound: the trees of a cover that ends so long ago are no longer kept, or are not in a selective store, or it
            does not cover all milestones of the listing.
        StoreDamaged: a tile is missing.
        ValueError: no interval ends at `listing.end`.
    """
    await _check_kept(store, listing)
    trees = FetchedTrees(place_of(listing.family, listing.key))
    intervals = cover(listing.first, listing.end)
    chunk_size = await get_chunk_size(store)
    keys = [(ms_range_id(each.end, chunk_size), each.end, each.level) for each in intervals]
    rows = await store.get_many(schema.interval_roots, keys)
    await together(*(_locate(store, trees, *each) for each in zip(intervals, rows, strict=True)))
    return trees


async def _check_kept(store: Store, listing: Listing) -> None:
    """Raises NotKeptHere for a listing of which a selective store does not have all rows."""
    span = proved_span(listing.first, listing.end)
    await check_proved(store, LOOKUP_OF_TABLE.get(_table_of(listing.family)), listing.key.hex(), span)
    if listing.family.name in OF_LEDGER and await find_coverage(store) is not None:
        ledger_index = await find_ledger_index(store, listing.network)
        if ledger_index is None or ledger_index < listing.end:
            raise NotKeptHere(
                f"the proof of this listing is not kept here: the ledger state does not reach milestone {listing.end}"
            )


async def fetch_rows(store: Store, trees: FetchedTrees, listing: Listing, index: int, count: int) -> None:
    """Reads what the proof of a page needs of its rows.

    Args:
        store: the store.
        trees: of `locate_key` for the same listing.
        listing: what is proved.
        index: the place of the page's first row, oldest first, from 0.
        count: the number of rows of the page.

    Raises:
        NotKeptHere: a selective store has no divisions of a key whose filter was added after its proofs were kept.
        StoreDamaged: rows and trees contradict each other.
    """
    await _read(store, trees, listing, await _touched(store, trees, listing, _present(trees, listing), index, count))


async def fetch_trees(store: Store, listing: Listing, index: int, count: int) -> FetchedTrees:
    """Reads what the proof of a page needs: `locate_key`, then `fetch_rows`."""
    trees = await locate_key(store, listing)
    await fetch_rows(store, trees, listing, index, count)
    return trees


async def find_index(store: Store, trees: FetchedTrees, listing: Listing, row: bytes) -> int:
    """The number of rows of a listing before a row id. `trees`: of `locate_key` for the same listing."""
    passed = 0
    having = _present(trees, listing)
    while True:
        for interval, leaf in having:
            if milestone_of(row) <= interval.end:
                break
            passed += leaf.count
        else:
            return passed
        if interval not in trees.rows_of and interval not in trees.divisions:
            await _open(store, trees, listing, interval, leaf)
        if interval in trees.rows_of:
            return passed + bisect_left(trees.rows_of[interval], row)
        having = trees.divisions[interval]


async def list_rows(store: Store, listing: Listing, interval: Interval) -> list[bytes]:
    """All row ids of a listing in an interval, oldest first."""
    table, stream = _table_of(listing.family), _stream(listing, interval, interval)(store, None, False)  # noqa: FBT003
    found: list[bytes] = []
    while rows := await stream.next(PAGE):
        found += [_as_bytes(table, row) for row in rows]
    return found


def _present(trees: FetchedTrees, listing: Listing) -> list[Node]:
    """The intervals of the cover that have the key."""
    leaves = ((interval, trees.leaf(interval)) for interval in cover(listing.first, listing.end))
    return [(interval, leaf) for interval, leaf in leaves if leaf is not None]


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
        raise await missing(store, f"the leaves of the tree of milestones {interval.start} to {interval.end}")
    tiles = [tile]
    index = tile.find(trees.place)
    is_found = tile.number == 0 or tile.places[0] <= trees.place
    if index == tile.stop < keys:
        after = Bound(at.values, inclusive=False)
        following = await _tile(store, interval, part, lower=after) or await _tile(store, interval, part + 1)
        is_found = is_found and following is not None and following.number == tile.number + 1
        tiles += [following] if following is not None else []
    if not is_found:
        if await find_coverage(store) is None:
            raise StoreDamaged(f"listing_tiles: {interval} has {keys} keys, but not the tiles around {tile.number}")
        raise NotKeptHere(NOT_KEPT)
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


async def _touched(
    store: Store, trees: FetchedTrees, listing: Listing, having: Sequence[Node], start: int, count: int
) -> list[Node]:
    """The intervals with `count` of the rows of the key from `start` on whose rows are read at once: those of level 0,
    and those with few rows.
    """
    found: list[Node] = []
    passed = 0
    for interval, leaf in having:
        if passed < start + count and start < passed + leaf.count:
            if _is_read_whole(interval, leaf):
                found.append((interval, leaf))
            else:
                if interval not in trees.divisions:
                    await _open(store, trees, listing, interval, leaf)
                division = trees.divisions[interval]
                found += await _touched(store, trees, listing, division, start - passed, count)
        passed += leaf.count
    return found


async def _open(store: Store, trees: FetchedTrees, listing: Listing, interval: Interval, leaf: Leaf) -> None:
    """Reads how the rows of the key in an interval are divided, or these rows."""
    if _is_read_whole(interval, leaf):
        await _read(store, trees, listing, [(interval, leaf)])
        return
    division = await _find_division(store, listing, interval, leaf)
    try:
        trees.add_division(interval, leaf, division)
    except ValueError as error:
        raise StoreDamaged(f"listing_parts: {error}") from error


def _is_read_whole(interval: Interval, leaf: Leaf) -> bool:
    return not interval.level or leaf.count < schema.DIVIDED_FROM


async def _find_division(store: Store, listing: Listing, interval: Interval, leaf: Leaf) -> list[Node]:
    """How the many rows of the key in an interval above level 0 are divided: a result of `FetchedTrees.children`."""
    for level in range(interval.level, 0, -1):
        bounds = [each // size_of(level) for each in (interval.start, interval.end)]
        lower, upper = (Bound((level, number)) for number in bounds)
        rows = await store.slice(schema.listing_parts, (leaf.place.hex(),), lower=lower, upper=upper, limit=1)
        if rows:
            data = rows[0]["children"]
            parts = [data[at : at + CHILD_BYTES] for at in range(0, len(data), CHILD_BYTES)]
            numbers = [[int.from_bytes(each[at : at + 4], "big") for at in (0, 4)] for each in parts]
            return [
                (Interval(level - 1, number), Leaf(leaf.place, count, each[8:]))
                for (number, count), each in zip(numbers, parts, strict=True)
            ]
    source = _stream(listing, interval, interval)
    ends = [await source(store, None, newest).next(1) for newest in (False, True)]
    inner = {row["milestone_index"] // size_of(0) for rows in ends for row in rows}
    if len(inner) > 1:
        if await find_coverage(store) is None:
            raise StoreDamaged(f"listing_parts: no row of {listing.family.name} {listing.key.hex()} in {interval}")
        raise NotKeptHere(NOT_KEPT)
    return [(Interval(0, number), leaf) for number in inner]


async def _read(store: Store, trees: FetchedTrees, listing: Listing, nodes: Sequence[Node]) -> None:
    """Reads all rows of the key in intervals that follow each other in the listing, unless they are known."""
    for is_known, run in groupby(nodes, key=lambda each: each[0] in trees.rows_of or each[0] in trees.divisions):
        if not is_known:
            await _read_run(store, trees, listing, [*run])


async def _read_run(store: Store, trees: FetchedTrees, listing: Listing, run: Sequence[Node]) -> None:
    table = _table_of(listing.family)
    stream = _stream(listing, run[0][0], run[-1][0])(store, None, False)  # noqa: FBT003
    missing = sum(leaf.count for _, leaf in run)
    waiting: list[bytes] = []
    for interval, leaf in run:
        rows, groups = list[bytes](), list[bytes]()
        while len(rows) < leaf.count:
            if not waiting:
                waiting = [_as_bytes(table, row) for row in await stream.next(min(missing, PAGE))]
                missing -= len(waiting)
            if not waiting:
                break
            wanted = leaf.count - len(rows)
            rows += waiting[:wanted]
            del waiting[:wanted]
            if not interval.level:
                # Page by page, because hashing the rows of a hot key takes as long as reading them.
                whole = len(rows) // GROUP if len(rows) < leaf.count else leaf.count
                groups += groups_of(rows[GROUP * len(groups) : GROUP * whole])
            if must_give_way():
                await give_way()
        try:
            if interval.level:
                trees.add_rows(interval, leaf, rows)
            else:
                trees.add_groups(interval, leaf, rows, groups)
        except ValueError as error:
            raise StoreDamaged(f"listing_tiles: {error}") from error


def _stream(listing: Listing, first: Interval, last: Interval) -> Source:
    """The rows of a listing from one interval to another, oldest first."""
    span = (max(first.start, listing.first), last.end)
    return within(_source_of(listing.family, listing.key), [span])


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
