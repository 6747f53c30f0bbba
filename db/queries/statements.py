"""The statement of an account: what changed the combined balance of some addresses, with the balance after each change.

A movement is a transaction, a migration or a genesis output. Those of several addresses are combined by transaction;
what moves only between these addresses is left out. The balances of `address_balances` are the opening and the closing
balance, and after each batch of whole milestones the movements must add up to them.
"""

from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from heapq import merge
from itertools import groupby, takewhile
from typing import Any, NamedTuple

from db import schema
from db.intervals import Intervals, intersect
from db.listing.streams import Stream, get_chunk_size, lookup_source
from db.partitions import ranges_of
from db.queries.analytics import list_between
from db.queries.ledger import find_balance, find_genesis, get_ledger_index
from db.store import Bound, Row, Store, WrongBalance
from db.times import Window, find_window
from db.together import together
from ledger.crypto.bech32 import ADDRESS_BYTES

COLUMNS = (
    "milestone_index",
    "white_flag_index",
    "transaction_id",
    "kind",
    "amount",
    "counterparties",
    "ms_timestamp",
)

AT_ONCE = 5_000

TIMES, FEW_TIMES = ("milestone_index", "ms_timestamp"), 100
"""Columns of `sync`, and rows that are read at once, to find the ends of a period. In most ranges the first row is one.
"""


@dataclass(frozen=True, slots=True)
class Account:
    """Addresses, serialized in hex, each once, and the milestones of a statement about them.

    The first milestone may be one after the last: such a statement is empty.
    """

    addresses: tuple[str, ...]
    first: int
    last: int
    newest: bool = False

    async def balance(self, store: Store, ledger_index: int) -> int:
        """The combined balance after a milestone, from `address_balances`."""
        if ledger_index < 0:
            return 0
        found = await together(*(find_balance(store, address, ledger_index) for address in self.addresses))
        return sum(row["balance"] for row in found if row is not None)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a movement in a statement: its milestone, and its number in that milestone, from 0."""

    milestone_index: int
    number: int


class Part(NamedTuple):
    """Movements of whole milestones, the last of which is `reached`. Rows may be missing where movements cancel out."""

    rows: list[Row]
    reached: int


async def find_account(
    store: Store, network: str, addresses: Iterable[str], window: Window | None, *, newest: bool
) -> Account:
    """The account with the milestones of a window that the ledger state covers. None: all of them.

    They are those from the first to the last milestone whose time is in the window. Raises LedgerUnknown without a
    genesis.
    """
    last = await get_ledger_index(store, network)
    each_once = tuple(sorted(set(addresses)))
    if window is None:
        return Account(each_once, 0, last, newest)
    inside = await _ends(store, window, last)
    if window.timeless:
        genesis = await find_genesis(store, network) or 0
        inside = 0, max(genesis, inside[1]) if inside else genesis
    if inside is not None:
        return Account(each_once, *inside, newest)
    before = await _ends(store, await find_window(store, network, 0, window.start_ms), last)
    last = min(last, max(before[1] if before else 0, window.between[0] - 1, 0))
    return Account(each_once, last + 1, last, newest)


async def _ends(store: Store, window: Window, last: int) -> tuple[int, int] | None:
    """The first and the last milestone up to `last` whose own time is in a window, which may name others beside them:
    those of a range in which times fall, or with an incomplete milestone. None: there are no such milestones.
    """
    milestones = intersect(window.milestones, [(0, last)])
    first = await _first_inside(store, window, milestones, newest=False)
    end = None if first is None else await _first_inside(store, window, milestones, newest=True)
    return None if first is None or end is None else (first, end)


async def _first_inside(store: Store, window: Window, milestones: Intervals, *, newest: bool) -> int | None:
    chunk_size = await get_chunk_size(store)
    order = -1 if newest else 1
    for begin, end in milestones[::order]:
        for each in ranges_of(begin, end, chunk_size)[::order]:
            rows = list_between(
                store, schema.sync, (each,), (begin,), (end,), newest=newest, columns=TIMES, at_once=FEW_TIMES
            )
            async with aclosing(rows):
                async for row in rows:
                    if window.holds(row["ms_timestamp"]):
                        found: int = row["milestone_index"]
                        return found
    return None


async def statement(
    store: Store, account: Account, after: Place | None = None, at_once: int = AT_ONCE
) -> AsyncIterator[Part]:
    """Yields the movements of an account in parts of about `at_once`; after a place, without what precedes it.

    Each is a row of `address_movements` with `balance`, the combined balance after it, and `number` (see Place).
    Raises WrongBalance if they do not lead from a balance of `address_balances` to the next one.
    """
    newest = account.newest
    begin = after.milestone_index if after is not None else account.last if newest else account.first
    balance = await account.balance(store, begin if newest else begin - 1)
    async for rows, reached in _combined(store, account, begin, -(-at_once // len(account.addresses))):
        balance = _add_balances(rows, balance, newest=newest)
        await _check(store, account, reached - 1 if newest else reached, balance)
        passed = 0 if after is None else _passed(rows, after)
        after = None
        yield Part(rows[passed:], reached)
    await _check(store, account, account.first - 1 if newest else account.last, balance)


def _add_balances(rows: Sequence[Row], balance: int, *, newest: bool) -> int:
    """Adds `balance` and `number` to movements of whole milestones. Returns the balance beyond them."""
    milestone, number = -1, 0
    for row in rows:
        if row["milestone_index"] != milestone:
            milestone, number = row["milestone_index"], 0
        if newest:
            row["balance"] = balance
            balance -= row["amount"]
        else:
            balance += row["amount"]
            row["balance"] = balance
        row["number"] = number
        number += 1
    return balance


def _passed(rows: Sequence[Row], after: Place) -> int:
    """How many rows are not after the place. They begin with its milestone."""
    of_milestone = takewhile(lambda row: row["milestone_index"] == after.milestone_index, rows)
    return sum(row["number"] <= after.number for row in of_milestone)


async def _check(store: Store, account: Account, ledger_index: int, balance: int) -> None:
    stored = await account.balance(store, ledger_index)
    if stored != balance:
        raise WrongBalance(ledger_index, balance, stored)


async def _combined(store: Store, account: Account, begin: int, at_once: int) -> AsyncIterator[Part]:
    """The movements of all addresses from a milestone on, in order, combined by transaction. Reads at least `at_once`
    of each.
    """
    own = [bytes.fromhex(address) for address in account.addresses]
    streams = [_Movements(store, address, account, begin) for address in account.addresses]
    until: int | None = begin
    ahead = at_once
    while until is not None:
        for stream in streams:
            await stream.fill(ahead)
        # More rows of the milestone of a stream's last row may follow.
        until = min((each.reached for each in streams if not each.ended), key=streams[0].place, default=None)
        parts = [part for part in [stream.take(until) for stream in streams] if part]
        if not parts:
            ahead *= 2
            continue
        ahead = at_once
        reached = max((part[-1]["milestone_index"] for part in parts), key=streams[0].place)
        yield Part(parts[0] if len(streams) == 1 else _together(parts, own, newest=account.newest), reached)


def _together(parts: Sequence[list[Row]], own: Sequence[bytes], *, newest: bool) -> list[Row]:
    """The rows of several addresses as rows of all of them, without those that change nothing."""
    found = []
    for _, members in groupby(merge(*parts, key=_order, reverse=newest), _order):
        of_addresses = list(members)
        amount = sum(row["amount"] for row in of_addresses)
        if amount:
            found.append(of_addresses[0] | {"amount": amount, "counterparties": _others(of_addresses, own, amount)})
    return found


def _order(row: Row) -> tuple[Any, ...]:
    return row["milestone_index"], row["white_flag_index"], row["transaction_id"]


def _others(rows: Sequence[Row], own: Sequence[bytes], amount: int) -> bytes:
    """The counterparties of an increase or decrease, without the addresses of the account."""
    found = {
        each for row in rows if (row["amount"] > 0) == (amount > 0) for each in addresses_of(row["counterparties"])
    }
    return b"".join(sorted(found.difference(own)))


def addresses_of(counterparties: bytes) -> list[bytes]:
    """The serialized addresses in `counterparties`."""
    return [counterparties[at : at + ADDRESS_BYTES] for at in range(0, len(counterparties), ADDRESS_BYTES)]


class _Movements:
    """The movements of one address that were read and not yet taken."""

    def __init__(self, store: Store, address: str, account: Account, begin: int) -> None:
        source = lookup_source(schema.MOVEMENTS, (address,), COLUMNS)
        self._stream: Stream = source(store, Bound((begin,)), account.newest)
        self._end = account.first if account.newest else account.last
        self._sign = -1 if account.newest else 1
        self._rows: list[Row] = []
        self.ended = begin * self._sign > self._end * self._sign

    def place(self, milestone_index: int) -> int:
        """A number that rises in the order of the statement."""
        return self._sign * milestone_index

    @property
    def _key(self) -> Callable[[Row], int]:
        return lambda row: self._sign * row["milestone_index"]

    @property
    def is_empty(self) -> bool:
        """Whether nothing follows."""
        return self.ended and not self._rows

    @property
    def reached(self) -> int:
        """The milestone of the last row that was read."""
        found: int = self._rows[-1]["milestone_index"]
        return found

    async def fill(self, at_least: int) -> None:
        """Reads until that number of rows waits, or all were read."""
        while not self.ended and len(self._rows) < at_least:
            rows = await self._stream.next(at_least)
            end = self.place(self._end)
            if not rows or self.place(rows[-1]["milestone_index"]) > end:
                self.ended = True
                rows = rows[: bisect_left(rows, end + 1, key=self._key)]
            self._rows += rows

    def take(self, until: int | None) -> list[Row]:
        """Removes and returns the rows before a milestone. None: all."""
        if until is None:
            found, self._rows = self._rows, []
            return found
        count = bisect_left(self._rows, self.place(until), key=self._key)
        found, self._rows = self._rows[:count], self._rows[count:]
        return found
