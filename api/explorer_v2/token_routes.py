"""Explorer v2, an extension: outputs with a native token, its holders and its transfers.

Amounts are u256 in hex with 0x, as nodes return them. Outputs and transfers are also available as CSV and NDJSON,
complete, streamed page by page; `pageSize` and `cursor` then have no effect.
"""

from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated

from api.explorer_v2.token_pages import ListOfToken, TokenId, amount_of, listing, page_of, pages_of, seconds
from api.explorer_v2.token_responses import (
    HoldersOfToken,
    OutputOfToken,
    OutputsOfToken,
    TransferOfToken,
    TransfersOfToken,
)
from api.fields.inx_chronicle_params import After, ExplorerNewestFirst, ExplorerPageSize, OwnCursor
from api.fields.span_params import Given, Span
from api.http.errors import NotKept
from api.http.operations import Operation
from api.http.params import Param, words
from api.http.responses import Json
from api.http.streaming import exports_of
from api.network import NetworkMount
from db.listing.page import Page
from db.queries import ledger, milestones, native_tokens, outputs
from db.queries.indexer import Spent

OUTPUTS_MAX = 100_000
"""Maximum number of unspent outputs with a token that a list of its holders reads."""

SPENT = Param(
    "spent",
    words({each.value: each for each in Spent}),
    "Unspent outputs, only outputs that are spent at ledgerIndex, or any output",
    "any",
    default="unspent",
)
OutputsSpent = Annotated[Spent, SPENT]


async def outputs_of_token(
    network: NetworkMount,
    token_id: TokenId,
    spent: OutputsSpent,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
    span: Span,
) -> Json:
    """Returns the outputs with a native token, by the milestone that created them.

    `address` is the owner that the output names. Unless only unspent outputs are listed, a page may be short or empty
    and still have a cursor.
    """
    at = after or After(page_size)
    page = await page_of(network, token_id, outputs_query(spent), at, span, newest=newest)
    return await listing(network, token_id, await output_items(network, page), at, page)


def outputs_query(spent: Spent) -> ListOfToken:
    """Returns the query of the outputs with a token."""
    return partial(native_tokens.list_token_outputs, spent=spent)


async def output_items(network: NetworkMount, page: Page) -> list[Json]:
    """Returns outputs with a token as items, with the spending of each output."""
    found = await outputs.find_outputs(network.store, [row["output_id"] for row in page.rows], page.as_of)
    items = []
    for row, output in zip(page.rows, found, strict=True):
        assert output is not None, "what changed the ledger state has a row in outputs"
        spent = output["spent_milestone_index"]
        items.append(
            {
                "outputId": f"0x{row['output_id']}",
                "address": network.bech32(row["address"]),
                "amount": amount_of(row),
                "milestoneIndex": row["milestone_index"],
                "milestoneTimestamp": seconds(row),
                "isSpent": spent is not None,
                "transactionIdSpent": None if spent is None else f"0x{output['spent_transaction_id']}",
                "milestoneIndexSpent": spent,
            }
        )
    return items


async def all_outputs(
    network: NetworkMount, token_id: str, spent: Spent, *, newest: bool, span: Given
) -> AsyncGenerator[list[Json]]:
    """Yields all outputs with a token."""
    async for page in pages_of(network, token_id, outputs_query(spent), span, newest=newest):
        yield await output_items(network, page)


async def holders_of_token(
    network: NetworkMount, token_id: TokenId, page_size: ExplorerPageSize, after: OwnCursor
) -> Json:
    """Returns the addresses that own a native token at ledgerIndex, the greatest amount first.

    An expired output counts for its return address, any other one for its owner. Conditions are compared with the time
    of the milestone. The status is 501 if more than 100000 unspent outputs contain the token, or if an output has an
    expiration and the time is unknown: that of a genesis that is not a Hornet 2.x snapshot.
    """
    newest_index = await ledger.get_ledger_index(network.store, network.name)
    await native_tokens.check_known(network.store, token_id)
    at = after or After(page_size)
    before, as_of = native_tokens.holders_position(network.name, token_id, at.cursor, newest_index)
    (now,) = await milestones.find_timestamps(network.store, [as_of])
    richest = (
        await native_tokens.find_holders(network.store, token_id, as_of=as_of, unix_time=now, most=OUTPUTS_MAX)
    ).richest
    if richest is None:
        raise NotKept(f"more than {OUTPUTS_MAX} unspent outputs contain this token, the maximum for a list of holders")
    end = before + at.page_size
    cursor = native_tokens.holders_cursor(network.name, token_id, end, as_of) if end < len(richest) else None
    return {
        "tokenId": f"0x{token_id}",
        "holderCount": len(richest),
        "totalAmount": hex(sum(each.amount for each in richest)),
        "items": [
            {"address": network.bech32(each.address), "amount": hex(each.amount), "outputCount": each.outputs}
            for each in richest[before:end]
        ],
        "cursor": at.next(Page([], cursor)),
        "ledgerIndex": as_of,
    }


async def transfers_of_token(
    network: NetworkMount,
    token_id: TokenId,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
    span: Span,
) -> Json:
    """Returns all transfers of a native token: each output with it that was created, and each that was spent.

    `address` is the owner at that time. An expired output is spent by its return address. The outputs of a transaction
    contain less than its inputs if it burns or melts tokens, and more if it mints some.
    """
    at = after or After(page_size)
    page = await page_of(network, token_id, native_tokens.list_token_updates, at, span, newest=newest)
    return await listing(network, token_id, transfer_items(network, page), at, page)


def transfer_items(network: NetworkMount, page: Page) -> list[Json]:
    """Returns rows of `native_token_updates` as items."""
    return [
        {
            "outputId": f"0x{row['output_id']}",
            "isSpent": row["is_spent"],
            "address": network.bech32(row["address"]),
            "amount": amount_of(row),
            "milestoneIndex": row["milestone_index"],
            "milestoneTimestamp": seconds(row),
            "transactionId": f"0x{row['transaction_id']}",
            "blockId": f"0x{row['message_id']}",
        }
        for row in page.rows
    ]


async def all_transfers(
    network: NetworkMount, token_id: str, *, newest: bool, span: Given
) -> AsyncGenerator[list[Json]]:
    """Yields all transfers of a token."""
    async for page in pages_of(network, token_id, native_tokens.list_token_updates, span, newest=newest):
        yield transfer_items(network, page)


EXPLORER_NATIVE_TOKENS = (
    Operation(
        "/native-tokens/{tokenId}/outputs",
        outputs_of_token,
        OutputsOfToken,
        (404, 501),
        exports=exports_of(all_outputs, tuple(OutputOfToken.model_fields)),
    ),
    Operation(
        "/native-tokens/{tokenId}/holders",
        holders_of_token,
        HoldersOfToken,
        (404, 501),
        no_span="all these addresses own the token at one ledger index",
    ),
    Operation(
        "/native-tokens/{tokenId}/transfers",
        transfers_of_token,
        TransfersOfToken,
        (404, 501),
        exports=exports_of(all_transfers, tuple(TransferOfToken.model_fields)),
    ),
)
