"""The balance of an address at a ledger index, by who may spend each output at that time (TIP-18).

An expired output belongs entirely to its return address. Before that it belongs to its owner, except for the storage
deposit to return. A timelock excludes both.

Times are compared with that of the milestone. Without it, there is no balance of an address with such an output.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from db.queries.lookups import By
from db.queries.unspent import list_unspent
from db.roles import ADDRESS
from db.store import LedgerUnknown, Row, Store

OWNERS = (ADDRESS, "state_controller")
"""Variants of the address that may spend an output that has not expired."""

RETURNED = "expiration_return"
"""The variant of the address that may spend an expired output."""

CONDITIONS = ("amount", "storage_deposit_return_amount", "timelock", "expiration", "native_tokens")

AT_ONCE = 5_000


@dataclass(slots=True)
class Balance:
    """A balance in base tokens: total, and available (not timelocked).

    `outputs` is the number of outputs read, including those that belong to others at that time. `with_tokens` are the
    ids of counted outputs with native tokens. `is_partial`: it would take too many reads.
    """

    total: int = 0
    available: int = 0
    outputs: int = 0
    is_partial: bool = False
    with_tokens: list[str] = field(default_factory=list)

    def add(self, row: Row, amount: int, unix_time: int | None) -> None:
        """Counts an output. `unix_time` as in `is_over`."""
        self.total += amount
        if row["timelock"] is None or is_over(row["timelock"], unix_time):
            self.available += amount
        if row["native_tokens"]:
            self.with_tokens.append(row["output_id"])


def is_over(until: int, unix_time: int | None) -> bool:
    """Whether the time of an unlock condition has passed at `unix_time`, the time of the ledger index. Raises
    LedgerUnknown if that is unknown (None).
    """
    if unix_time is None:
        raise LedgerUnknown(
            "the time of this ledger index is not known, because the genesis does not contain it; timelocks and "
            "expirations cannot be compared with it"
        )
    return until <= unix_time


async def find_balance(
    store: Store, address: str, *, as_of: int, is_fixed: bool = False, unix_time: int | None, most: int
) -> Balance:
    """The balance of an address at a ledger index, whose milestone has the timestamp `unix_time` (None: unknown). Stops
    after `most` outputs, or as many pages as that many outputs fill. `is_fixed` as in `list_unspent`.

    Raises LedgerUnknown if an output has a timelock or an expiration, and the timestamp is unknown.
    """
    found = Balance()
    pages = most // AT_ONCE + len((OWNERS, RETURNED))
    async for rows in _unspent(store, [By(variant, address) for variant in OWNERS], as_of, is_fixed=is_fixed):
        for row in rows:
            if row["expiration"] is None or not is_over(row["expiration"], unix_time):
                found.add(row, row["amount"] - (row["storage_deposit_return_amount"] or 0), unix_time)
        found.outputs += len(rows)
        pages -= 1
        if found.outputs > most or pages < 0:
            return replace(found, is_partial=True)
    async for rows in _unspent(store, [By(RETURNED, address)], as_of, is_fixed=is_fixed):
        for row in rows:
            if is_over(row["expiration"], unix_time):
                found.add(row, row["amount"], unix_time)
        found.outputs += len(rows)
        pages -= 1
        if found.outputs > most or pages < 0:
            return replace(found, is_partial=True)
    return found


async def _unspent(
    store: Store, requested: Sequence[By], as_of: int, *, is_fixed: bool
) -> AsyncIterator[Sequence[Row]]:
    cursor: str | None = None
    while True:
        page = await list_unspent(
            store,
            requested,
            as_of=as_of,
            columns=CONDITIONS,
            is_fixed=is_fixed,
            newest=False,
            page_size=AT_ONCE,
            cursor=cursor,
        )
        yield page.rows
        if page.cursor is None:
            return
        cursor = page.cursor
