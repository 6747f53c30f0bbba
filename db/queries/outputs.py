"""Queries of outputs.

Spent means spent by an included transaction. `as_of` is a ledger index, and results are as of that milestone; None: all
loaded data.
"""

from collections.abc import Sequence
from functools import lru_cache

from db import schema
from db.coverage import check_output, missing
from db.listing.page import Page, list_lookup
from db.queries import pending
from db.queries.genesis_rows import created_rows
from db.queries.lookups import By, is_spent, roles_under
from db.queries.milestones import find_timestamps
from db.queries.transactions import is_last_conflicting
from db.queries.unspent import list_unspent
from db.roles import ADDRESS, KINDS, Role
from db.store import Condition, Row, Store
from db.times import Window

ADDRESSES = schema.LOOKUPS[1]
OWNERS = (ADDRESS, "state_controller")
"""The variants of owners. A listing by owner merges them: an alias has no other owner than its state controller."""

SPENT = tuple(name for name in schema.outputs.names if name.startswith("spent_"))


async def find_output(store: Store, output_id: str, as_of: int | None = None) -> Row | None:
    """An included output; None if unknown.

    A row that only its spender wrote (its creator was not loaded) does not count as an output yet.
    """
    row = await store.get(schema.outputs, (output_id,))
    return None if row is None else _as_of(row, as_of)


def _as_of(row: Row, as_of: int | None) -> Row | None:
    if row["created_milestone_index"] is None:
        return None
    if as_of is None:
        return row
    if row["created_milestone_index"] > as_of:
        return None
    return row if is_spent(row, as_of) else row | dict.fromkeys(SPENT)


async def get_output(store: Store, output_id: str, as_of: int | None = None) -> Row:
    """Like `find_output`. Raises NotFound if unknown."""
    row = await find_output(store, output_id, as_of)
    if row is None:
        raise await missing(store, f"output {output_id}")
    await check_output(store, row)
    return row


async def find_booking(store: Store, output: Row) -> tuple[int, int | None]:
    """The milestone that booked an output, and its timestamp in seconds; None if it is unknown.

    A genesis that is not milestone 0 contains outputs of earlier milestones. If it does not contain these milestones,
    its own is returned.
    """
    index = output["created_milestone_index"]
    # Only outputs that no loaded message created have no place in a cone.
    if output["created_white_flag_index"] is None:
        booked = await store.get(schema.booked_outputs, (output["output_id"],))
        if booked is not None:
            return booked["milestone_index"], booked["ms_timestamp"] // 1000
    return index, (await find_timestamps(store, [index]))[0]


async def find_outputs(store: Store, output_ids: Sequence[str], as_of: int | None = None) -> list[Row | None]:
    """Like `find_output`, for several outputs."""
    rows = await store.get_many(schema.outputs, [(output_id,) for output_id in output_ids])
    return [None if row is None else _as_of(row, as_of) for row in rows]


async def find_spending_message_ids(store: Store, output_ids: Sequence[str]) -> list[str | None]:
    """The included message that spent each output; None if unspent or unknown."""
    rows = await store.get_many(schema.outputs, [(output_id,) for output_id in output_ids])
    return [row["spent_message_id"] if row else None for row in rows]


async def list_outputs_by_address(
    store: Store,
    address: str,
    *,
    kinds: Sequence[str] = KINDS,
    output_type: int | None = None,
    include_spent: bool = True,
    included: bool = True,
    with_inclusion: bool = False,
    window: Window | None = None,
    as_of: int | None = None,
    is_fixed: bool = False,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of the outputs of these kinds that an address owns or owned, each once: output_id, milestone_index,
    output_type, `included`. The owner of an output with an expiration is the one that it names.

    With `included` False the page also contains outputs that no included transaction created, one attachment each:
    those of conflicting transactions, and, if no ledger index is requested (`is_fixed`), those of pending ones, whose
    rows have no milestone_index. With a filter a page may be short or empty and still have a cursor, because work is
    bounded.

    `is_fixed` as in `db.listing.page.Listing`.

    Raises:
        CursorError: The cursor is invalid.
    """
    if as_of is not None and included and not include_spent:
        return await _list_unspent(
            store,
            address,
            kinds=kinds,
            output_type=output_type,
            window=window,
            as_of=as_of,
            is_fixed=is_fixed,
            newest=newest,
            page_size=page_size,
            cursor=cursor,
        )

    async def keep(rows: Sequence[Row], at: int | None) -> list[Row]:
        of_type = [row for row in rows if output_type in (None, row["output_type"])]
        if include_spent and included:
            return of_type
        outputs = await store.get_many(schema.outputs, [(row["output_id"],) for row in of_type])
        return [
            row
            for row, output in zip(of_type, outputs, strict=True)
            if await _is_shown(store, row, output, at, include_spent=include_spent)
        ]

    async def keep_pending(rows: Sequence[Row], at: int | None) -> list[Row]:
        found = await pending.with_outputs(store, rows, at)
        return [row for row in found if output_type in (None, pending.output_type_of(row))]

    owners = [(address, *role) for role in _owned_roles(tuple(kinds))]
    filtered = output_type is not None or not include_spent or not included
    return await list_lookup(
        store,
        ADDRESSES,
        [(*owner, of) for owner in owners for of in ((True,) if included else (True, False))],
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        pending=None if included or is_fixed else pending.outputs_source([(*owner, False) for owner in owners]),
        keep=created_rows(store, keep if filtered else None),
        keep_pending=keep_pending,
        query=f"type {output_type} spent {include_spent}",
        window=window,
        as_of=as_of,
        is_fixed=is_fixed,
        columns=("included", "output_type") if filtered or with_inclusion else (),
    )


async def _list_unspent(
    store: Store,
    address: str,
    *,
    kinds: Sequence[str],
    output_type: int | None,
    window: Window | None,
    as_of: int,
    is_fixed: bool,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """Like `list_outputs_by_address` for outputs that are unspent at a ledger index, which need not read the others."""
    page = await list_unspent(
        store,
        _owned_by(address),
        as_of=as_of,
        kinds=kinds,
        where=[] if output_type is None else [(Condition("output_type", "=", output_type),)],
        window=window,
        is_fixed=is_fixed,
        newest=newest,
        page_size=page_size,
        cursor=cursor,
    )
    return Page([row | {"included": True} for row in page.rows], page.cursor, page.as_of)


@lru_cache(maxsize=16)
def _owned_roles(kinds: tuple[str, ...]) -> list[tuple[str, str]]:
    """Kind and variant of each role in which an address owns outputs of these kinds."""
    return [(role.output_kind, role.variant) for role, _ in roles_under(_owned_by(""), kinds)]


def roles_owned_by(address: str, kinds: Sequence[str]) -> list[tuple[Role, str]]:
    """The roles in which an address owns outputs of these kinds, and the key in each."""
    return [(role, by.key) for role, by in roles_under(_owned_by(address), kinds)]


def _owned_by(address: str) -> list[By]:
    return [By(variant, address) for variant in OWNERS]


async def _is_shown(store: Store, row: Row, output: Row | None, as_of: int | None, *, include_spent: bool) -> bool:
    """Whether a row of outputs_by_address represents its output in the listing. `output` is the output's own row."""
    if row["included"]:
        return include_spent or output is None or not is_spent(output, as_of)
    if output is not None and _as_of(output, as_of) is not None:
        return False
    return await is_last_conflicting(store, row["output_id"][:64], row["message_id"], as_of)
