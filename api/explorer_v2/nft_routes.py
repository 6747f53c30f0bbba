"""Explorer v2, an extension: an NFT and its transfers.

The NFTs of a collection are outputs of the indexer by `issuer`.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from api.explorer_v2.token_pages import every_page, seconds, window_of
from api.explorer_v2.token_responses import NFT_ID, NftAnswer, NftState, TransfersOfNft
from api.fields.inx_chronicle_params import After, ExplorerNewestFirst, ExplorerPageSize, OwnCursor
from api.fields.params import Proof
from api.fields.span_params import Given, Span
from api.fields.stardust_params import ID
from api.handlers.listing_proofs import with_proof
from api.http.operations import Operation
from api.http.params import path
from api.http.responses import Json
from api.http.streaming import exports_of
from api.network import NetworkMount
from db.listing.page import Page
from db.queries import ledger, nfts, outputs
from db.store import NotFound, Row
from ledger.stardust.codec import decode_output
from ledger.stardust.outputs import ZERO_ID, owner_at
from ledger.stardust.values import Issuer, Metadata, NftOutput

NftId = Annotated[str, path("nftId", ID, "ID of an NFT", NFT_ID)]


async def nft(network: NetworkMount, nft_id: NftId) -> Json:
    """Returns an NFT: its issuer, its owner and its newest state."""
    as_of = await ledger.get_ledger_index(network.store, network.name)
    page, earlier = await nfts.list_nft_states(
        network.store, nft_id, as_of=as_of, newest=True, page_size=1, cursor=None
    )
    if not page.rows:
        raise NotFound(f"NFT {nft_id}")
    (state,) = await nft_items(network, page, earlier)
    immutable = nft_of(await outputs.get_output(network.store, page.rows[0]["output_id"])).immutable_features
    issuers = [network.bech32(each.address.hex()) for each in immutable if isinstance(each, Issuer)]
    metadata = [f"0x{each.data.hex()}" for each in immutable if isinstance(each, Metadata)]
    return {
        "nftId": f"0x{nft_id}",
        "issuer": next(iter(issuers), None),
        "metadata": next(iter(metadata), None),
        "owner": None if state["isSpent"] else state["owner"],
        "isBurned": state["isSpent"],
        "state": state,
        "ledgerIndex": as_of,
    }


async def transfers_of_nft(
    network: NetworkMount,
    nft_id: NftId,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
    span: Span,
    proof: Proof,
) -> Json:
    """Returns all states of an NFT in the order in which they took effect, each with its owner and the one before.

    A state with the same owner as before is a change of the NFT, not a transfer. An expired NFT is transferred by its
    return address.
    """
    at = after or After(page_size)
    page, earlier = await states_page(network, nft_id, at, span, newest=newest)
    await nfts.check_known(network.store, nft_id, page.rows)
    answer = {
        "nftId": f"0x{nft_id}",
        "items": await nft_items(network, page, earlier),
        "cursor": at.next(page),
        "ledgerIndex": page.as_of,
    }
    if proof is None:
        return answer
    return await with_proof(
        network, proof, answer, page, ("nft_outputs_by_chain", nft_id), await window_of(network, span)
    )


async def states_page(
    network: NetworkMount, nft_id: str, at: After, span: Given, *, newest: bool
) -> tuple[Page, list[Row | None]]:
    """Returns a page of the states of an NFT, and the state before each."""
    return await nfts.list_nft_states(
        network.store,
        nft_id,
        as_of=await ledger.get_ledger_index(network.store, network.name),
        window=await window_of(network, span),
        newest=newest,
        page_size=at.page_size,
        cursor=at.cursor,
    )


async def nft_items(network: NetworkMount, page: Page, earlier: Sequence[Row | None]) -> list[Json]:
    """Returns states of an NFT as items, from those states and the ones before them."""
    known = sorted({row["output_id"] for row in (*page.rows, *earlier) if row is not None})
    found = dict(zip(known, await outputs.find_outputs(network.store, known, page.as_of), strict=True))
    items = []
    for row, before in zip(page.rows, earlier, strict=True):
        output = found[row["output_id"]]
        assert output is not None, "what changed the ledger state has a row in outputs"
        spent = output["spent_milestone_index"]
        items.append(
            {
                "outputId": f"0x{row['output_id']}",
                "milestoneIndex": row["milestone_index"],
                "milestoneTimestamp": seconds(row),
                "transactionId": f"0x{row['output_id'][:64]}",
                "blockId": f"0x{output['created_message_id']}",
                "isMint": nft_of(output).nft_id == ZERO_ID,
                "owner": network.bech32(output["address"]),
                "previousOwner": None if before is None else owner_then(network, found[before["output_id"]], row),
                "isSpent": spent is not None,
                "transactionIdSpent": None if spent is None else f"0x{output['spent_transaction_id']}",
                "milestoneIndexSpent": spent,
            }
        )
    return items


def owner_then(network: NetworkMount, output: Row | None, spender: Row) -> str:
    """Returns the owner of a state when the next one replaced it."""
    assert output is not None, "what changed the ledger state has a row in outputs"
    address = owner_at(nft_of(output), seconds(spender))
    assert address is not None, "only the treasury has no owner"
    return network.bech32(address.hex())


def nft_of(output: Row) -> NftOutput:
    """Returns the NFT of a row of `outputs`."""
    found = decode_output(output["data"])
    assert isinstance(found, NftOutput)
    return found


async def all_states(network: NetworkMount, nft_id: str, *, newest: bool, span: Given) -> AsyncGenerator[list[Json]]:
    """Yields all states of an NFT."""
    earlier: list[Row | None] = []

    async def page_at(at: After) -> Page:
        page, earlier[:] = await states_page(network, nft_id, at, span, newest=newest)
        await nfts.check_known(network.store, nft_id, page.rows)
        return page

    async for page in every_page(page_at):
        yield await nft_items(network, page, earlier)


EXPLORER_NFTS = (
    Operation("/nfts/{nftId}", nft, NftAnswer, (404, 501)),
    Operation(
        "/nfts/{nftId}/transfers",
        transfers_of_nft,
        TransfersOfNft,
        (404, 501),
        exports=exports_of(all_states, tuple(NftState.model_fields)),
    ),
)
