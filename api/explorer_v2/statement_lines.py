"""The statement of an account as CSV or NDJSON: a line per movement between two lines with the opening and the closing
balance.

The last line is written only after the movements have led to the balance in it. If they do not, a line of the kind
`error` takes its place: its balance is that of the ledger state, its amount what is missing from the movements.
"""

import hashlib
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import islice, repeat
from typing import Literal, TypeAlias
from zlib import crc32

from api.http.streaming import csv_text
from api.network import NetworkMount
from db.listing.cursor import CursorError
from db.queries.statements import Account, Place, statement
from db.queries.wormhole.prices import History, price_on, read_history
from db.store import Row, WrongBalance
from db.utc_days import DAY_S
from ledger.crypto.bech32 import ADDRESS_BYTES, format_addresses

Form: TypeAlias = Literal["csv", "ndjson"]

FIELDS = (
    "kind",
    "milestoneIndex",
    "milestoneTimestamp",
    "transactionId",
    "amount",
    "balance",
    "valueUsd",
    "counterparties",
    "cursor",
)
"""The fields of a line, in order."""

OPENING, CLOSING, ERROR = "opening", "closing", "error"
"""Kinds of lines that are not movements."""

BATCH_ROWS = 5_000

DAY_MS = 1000 * DAY_S

EXACT = Context(prec=80)
"""Enough digits for each amount times each price."""


@dataclass(frozen=True, slots=True)
class Cursors:
    """Cursors of a statement: a place, its last milestone and a checksum. They are bound to network and account."""

    network: str
    account: Account

    @property
    def bound(self) -> str:
        """What distinguishes the statement from others."""
        account = self.account
        query = f"{self.network} {' '.join(account.addresses)} {account.first} {account.last} {account.newest}"
        return hashlib.blake2b(query.encode(), digest_size=4).hexdigest()

    def text(self, place: Place) -> str:
        """The cursor of a movement."""
        bound = self.bound
        position = f"{place.milestone_index}-{place.number}"
        return f"{position}-{self.account.last}-{crc32(position.encode(), int(bound, 16)):08x}{bound}"

    def parse(self, text: str) -> Place:
        """The place of a cursor of this statement. Raises CursorError."""
        parts = text.split("-")
        if len(parts) == 4 and all(part.isdecimal() and part.isascii() for part in parts[:2]):
            place = Place(int(parts[0]), int(parts[1]))
            if self.text(place) == text:
                return place
        raise CursorError("expected the cursor of a movement of this statement, in the same order")


def last_milestone(cursor: str) -> int | None:
    """The last milestone of the statement of a cursor; None if it is not a cursor of a statement."""
    parts = cursor.split("-")
    is_number = len(parts) == 4 and parts[2].isdecimal() and parts[2].isascii() and len(parts[2]) < 10
    return int(parts[2]) if is_number else None


class Values:
    """Values of amounts in USD, by the price of the base token on the day of the milestone."""

    def __init__(self, history: History, decimals: int) -> None:
        self._history, self._decimals = history, decimals
        self._day, self._price = -1, Decimal()

    def of_all(self, rows: Sequence[Row]) -> Iterable[str | None]:
        """The values of movements."""
        return map(self.of, rows) if self._history else repeat(None, len(rows))

    def of(self, row: Row) -> str | None:
        """The value of a movement; None for genesis, and before the first price."""
        day = (row["ms_timestamp"] or 0) // DAY_MS
        if not self._history or day < self._history[0][0]:
            return None
        if day != self._day:
            self._day, self._price = day, price_on(self._history, day).scaleb(-self._decimals, EXACT)
        return plain(EXACT.multiply(row["amount"], self._price))


def plain(number: Decimal) -> str:
    """A number in decimal digits, without zeros at the end of a fraction."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


async def values_of(network: NetworkMount) -> Values:
    """The values on a network; none if no prices of its base token are loaded."""
    token = network.base_token
    known = [] if network.prices is None else await read_history(network.prices, token.ticker_symbol)
    return Values(known, token.decimals)


async def lines(
    network: NetworkMount, cursors: Cursors, form: Form, *, after: Place | None = None, page_size: int
) -> AsyncGenerator[str]:
    """Yields the lines of a statement, whole movements at a time; after a place, those that follow it.

    `page_size`: of the cursors in them, for clients that continue in pages. Raises WrongBalance, after the line that
    says so unless it would be in the first part.
    """
    account, store = cursors.account, network.store
    ends = [(account.first - 1, OPENING), (account.last, CLOSING)]
    (first, opens), (last, closes) = ends[::-1] if account.newest else ends
    written = csv_lines if form == "csv" else ndjson_lines
    to_lines = _movement_lines(cursors, network.bech32_hrp, await values_of(network), form, page_size)
    waiting = ""
    if after is None:
        waiting = csv_text([FIELDS]) if form == "csv" else ""
        waiting += written(opens, first, 0, await account.balance(store, first))
    try:
        async for part in statement(store, account, after, BATCH_ROWS):
            text = waiting + to_lines(part.rows)
            waiting = ""
            yield text
    except WrongBalance as error:
        if not waiting:
            yield written(ERROR, error.ledger_index, error.stored - error.found, error.stored)
        raise
    yield waiting + written(closes, last, 0, await account.balance(store, last))


def csv_lines(kind: str, milestone_index: int, amount: int, balance: int) -> str:
    """A line about a balance."""
    return f'"{kind}",{max(milestone_index, 0)},,"","{amount}","{balance}","","",""\n'


def ndjson_lines(kind: str, milestone_index: int, amount: int, balance: int) -> str:
    """A line about a balance."""
    return (
        f'{{"kind":"{kind}","milestoneIndex":{max(milestone_index, 0)},"milestoneTimestamp":null,"transactionId":null,'
        f'"amount":"{amount}","balance":"{balance}","valueUsd":null,"counterparties":[],'
        f'"cursor":null}}\n'
    )


def counterparties(hrp: str, rows: Sequence[Row]) -> Iterator[list[str]]:
    """Returns the texts of the counterparties of each movement."""
    parts = [row["counterparties"] for row in rows]
    texts = iter(format_addresses(hrp, b"".join(parts)))
    return ([*islice(texts, len(part) // ADDRESS_BYTES)] for part in parts)


def _movement_lines(
    cursors: Cursors, hrp: str, values: Values, form: Form, page_size: int
) -> Callable[[Sequence[Row]], str]:
    """Returns the function from movements to their lines. No value needs to be escaped."""
    bound, last = cursors.bound, cursors.account.last
    seed, end = int(bound, 16), f"{bound}.{page_size}"

    def columns(rows: Sequence[Row]) -> Iterable[tuple[Row, int | None, str | None, list[str], str]]:
        """The rows with their times in seconds, values, counterparties and cursors."""
        times = [None if row["ms_timestamp"] is None else row["ms_timestamp"] // 1000 for row in rows]
        places = [f"{row['milestone_index']}-{row['number']}" for row in rows]
        texts = [f"{place}-{last}-{crc32(place.encode(), seed):08x}{end}" for place in places]
        return zip(rows, times, values.of_all(rows), counterparties(hrp, rows), texts, strict=True)

    def as_csv(rows: Sequence[Row]) -> str:
        return "".join(
            [
                f'"{row["kind"]}",{row["milestone_index"]},{"" if time is None else time},"0x{row["transaction_id"]}",'
                f'"{row["amount"]}","{row["balance"]}","{usd or ""}","{" ".join(others)}","{cursor}"\n'
                for row, time, usd, others, cursor in columns(rows)
            ]
        )

    def as_ndjson(rows: Sequence[Row]) -> str:
        return "".join(
            [
                f'{{"kind":"{row["kind"]}","milestoneIndex":{row["milestone_index"]},'
                f'"milestoneTimestamp":{"null" if time is None else time},"transactionId":"0x{row["transaction_id"]}",'
                f'"amount":"{row["amount"]}","balance":"{row["balance"]}","valueUsd":{quoted(usd)},'
                f'"counterparties":{listed(others)},"cursor":"{cursor}"}}\n'
                for row, time, usd, others, cursor in columns(rows)
            ]
        )

    return as_csv if form == "csv" else as_ndjson


def listed(texts: Sequence[str]) -> str:
    """Texts that need no escape as JSON."""
    return '["' + '","'.join(texts) + '"]' if texts else "[]"


def quoted(text: str | None) -> str:
    """A text that needs no escape as JSON; None as null."""
    return "null" if text is None else f'"{text}"'
