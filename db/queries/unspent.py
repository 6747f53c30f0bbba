"""Queries of outputs that are unspent at a ledger index, by any lookup key.

`unspent_outputs` keeps recently spent outputs, and a page omits those that were spent by its ledger index. So all pages
of a listing show the same state. Of a state that it no longer keeps, a page comes from the lookups, which contain every
output ever created; the outputs' own rows decide which of them were spent.
"""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from db import schema
from db.coverage import HOLDING, check_address, check_state
from db.listing.conditions import text_of
from db.listing.cursor import CursorError
from db.listing.page import Keep, Listing, Page, list_page, read_columns
from db.listing.spans import within
from db.listing.streams import ChainedStream, PartitionStream, Sieve, Source, Stream, get_chunk_size, lookup_source
from db.partitions import ms_range_id
from db.queries.genesis_rows import first_state
from db.queries.lookups import By, QueryText, is_spent, list_states, roles_under, sieve_of
from db.roles import ALL, KINDS, LOOKUP_OF_TABLE, Role, listing_key
from db.store import Bound, Key, LedgerUnknown, Row, Store, Where
from db.times import Window

UNSPENT = LOOKUP_OF_TABLE[schema.unspent_outputs]

UNSPENT_FROM = "unspent_from"
"""Key of keyspace_info: the first ledger index that `unspent_outputs` can answer; missing: all."""

COMPACTED_TO = "compacted_to"
"""Key of keyspace_info: the milestone up to which spent outputs were examined. Rows of outputs that were spent by then
may be missing.
"""


async def list_unspent(
    store: Store,
    requested: Sequence[By],
    *,
    as_of: int,
    kinds: Sequence[str] = KINDS,
    where: Where = (),
    columns: Sequence[str] = (),
    window: Window | None = None,
    is_fixed: bool = False,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of outputs under any of these keys that are unspent at a ledger index, each once.

    `as_of` is the current ledger index, or an earlier one with `is_fixed` (`db.listing.page.Listing`). A page that is
    read from the lookups may be short or empty and still have a cursor. Raises NotKeptHere for keys that a selective
    store does not keep.
    """
    for each in requested:
        if each.variant in HOLDING:
            await check_address(store, each.key)
        else:
            await check_state(store, f"the list of unspent outputs by {each.variant}")
    role_keys = roles_under(requested, kinds)
    query = QueryText("unspent", role_keys, where)

    async def page(*, is_kept: bool) -> Page:
        sieve = sieve_of(where)
        if is_kept:
            read = _read(columns, window)
            sources = [
                lookup_source(UNSPENT, (by.variant, role.output_kind, by.key), read, sieve) for role, by in role_keys
            ]
        else:
            # As in the other table, the ledger begins with the genesis.
            span = (await first_state(store), as_of)
            sources = _history_sources(role_keys, columns, window, sieve, span)
        listing = Listing(
            schema.unspent_outputs,
            sources,
            query,
            sieve=sieve,
            keep=unspent_rows if is_kept else _unspent_outputs(store),
            window=window,
            as_of=as_of,
            is_fixed=is_fixed,
        )
        return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor)

    if is_fixed and as_of < await find_unspent_from(store):
        return await page(is_kept=False)
    found = await page(is_kept=True)
    if await _was_kept(store, found, is_current=cursor is None and not is_fixed):
        return found
    return await page(is_kept=False)


async def list_all_unspent(
    store: Store,
    network: str,
    *,
    as_of: int,
    kinds: Sequence[str] = KINDS,
    where: Where = (),
    columns: Sequence[str] = (),
    window: Window | None = None,
    is_fixed: bool = False,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """Like `list_unspent`, for all outputs of these kinds.

    Raises:
        CursorError: The state in which the listing began is no longer kept.
        LedgerUnknown: The requested state is no longer kept.
        NotKeptHere: The store is selective.
    """
    await check_state(store, "the list of all unspent outputs")
    genesis = (await store.slice(schema.ledger_frontier, (network,), reverse=True, limit=1))[0]["ledger_index"]
    read, sieve = _read(columns, window), sieve_of(where)
    listing = Listing(
        schema.unspent_outputs,
        [_all_source(kind, genesis, read, sieve) for kind in kinds],
        f"all unspent {' '.join(kinds)} {text_of(where)}",
        sieve=sieve,
        keep=unspent_rows,
        window=window,
        as_of=as_of,
        is_fixed=is_fixed,
    )
    page = await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor)
    if await _was_kept(store, page, is_current=cursor is None and not is_fixed):
        return page
    if is_fixed:
        first = await find_unspent_from(store)
        raise LedgerUnknown(
            f"the list of all outputs at {as_of} is not kept, only that of {first} and later: add a parameter with an "
            "address or a tag"
        )
    raise CursorError(f"the ledger state of {page.as_of} is no longer kept: begin the listing again")


async def find_unspent_state(store: Store, output_kind: str, chain_id: str, as_of: int) -> Row | None:
    """The state of a chain object at a ledger index, as in `list_states`; None if it did not exist, or was destroyed by
    then.
    """
    page = await list_states(
        store, output_kind, chain_id, columns=("ms_timestamp",), as_of=as_of, newest=True, page_size=1, cursor=None
    )
    if not page.rows:
        return None
    output = await store.get(schema.outputs, (page.rows[0]["output_id"],))
    return None if output is None or is_spent(output, as_of) else page.rows[0]


def _read(columns: Sequence[str], window: Window | None) -> tuple[str, ...] | None:
    return read_columns(schema.unspent_outputs, ("spent_milestone_index", *columns), window)


async def unspent_rows(rows: Sequence[Row], at: int | None) -> list[Row]:
    """Those rows of `unspent_outputs` that are unspent at a ledger index."""
    # Most were never spent: only the others are checked for when.
    return [row for row in rows if row["spent_milestone_index"] is None or not is_spent(row, at)]


def _unspent_outputs(store: Store) -> Keep:
    """Like `unspent_rows`, for rows of lookups from the genesis on."""

    async def keep(rows: Sequence[Row], at: int | None) -> list[Row]:
        outputs = await store.get_many(schema.outputs, [(row["output_id"],) for row in rows])
        pairs = zip(rows, outputs, strict=True)
        return [row for row, output in pairs if output is None or not (is_spent(output, at) or _is_again(row, output))]

    return keep


def _is_again(row: Row, output: Row) -> bool:
    """Whether a row of the genesis is beside that of a message in the same milestone."""
    is_other = row["message_id"] != output["created_message_id"]
    return is_other and bool(row["milestone_index"] == output["created_milestone_index"])


def _history_sources(
    role_keys: Sequence[tuple[Role, By]],
    columns: Sequence[str],
    window: Window | None,
    sieve: Sieve | None,
    span: tuple[int, int],
) -> list[Source]:
    """All outputs under these keys that were ever in the ledger in a span of milestones, in the order of
    `unspent_outputs`.
    """
    table = schema.outputs_by_address
    assert all(role.table.clustering == table.clustering for role, _ in role_keys), "chain ids have list_states"
    read = read_columns(table, columns, window)
    sources = (
        lookup_source(LOOKUP_OF_TABLE[role.table], listing_key(role, by.key, included=True), read, sieve)
        for role, by in role_keys
    )
    return [within(each, [span]) for each in sources]


async def find_unspent_from(store: Store) -> int:
    """The first ledger index that `unspent_outputs` can answer; 0: all."""
    rows = await store.get_many(schema.keyspace_info, [(UNSPENT_FROM,), (COMPACTED_TO,)])
    return max(int(row["value"]) if row else 0 for row in rows)


async def _was_kept(store: Store, page: Page, *, is_current: bool) -> bool:
    """Whether `unspent_outputs` had all rows of a page's state when the page was read. `is_current`: the page shows the
    current state.
    """
    # Checked last: compaction records the new limit before it removes rows that a page might miss.
    return is_current or page.as_of is None or page.as_of >= await find_unspent_from(store)


async def check_unspent_from(store: Store, as_of: int) -> None:
    """Raises CursorError if rows that were unspent at this ledger index may be deleted.

    Called after they were read: compaction records the new limit before it deletes rows.
    """
    if as_of < await find_unspent_from(store):
        raise CursorError(f"the ledger state of {as_of} is no longer kept: begin the listing again")


def _all_source(output_kind: str, genesis: int, columns: tuple[str, ...] | None, sieve: Sieve | None) -> Source:
    """All outputs of a kind: genesis outputs by the first byte of their ids, then the others."""
    later = lookup_source(UNSPENT, (ALL, output_kind, ALL), columns, sieve)

    def source(store: Store, start: Bound | None, newest: bool) -> Stream:  # noqa: FBT001
        parts = [
            _GenesisStream(store, output_kind, genesis, start, columns, sieve, newest=newest),
            later(store, start, newest),
        ]
        return ChainedStream(parts[::-1] if newest else parts)

    return source


_GENESIS_KEYS: WeakKeyDictionary[Store, dict[str, dict[int, Key]]] = WeakKeyDictionary()


async def _genesis_keys(store: Store, output_kind: str, genesis: int) -> dict[int, Key]:
    """The partitions of the kind's genesis outputs, by the first byte of their ids. Read once: none is added after the
    genesis, and one that compaction emptied costs an empty read.
    """
    of_store = _GENESIS_KEYS.setdefault(store, {})
    if output_kind not in of_store:
        range_id = ms_range_id(genesis, await get_chunk_size(store))
        keys: list[Key] = [(ALL, output_kind, f"{byte:02x}", range_id, 0) for byte in range(256)]
        hints = await store.get_many(schema.unspent_hints, keys)
        of_store[output_kind] = {byte: keys[byte] for byte, hint in enumerate(hints) if hint is not None}
    return of_store[output_kind]


class _GenesisStream:
    """Genesis outputs of a kind by id. All are of one milestone, in the first partition of its range."""

    ended = False

    def __init__(
        self,
        store: Store,
        output_kind: str,
        genesis: int,
        start: Bound | None,
        columns: tuple[str, ...] | None,
        sieve: Sieve | None,
        *,
        newest: bool,
    ) -> None:
        self._store, self._output_kind, self._genesis = store, output_kind, genesis
        self._start, self._columns, self._sieve, self._newest = start, columns, sieve, newest
        self._chain: ChainedStream | None = None

    async def next(self, limit: int) -> Sequence[Row]:
        """The next rows, whose ids have the same first byte."""
        if self._chain is None:
            self._chain = ChainedStream(await self._open())
        return await self._chain.next(limit)

    async def _open(self) -> list[Stream]:
        """Opens the existing partitions, from the one that contains the first row."""
        held = await _genesis_keys(self._store, self._output_kind, self._genesis)
        return [
            PartitionStream(
                self._store,
                schema.unspent_outputs,
                held[byte],
                self._start,
                newest=self._newest,
                columns=self._columns,
                sieve=self._sieve,
            )
            for byte in self._bytes()
            if byte in held
        ]

    def _bytes(self) -> Sequence[int]:
        """The first bytes of ids in the listing's order, without those before its start."""
        wanted = range(256)
        if self._start is not None:
            milestone_index, *output_id = self._start.values
            assert isinstance(milestone_index, int)
            if milestone_index != self._genesis:
                reached = (milestone_index > self._genesis) == self._newest
                wanted = wanted if reached else range(0)
            elif output_id:
                first = int(str(output_id[0])[:2], 16)
                wanted = range(first + 1) if self._newest else range(first, 256)
        return wanted[::-1] if self._newest else wanted
