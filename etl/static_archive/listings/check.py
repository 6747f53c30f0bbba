"""Compares the listings of an archive with its log: every row leads to the root of its key, every key to the record of
its interval, and the intervals to the record of the cover in the signed log.
"""

import io
from base64 import b64decode
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from etl.static_archive.listings.interval_file import HEAD, bytes_of_rows, interval_of, read_tile
from etl.static_archive.listings.pages import POSITION_BYTES, DirectoryBuilder
from etl.static_archive.names import HashingFile
from ledger.completeness.fetched_trees import FetchedTrees
from ledger.completeness.intervals import Interval, cover, log_place_of_cover
from ledger.completeness.records import IntervalRecord
from ledger.completeness.tiles import WIDTH, paths_of
from ledger.completeness.trees import cover_record
from ledger.crypto.log_tree import HASH_BYTES, leaf_hash, root_of_range, tree_root
from ledger.transparency.checkpoint import Checkpoint


def fault_of_listings(listings: Mapping[str, Any], head: Checkpoint) -> str:
    """Why the log does not contain these listings. Empty if it does.

    `listings`: of a manifest. `head`: of the checkpoint, which is verified elsewhere.
    """
    try:
        first, end = listings["first"], listings["end"]
        records = [
            IntervalRecord(interval_of(each["first"], each["last"]), each["keys"], bytes.fromhex(each["root"]))
            for each in listings["files"]
        ]
        if [each.interval for each in records] != cover(first, end):
            return f"files of all milestones from {first} to {end} expected"
        path = b64decode(listings["log_path"], validate=True)
        hashes = [path[at : at + HASH_BYTES] for at in range(0, len(path), HASH_BYTES)]
        record = leaf_hash(bytes(cover_record(records)))
        if root_of_range(head.size, log_place_of_cover(first, end), [record], hashes) != head.root:
            return f"the log has other trees of listings up to milestone {end}"
    except (KeyError, TypeError, ValueError) as error:
        return f"the listings of a manifest expected, {error!r}"
    return ""


def fault_of_file(path: Path, file: Mapping[str, Any]) -> str:
    """Why a file is not that of its interval. Empty if it is. `file`: of a manifest."""
    interval = interval_of(file["first"], file["last"])
    directory, roots, paths, keys, last = DirectoryBuilder(), list[bytes](), list[bytes](), 0, b""
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            while len(roots) * WIDTH < file["keys"]:
                position = stream.tell()
                tile = read_tile(_tile_bytes(stream), position, file["keys"]).tile
                if tile.number != len(roots) or any(one >= other for one, other in pairwise([last, *tile.places])):
                    return f"tile {len(roots)} with keys in order expected at byte {position}"
                for leaf in tile.leaves(tile.start, tile.stop):
                    if bytes_of_rows(leaf) > size - stream.tell():
                        return f"rows of {leaf.place.hex()} expected at byte {stream.tell()}"
                    _check_rows(interval, leaf.place, stream.read(bytes_of_rows(leaf)), leaf)
                directory.add(tile.places[0], tile.places[1] if len(tile.places) > 1 else None, position)
                roots.append(tree_root(tile.hashes))
                paths.append(b"".join(tile.path))
                keys, last = keys + len(tile.places), tile.places[-1]
            pages = HashingFile(tail := io.BytesIO())
            pages.size = stream.tell()
            root = directory.write(pages)
            expected = tail.getvalue() + root.to_bytes(POSITION_BYTES, "little")
            if file["directory"] != root or stream.read() != expected:
                return "another directory than that of its tiles"
    except (ValueError, IndexError, KeyError) as error:
        return str(error)
    if [*paths_of(roots)] != paths or tree_root(roots).hex() != file["root"]:
        return "the tiles do not lead to the root of the interval"
    return ""


def _check_rows(interval: Interval, place: bytes, data: bytes, leaf: Any) -> None:
    """Raises ValueError if these are not the rows of a leaf."""
    width = bytes_of_rows(leaf) // leaf.count
    rows = [data[at : at + width] for at in range(0, len(data), width)]
    FetchedTrees(place).add_rows(interval, leaf, rows)


def _tile_bytes(stream: BinaryIO) -> bytes:
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        raise ValueError("tiles of all keys expected, found the end of the file")
    _, leaves, path = HEAD.unpack(head)
    return head + stream.read(leaves + path)
