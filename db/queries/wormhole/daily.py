"""Daily sums of a Wormhole network, as in the event database but without its bugs.

Invariants:
1. A chain matches only itself, never a prefix of its number. Days are whole UTC days, both ends inclusive.
2. Sums are decimals. Transfers count for the source and for the destination chain.
3. A query reads one partition per day. It reads every day since Wormhole began, and only days with rows among the
   others, because a message may have any time.
4. Rows come in parts, and the request gives way to others between them.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from decimal import Decimal

from db.listing.turns import give_way
from db.schema.wormhole_tables import vaa_daily, vaa_days
from db.store import Bound, Key, Row, Store
from db.together import together
from db.utc_days import this_day

PART = 2_000
"""Maximum of rows in a part of a day."""

DAYS_AT_ONCE, FIRST_PART = 64, 500
"""Days whose first rows are read concurrently, and how many of each."""

FIRST_DAY = 18_809
"""2021-07-01: the month before the first message of the network was signed. Messages can claim an earlier time."""

NO_DAY = 0
"""The day of messages without a timestamp."""

LAST_DAY = 2_932_896
"""9999-12-31: the last day that a message can have."""

DAYS_OF_PART = 1_000
"""Days of vaa_days that are read at once."""

LAUNCH_DAY = 18_883
"""2021-09-13: the first day of the cumulative sums of the event database and of wormholescan."""


class TooManyRows(Exception):
    """The days have more rows than the limit."""


async def read_days(days: AsyncIterator[tuple[int, Sequence[Row]]], *, most: int | None = None) -> dict[int, list[Row]]:
    """Collects the days of `each_day`. Raises TooManyRows as soon as more than `most` rows were read."""
    found: dict[int, list[Row]] = defaultdict(list)
    count = 0
    async for day, rows in days:
        found[day] += rows
        count += len(rows)
        if most is not None and count > most:
            raise TooManyRows
    return dict(found)


async def each_day(
    store: Store,
    measure: str,
    first_day: int,
    last_day: int,
    *,
    chain: int | None = None,
    emitter: str | None = None,
) -> AsyncIterator[tuple[int, Sequence[Row]]]:
    """Yields rows of vaa_daily day by day: of all emitters, of a chain, or of one emitter.

    A day comes at least once, without rows if it has none, and again for each further part.
    """
    async for found in _each(store, measure, range(first_day, last_day + 1), chain=chain, emitter=emitter):
        yield found


async def _each(
    store: Store, measure: str, every: Sequence[int], *, chain: int | None = None, emitter: str | None = None
) -> AsyncIterator[tuple[int, Sequence[Row]]]:
    prefix = () if chain is None else (chain,) if emitter is None else (chain, emitter)
    end = Bound(prefix) if prefix else None
    for first in range(0, len(every), DAYS_AT_ONCE):
        days = every[first : first + DAYS_AT_ONCE]
        parts = await together(*(_part(store, (measure, day), end, end, FIRST_PART) for day in days))
        for day, rows in zip(days, parts, strict=True):
            await give_way()
            yield day, rows
            size, part = FIRST_PART, rows
            while len(part) == size:
                after = Bound(tuple([part[-1][name] for name in vaa_daily.clustering]), inclusive=False)
                size = PART
                part = await _part(store, (measure, day), after, end, size)
                await give_way()
                yield day, part


async def each_day_between(
    store: Store, measure: str, first_day: int, last_day: int, *, chain: int | None = None
) -> AsyncIterator[tuple[int, Sequence[Row]]]:
    """Like `each_day`. Days before Wormhole began and after today come only if they have rows."""
    early = await _days_with_rows(store, measure, first_day, min(last_day, FIRST_DAY - 1))
    usual = range(max(first_day, FIRST_DAY), min(last_day, this_day()) + 1)
    late = await _days_with_rows(store, measure, max(first_day, FIRST_DAY, this_day() + 1), last_day)
    async for found in _each(store, measure, [*early, *usual, *late], chain=chain):
        yield found


async def each_day_of_all(
    store: Store, measure: str, last_day: int = LAST_DAY
) -> AsyncIterator[tuple[int, Sequence[Row]]]:
    """Like `each_day_between` for all days up to `last_day`, and NO_DAY."""
    async for found in each_day(store, measure, NO_DAY, NO_DAY):
        yield found
    async for found in each_day_between(store, measure, NO_DAY + 1, last_day):
        yield found


async def _days_with_rows(store: Store, measure: str, first_day: int, last_day: int) -> list[int]:
    found: list[int] = []
    lower, upper = Bound((first_day,)), Bound((last_day,))
    while lower.values <= upper.values:
        rows = await store.slice(vaa_days, (measure,), lower=lower, upper=upper, limit=DAYS_OF_PART)
        found += [row["day"] for row in rows]
        if len(rows) < DAYS_OF_PART:
            break
        lower = Bound((found[-1] + 1,))
    return found


async def _part(store: Store, partition: Key, start: Bound | None, end: Bound | None, limit: int) -> Sequence[Row]:
    return await store.slice(vaa_daily, partition, lower=start, upper=end, limit=limit)


def count_by_chain(rows: Iterable[Row]) -> dict[int, int]:
    """Messages by emitter chain, from `totals` or `nfts`."""
    found: dict[int, int] = defaultdict(int)
    for row in rows:
        found[row["emitter_chain"]] += row["message_count"]
    return dict(found)


def sum_notional(rows: Iterable[Row], allowed: Collection[str] | None = None) -> dict[tuple[int, int, str], Decimal]:
    """USD by (source chain, destination chain, token_key), from `transfers`; only of `allowed` tokens if given."""
    found: dict[tuple[int, int, str], Decimal] = defaultdict(Decimal)
    for row in rows:
        if row["notional_usd"] is not None and (allowed is None or row["token_key"] in allowed):
            found[row["emitter_chain"], row["target_chain"], row["token_key"]] += Decimal(row["notional_usd"])
    return dict(found)


def sum_by_address(rows: Iterable[Row]) -> dict[tuple[int, str], tuple[int, Decimal]]:
    """(messages, USD) by destination chain and address, from `addresses`."""
    found: dict[tuple[int, str], tuple[int, Decimal]] = {}
    for row in rows:
        key = row["target_chain"], row["address"]
        count, usd = found.get(key, (0, Decimal(0)))
        found[key] = count + row["message_count"], usd + Decimal(row["notional_usd"] or 0)
    return found


def sum_locked(rows: Iterable[Row], allowed: Collection[str] | None = None) -> dict[str, Decimal]:
    """Tokens locked on their home chain minus tokens released, by token_key, from `transfers`. Negative if more was
    released, as may happen on a single day.
    """
    found: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        token_key = row["token_key"]
        if row["amount"] is None or (allowed is not None and token_key not in allowed):
            continue
        home = int(token_key.partition("/")[0])
        moved = Decimal(row["amount"])
        found[token_key] += moved * ((row["emitter_chain"] == home) - (row["target_chain"] == home))
    return dict(found)


def value_locked(locked: Mapping[str, Decimal], prices: Mapping[str, Decimal]) -> dict[int, Decimal]:
    """USD of locked tokens by home chain, for tokens with a price. The total is the sum over chains."""
    found: dict[int, Decimal] = defaultdict(Decimal)
    for token_key, amount in locked.items():
        if token_key in prices:
            found[int(token_key.partition("/")[0])] += amount * prices[token_key]
    return dict(found)
