"""What a Wormhole store holds: days with verified messages, and every gap in the sequences of every emitter.

An emitter numbers its messages from 0 on. A sequence without a verified message is in exactly one gap of four kinds:
- unverified: a VAA without a quorum of a known guardian set, or another trace of the message, is stored.
- missing: a later message is verified, so this one was emitted, but nothing of it is stored.
- random: governance chooses its sequences at random, so nothing follows from the others.
- notYetEmitted: after the emitter's last verified message; it may have been emitted later than the archive knows.
"""

from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, TypeAlias

from db.intervals import of_indices
from db.listing.cursor import CHECKS, Cursor, format_cursor, is_sequence, parse_cursor
from db.listing.streams import get_network
from db.model import Type
from db.queries.wormhole.daily import NO_DAY, each_day_of_all
from db.queries.wormhole.gaps import COLUMNS, known_sequences
from db.queries.wormhole.periods import limited
from db.queries.wormhole.vaas import emitted_source
from db.schema.wormhole_tables import emitters
from db.store import Bound, Store
from ledger.wormhole.chains import CHAIN_IDS
from ledger.wormhole.emitters import GOVERNANCE_CHAIN, GOVERNANCE_EMITTER
from ledger.wormhole.ids import sequence_key

Classification: TypeAlias = Literal["missing", "unverified", "random", "notYetEmitted"]

SEQUENCE_MAX = 2**64 - 1

PLACE = (CHECKS[Type.INT], CHECKS[Type.HEX], is_sequence)
"""The key of a cursor: chain, emitter and sequence."""

EMITTERS_AT_ONCE = 100
BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Gap:
    """Sequences first ≤ s ≤ last of an emitter without a verified message."""

    chain: int
    emitter: str
    first: int
    last: int
    classification: Classification


@dataclass(frozen=True, slots=True)
class LoadedDays:
    """Days since 1970 with verified messages as intervals, and the number of messages: of all, and without a time."""

    days: list[tuple[int, int]]
    messages: int
    undated: int


async def loaded_days(store: Store) -> LoadedDays:
    """Reads one partition per day. Raises TooManyRows and DeadlinePassed."""
    counts: dict[int, int] = defaultdict(int)
    async for day, rows in limited(each_day_of_all(store, "totals")):
        counts[day] += sum(row["message_count"] for row in rows)
    undated = counts.pop(NO_DAY, 0)
    held = [(low, high) for low, high in of_indices(day for day, count in counts.items() if count)]
    return LoadedDays(held, sum(counts.values()) + undated, undated)


async def list_gaps(store: Store, *, page_size: int, cursor: str | None) -> tuple[list[Gap], str | None]:
    """The next gaps by chain, emitter and sequence, and the cursor of the next page; None: there are no more.

    A page covers `page_size` emitters and known sequences, so it can be short. Raises CursorError.
    """
    query = f"{await get_network(store)} coverage"
    chain, emitter, position = 0, "", 0
    if cursor is not None:
        chain, emitter, position = _place(parse_cursor(cursor, query, PLACE))
    gaps: list[Gap] = []
    left = page_size
    async with aclosing(_emitters(store, chain, emitter)) as named:
        async for at in named:
            start = position if at == (chain, emitter) else 0
            if left <= 0:
                return gaps, format_cursor(Cursor((*at, start)), query)
            read, following = await _of_emitter(store, *at, start, left, gaps)
            left -= read + 1
            if following is not None:
                return gaps, format_cursor(Cursor((*at, following)), query)
    return gaps, None


def _place(cursor: Cursor) -> tuple[int, str, int]:
    chain, emitter, position = cursor.key
    assert isinstance(chain, int) and isinstance(emitter, str) and isinstance(position, int)  # noqa: PT018
    return chain, emitter, position


async def _emitters(store: Store, chain: int, emitter: str) -> AsyncGenerator[tuple[int, str]]:
    """Yields chain and address of every emitter from this one on."""
    for each in sorted(CHAIN_IDS):
        if each < chain:
            continue
        lower = Bound((emitter,)) if each == chain and emitter else None
        while True:
            rows = await store.slice(emitters, (each,), lower=lower, limit=EMITTERS_AT_ONCE)
            for row in rows:
                yield each, row["emitter_address"]
            if len(rows) < EMITTERS_AT_ONCE:
                break
            lower = Bound((rows[-1]["emitter_address"],), inclusive=False)


async def _of_emitter(
    store: Store, chain: int, emitter: str, start: int, most: int, gaps: list[Gap]
) -> tuple[int, int | None]:
    """Adds the gaps of an emitter from `start` on. Returns how many known sequences were read, at most `most`, and
    where the next page starts; None: nothing is left.
    """
    highest = await _highest(store, chain, emitter)
    is_random = (chain, emitter) == (GOVERNANCE_CHAIN, GOVERNANCE_EMITTER.hex())

    def add(first: int, last: int, classification: Classification) -> None:
        """Adds a gap, as part of the one before it if that has the same classification."""
        if first > last:
            return
        before = gaps[-1] if gaps else None
        if before is not None and before == Gap(chain, emitter, before.first, first - 1, classification):
            gaps[-1] = Gap(chain, emitter, before.first, last, classification)
        else:
            gaps.append(Gap(chain, emitter, first, last, classification))

    def add_unknown(first: int, last: int) -> None:
        """Adds sequences of which nothing is stored."""
        if is_random:
            add(first, last, "random")
            return
        add(first, min(last, highest), "missing")
        add(max(first, highest + 1), last, "notYetEmitted")

    read, at = 0, start
    async with aclosing(known_sequences(store, chain, emitter, Bound((sequence_key(start),)))) as known:
        async for each in known:
            if read == most:
                return read, at
            read += 1
            add_unknown(at, each.sequence - 1)
            if not each.signed:
                add(each.sequence, each.sequence, "unverified")
            at = each.sequence + 1
    add_unknown(at, SEQUENCE_MAX)
    return read, None


async def _highest(store: Store, chain: int, emitter: str) -> int:
    """The emitter's last sequence with a verified message; -1 without one."""
    stream = emitted_source(chain, emitter, COLUMNS)(store, None, True)  # noqa: FBT003
    limit = 1
    while rows := await stream.next(limit):
        limit = BATCH
        for row in rows:
            if row["digest"] and row["verified"]:
                return int(row["sequence_key"])
    return -1
