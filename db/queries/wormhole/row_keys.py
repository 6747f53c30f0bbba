"""Messages by ranges of their row keys, `chain:address:sequence`, in the order of the keys.

Invariants:
1. Each message is returned once: its canonical body, or what was written of it if no signed VAA is known.
2. Keys sort as texts, as in the event tables, so `10:` precedes `1:`; but sequences sort as numbers. In the event
   tables, sequences from 17 digits on were out of order.
3. A chain in a prefix ends with its colon, so `1:` never matches chain 10.
4. A page reads partitions: the emitters of a chain, their ranges, the rows. Chains without a known number are read only
   if a key names them.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from db.listing.page import Listing, Page, list_page
from db.listing.streams import ChainedStream, HintedStream, Source, Stream
from db.queries.wormhole.vaas import emitted_source, find_bodies
from db.schema.wormhole_tables import emitters, vaas
from db.store import Bound, Key, Row, Store
from ledger.wormhole.chains import CHAIN_IDS
from ledger.wormhole.ids import sequence_key

BY_ROW_KEY = replace(vaas, partition=(), clustering=("emitter_chain", "emitter_address", *vaas.clustering))
"""Rows of `vaas` in the order of the event tables. No such table is stored."""

ADDRESS_DIGITS, PADDED_DIGITS, SEQUENCE_MAX = 64, 16, 2**64 - 1


@dataclass(frozen=True, slots=True)
class Segment:
    """Keys of one chain from `first` on, up to `last`: emitter, and optionally sequence_key. None: no limit."""

    chain: int
    first: Bound | None = None
    last: Bound | None = None


@dataclass(frozen=True, slots=True)
class RowKey:
    """A key, or the beginning of one: a chain, an address of up to 64 hex digits, a sequence."""

    chain: int
    emitter: str = ""
    sequence: int | None = None

    @property
    def position(self) -> Key:
        """Where keys that begin like this start."""
        emitter = self.emitter.ljust(ADDRESS_DIGITS, "0")
        return (emitter,) if self.sequence is None else (emitter, sequence_key(self.sequence))


def prefixed(chain: int, emitter: str | None = None, digits: str = "") -> list[Segment]:
    """The keys that begin with a chain, with the first digits of an address, or of the sequence of a whole address."""
    if not emitter:
        return [Segment(chain)]
    least, most = (emitter.ljust(ADDRESS_DIGITS, digit) for digit in "0f")
    if not digits:
        return [Segment(chain, Bound((least,)), Bound((most,)))]
    # Only padded sequences begin with a zero.
    longest = PADDED_DIGITS if digits.startswith("0") else len(str(SEQUENCE_MAX))
    lengths = range(max(PADDED_DIGITS, len(digits)), longest + 1)
    spans = [(int(digits.ljust(length, "0")), int(digits.ljust(length, "9"))) for length in lengths]
    return [emitted(chain, emitter, first, min(last, SEQUENCE_MAX)) for first, last in spans if first <= SEQUENCE_MAX]


def emitted(chain: int, emitter: str, first: int, last: int) -> Segment:
    """The keys of a contract with the sequences first ≤ s ≤ last."""
    return Segment(chain, Bound((emitter, sequence_key(first))), Bound((emitter, sequence_key(last))))


def between(start: RowKey | None, end: RowKey | None) -> list[Segment]:
    """The keys from `start` on, before `end`."""
    named = {each.chain for each in (start, end) if each is not None}
    chains = sorted({*CHAIN_IDS, *named}, key=text_of)
    return [
        Segment(
            chain,
            Bound(start.position) if start is not None and start.chain == chain else None,
            Bound(end.position, inclusive=False) if end is not None and end.chain == chain else None,
        )
        for chain in chains
        if (start is None or text_of(start.chain) <= text_of(chain))
        and (end is None or text_of(chain) <= text_of(end.chain))
    ]


def text_of(chain: int) -> str:
    """The beginning of a chain's keys."""
    return f"{chain}:"


async def list_rows(
    store: Store,
    segments: Sequence[Segment],
    query: str,
    *,
    newest: bool = False,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of `vaas`, one row per message, of segments in the order of their keys. `query` names them in cursors.

    `newest`: exactly backwards. Raises CursorError for a cursor of another query or order.
    """

    async def keep(rows: Sequence[Row], _: int | None) -> list[Row]:
        signed = {row["row_key"] for row in rows if row["canonical"]}
        return [row for row in rows if row["canonical"] or (not row["digest"] and await is_alone(store, row, signed))]

    listing = Listing(BY_ROW_KEY, [_by_row_key(segments)], f"row keys {query}", keep=keep)
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor)


async def is_alone(store: Store, row: Row, signed: Collection[str]) -> bool:
    """Whether no VAA of a message is known. `signed` are row keys of messages with one."""
    if row["row_key"] in signed:
        return False
    bodies = await find_bodies(store, row["emitter_chain"], row["emitter_address"], int(row["sequence_key"]))
    return not any(body["canonical"] for body in bodies)


class _SegmentStream:
    """The rows of a segment from `start` on, in either direction. One read goes beyond its end."""

    def __init__(self, store: Store, segment: Segment, start: Bound | None, *, newest: bool) -> None:
        self._stream = _of_chain(store, segment.chain, start, newest=newest)
        self._end = segment.first if newest else segment.last
        self._newest = newest
        self.ended = False

    async def next(self, limit: int) -> list[Row]:
        """The next rows."""
        if self.ended:
            return []
        rows = await self._stream.next(limit)
        inside = [row for row in rows if self._is_inside(row)]
        self.ended = not rows or len(inside) < len(rows)
        return inside

    def _is_inside(self, row: Row) -> bool:
        if self._end is None:
            return True
        held, end = (row["emitter_address"], row["sequence_key"])[: len(self._end.values)], self._end.values
        return (held == end and self._end.inclusive) or (held > end if self._newest else held < end)


def _by_row_key(segments: Sequence[Segment]) -> Source:
    def source(store: Store, start: Bound | None, newest: bool) -> Stream:  # noqa: FBT001
        ordered = segments[::-1] if newest else segments
        return ChainedStream([*_opened(store, ordered, start, newest=newest)])

    return source


def _opened(store: Store, segments: Iterable[Segment], start: Bound | None, *, newest: bool) -> Iterable[Stream]:
    """The streams of the segments that begin at `start` (chain, emitter, sequence_key, digest), or after it."""
    for segment in segments:
        begin, end = (segment.last, segment.first) if newest else (segment.first, segment.last)
        if start is not None:
            chain, *rest = start.values
            if _precedes(text_of(segment.chain), text_of(int(str(chain))), newest=newest):
                continue
            if segment.chain == chain:
                if end is not None and _precedes(end.values, tuple(rest[: len(end.values)]), newest=newest):
                    continue
                if begin is None or not _precedes(tuple(rest[: len(begin.values)]), begin.values, newest=newest):
                    begin = Bound(tuple(rest), start.inclusive)
        yield _SegmentStream(store, segment, begin, newest=newest)


def _precedes(one: str | Key, other: str | Key, *, newest: bool) -> bool:
    return one > other if newest else one < other  # type: ignore[operator]


def _of_chain(store: Store, chain: int, start: Bound | None, *, newest: bool) -> Stream:
    async def first() -> Key:
        assert start is not None
        return start.values[:1]

    def open_emitter(named: Row) -> Stream:
        emitter = named["emitter_address"]
        if start is None or _precedes(start.values[:1], (emitter,), newest=newest):
            return emitted_source(chain, emitter)(store, None, newest)
        rest = start.values[1:]
        if start.values[0] != emitter or not (rest or start.inclusive):
            # The hints begin at the last emitter up to the start.
            return ChainedStream([])
        return emitted_source(chain, emitter)(store, Bound(rest, start.inclusive) if rest else None, newest)

    return HintedStream(store, emitters, (chain,), first if start else None, open_emitter, newest=newest)
