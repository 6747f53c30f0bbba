"""Stores proofs of the selected listings of a selective permanode, copied from a static archive of a full one.

A selective store cannot compute the trees of listings, because their leaves are about all keys (decision 0044). Of a
signed archive it takes the tiles around its own keys, the roots of the intervals and the checkpoint, and serves proofs
from them as a full store does (decision 0048).

Invariants:
1. Nothing is stored before the signature of the checkpoint, the record of the cover, and the root of each listing are
   verified. The root follows from the rows of this store, so it shows that this store has all of them.
2. The head of the log is written last. It extends the one before: a log that this permanode had before it was reduced
   is continued, and a copied one is replaced by that of an archive whose log begins with it.
3. The lake has a copy of all these rows, because nothing else in it leads to them. A rebuild writes them again.
"""

import asyncio
import json
import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from db import schema
from db.connect import StoreSettings, open_store
from db.coverage import KEPT, Coverage, parse_coverage
from db.intervals import in_words, subtract
from db.model import Table
from db.partitions import ms_range_id
from db.queries.listing_proofs import OF_LEDGER, list_rows
from db.queries.log import LogHead, head_values, key_of
from db.store import Value, WritableStore
from etl.engine.arrow_frames import collected
from etl.engine.delta_log import DeltaLog
from etl.engine.delta_tables import replace_table
from etl.lake.delta import TABLES, Lake
from etl.run_lease import held_lease
from etl.static_archive.archived_log import ArchivedLog
from etl.static_archive.listings.check import fault_of_listings
from etl.static_archive.listings.history import ArchivedListings
from etl.static_client import ArchiveError, open_archive
from etl.store_reads import StoreReads
from etl.transparency.continuation import check_beginning, check_extends, continue_log
from etl.transparency.log_files import LogFiles
from etl.transparency.stored_log import StoredLog
from ledger.completeness.families import BY_NAME, FAMILIES, U32_BYTES, Family
from ledger.completeness.fetched_trees import FetchedTrees
from ledger.completeness.intervals import FACTOR, Interval, complete_to, log_place_of_cover, proved_span
from ledger.completeness.proof import Listing
from ledger.completeness.trees import Leaf
from ledger.selection import ADDRESS, TAG, Filter
from ledger.transparency.keys import VerifierKey
from ledger.transparency.tiled_tree import tiles_beside_leaf
from ledger.transparency.tiles import width_at

CHAINS = {0x08: "alias_outputs_by_chain", 0x10: "nft_outputs_by_chain"}
"""First byte of an address → the family of the states of the object that it belongs to."""

Rows = list[tuple[Value, ...]]

OF_LOG = (schema.log_tiles, schema.log_heads)

BYTES = "base64"
"""The key of bytes in the lake's rows."""

STORED = (schema.listing_tiles, schema.listing_parts, schema.interval_roots, *OF_LOG)
"""The tables of proofs, in the order in which they are written."""


@dataclass(frozen=True)
class KeptProofs:
    """What a run stored.

    Attributes:
        listings: the number of proved listings, also those without rows.
        rows: the number of their rows.
        complete_to: the last milestone that the proofs cover.
        left_out: filters that do not cover all milestones of the proofs.
    """

    listings: int
    rows: int
    complete_to: int
    left_out: tuple[str, ...]


def keep_proofs(settings: StoreSettings, lake: str, place: str, keys: Sequence[VerifierKey]) -> KeptProofs:
    """Stores the proofs of the listings that the filters of a selective store keep.

    Args:
        settings: those of the store.
        lake: path of its lake.
        place: folder or URL of a static archive with listings.
        keys: one of them must have signed its log. Without any, the key that the archive states, which must be the
            one that signed a log that was copied before.

    Raises:
        ValueError: the store is not selective, no filter covers the milestones of the proofs, the archive is one of
            another network or without listings, its log is shorter than the one here or has an unexpected key, or the
            store has other rows than it proves. Nothing was stored.
        ArchiveError: files of the archive contradict each other.
        LogError: its log is not signed by one of the keys.
        LogForked: this permanode has a log, its own or a copied one, which is not the beginning of that of the archive.
        LeaseHeld: another run writes to the store.
    """
    archive = open_archive(place)
    log = ArchivedLog.of(archive.reader, archive.manifest)
    if log is None:
        raise ValueError(f"{place}: an archive with a signed log expected")
    if log.network != settings.network:
        raise ValueError(f"{place}: an archive of {settings.network} expected, found one of {log.network}")
    log.check_signature(keys)
    listings = ArchivedListings(archive)
    if listings.end != complete_to(log.first, log.last):
        raise ArchiveError(f"listings up to the end of the log expected, found them up to {listings.end}")
    if fault := fault_of_listings(archive.manifest["listings"], log.head):
        raise ArchiveError(fault)
    with (
        closing(open_store(settings, writable=True)) as store,
        held_lease(store, uuid.uuid4().hex[:12]),
        closing(StoreReads(store, settings.network)) as reads,
    ):
        text = reads.info(KEPT)
        if text is None:
            raise ValueError("proof keep: this store keeps all messages, and a load with a genesis proves its listings")
        own = StoredLog(LogFiles(lake, settings.network), store, reads)
        has_own = own.files.head() is not None
        if has_own:
            own.open()
            check_beginning(own, log)
        elif (copied := reads.log_head()) is not None:
            check_extends(copied, log, is_key_given=bool(keys))
        coverage = parse_coverage(text)
        span = proved_span(listings.first, listings.end)
        ledger_index = reads.ledger_index()
        copies = _Copies(settings, store, listings, has_ledger=ledger_index is not None and ledger_index >= span[1])
        proved, left_out = _parted(coverage, span)
        if not proved:
            raise ValueError(
                f"proof keep: no filter of tags or addresses covers the milestones {in_words([span])} of the proofs: "
                "load these first"
            )
        for each in sorted(proved):
            for family, key in _listings_of(each):
                copies.add(family, key)
        found = [*copies.tables()]
        if not has_own:
            head = LogHead(log.head, log.verifier, log.checkpoint)
            found.append((schema.log_tiles, _log_rows(log, listings)))
            found.append((schema.log_heads, [head_values(settings.network, head)]))
        _write_to_lake(lake, found)
        _write_to_store(store, found)
        if has_own:
            continue_log(own, log)
    return KeptProofs(copies.count, copies.rows, listings.end, tuple(each.text for each in sorted(left_out)))


def restore_proofs(lake: Lake, store: WritableStore, chunk_size: int) -> None:
    """Writes the proofs of the lake into a store that was built from it."""
    if not lake.has("kept_proofs"):
        return
    by_table: dict[str, Rows] = {table.name: [] for table in STORED}
    for row in collected(lake.read("kept_proofs")).to_pylist():
        by_table[row["store_table"]].append(_decode_row(row["row"]))
    roots = by_table[schema.interval_roots.name]
    by_table[schema.interval_roots.name] = [(ms_range_id(int(row[1] or 0), chunk_size), *row[1:]) for row in roots]
    _write_to_store(store, [(table, by_table[table.name]) for table in STORED])


def _write_to_store(store: WritableStore, found: Sequence[tuple[Table, Rows]]) -> None:
    for is_log in (False, True):
        with store.batch() as batch:
            for table, rows in found:
                if (table in OF_LOG) is is_log:
                    batch.upsert(table, table.names, rows)


def _write_to_lake(lake: str, found: Sequence[tuple[Table, Rows]]) -> None:
    pairs = [(table.name, _encode_row(row)) for table, rows in found for row in rows]
    names, texts = ([pair[place] for pair in pairs] for place in (0, 1))
    rows = pa.table({"store_table": pa.array(names, pa.string()), "row": pa.array(texts, pa.string())})
    replace_table(DeltaLog(f"{lake}/kept_proofs", TABLES["kept_proofs"]), rows, {})


def _encode_row(row: Sequence[Value]) -> str:
    return json.dumps([{BYTES: b64encode(value).decode()} if isinstance(value, bytes) else value for value in row])


def _decode_row(text: str) -> tuple[Value, ...]:
    return tuple(b64decode(value[BYTES]) if isinstance(value, dict) else value for value in json.loads(text))


def _parted(coverage: Coverage, span: tuple[int, int]) -> tuple[list[Filter], list[Filter]]:
    """The filters of tags and addresses that cover a span, and those that do not."""
    of_keys = {each: milestones for each, milestones in coverage.items() if each.kind in (TAG, ADDRESS)}
    proved = [each for each, milestones in of_keys.items() if not subtract([span], milestones)]
    return proved, [each for each in of_keys if each not in proved]


def _listings_of(kept: Filter) -> Iterator[tuple[Family, bytes]]:
    """The families of proofs that list what a filter keeps, and the key in each."""
    if kept.kind == TAG:
        yield from ((family, kept.value) for family in FAMILIES if family.name.endswith("_by_tag"))
        return
    if (chain := CHAINS.get(kept.value[0])) is not None:
        yield BY_NAME[chain], kept.value[1:]
    yield from ((family, kept.value) for family in FAMILIES if family.key_least == len(kept.value) == family.key_most)


def _log_rows(log: ArchivedLog, listings: ArchivedListings) -> Rows:
    """The tiles of the log that the proof of the cover's record needs."""
    places = tiles_beside_leaf(log.head.size, log_place_of_cover(listings.first, listings.end))
    rows: Rows = []
    for place in places:
        assert place.level is not None, "an audit path is in tiles"
        width = width_at(log.head.size, place.level, place.number)
        rows.append((*key_of(place), width, log.tile(place.level, place.number, width)))
    return rows


class _Copies:
    """Rows of the tables of proofs. `count`: the number of listings, `rows`: of their rows."""

    def __init__(
        self, settings: StoreSettings, store: WritableStore, listings: ArchivedListings, *, has_ledger: bool
    ) -> None:
        self.count = self.rows = 0
        self._settings, self._store, self._listings, self._has_ledger = settings, store, listings, has_ledger
        self._tiles: dict[tuple[Interval, int], tuple[Value, ...]] = {}
        self._parts: Rows = []

    def add(self, family: Family, key: bytes) -> None:
        """Verifies a listing, and adds what proves it. Raises ValueError if this store has other rows."""
        if family.name in OF_LEDGER and not self._has_ledger:
            return
        listed = self._listings
        listing = Listing(listed.network, listed.first, family, key, listed.end)
        trees, tiles = listed.locate(family, key)
        for interval, found in tiles.items():
            leaf = trees.leaf(interval)
            rows = asyncio.run(list_rows(self._store, listing, interval))
            if not _are_proved(trees, interval, leaf, rows):
                raise ValueError(
                    f"proof keep: {family.name} {key.hex()}: the archive has other rows of the milestones "
                    f"{interval.start} to {interval.end} than this store. Nothing was stored"
                )
            self.rows += len(rows)
            for each in found:
                tile = each.tile
                # One partition for all tiles, because they are few: interval_roots.parts is empty.
                self._tiles[interval, tile.number] = (
                    *interval, 0, tile.places[0], tile.number, b"".join(tile.encoded), b"".join(tile.path)
                )  # fmt: skip
        if any(leaf is not None and leaf.count >= schema.DIVIDED_FROM for leaf in map(trees.leaf, tiles)):
            self._parts += _parts_of(trees)
        self.count += 1

    def tables(self) -> Iterator[tuple[Table, Rows]]:
        """The rows by table, those that refer to others last."""
        chunk_size = self._settings.chunk_size
        yield schema.listing_tiles, [*self._tiles.values()]
        yield schema.listing_parts, self._parts
        yield (
            schema.interval_roots,
            [
                (ms_range_id(each.end, chunk_size), each.end, each.level, record.key_count, record.root, b"")
                for each, record in self._listings.records.items()
            ],
        )


def _are_proved(trees: FetchedTrees, interval: Interval, leaf: Leaf | None, rows: list[bytes]) -> bool:
    """Whether these are all rows of a key in an interval. Adds them to the trees."""
    if leaf is None:
        return not rows
    try:
        trees.add_rows(interval, leaf, rows)
    except ValueError:
        return False
    return True


def _parts_of(trees: FetchedTrees) -> Rows:
    """The rows of listing_parts of a key with many rows."""
    return [
        (
            trees.place,
            division[0][0].level + 1,
            division[0][0].number // FACTOR,
            b"".join(
                child.number.to_bytes(U32_BYTES, "big") + leaf.count.to_bytes(U32_BYTES, "big") + leaf.root
                for child, leaf in division
            ),
        )
        for division in trees.divisions.values()
        if len(division) > 1
    ]
