"""What an address owns at a ledger index, by whoever may spend an output at that time (TIP-18).

Rules of this file: as in unspent.py. An output that expired is its return address's, all of it; before that it is its
owner's but for the deposit that goes back. A timelock keeps it from both.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from db.queries.lookups import By
from db.queries.unspent import list_unspent
from db.roles import ADDRESS
from db.store import Row, Store

OWNERS = (ADDRESS, "state_controller")
"""Variants of whoever may spend an output that has not expired."""

RETURNED = "expiration_return"
"""The variant of whoever may spend it from then on."""

CONDITIONS = ("amount", "storage_deposit_return_amount", "timelock", "expiration", "native_tokens")

AT_ONCE = 5_000


@dataclass(slots=True)
class Balance:
    """Base tokens: all, and what no timelock holds back. `outputs`: how many were looked at, those that are another's
    at that time too; `with_tokens`: the ids of those that hold native tokens, of what is counted.
    """

    total: int = 0
    available: int = 0
    outputs: int = 0
    with_tokens: list[str] = field(default_factory=list)

    def add(self, row: Row, amount: int, unix_time: int) -> None:
        """Counts an output."""
        self.total += amount
        if row["timelock"] is None or row["timelock"] <= unix_time:
            self.available += amount
        if row["native_tokens"]:
            self.with_tokens.append(row["output_id"])


async def find_balance(store: Store, address: str, *, as_of: int, unix_time: int, most: int) -> Balance:
    """What an address owns at a ledger index whose milestone has that timestamp; it ends when `most` outputs are
    exceeded.
    """
    found = Balance()
    async for row in _unspent(store, [By(variant, address) for variant in OWNERS], as_of):
        found.outputs += 1
        if row["expiration"] is None or row["expiration"] > unix_time:
            found.add(row, row["amount"] - (row["storage_deposit_return_amount"] or 0), unix_time)
        if found.outputs > most:
            return found
    async for row in _unspent(store, [By(RETURNED, address)], as_of):
        found.outputs += 1
        if row["expiration"] <= unix_time:
            found.add(row, row["amount"], unix_time)
        if found.outputs > most:
            return found
    return found


async def _unspent(store: Store, asked: Sequence[By], as_of: int) -> AsyncIterator[Row]:
    cursor: str | None = None
    while True:
        page = await list_unspent(
            store, asked, as_of=as_of, columns=CONDITIONS, newest=False, page_size=AT_ONCE, cursor=cursor
        )
        for row in page.rows:
            yield row
        if page.cursor is None:
            return
        cursor = page.cursor
