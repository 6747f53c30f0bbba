"""Queries of the ledger state: balances, richest addresses, treasury, receipts, changes of a milestone.

All results are as of a ledger index, which a request reads once.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from db import schema
from db.coverage import check_address, check_state
from db.listing.page import Listing, Page, list_page, list_partition
from db.listing.streams import get_chunk_size, partition_source
from db.listing.turns import give_way
from db.partitions import lookup_key_text, ms_range_id
from db.queries import milestones
from db.store import Bound, LedgerUnknown, NotFound, Row, Store
from db.times import Window

BALANCE_HINT = ("balance", "address", True)
"""Output kind, variant and included: the columns of addresses_hints for address_balances, after the address."""

RICHEST = 1_000
"""The most addresses that the rich list returns; the table has more."""

POWERS = 20
"""The number of powers of ten in a u64."""

CHANGES_AT_ONCE = 1_000
MESSAGES_TOGETHER = 256
"""Messages whose changes are sorted together."""

CHANGE_COLUMNS = ("output_id", "is_spent", "white_flag_index", "idx", "address")


async def find_ledger_index(store: Store, network: str) -> int | None:
    """The milestone up to which the ledger state is complete; None if no genesis was loaded."""
    rows = await store.slice(schema.ledger_frontier, (network,), limit=1)
    return rows[0]["ledger_index"] if rows else None


async def get_ledger_index(store: Store, network: str) -> int:
    """Like `find_ledger_index`. Raises LedgerUnknown without a genesis."""
    found = await find_ledger_index(store, network)
    if found is None:
        raise LedgerUnknown(
            "the ledger state is not known: run `permanode load`, or `load --genesis FILE` without a genesis"
        )
    return found


async def find_genesis(store: Store, network: str) -> int | None:
    """The milestone of the genesis; None if no genesis was loaded."""
    rows = await store.slice(schema.ledger_frontier, (network,), reverse=True, limit=1)
    return rows[0]["ledger_index"] if rows else None


async def get_applied(store: Store, network: str) -> range:
    """The milestones in the ledger state, from the genesis on. Raises LedgerUnknown without a genesis."""
    genesis = await find_genesis(store, network)
    newest = await get_ledger_index(store, network)
    assert genesis is not None
    return range(genesis + 1, newest + 1)


async def find_balance(store: Store, address: str, ledger_index: int) -> Row | None:
    """The row of `address_balances` as of a milestone; None for an address without history. Reads at most two
    hints and two rows. Raises NotKeptHere for an address that a selective store does not keep.
    """
    await check_address(store, address)
    before = Bound((ledger_index,))
    newest = Bound((ms_range_id(ledger_index, await get_chunk_size(store)),))
    # Every range with a hint has a row. Those of the milestone's own range may all be later ones.
    hints = await store.slice(schema.addresses_hints, (address, *BALANCE_HINT), upper=newest, limit=2)
    for hint in hints:
        partition = (address, hint["ms_range_id"])
        rows = await store.slice(schema.address_balances, partition, upper=before, limit=1)
        if rows:
            return rows[0]
    return None


async def find_balances(store: Store, address: str, milestone_indices: Sequence[int]) -> list[int]:
    """The balance of an address after each of these milestones, from `address_balances`; 0 without history."""
    chunk_size = await get_chunk_size(store)
    keys = [(address, ms_range_id(index, chunk_size), index) for index in milestone_indices]
    found = []
    for index, row in zip(milestone_indices, await store.get_many(schema.address_balances, keys), strict=True):
        # An expired output is spent by its return address, whose balance it never was part of.
        held = row or await find_balance(store, address, index)
        found.append(held["balance"] if held else 0)
    return found


async def get_treasury(store: Store, network: str, ledger_index: int) -> Row:
    """The row of `treasury` as of a milestone. Raises NotFound if there never was a treasury."""
    rows = await store.slice(schema.treasury, (network,), upper=Bound((ledger_index,)), limit=1)
    if not rows:
        raise NotFound("a treasury")
    return rows[0]


class Change(NamedTuple):
    """An output that a milestone created or spent."""

    is_spent: bool
    output_id: str
    address: str


async def list_changes(store: Store, milestone_index: int) -> AsyncIterator[list[Change]]:
    """Yields all rows of `ledger_updates_by_milestone` of a milestone, some at a time, in the order in which they took
    effect.

    A milestone may have hundreds of thousands, in the order of their ids. They are kept as bytes that sort in the order
    of effect, because objects for each would take five times the memory, and seconds of the garbage collector. Raises
    NotKeptHere for a selective store.
    """
    await check_state(store, f"the list of changes of milestone {milestone_index}")
    by_message: dict[int, list[bytes]] = defaultdict(list)
    after: Bound | None = None
    while True:
        rows = await store.slice(
            schema.ledger_updates_by_milestone,
            (milestone_index,),
            upper=after,
            limit=CHANGES_AT_ONCE,
            columns=CHANGE_COLUMNS,
        )
        for row in rows:
            place = row["white_flag_index"]
            effect = place << 32 | row["idx"] << 1 | row["is_spent"]
            data = b"%c%b%b" % (
                len(row["output_id"]) // 2,
                bytes.fromhex(row["output_id"]),
                bytes.fromhex(row["address"]),
            )
            by_message[place // MESSAGES_TOGETHER].append(effect.to_bytes(8) + data)
        if len(rows) < CHANGES_AT_ONCE:
            break
        after = Bound((rows[-1]["output_id"], rows[-1]["is_spent"]), inclusive=False)
    for together in sorted(by_message):
        records = sorted(by_message.pop(together))
        for start in range(0, len(records), CHANGES_AT_ONCE):
            await give_way()
            yield [_change(record) for record in records[start:][:CHANGES_AT_ONCE]]


def _change(record: bytes) -> Change:
    end = 9 + record[8]
    return Change(bool(record[7] & 1), record[9:end].hex(), record[end:].hex())


async def list_updates_by_milestone(
    store: Store,
    milestone_index: int,
    *,
    newest: bool = False,
    page_size: int,
    cursor: str | None,
    start: Bound | None = None,
) -> Page:
    """Rows of `ledger_updates_by_milestone`, ascending by output id; created before spent. `newest`: the reverse.

    Raises NotKeptHere for a selective store.
    """
    await check_state(store, f"the list of changes of milestone {milestone_index}")
    return await list_partition(
        store,
        schema.ledger_updates_by_milestone,
        (milestone_index,),
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        columns=("address", "amount"),
        start=start,
    )


async def list_receipts(
    store: Store,
    network: str,
    *,
    first_byte: int,
    migrated_at: int | None = None,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """Rows of `receipts` by the legacy milestone that they migrate from (all or one), then by their own milestone.

    `first_byte` of the payload selects an era. A `window` restricts the milestones that contain the receipts.
    """

    async def keep(rows: Sequence[Row], _: int | None) -> list[Row]:
        of_era = [row for row in rows if row["payload"][0] == first_byte]
        if window is None:
            return of_era
        times = await milestones.find_timestamps(store, [row["milestone_index"] for row in of_era])
        in_ms = [None if time is None else 1000 * time for time in times]
        return [row for row, time in zip(of_era, in_ms, strict=True) if window.includes(row["milestone_index"], time)]

    prefix = () if migrated_at is None else (migrated_at,)
    span = f" {window}" if window else ""
    return await list_page(
        store,
        Listing(
            schema.receipts,
            [partition_source(schema.receipts, (network,), prefix=prefix)],
            f"receipts {lookup_key_text((network, *prefix))} {first_byte}{span}",
            keep=keep,
        ),
        newest=newest,
        page_size=page_size,
        cursor=cursor,
    )


async def get_distribution(store: Store, network: str, ledger_index: int) -> Sequence[Row]:
    """Rows of `distribution` of a ledger index, ascending by balance; none if it is no longer kept or not whole."""
    if not await _is_ranked(store, network, ledger_index):
        return []
    at = Bound((ledger_index,))
    return await store.slice(schema.distribution, (network,), lower=at, upper=at, reverse=True, limit=POWERS)


async def list_richest(
    store: Store, network: str, ledger_index: int, *, page_size: int, after_rank: int = 0
) -> Sequence[Row]:
    """Up to RICHEST rows of `rich_list` of a ledger index, by rank; none if it is no longer kept or not whole."""
    limit = min(page_size, RICHEST - after_rank)
    if limit <= 0 or not await _is_ranked(store, network, ledger_index):
        return []
    after = Bound((after_rank,), inclusive=False)
    return await store.slice(schema.rich_list, (network, ledger_index), lower=after, limit=limit)


async def _is_ranked(store: Store, network: str, ledger_index: int) -> bool:
    """Whether `distribution` and `rich_list` of a ledger index are whole: loads write the row of rank 1 last."""
    return await store.get(schema.rich_list, (network, ledger_index, 1)) is not None
