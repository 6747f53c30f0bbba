"""Missing sequences of an emitter: those without a signed VAA.

An emitter numbers its messages consecutively, so a sequence missing between two known ones was emitted. Nothing is
known below the lowest and above the highest. Governance sequences are random and have no gaps. A report reads a bounded
number of rows and returns a cursor. Forged VAAs fill no gap.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from db.intervals import Intervals, of_indices, subtract
from db.listing.cursor import Check, Cursor, CursorError, format_cursor, is_sequence, parse_cursor
from db.listing.streams import get_network
from db.queries.wormhole.vaas import emitted_source
from db.store import Bound, Store
from ledger.wormhole.emitters import GOVERNANCE_CHAIN, GOVERNANCE_EMITTER
from ledger.wormhole.ids import sequence_key

BATCH, FEW = 1_000, 20
"""Rows per read: of a report, and of a search for the next signed one."""

COLUMNS = ("sequence_key", "digest", "verified")


PLACE: Sequence[Check] = (lambda value: value is None or is_sequence(value), is_sequence)


@dataclass(frozen=True, slots=True)
class Gaps:
    """One report.

    `first` and `last` are the lowest and highest signed sequence in it, None without one. `missing` are the sequences
    between them, and between this report and the previous one. `observed` are missing sequences of which something was
    written, for example by a guardian that saw the message. `cursor` leads to the next report; None: this one reached
    the emitter's highest sequence.
    """

    first: int | None
    last: int | None
    missing: Intervals
    observed: Intervals
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Known:
    """A known sequence: whether it has a VAA that counts, and whether it is known only from written cells."""

    sequence: int
    signed: bool
    written: bool


async def find_gaps(
    store: Store, chain: int, emitter: str, *, with_unverified: bool = False, page_size: int, cursor: str | None
) -> Gaps:
    """Finds gaps among the next `page_size` known sequences, ascending, after `cursor`.

    `with_unverified` also counts VAAs whose guardian set is unknown or did not sign.

    Raises:
        CursorError: The cursor belongs to another query.
    """
    shown = "with unverified" if with_unverified else "verified"
    query = f"{await get_network(store)} gaps {chain} {emitter} {shown}"
    before, looked_at = (None, None) if cursor is None else _place(parse_cursor(cursor, query, PLACE))
    start = None if looked_at is None else Bound((sequence_key(looked_at),), inclusive=False)
    signed: list[int] = []
    observed: list[int] = []
    count, following = 0, None
    async with aclosing(known_sequences(store, chain, emitter, start, with_unverified=with_unverified)) as known:
        async for each in known:
            if count == page_size:
                last = signed[-1] if signed else before
                following = format_cursor(Cursor((last, looked_at)), query)
                break
            count, looked_at = count + 1, each.sequence
            if each.signed:
                signed.append(each.sequence)
            elif each.written:
                observed.append(each.sequence)
    there = signed if before is None else [before, *signed]
    is_random = (chain, emitter) == (GOVERNANCE_CHAIN, GOVERNANCE_EMITTER.hex())
    missing = subtract([(there[0], there[-1])], of_indices(there)) if there and not is_random else []
    first, last = (signed[0], signed[-1]) if signed else (None, None)
    return Gaps(first, last, missing, of_indices(observed), following)


async def list_missing(
    store: Store, chain: int, emitter: str, first: int, last: int, *, with_unverified: bool = False
) -> Intervals:
    """Sequences first ≤ s ≤ last without a verified VAA. Reads all known sequences in between."""
    here: list[int] = []
    start = Bound((sequence_key(first),))
    async with aclosing(known_sequences(store, chain, emitter, start, with_unverified=with_unverified)) as known:
        async for each in known:
            if each.sequence > last:
                break
            if each.signed:
                here.append(each.sequence)
    return subtract([(first, last)], of_indices(here))


async def find_before(store: Store, chain: int, emitter: str, sequence: int) -> int | None:
    """The highest sequence below this one that has a verified VAA. None: no such sequence exists."""
    start = Bound((sequence_key(sequence),), inclusive=False)
    stream = emitted_source(chain, emitter, COLUMNS)(store, start, True)  # noqa: FBT003
    while rows := await stream.next(FEW):
        for row in rows:
            if row["digest"] and row["verified"]:
                return int(row["sequence_key"])
    return None


async def known_sequences(
    store: Store, chain: int, emitter: str, start: Bound | None, *, with_unverified: bool = False
) -> AsyncGenerator[Known, None]:
    """Yields all known sequences, ascending."""
    stream = emitted_source(chain, emitter, COLUMNS)(store, start, False)  # noqa: FBT003
    current: Known | None = None
    while rows := await stream.next(BATCH):
        for row in rows:
            sequence, written = int(row["sequence_key"]), not row["digest"]
            signed = not written and (with_unverified or row["verified"])
            if current is not None and current.sequence == sequence:
                signed, written = signed or current.signed, written or current.written
            elif current is not None:
                yield current
            current = Known(sequence, signed, written)
    if current is not None:
        yield current


def _place(cursor: Cursor) -> tuple[int | None, int]:
    """The last signed sequence up to a page's end, and the last one that it read."""
    before, looked_at = cursor.key
    assert isinstance(looked_at, int)
    if before is None:
        return None, looked_at
    assert isinstance(before, int)
    if before > looked_at:
        raise CursorError("expected the cursor of the previous report unchanged")
    return before, looked_at
