"""Queries of outputs by lookup key: an address in any role, a tag, a chain id.

Invariants:
1. db/roles.py defines the keys that each kind is listed under. Keys of several kinds or roles form one listing: their
   streams are merged, and each output is returned once.
2. Filters use columns of the lookup rows, so a page reads nothing else, except whether outputs are spent if requested.
3. Work is bounded, so a page may be short or empty and still have a cursor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from db import schema
from db.coverage import check_listing, check_spending
from db.listing.conditions import text_of
from db.listing.page import Keep, Listing, Page, list_lookup, list_page, read_columns
from db.listing.streams import Sieve, lookup_source
from db.queries.genesis_rows import created_rows
from db.roles import CHAIN, KINDS, LOOKUP_OF_TABLE, Role, listing_key, roles_of
from db.store import Bound, Row, Store, Where
from db.times import Window


@dataclass(frozen=True, slots=True)
class By:
    """Outputs under a key: an address (role variants), a tag or a chain id, each as hex.

    `variant` is a variant of db.roles.ROLES.
    """

    variant: str
    key: str


async def list_created(
    store: Store,
    requested: Sequence[By],
    *,
    kinds: Sequence[str] = KINDS,
    included: bool = True,
    spent: bool = False,
    where: Where = (),
    columns: Sequence[str] = (),
    window: Window | None = None,
    as_of: int | None = None,
    is_fixed: bool = False,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of the outputs created under any of these keys, each once. For chain ids use `list_states`.

    `spent` lists only outputs that are spent by the ledger index. Without `included` the page contains outputs of
    attachments that took no effect, one row per attachment. `columns` are needed beside ids and milestones. `is_fixed`
    as in `db.listing.page.Listing`.
    """
    table = schema.outputs_by_address
    read = read_columns(table, columns, window)
    role_keys = roles_under(requested, kinds)
    assert all(role.table.clustering == table.clustering for role, _ in role_keys), "chain ids have list_states"
    await check_listing(store, [(LOOKUP_OF_TABLE[role.table], by.key) for role, by in role_keys])
    if spent:
        await check_spending(store, [by.variant for by in requested])
    sieve = sieve_of(where)
    keep = _spent(store) if spent else None
    listing = Listing(
        table,
        [
            lookup_source(LOOKUP_OF_TABLE[role.table], listing_key(role, by.key, included=included), read, sieve)
            for role, by in role_keys
        ],
        QueryText(f"created {included} {spent}", role_keys, where),
        sieve=sieve,
        keep=created_rows(store, keep) if included else keep,
        window=window,
        as_of=as_of,
        is_fixed=is_fixed,
    )
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor)


async def list_states(
    store: Store,
    output_kind: str,
    chain_id: str,
    *,
    spent: bool = False,
    columns: Sequence[str] = (),
    window: Window | None = None,
    as_of: int | None = None,
    is_fixed: bool = False,
    newest: bool,
    page_size: int,
    cursor: str | None,
    start: Bound | None = None,
) -> Page:
    """A page of all states of an alias, NFT or foundry in the order in which they took effect, also within a milestone.
    `spent`: only states that are spent by the ledger index. `start` as in `db.listing.page.list_lookup`.
    """
    (role,) = (each for each in roles_of(CHAIN) if each.output_kind == output_kind)
    return await list_lookup(
        store,
        LOOKUP_OF_TABLE[role.table],
        [(chain_id,)],
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        keep=created_rows(store, _spent(store) if spent else None),
        query=f"states {spent}",
        window=window,
        as_of=as_of,
        is_fixed=is_fixed,
        columns=columns,
        start=start,
    )


def roles_under(requested: Sequence[By], kinds: Sequence[str]) -> list[tuple[Role, By]]:
    """The roles of outputs of these kinds, for the requested keys."""
    return [(role, by) for by in requested for role in roles_of(by.variant) if role.output_kind in kinds]


def is_spent(output: Row, as_of: int | None) -> bool:
    """Whether a row of `outputs` or `unspent_outputs` is spent."""
    milestone_index = output["spent_milestone_index"]
    return milestone_index is not None and (as_of is None or milestone_index <= as_of)


def sieve_of(where: Where) -> Sieve | None:
    """The sieve that drops rows that do not satisfy `where`; None if there are no conditions."""
    return Sieve(where) if where else None


def _spent(store: Store) -> Keep:
    async def keep(rows: Sequence[Row], as_of: int | None) -> list[Row]:
        outputs = await store.get_many(schema.outputs, [(row["output_id"],) for row in rows])
        return [row for row, output in zip(rows, outputs, strict=True) if _ended(output, as_of)]

    return keep


def _ended(output: Row | None, as_of: int | None) -> bool:
    return output is not None and is_spent(output, as_of)


@dataclass(slots=True)
class QueryText:
    """Identifies a query for cursors. Queries with other keys or conditions have another text."""

    which: str
    role_keys: Sequence[tuple[Role, By]]
    where: Where

    def __str__(self) -> str:
        keys = " ".join(f"{role.output_kind}:{by.variant}:{by.key}" for role, by in self.role_keys)
        return f"{self.which} {keys} {text_of(self.where)}"
