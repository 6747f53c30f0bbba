"""Explorer v2 (inx-chronicle): blocks and milestones, and the list of all operations of the family.

Errors are inx-chronicle's, and unknown parameters are rejected. Responses cover both eras, because they have only ids,
types and amounts; all hex has the prefix 0x. The order inside a milestone is by id or white-flag order. The default is
newest first.
"""

from functools import partial

from api.explorer_v2.attachment_routes import EXPLORER_ATTACHMENTS
from api.explorer_v2.history_routes import EXPLORER_HISTORY
from api.explorer_v2.ledger_routes import EXPLORER_LEDGER
from api.explorer_v2.nft_routes import EXPLORER_NFTS
from api.explorer_v2.pending_routes import EXPLORER_PENDING
from api.explorer_v2.reject_routes import EXPLORER_REJECTS
from api.explorer_v2.responses import BlocksOfMilestone, Children, MilestoneList, MilestonesOfDay, TaggedBlocks
from api.explorer_v2.statement_routes import EXPLORER_STATEMENT
from api.explorer_v2.token_routes import EXPLORER_NATIVE_TOKENS
from api.explorer_v2.token_supply_routes import EXPLORER_SUPPLY
from api.fields.inclusion_state import inclusion
from api.fields.inx_chronicle_params import (
    END,
    PAGE,
    SKIPPED_MAX,
    After,
    BlockTag,
    Day,
    End,
    ExplorerNewestFirst,
    ExplorerPageSize,
    IndexCursor,
    OwnCursor,
    PageNumber,
    Start,
    tag_of,
)
from api.fields.params import PROOF, MilestoneIndex, Proof, Utf8
from api.fields.span_params import Given, Span, edges_of
from api.fields.stardust_params import BlockId, MilestoneId
from api.handlers.listing_proofs import with_proof
from api.http.errors import BadParameter, flat_error_body
from api.http.operations import Family, Operation
from api.http.responses import FLAT_ERRORS, Json
from api.network import NetworkMount
from db.coverage import missing
from db.queries import messages, milestones
from db.queries.analytics import find_day
from db.queries.spans import Edge, find_span
from db.store import NotFound
from db.times import Window


async def children_of_block(
    network: NetworkMount,
    block_id: BlockId,
    page_size: ExplorerPageSize,
    page: PageNumber,
    after: OwnCursor,
    newest: ExplorerNewestFirst,
    span: Span,
    proof: Proof,
) -> Json:
    """Returns the blocks that approve a block.

    Pending blocks count as the newest; a span excludes them.
    """
    at = after or After(page_size)
    cursor = at.cursor
    window = await window_of(network, None, None, span)
    listed = partial(messages.list_children, network.store, block_id, window=window, newest=newest)
    if page and after is None:
        skipped = page * page_size
        if skipped > SKIPPED_MAX:
            raise BadParameter(PAGE.name, f"pages that begin within {SKIPPED_MAX} children", str(page))
        before = await listed(page_size=skipped, cursor=None)
        if before.cursor is None:
            if proof is not None:
                raise BadParameter(PROOF.name, "a page with rows", proof)
            return children_json(block_id, at, [], None)
        cursor = before.cursor
    found = await listed(page_size=at.page_size, cursor=cursor)
    if not found.rows and await messages.find_message(network.store, block_id) is None:
        raise await missing(network.store, f"block {block_id}")
    answer = children_json(block_id, at, [f"0x{row['message_id']}" for row in found.rows], at.next(found))
    return await with_proof(network, proof, answer, found, ("messages_by_parent", block_id), window)


def children_json(block_id: str, at: After, children: list[str], cursor: str | None) -> Json:
    """Returns a page of children."""
    return {
        "blockId": f"0x{block_id}",
        "maxResults": at.page_size,
        "count": len(children),
        "children": children,
        "cursor": cursor,
    }


async def blocks_by_tag(
    network: NetworkMount,
    tag: BlockTag,
    utf8: Utf8,
    start_s: Start,
    end_s: End,
    span: Span,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
    proof: Proof,
) -> Json:
    """Returns the blocks with a tag.

    Pending blocks count as the newest; a time range excludes them.
    """
    wanted = tag_of(tag, utf8=utf8)
    at = after or After(page_size)
    window = await window_of(network, start_s, end_s, span)
    page = await messages.list_tagged(
        network.store,
        wanted,
        with_inclusion=True,
        with_time=True,
        window=window,
        newest=newest,
        page_size=at.page_size,
        cursor=at.cursor,
    )
    items = []
    for row in page.rows:
        milliseconds = row.get("ms_timestamp")
        items.append(
            {
                "blockId": f"0x{row['message_id']}",
                "milestoneIndex": row.get("milestone_index"),
                "milestoneTimestamp": None if milliseconds is None else milliseconds // 1000,
                "ledgerInclusionState": inclusion(row),
            }
        )
    answer = {"tag": f"0x{wanted}", "items": items, "cursor": at.next(page)}
    return await with_proof(network, proof, answer, page, ("messages_by_tag", wanted), window)


async def list_of_milestones(
    network: NetworkMount,
    start_s: Start,
    end_s: End,
    span: Span,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: IndexCursor,
) -> Json:
    """Returns the complete milestones, by index.

    A time range includes both ends.
    """
    at = after or After(page_size)
    page = await milestones.list_milestones(
        network.store,
        network.name,
        window=await window_of(network, start_s, end_s, span),
        newest=newest,
        page_size=at.page_size,
        cursor=at.cursor,
        start=at.start,
    )
    indices = [row["milestone_index"] for row in page.rows]
    ids = await milestones.find_ids(network.store, indices)
    items = [{"milestoneId": f"0x{each}", "index": index} for each, index in zip(ids, indices, strict=True)]
    return {"items": items, "cursor": at.next(page)}


async def milestones_of_day(network: NetworkMount, day: Day) -> Json:
    """Returns the first and the last complete milestone of a UTC day, by index.

    Timestamps of milestones need not rise, so other milestones of the day may be earlier or later.
    """
    row = await find_day(network.store, day.isoformat())
    if row is None:
        raise NotFound(f"a complete milestone of {day.isoformat()}")
    ends = [await milestones.get_milestone(network.store, row[name]) for name in ("start_ms", "end_ms")]
    first, last = (
        {"milestoneId": f"0x{each['milestone_id']}", "index": each["milestone_index"], "timestamp": each["timestamp"]}
        for each in ends
    )
    return {"date": day.isoformat(), "firstMilestone": first, "lastMilestone": last}


async def blocks_of_milestone(
    network: NetworkMount,
    milestone_id: MilestoneId,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: IndexCursor,
) -> Json:
    """Returns the blocks that a milestone references, in white-flag order.

    By default the last one comes first.
    """
    row = await milestones.get_milestone_by_id(network.store, milestone_id)
    return await blocks_json(network, row["milestone_index"], after or After(page_size), newest=newest)


async def blocks_of_milestone_by_index(
    network: NetworkMount,
    index: MilestoneIndex,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: IndexCursor,
) -> Json:
    """Returns the blocks that a milestone references, in white-flag order.

    By default the last one comes first.
    """
    await milestones.get_milestone(network.store, index)
    return await blocks_json(network, index, after or After(page_size), newest=newest)


async def blocks_json(network: NetworkMount, index: int, at: After, *, newest: bool) -> Json:
    """Returns a page of a milestone's blocks."""
    page = await milestones.list_milestone_messages(
        network.store,
        index,
        with_kinds=True,
        newest=newest,
        page_size=at.page_size,
        cursor=at.cursor,
        start=at.start,
    )
    blocks = [{"blockId": f"0x{row['message_id']}", "payloadType": row["payload_kind"]} for row in page.rows]
    return {"blocks": blocks, "cursor": at.next(page)}


async def window_of(network: NetworkMount, start: int | None, end: int | None, span: Given) -> Window | None:
    """Returns the milestones from the first second to the last, and in the span; None if nothing limits them.

    Raises BadParameter if the seconds end before they start.
    """
    starts, ends = edges_of(span)
    if start is not None and end is not None and end < start:
        raise BadParameter(END.name, f"startTimestamp ({start}) or later", str(end))
    if start is not None:
        starts.append(Edge(first_s=start))
    if end is not None:
        ends.append(Edge(last_s=end))
    return await find_span(network.store, network.name, starts, ends, with_genesis=False)


EXPLORER_V2 = Family(
    "explorer v2",
    (
        Operation("/blocks", blocks_by_tag, TaggedBlocks, (404,)),
        Operation("/blocks/{blockId}/children", children_of_block, Children, (404,)),
        Operation("/milestones", list_of_milestones, MilestoneList),
        Operation("/milestones/by-date/{date}", milestones_of_day, MilestonesOfDay, (404,)),
        *(
            Operation(path, handler, BlocksOfMilestone, (404,), no_span="one milestone references all these blocks")
            for path, handler in (
                ("/milestones/{milestoneId}/blocks", blocks_of_milestone),
                ("/milestones/by-index/{index}/blocks", blocks_of_milestone_by_index),
            )
        ),
        *EXPLORER_LEDGER,
        *EXPLORER_HISTORY,
        *EXPLORER_STATEMENT,
        *EXPLORER_SUPPLY,
        *EXPLORER_NATIVE_TOKENS,
        *EXPLORER_NFTS,
        *EXPLORER_ATTACHMENTS,
        *EXPLORER_PENDING,
        *EXPLORER_REJECTS,
    ),
    wrap=lambda value: value,
    error_body=flat_error_body,
    errors=FLAT_ERRORS,
    is_strict=True,
)
