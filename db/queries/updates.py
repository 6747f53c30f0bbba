"""Queries of the outputs that an address received and spent, including genesis outputs.

`ledger_updates_by_address` begins after the genesis. Genesis outputs of an address come from `outputs_by_address` and
are listed as if the genesis were a milestone. The genesis can be a snapshot, whose outputs have the ids of the messages
that created them.
"""

from collections.abc import Sequence

from db import schema
from db.coverage import check_address
from db.listing.page import Listing, Page, list_page, read_columns
from db.listing.spans import within
from db.listing.streams import ChainedStream, Source, Stream, lookup_source, merged
from db.queries.balances import OWNERS
from db.roles import LOOKUP_OF_TABLE, listing_key, roles_of
from db.store import Bound, Row, Store
from db.times import Window

UPDATES = LOOKUP_OF_TABLE[schema.ledger_updates_by_address]

NO_MESSAGE = "00" * 32
"""The message id of outputs that no message created. They are in the genesis."""

COLUMNS = ("amount", "transaction_id", "ms_timestamp")


async def list_updates_by_address(
    store: Store,
    address: str,
    applied: range,
    *,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
    start: Bound | None = None,
) -> Page:
    """A page of `ledger_updates_by_address`: outputs that an address owned when they were created or spent.

    `applied` are the milestones in the ledger state, without the genesis. `start` refers to the clustering columns.
    """
    await check_address(store, address)
    table = schema.ledger_updates_by_address
    later = lookup_source(UPDATES, (address,), read_columns(table, COLUMNS, None))
    first = _genesis_source(address, applied.start - 1)

    def source(store: Store, start: Bound | None, newest: bool) -> Stream:  # noqa: FBT001
        parts = [first(store, start, newest), later(store, start, newest)]
        return ChainedStream(parts[::-1] if newest else parts)

    listing = Listing(table, [source], f"updates {address}", window=window, as_of=applied.stop - 1)
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor, start=start)


def _genesis_source(address: str, genesis: int) -> Source:
    """Genesis outputs that an address owns, as updates."""
    table = schema.outputs_by_address
    columns = read_columns(table, ("amount", "ms_timestamp"), None)
    owned = [
        lookup_source(LOOKUP_OF_TABLE[role.table], listing_key(role, address, included=True), columns)
        for variant in OWNERS
        for role in roles_of(variant)
    ]
    held = within(merged(owned, table), [(genesis, genesis)])
    return lambda store, start, newest: _GenesisUpdates(
        store, genesis, held(store, _of_outputs(start, newest=newest), newest)
    )


def _of_outputs(start: Bound | None, *, newest: bool) -> Bound | None:
    """The bound in outputs_by_address for a bound of updates. No genesis output was spent in the genesis."""
    if start is None or len(start.values) == 1:
        return start
    *output, is_spent = start.values
    inclusive = bool(is_spent) or start.inclusive if newest else not is_spent and start.inclusive
    return Bound(tuple(output), inclusive)


class _GenesisUpdates:
    """Converts genesis rows of `outputs_by_address` to rows of `ledger_updates_by_address`."""

    def __init__(self, store: Store, genesis: int, outputs: Stream) -> None:
        self._store, self._genesis, self._outputs = store, genesis, outputs
        self._last_id = ""

    @property
    def ended(self) -> bool:
        """Whether the outputs are at their end."""
        return self._outputs.ended

    async def next(self, limit: int) -> Sequence[Row]:
        """The next rows, each output once. Omits outputs that the milestone of the genesis created and spent, which
        have rows if that milestone is loaded, too.
        """
        while rows := await self._outputs.next(limit):
            found = [
                {
                    "milestone_index": row["milestone_index"],
                    "output_id": row["output_id"],
                    "is_spent": False,
                    "amount": row["amount"],
                    "transaction_id": row["output_id"][:64],
                    "ms_timestamp": row["ms_timestamp"],
                }
                for row in await self._held(self._each_once(rows))
            ]
            if found:
                return found
        return []

    def _each_once(self, rows: Sequence[Row]) -> list[Row]:
        """The rows without those of an output that precedes them: a genesis.json does not name the message that created
        an output, so the row of the message is another one, next to it.
        """
        before = [self._last_id, *(row["output_id"] for row in rows)]
        self._last_id = before[-1]
        return [row for row, earlier in zip(rows, before, strict=False) if row["output_id"] != earlier]

    async def _held(self, rows: Sequence[Row]) -> list[Row]:
        """The rows of outputs that were unspent after the milestone of the genesis."""
        created = [row["output_id"] for row in rows if row["message_id"] != NO_MESSAGE]
        outputs = await self._store.get_many(schema.outputs, [(each,) for each in created])
        spent = {
            output["output_id"]
            for output in outputs
            if output is not None
            and output["spent_milestone_index"] is not None
            and output["spent_milestone_index"] <= self._genesis
        }
        return [row for row in rows if row["output_id"] not in spent]
