"""Explorer v2, an extension: the statement of an account, one movement after the other with the balance after each.

As CSV and NDJSON it is complete and ends with the closing balance. A stream that was cut continues after the `cursor`
of its last line.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Annotated, Any

from api.explorer_v2.statement_lines import (
    FIELDS,
    Cursors,
    Form,
    Values,
    counterparties,
    last_milestone,
    lines,
    values_of,
)
from api.explorer_v2.statement_responses import StatementOfAccount
from api.fields.inx_chronicle_params import After, ExplorerPageSize, OwnCursor
from api.fields.params import ADDRESS, OldestFirst, bech32
from api.fields.span_params import Given, Span, edges_of
from api.http.operations import Operation
from api.http.params import Param, converted, reader
from api.http.responses import Json
from api.http.streaming import CSV, NDJSON, Export, cells, csv_text, ndjson_text
from api.network import NetworkMount
from db.listing.cursor import CursorError
from db.queries.spans import find_span
from db.queries.statements import Account, Place, find_account, statement
from db.store import Row

ADDRESSES_MAX = 100

ROWS_AHEAD = 3
"""Movements of single addresses that a page reads at once per row of its size."""

ROUNDS_MAX = 3
"""Reads after which a page ends, however few movements remain of those read: those between the addresses cancel out."""

NUMBER_MAX = 999_999_999
"""Greater than the number of any movement in a milestone."""

EXPECTED = f"1 to {ADDRESSES_MAX} bech32 addresses separated by commas"

_address = reader(bech32())


def parse_addresses(listed: str) -> tuple[tuple[str, bytes], ...]:
    """Parses addresses that are separated by commas. Raises ValueError."""
    found = listed.split(",")
    if len(found) > ADDRESSES_MAX:
        raise ValueError("too many addresses")
    return tuple(_address(each) for each in found)


ADDRESSES = Param(
    "addresses",
    converted(str, parse_addresses, {"type": "string", "format": "bech32-list", "description": EXPECTED}),
    f"Addresses of this network, at most {ADDRESSES_MAX}, separated by commas",
    ADDRESS.example,
    required=True,
)
Addresses = Annotated[tuple[tuple[str, bytes], ...], ADDRESSES]


async def statement_of_account(
    network: NetworkMount,
    addresses: Addresses,
    newest: OldestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
    span: Span,
) -> Json:
    """Returns what changed the combined balance of one or more addresses, with the balance after each change.

    A movement is a transaction, a migration or a genesis output. `amount` is the change of the balance;
    `counterparties` are the senders of an increase and the recipients of a decrease. What moves between the addresses
    only is left out. Balances contain storage deposits, and outputs that have expired. If the movements do not add up
    to the balances of the ledger state, the status is 500. With Accept CSV or NDJSON, the response contains all of
    them, from `cursor` on; the first line and the last one are the opening and the closing balance. A page about
    several addresses may be short and still have a cursor.
    """
    at = after or After(page_size)
    cursors, place = await opened(network, addresses, at, span, newest=newest)
    account, size = cursors.account, at.page_size
    found, rest, rounds = list[Row](), None, 0
    async for part in statement(network.store, account, place, ROWS_AHEAD * (size + 1)):
        found += part.rows
        rounds += 1
        if len(found) > size:
            rest = place_of(found[size - 1])
            break
        if rounds == ROUNDS_MAX:
            rest = Place(part.reached, NUMBER_MAX)
            break
    values = await values_of(network)
    shown = found[:size]
    items = [
        movement_item(row, others, values, f"{cursors.text(place_of(row))}.{size}")
        for row, others in zip(shown, counterparties(network.bech32_hrp, shown), strict=True)
    ]
    return {
        "addresses": [network.bech32(each) for each in account.addresses],
        "firstMilestoneIndex": account.first,
        "lastMilestoneIndex": account.last,
        "openingBalance": str(await account.balance(network.store, account.first - 1)),
        "closingBalance": str(await account.balance(network.store, account.last)),
        "items": items,
        "cursor": None if rest is None else f"{cursors.text(rest)}.{size}",
    }


async def opened(
    network: NetworkMount, addresses: Addresses, at: After, span: Given, *, newest: bool
) -> tuple[Cursors, Place | None]:
    """Returns the account of a request, and the place after which it continues. Raises BadParameter and CursorError.

    Without an end, the statement ends at the ledger index of its first page.
    """
    serialized = [network.address(each, ADDRESSES.name) for each in addresses]
    window = await find_span(network.store, network.name, *edges_of(span))
    account = await find_account(network.store, network.name, serialized, window, newest=newest)
    cursors = Cursors(network.name, account)
    if at.cursor is None:
        return cursors, None
    last = last_milestone(at.cursor)
    if last is None or last > account.last:
        raise CursorError("expected the cursor of a movement of this statement")
    cursors = Cursors(network.name, Account(account.addresses, account.first, last, newest))
    return cursors, cursors.parse(at.cursor)


def place_of(row: Row) -> Place:
    """Returns the place of a movement."""
    return Place(row["milestone_index"], row["number"])


def movement_item(row: Row, others: list[str], values: Values, cursor: str) -> Json:
    """Returns a movement as an item."""
    return {
        "kind": row["kind"],
        "milestoneIndex": row["milestone_index"],
        "milestoneTimestamp": None if row["ms_timestamp"] is None else row["ms_timestamp"] // 1000,
        "transactionId": f"0x{row['transaction_id']}",
        "amount": str(row["amount"]),
        "balance": str(row["balance"]),
        "valueUsd": values.of(row),
        "counterparties": others,
        "cursor": cursor,
    }


def exports() -> Mapping[str, Export]:
    """Returns the writers of a statement as CSV and NDJSON."""

    def written(form: Form) -> Any:
        async def parts(
            network: NetworkMount,
            *,
            addresses: Addresses,
            newest: bool,
            page_size: int,
            after: After | None,
            span: Given,
        ) -> AsyncGenerator[str]:
            at = after or After(page_size)
            cursors, place = await opened(network, addresses, at, span, newest=newest)
            async for part in lines(network, cursors, form, after=place, page_size=at.page_size):
                yield part

        return parts

    def csv_example(answer: dict[str, Any]) -> str:
        return csv_text([FIELDS, *cells(answer["items"], FIELDS)])

    return {
        CSV: Export(written("csv"), csv_example),
        NDJSON: Export(written("ndjson"), lambda answer: ndjson_text(answer["items"])),
    }


EXPLORER_STATEMENT = (
    Operation("/ledger/statement", statement_of_account, StatementOfAccount, (500, 501), exports=exports()),
)
