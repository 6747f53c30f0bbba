"""Queries of native tokens (TIP-18): outputs with a token, its transfers, its holders, the states of its foundry.

A token has the id of its foundry. All results are as of a ledger index.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from db import schema
from db.coverage import check_state
from db.listing.cursor import CHECKS, Cursor, CursorError, format_cursor, parse_cursor
from db.listing.page import Listing, Page, list_lookup, list_page, read_columns
from db.listing.streams import lookup_source
from db.model import Type
from db.queries.balances import is_over
from db.queries.indexer import Spent
from db.queries.lookups import is_spent, list_states
from db.queries.unspent import UNSPENT, check_unspent_from, unspent_rows
from db.roles import CHAIN, FOUNDRY, LOOKUP_OF_TABLE, NATIVE_TOKEN, STARDUST_KINDS
from db.store import NotFound, Row, Store
from db.times import Window

UPDATES = LOOKUP_OF_TABLE[schema.native_token_updates]

HINTS_OF_TOKEN = ((NATIVE_TOKEN, "ledger", True), (CHAIN, FOUNDRY, True))
"""Columns of addresses_hints after the id: those of the token's updates, and of its foundry's states."""

AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Holder:
    """An address with the amount of a token that it owns, and the number of unspent outputs with it."""

    address: str
    amount: int
    outputs: int


@dataclass(frozen=True, slots=True)
class Holders:
    """The holders of a token at a ledger index.

    `richest`: the greatest amount first, equal amounts by address. None: the token is in more outputs than allowed.
    """

    ledger_index: int
    richest: Sequence[Holder] | None


async def check_known(store: Store, token_id: str) -> None:
    """Raises NotFound if no output with the token, and no state of its foundry, ever existed."""
    for kind in HINTS_OF_TOKEN:
        if await store.slice(schema.addresses_hints, (token_id, *kind), limit=1):
            return
    raise NotFound(f"native token {token_id}")


async def list_token_updates(
    store: Store,
    token_id: str,
    *,
    as_of: int,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of `native_token_updates`: outputs with the token that were created or spent."""
    return await list_lookup(
        store, UPDATES, [(token_id,)], as_of=as_of, window=window, newest=newest, page_size=page_size, cursor=cursor
    )


async def list_token_outputs(
    store: Store,
    token_id: str,
    spent: Spent,
    *,
    as_of: int,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of the outputs with the token: milestone_index, output_id, ms_timestamp, address, token_amount.

    `address` is the owner that the output names. Unless only unspent outputs are listed, a page may be short or empty
    and still have a cursor. Raises CursorError if the state in which a listing of unspent outputs began is not kept.
    """
    if spent is Spent.UNSPENT:
        return await _list_unspent(
            store, token_id, as_of, ("ms_timestamp", "address", "token_amount"),
            window=window, newest=newest, page_size=page_size, cursor=cursor,
        )  # fmt: skip

    async def keep(rows: Sequence[Row], at: int | None) -> list[Row]:
        created = [row for row in rows if not row["is_spent"]]
        if spent is Spent.ANY:
            return created
        outputs = await store.get_many(schema.outputs, [(row["output_id"],) for row in created])
        pairs = zip(created, outputs, strict=True)
        return [row for row, output in pairs if output is not None and is_spent(output, at)]

    return await list_lookup(
        store, UPDATES, [(token_id,)], keep=keep, query=f"outputs {spent.value}", as_of=as_of, window=window,
        newest=newest, page_size=page_size, cursor=cursor,
    )  # fmt: skip


async def list_foundry_states(
    store: Store,
    token_id: str,
    *,
    as_of: int,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of the states of the token's foundry: milestone_index, output_id, ms_timestamp."""
    return await list_states(
        store, FOUNDRY, token_id, columns=("ms_timestamp",), window=window, as_of=as_of,
        newest=newest, page_size=page_size, cursor=cursor,
    )  # fmt: skip


async def find_holders(store: Store, token_id: str, *, as_of: int, unix_time: int | None, most: int) -> Holders:
    """The owners of the unspent outputs with the token, at the time of the ledger index. Reads at most `most` outputs.

    An expired output belongs to its return address. Raises LedgerUnknown if an output has an expiration, and the time
    is unknown (None).
    """
    await check_state(store, f"the list of holders of {token_id}")
    amounts: dict[str, list[int]] = {}
    read = 0
    async for row in _unspent(store, token_id, as_of):
        read += 1
        if read > most:
            return Holders(as_of, None)
        expired = row["expiration"] is not None and is_over(row["expiration"], unix_time)
        sums = amounts.setdefault(row["expiration_return" if expired else "address"], [0, 0])
        sums[0] += int.from_bytes(row["token_amount"], "little")
        sums[1] += 1
    found = [Holder(address, *sums) for address, sums in amounts.items()]
    return Holders(as_of, sorted(found, key=lambda each: (-each.amount, each.address)))


def holders_position(network: str, token_id: str, cursor: str | None, as_of: int) -> tuple[int, int]:
    """The number of holders before the page after `cursor`, and the ledger index of the listing. Raises CursorError."""
    if cursor is None:
        return 0, as_of
    found = parse_cursor(cursor, _holders_query(network, token_id), [CHECKS[Type.INT]], has_state=True)
    before, at = found.key[0], found.final_to
    if not isinstance(before, int) or at is None or at > as_of:
        raise CursorError("expected the cursor of the previous page of this list of holders")
    return before, at


def holders_cursor(network: str, token_id: str, before: int, as_of: int) -> str:
    """The cursor of the page after that many holders."""
    return format_cursor(Cursor((before,), final_to=as_of), _holders_query(network, token_id))


def _holders_query(network: str, token_id: str) -> str:
    return f"{network} holders {token_id}"


async def _unspent(store: Store, token_id: str, as_of: int) -> AsyncIterator[Row]:
    cursor: str | None = None
    while True:
        page = await _list_unspent(
            store, token_id, as_of, ("address", "token_amount", "expiration", "expiration_return"),
            newest=False, page_size=AT_ONCE, cursor=cursor,
        )  # fmt: skip
        for row in page.rows:
            yield row
        if page.cursor is None:
            break
        cursor = page.cursor
    await check_unspent_from(store, as_of)


async def _list_unspent(
    store: Store,
    token_id: str,
    as_of: int,
    columns: Sequence[str],
    *,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of the outputs with the token that are unspent at a ledger index, as rows of `unspent_outputs`."""
    table = schema.unspent_outputs
    read = read_columns(table, ("spent_milestone_index", *columns), window)
    sources = [lookup_source(UNSPENT, (NATIVE_TOKEN, kind, token_id), read) for kind in STARDUST_KINDS]
    listing = Listing(table, sources, f"unspent with token {token_id}", keep=unspent_rows, window=window, as_of=as_of)
    page = await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor)
    if cursor is not None and page.as_of is not None:
        await check_unspent_from(store, page.as_of)
    return page
