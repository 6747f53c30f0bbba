"""Proofs of listings from the files of an archive: the documents of /proofs/listing, without a server.

A page leads to a page or to a tile, so a key takes at most five requests for each interval of the cover: three pages,
a tile, and the rows that did not come with it. Nothing read is believed: the checker of the document does not need the
archive.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from etl.static_archive.listings.interval_file import TILE_MOST, StoredTile, interval_of, read_tile
from etl.static_archive.listings.pages import PAGE_MOST, POSITION_BYTES, Page, decode_page
from etl.static_client import Archive, ArchiveError, Reader
from ledger.completeness.document import render_document
from ledger.completeness.families import Family
from ledger.completeness.fetched_trees import FetchedTrees
from ledger.completeness.intervals import Interval, cover
from ledger.completeness.proof import Listing, prove_page
from ledger.completeness.records import IntervalRecord
from ledger.completeness.trees import Leaf, place_of
from ledger.crypto.log_tree import HASH_BYTES, ProofError

AT_ONCE = 8
"""Intervals that are read at once."""

NUMBER_MOST = (1 << 8 * POSITION_BYTES) - 1
"""The largest position in a file, and number of keys."""

PART_BYTES = 1 << 20
"""Bytes of rows that are requested at a time. The count of rows in a tile is not proved before they are read, so memory
grows with the bytes that the archive has and not with those that it claims.
"""


class ArchivedListings:
    """The listings of an open archive. It keeps the root pages that it has read.

    Attributes:
        first: the first milestone of the log.
        end: the last milestone of the listings.
        network: whose they are.
        records: those of the intervals of the cover.
    """

    def __init__(self, archive: Archive) -> None:
        values = archive.manifest.get("listings")
        if not values:
            raise LookupError("an archive with listings expected: publish from a store with a signed log")
        try:
            self.network = archive.manifest["network"]
            self.first, self.end = int(values["first"]), int(values["end"])
            path = b64decode(values["log_path"], validate=True)
            self._checkpoint: str = archive.manifest["log"]["checkpoint"]
            self._files = {interval_of(each["first"], each["last"]): each for each in values["files"]}
            self.records = {
                interval: IntervalRecord(interval, int(each["keys"]), bytes.fromhex(each["root"]))
                for interval, each in self._files.items()
            }
            numbers = [each[name] for each in values["files"] for name in ("size", "keys", "directory")]
            is_valid = all(type(each) is int and 0 <= each <= NUMBER_MOST for each in numbers)
            is_whole = [*self._files] == cover(self.first, self.end)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise ArchiveError(f"the listings of a manifest expected, {error!r}") from error
        if not is_valid:
            raise ArchiveError(f"the listings of a manifest expected, with sizes from 0 to {NUMBER_MOST}")
        if not is_whole:
            raise ArchiveError(f"files of all milestones from {self.first} to {self.end} expected")
        self._log_path = [path[at : at + HASH_BYTES] for at in range(0, len(path), HASH_BYTES)]
        self._reader: Reader = archive.reader
        self._roots: dict[Interval, Page] = {}

    def prove(self, family: Family, key: bytes, index: int = 0, count: int = 100) -> str:
        """The document that proves a page of a listing, as the server makes it.

        Args:
            family: the kind of listing.
            key: what it is about.
            index: the place of the page's first row, oldest first, from 0.
            count: the most rows of the page.

        Raises:
            ArchiveError: files contradict each other.
            OSError: a file cannot be read.
            ValueError: the listing has rows but none from `index` on.
        """
        listing = Listing(self.network, self.first, family, key, self.end)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            trees, held = self._find(family, key, pool)
            if trees.total and index >= trees.total:
                raise ValueError(f"expected a page of {trees.total} rows, found {count} rows from place {index} on")
            [*pool.map(lambda each: self._add_rows(trees, *each), self._touched(trees, held, index, count))]
        return render_document(prove_page(trees, listing, index, count, self._log_path, self._checkpoint))

    def locate(self, family: Family, key: bytes) -> tuple[FetchedTrees, dict[Interval, list[StoredTile]]]:
        """The trees with the key's leaf in each interval of the cover or its neighbours, and the tiles of these.

        Raises:
            ArchiveError: files contradict each other.
            OSError: a file cannot be read.
        """
        with ThreadPoolExecutor(AT_ONCE) as pool:
            trees, held = self._find(family, key, pool)
        return trees, {interval: [tile for tile, _ in tiles] for interval, tiles in held.items()}

    def _find(
        self, family: Family, key: bytes, pool: ThreadPoolExecutor
    ) -> tuple[FetchedTrees, dict[Interval, list[tuple[StoredTile, bytes]]]]:
        """Reads the tiles around a key in all intervals. Returns them with the bytes that came."""
        trees = FetchedTrees(place_of(family, key), dict(self.records))
        found = pool.map(lambda each: self._locate(each, trees), self._files)
        return trees, dict(zip(self._files, found, strict=True))

    def _locate(self, interval: Interval, trees: FetchedTrees) -> list[tuple[StoredTile, bytes]]:
        """Reads the tiles around the place in an interval. Returns them with the bytes that came."""
        keys = self.records[interval].key_count
        if not keys:
            trees.found[interval] = 0, []
            return []
        page = self._root(interval)
        begin, end = page.child(trees.place)
        while page.depth:
            above, page = page.depth, self._page(interval, begin, end)
            if page.depth >= above:
                raise ArchiveError(
                    f"{self._files[interval]['name']}: a page of the directory below depth {above} expected"
                )
            begin, end = page.child(trees.place)
        found = [self._tile(interval, begin, min(end - begin, TILE_MOST))]
        index = found[0][0].tile.find(trees.place)
        if index == found[0][0].tile.stop < keys:
            found.append(self._tile(interval, end, TILE_MOST))
            index = found[1][0].tile.find(trees.place)
        trees.found[interval] = index, [each.tile for each, _ in found]
        return found

    def _touched(
        self, trees: FetchedTrees, held: dict[Interval, list[tuple[StoredTile, bytes]]], index: int, count: int
    ) -> Iterator[tuple[Interval, Leaf, StoredTile, bytes]]:
        """The intervals with rows of the page, the key's leaf there, and its tile."""
        passed = 0
        for interval, tiles in held.items():
            leaf = trees.leaf(interval)
            if leaf is None:
                continue
            if passed < index + count and index < passed + leaf.count:
                at = trees.found[interval][0]
                own = next(each for each in tiles if each[0].tile.start <= at < each[0].tile.stop)
                yield interval, leaf, *own
            passed += leaf.count

    def _add_rows(self, trees: FetchedTrees, interval: Interval, leaf: Leaf, stored: StoredTile, data: bytes) -> None:
        begin, size = stored.rows_of(trees.found[interval][0])
        start = begin - stored.position
        found = data[start : start + size]
        if len(found) < size:
            found = self._rows(interval, begin, size)
        width = size // leaf.count
        try:
            trees.add_rows(interval, leaf, [found[at : at + width] for at in range(0, len(found), width)])
        except (ValueError, ProofError) as error:
            raise ArchiveError(f"{self._files[interval]['name']}: {error}") from error

    def _rows(self, interval: Interval, begin: int, size: int) -> bytes:
        """Reads rows in parts. Raises ArchiveError if the file ends before them."""
        found, is_inside = bytearray(), begin + size <= self._files[interval]["size"]
        while is_inside and len(found) < size:
            wanted = min(PART_BYTES, size - len(found))
            part = self._part(interval, begin + len(found), wanted)
            found += part
            is_inside = len(part) == wanted
        if not is_inside:
            raise ArchiveError(f"{self._files[interval]['name']}: {size} bytes of rows expected at byte {begin}")
        return bytes(found)

    def _tile(self, interval: Interval, position: int, size: int) -> tuple[StoredTile, bytes]:
        data = self._part(interval, position, size)
        try:
            return read_tile(data, position, self.records[interval].key_count), data
        except (ValueError, IndexError) as error:
            raise ArchiveError(f"{self._files[interval]['name']}: {error}") from error

    def _root(self, interval: Interval) -> Page:
        if interval not in self._roots:
            file = self._files[interval]
            self._roots[interval] = self._page(interval, file["directory"], file["size"] - POSITION_BYTES)
        return self._roots[interval]

    def _page(self, interval: Interval, begin: int, end: int) -> Page:
        if not 0 < end - begin <= PAGE_MOST:
            raise ArchiveError(f"{self._files[interval]['name']}: a page of at most {PAGE_MOST} bytes expected")
        try:
            return decode_page(self._part(interval, begin, end - begin))
        except (ValueError, IndexError) as error:
            raise ArchiveError(f"{self._files[interval]['name']}: {error}") from error

    def _part(self, interval: Interval, position: int, size: int) -> bytes:
        return self._reader.part(self._files[interval]["name"], position, size)
