"""Whether balances and treasury add up to the token supply, as loads found it after each milestone."""

import json
from dataclasses import asdict, dataclass

from db import schema
from db.store import Store

RECONCILED = "reconciled"
"""Key of keyspace_info: the Reconciliation as JSON."""


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The comparison after each milestone from `first` to `last`, in base tokens.

    Attributes:
        supply: the tokens of the genesis: its outputs and its treasury.
        first: the first ledger index that was compared: the genesis, unless an older version applied it.
        last: the last one.
        wrong_at: the first one whose balances and treasury do not add up to the supply. None: they always do.
        wrong_sum: what they add up to there.
    """

    supply: int
    first: int
    last: int
    wrong_at: int | None = None
    wrong_sum: int | None = None

    @property
    def holds_to(self) -> int:
        """The last ledger index up to which all sums equal the supply; `first - 1` if none does."""
        return self.last if self.wrong_at is None else self.wrong_at - 1

    def text(self) -> str:
        """The value in keyspace_info."""
        return json.dumps(asdict(self))


def parse_reconciliation(text: str) -> Reconciliation:
    """Reads the value in keyspace_info."""
    return Reconciliation(**json.loads(text))


async def find_reconciliation(store: Store) -> Reconciliation | None:
    """The comparison up to the newest ledger state. None if there is no state, or if no load compared it yet."""
    row = await store.get(schema.keyspace_info, (RECONCILED,))
    return None if row is None else parse_reconciliation(row["value"])
