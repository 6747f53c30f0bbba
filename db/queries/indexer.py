"""Queries of the indexer: outputs of some kinds that satisfy all conditions.

The first condition in ORDER that names keys becomes the lookup; its rows decide the others. The choice affects only
what is read, not the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from db.listing.page import Page
from db.queries.lookups import By, list_created
from db.queries.unspent import list_all_unspent, list_unspent
from db.roles import ADDRESS, TAG
from db.store import Condition, Store, Test, Where
from db.times import Window

ORDER = (
    ADDRESS,
    "storage_deposit_return",
    "expiration_return",
    "governor",
    "state_controller",
    "issuer",
    "sender",
    TAG,
)
"""Variants, most selective first."""

UNLOCKING = (ADDRESS, "storage_deposit_return", "expiration_return", "state_controller", "governor")
"""Variants of addresses that may unlock an output, now or under some condition."""

KeyCondition: TypeAlias = tuple[By, ...]
"""A condition that names keys. The output must be listed under at least one."""


class Spent(Enum):
    """Which outputs to list: unspent at the ledger index, spent by then, or all."""

    UNSPENT = "unspent"
    ONLY = "only"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class OutputQuery:
    """Outputs of these kinds that are listed under a key of each of `keys` and satisfy all `tests`."""

    kinds: Sequence[str]
    keys: Sequence[KeyCondition]
    tests: Where


async def list_outputs(
    store: Store,
    network: str,
    query: OutputQuery,
    spent: Spent,
    *,
    as_of: int,
    is_fixed: bool = False,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of the requested outputs, each once, with their ids. Only unspent outputs can be listed without a key.

    A page may be short or empty and still have a cursor. `is_fixed` as in `db.listing.page.Listing`. Raises as
    `list_unspent` and `list_all_unspent` do.
    """
    lookup = min(query.keys, key=_rank, default=None)
    where = [*query.tests, *(_test(each, lookup) for each in query.keys if not _is_met(each, lookup))]
    if lookup is None:
        assert spent is Spent.UNSPENT, "no lookup contains all outputs that ever existed"
        return await list_all_unspent(
            store, network, as_of=as_of, kinds=query.kinds, where=where, window=window, is_fixed=is_fixed,
            newest=newest, page_size=page_size, cursor=cursor,
        )  # fmt: skip
    if spent is Spent.UNSPENT:
        return await list_unspent(
            store, lookup, as_of=as_of, kinds=query.kinds, where=where, window=window, is_fixed=is_fixed,
            newest=newest, page_size=page_size, cursor=cursor,
        )  # fmt: skip
    return await list_created(
        store, lookup, as_of=as_of, kinds=query.kinds, spent=spent is Spent.ONLY, where=where, window=window,
        is_fixed=is_fixed, newest=newest, page_size=page_size, cursor=cursor,
    )  # fmt: skip


def _rank(condition: KeyCondition) -> tuple[int, int]:
    """The order of preference for the lookup: by variant, then fewer keys."""
    return ORDER.index(condition[0].variant), len(condition)


def _is_met(condition: KeyCondition, lookup: KeyCondition | None) -> bool:
    """Whether every output that the lookup finds satisfies the condition."""
    return condition is lookup or (lookup is not None and set(lookup) <= set(condition))


def _test(condition: KeyCondition, lookup: KeyCondition | None) -> Test:
    """A condition that names keys, as a test of the lookup's rows. Rows do not contain the owner; an output found by an
    owner has no other.
    """
    test = tuple([Condition(by.variant, "=", by.key) for by in condition if by.variant != ADDRESS])
    assert len(test) == len(condition) or (lookup is not None and lookup[0].variant == ADDRESS)
    return test
