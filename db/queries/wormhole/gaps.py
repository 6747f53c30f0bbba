"""Which sequences of an emitter nobody has brought a signed VAA of.

Rules of this file: an emitter counts its messages, so what lacks between two that are here was emitted too; beyond the
lowest and the highest nothing is known. Governance draws its sequences at random: there every message stands alone. A
report looks at a bounded number of rows and says where the next one goes on. Forgeries fill no gap.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from db.intervals import Intervals, of_indices, subtract
from db.listing.cursor import Cursor, format_cursor, parse_cursor
from db.queries.wormhole.vaas import emitted_source
from db.store import Bound, Store, Value
from ledger.wormhole.ids import sequence_key

BATCH = 1_000
"""Rows read at once."""

COLUMNS = ("sequence_key", "digest", "verified")


@dataclass(frozen=True, slots=True)
class Gaps:
    """What one report found: the `first` and the `last` signed sequence that it saw, None where it saw none; `missing`:
    those between them, and between them and the report before; `observed`: of which something was written, as by a
    guardian that saw the message, and nobody brought a VAA. `cursor` leads to the next report; None: this one saw the
    emitter's highest sequence.
    """

    first: int | None
    last: int | None
    missing: Intervals
    observed: Intervals
    cursor: str | None


@dataclass(frozen=True, slots=True)
class _Known:
    """A sequence of which anything is known: whether a VAA that counts, whether what was written of it alone."""

    sequence: int
    signed: bool
    written: bool


async def find_gaps(
    store: Store, chain: int, emitter: str, *, with_unverified: bool = False, page_size: int, cursor: str | None
) -> Gaps:
    """The gaps among the next `page_size` sequences of which anything is known, ascending, after `cursor`.

    `with_unverified`: VAAs whose guardian set is not known, or did not sign, count as there. CursorError for a cursor
    of another question.
    """
    question = f"gaps {chain} {emitter} {'with unverified' if with_unverified else 'verified'}"
    before, looked_at = (None, None) if cursor is None else map(_sequence, parse_cursor(cursor, question).key)
    start = None if looked_at is None else Bound((sequence_key(looked_at),), inclusive=False)
    signed: list[int] = []
    observed: list[int] = []
    count, following = 0, None
    async with aclosing(_known(store, chain, emitter, start, with_unverified=with_unverified)) as known:
        async for each in known:
            if count == page_size:
                last = signed[-1] if signed else before
                following = format_cursor(Cursor((last, looked_at)), question)
                break
            count, looked_at = count + 1, each.sequence
            if each.signed:
                signed.append(each.sequence)
            elif each.written:
                observed.append(each.sequence)
    there = signed if before is None else [before, *signed]
    missing = subtract([(there[0], there[-1])], of_indices(there)) if there else []
    first, last = (signed[0], signed[-1]) if signed else (None, None)
    return Gaps(first, last, missing, of_indices(observed), following)


async def list_lacking(
    store: Store, chain: int, emitter: str, first: int, last: int, *, with_unverified: bool = False
) -> Intervals:
    """Sequences first ≤ s ≤ last without a verified VAA; reads all that is known of them."""
    here: list[int] = []
    start = Bound((sequence_key(first),))
    async with aclosing(_known(store, chain, emitter, start, with_unverified=with_unverified)) as known:
        async for each in known:
            if each.sequence > last:
                break
            if each.signed:
                here.append(each.sequence)
    return subtract([(first, last)], of_indices(here))


async def _known(
    store: Store, chain: int, emitter: str, start: Bound | None, *, with_unverified: bool
) -> AsyncGenerator[_Known, None]:
    """Every sequence of which anything is known, ascending."""
    stream = emitted_source(chain, emitter, COLUMNS)(store, start, False)  # noqa: FBT003
    current: _Known | None = None
    while rows := await stream.next(BATCH):
        for row in rows:
            sequence, written = int(row["sequence_key"]), not row["digest"]
            signed = not written and (with_unverified or row["verified"])
            if current is not None and current.sequence == sequence:
                signed, written = signed or current.signed, written or current.written
            elif current is not None:
                yield current
            current = _Known(sequence, signed, written)
    if current is not None:
        yield current


def _sequence(value: Value) -> int | None:
    return None if value is None else int(str(value))
