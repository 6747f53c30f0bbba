"""Queries of milestones, and of the ledger index."""

from collections.abc import Sequence

from db import schema
from db.coverage import note_part
from db.listing.page import Listing, Page, list_page, list_partition, read_columns
from db.listing.streams import HintedStream, PartitionStream, Source, Stream, get_chunk_size
from db.partitions import ms_range_id
from db.store import Bound, Key, NotFound, Row, Store
from db.sync import find_ledger_index, is_complete
from db.times import Window

GENESIS_TIME = "genesis_time"
"""Key of keyspace_info: the milestone of the genesis, a space and its time in seconds since 1970; only the milestone if
the time is unknown.
"""

PARAMETERS_AT_MOST = 100
"""The most announcements of protocol parameters that a query reads, newest first. Networks make only a few."""

CONE_AT_ONCE = 5_000
"""Rows of a cone per read; the deadline is checked in between."""


async def find_milestone(store: Store, milestone_index: int) -> Row | None:
    """The row of `milestones`; None if it is not loaded."""
    return await store.get(schema.milestones, (milestone_index,))


async def get_milestone(store: Store, milestone_index: int) -> Row:
    """Like `find_milestone`. Raises NotFound if it is not loaded."""
    row = await find_milestone(store, milestone_index)
    if row is None:
        raise NotFound(f"milestone {milestone_index}")
    return row


async def find_milestone_by_id(store: Store, milestone_id: str) -> Row | None:
    """The row of `milestones` by milestone id; None if unknown."""
    row = await store.get(schema.milestone_ids, (milestone_id,))
    return await find_milestone(store, row["milestone_index"]) if row else None


async def get_milestone_by_id(store: Store, milestone_id: str) -> Row:
    """Like `find_milestone_by_id`. Raises NotFound if unknown."""
    row = await find_milestone_by_id(store, milestone_id)
    if row is None:
        raise NotFound(f"milestone {milestone_id}")
    return row


async def find_ids(store: Store, milestone_indices: Sequence[int]) -> list[str]:
    """The ids of these milestones, which must be complete."""
    rows = await store.get_many(schema.milestones, [(index,) for index in milestone_indices])
    return [row["milestone_id"] for row in rows if row]


async def find_timestamps(store: Store, milestone_indices: Sequence[int]) -> list[int | None]:
    """The timestamps of these milestones in seconds; None for each that is not loaded, and is not the genesis or has an
    unknown time.
    """
    rows = await store.get_many(schema.milestones, [(index,) for index in milestone_indices])
    begun = {} if all(rows) else await _genesis_times(store)
    return [row["timestamp"] if row else begun.get(index) for index, row in zip(milestone_indices, rows, strict=True)]


async def _genesis_times(store: Store) -> dict[int, int]:
    """The milestone of the genesis and its timestamp in seconds; empty if it is unknown."""
    row = await store.get(schema.keyspace_info, (GENESIS_TIME,))
    index, _, seconds = ("" if row is None else str(row["value"])).partition(" ")
    return {int(index): int(seconds)} if seconds else {}


async def list_parameters(store: Store, network: str, milestone_index: int) -> list[Row]:
    """Rows of `protocol_parameters` announced up to a milestone, latest to apply first. If several apply from the same
    milestone, only the last announced is returned. Reads at most PARAMETERS_AT_MOST.
    """
    rows = await store.slice(schema.protocol_parameters, (network,), limit=PARAMETERS_AT_MOST)
    known = [row for row in rows if row["announced_by"] <= milestone_index]
    return [row for row, before in zip(known, [None, *known], strict=False) if not _same_target(row, before)]


def _same_target(row: Row, before: Row | None) -> bool:
    return before is not None and before["milestone_index"] == row["milestone_index"]


async def list_milestones(
    store: Store,
    network: str,
    *,
    window: Window | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
    start: Bound | None = None,
) -> Page:
    """A page of `sync` rows of complete milestones by index. `start` is a milestone index."""

    async def keep(rows: Sequence[Row], _: int | None) -> list[Row]:
        return [row for row in rows if is_complete(row)]

    columns = read_columns(schema.sync, ("synced_by", "layout"), window)
    listing = Listing(
        schema.sync,
        [_milestones_source(network, columns)],
        f"milestones {network}",
        keep=keep,
        window=window,
    )
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor, start=start)


def _milestones_source(network: str, columns: tuple[str, ...] | None) -> Source:
    """All partitions of `sync`. `ranges` lists them, as hints do for a lookup."""

    def source(store: Store, start: Bound | None, newest: bool) -> Stream:  # noqa: FBT001
        async def first() -> Key:
            assert start is not None
            milestone_index = start.values[0]
            assert isinstance(milestone_index, int)
            return (ms_range_id(milestone_index, await get_chunk_size(store)),)

        def open_partition(row: Row) -> Stream:
            return PartitionStream(store, schema.sync, (row["ms_range_id"],), start, newest=newest, columns=columns)

        return HintedStream(store, schema.ranges, (network,), first if start else None, open_partition, newest=newest)

    return source


async def list_milestone_messages(
    store: Store,
    milestone_index: int,
    *,
    with_kinds: bool = False,
    with_inclusion: bool = False,
    newest: bool,
    page_size: int,
    cursor: str | None,
    start: Bound | None = None,
) -> Page:
    """A page of `messages_by_milestone` in white-flag order (`newest`: exactly backwards). `start` is a white-flag
    index.
    """
    await note_part(store, f"milestone {milestone_index}", milestone_index)
    return await list_partition(
        store,
        schema.messages_by_milestone,
        (milestone_index,),
        newest=newest,
        page_size=page_size,
        cursor=cursor,
        columns=(*(("payload_kind",) if with_kinds else ()), *(("inclusion_state",) if with_inclusion else ())),
        start=start,
    )


async def list_cone(store: Store, milestone_index: int, most: int) -> list[Row]:
    """The first `most` rows of `messages_by_milestone` in white-flag order: id and inclusion state."""
    found: list[Row] = []
    while len(found) < most:
        limit = min(CONE_AT_ONCE, most - len(found))
        after = Bound((found[-1]["white_flag_index"], found[-1]["message_id"]), inclusive=False) if found else None
        rows = await store.slice(
            schema.messages_by_milestone,
            (milestone_index,),
            lower=after,
            limit=limit,
            columns=("white_flag_index", "message_id", "inclusion_state"),
        )
        found += rows
        if len(rows) < limit:
            break
    return found


async def get_ledger_index(store: Store, network: str) -> int:
    """The last milestone of the first contiguous run of complete milestones; 0 without complete milestones."""
    return await find_ledger_index(store, network) or 0
