"""Questions about outputs by whatever they are looked up by: an address in any role, a tag, a chain id.

Rules of this file: as in messages.py; db/roles.py says which kinds stand under what. Keys of several kinds or roles are
one listing: their streams are merged and an output comes once. A filter is of columns that the rows have, so a page
reads nothing beside them, but whether an output is spent where that is asked; it may be short, and empty, while its
cursor still leads on, as its work is bounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from db import schema
from db.listing.conditions import text_of
from db.listing.page import Keep, Listing, Page, list_lookup, list_page, read_columns
from db.listing.streams import Sieve, lookup_source
from db.roles import CHAIN, KINDS, LOOKUP_OF_TABLE, Role, listing_key, roles_of
from db.store import Row, Store, Where
from db.times import Window


@dataclass(frozen=True, slots=True)
class By:
    """Outputs under a key: of an address role the address in hex, of a tag its bytes in hex, of a chain its id in hex.

    `variant`: a variant of db.roles.ROLES.
    """

    variant: str
    key: str


async def list_created(
    store: Store,
    asked: Sequence[By],
    *,
    kinds: Sequence[str] = KINDS,
    included: bool = True,
    spent: bool = False,
    where: Where = (),
    columns: Sequence[str] = (),
    window: Window | None = None,
    as_of: int | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """Outputs that ever stood under any of those keys, spent or not, each once; `spent`: those that are by the ledger
    index alone; not `included`: those of attachments that took no effect, a row an attachment. `columns`: what rows
    need beside ids and milestones. Chain ids have list_states.
    """
    table = schema.outputs_by_address
    read = read_columns(table, columns, window)
    standing = standing_under(asked, kinds)
    assert all(role.table.clustering == table.clustering for role, _ in standing), "chain ids have list_states"
    sieve = sieve_of(where)
    listing = Listing(
        table,
        [
            lookup_source(LOOKUP_OF_TABLE[role.table], listing_key(role, by.key, included=included), read, sieve)
            for role, by in standing
        ],
        Question(f"created {included} {spent}", standing, where),
        sieve=sieve,
        keep=_spent(store) if spent else None,
        window=window,
        as_of=as_of,
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
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """Every state of an alias, NFT or foundry in the order in which they took effect, those of one milestone too;
    `spent`: those that are by the ledger index.
    """
    (role,) = (each for each in roles_of(CHAIN) if each.output_kind == output_kind)
    return await list_lookup(
        store,
        LOOKUP_OF_TABLE[role.table],
        [(chain_id,)],
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        keep=_spent(store) if spent else None,
        question=f"states {spent}",
        window=window,
        as_of=as_of,
        columns=columns,
    )


def standing_under(asked: Sequence[By], kinds: Sequence[str]) -> list[tuple[Role, By]]:
    """The roles that outputs of those kinds have, by what was asked."""
    return [(role, by) for by in asked for role in roles_of(by.variant) if role.output_kind in kinds]


def is_spent(output: Row, as_of: int | None) -> bool:
    """Whether a row of `outputs`, or of `unspent_outputs`, was spent."""
    milestone_index = output["spent_milestone_index"]
    return milestone_index is not None and (as_of is None or milestone_index <= as_of)


def sieve_of(where: Where) -> Sieve | None:
    """What leaves out the rows of a listing that do not meet `where`; None where all do."""
    return Sieve(where) if where else None


def _spent(store: Store) -> Keep:
    async def keep(rows: list[Row], as_of: int | None) -> list[Row]:
        outputs = await store.get_many(schema.outputs, [(row["output_id"],) for row in rows])
        return [row for row, output in zip(rows, outputs, strict=True) if _ended(output, as_of)]

    return keep


def _ended(output: Row | None, as_of: int | None) -> bool:
    return output is not None and is_spent(output, as_of)


@dataclass(slots=True)
class Question:
    """What is asked for; no other keys and conditions have the same text, which cursors alone need."""

    which: str
    standing: Sequence[tuple[Role, By]]
    where: Where

    def __str__(self) -> str:
        keys = " ".join(f"{role.output_kind}:{by.variant}:{by.key}" for role, by in self.standing)
        return f"{self.which} {keys} {text_of(self.where)}"
