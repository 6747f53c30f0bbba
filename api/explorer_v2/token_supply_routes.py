"""Explorer v2, an extension: a native token and its supply in every state of its foundry."""

from collections.abc import AsyncGenerator, Sequence

from api.explorer_v2.token_pages import TokenId, listing, page_of, pages_of, seconds, window_of
from api.explorer_v2.token_responses import FoundryState, NativeTokenAnswer, SupplyOfToken
from api.fields.inx_chronicle_params import After, ExplorerNewestFirst, ExplorerPageSize, OwnCursor
from api.fields.params import Proof
from api.fields.span_params import Given, Span
from api.handlers.listing_proofs import with_proof
from api.http.operations import Operation
from api.http.responses import Json
from api.http.streaming import exports_of
from api.network import NetworkMount
from db.listing.page import Page
from db.queries import ledger, native_tokens, outputs
from db.store import Row
from ledger.stardust.codec import decode_output
from ledger.stardust.values import FoundryOutput, Metadata


async def native_token(network: NetworkMount, token_id: TokenId) -> Json:
    """Returns a native token, with its supply in the newest state of its foundry.

    `foundry` is null if no state of it is known, because it was destroyed before the genesis. The circulating supply is
    what was minted and not melted: tokens that were burned without the foundry still count.
    """
    as_of = await ledger.get_ledger_index(network.store, network.name)
    await native_tokens.check_known(network.store, token_id)
    page = await native_tokens.list_foundry_states(
        network.store, token_id, as_of=as_of, newest=True, page_size=1, cursor=None
    )
    found = await foundries(network, page.rows, as_of)
    return {
        "tokenId": f"0x{token_id}",
        "aliasId": f"0x{token_id[2:66]}",
        "serialNumber": int.from_bytes(bytes.fromhex(token_id[66:74]), "little"),
        "metadata": metadata_of(found[0][2]) if found else None,
        "foundry": foundry_item(*found[0]) if found else None,
        "ledgerIndex": as_of,
    }


def metadata_of(foundry: FoundryOutput) -> str | None:
    """Returns the immutable metadata of a foundry, which describes the token (IRC-30). None without any."""
    data = (each.data for each in foundry.immutable_features if isinstance(each, Metadata))
    return next((f"0x{each.hex()}" for each in data), None)


async def supply_of_token(
    network: NetworkMount,
    token_id: TokenId,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
    span: Span,
    proof: Proof,
) -> Json:
    """Returns the supply of a native token in every state of its foundry.

    The list is empty if no state of it is known, because it was destroyed before the genesis.
    """
    at = after or After(page_size)
    page = await page_of(network, token_id, native_tokens.list_foundry_states, at, span, newest=newest)
    answer = await listing(network, token_id, await supply_items(network, page), at, page)
    if proof is None:
        return answer
    return await with_proof(
        network, proof, answer, page, ("foundry_outputs_by_chain", token_id), await window_of(network, span)
    )


async def supply_items(network: NetworkMount, page: Page) -> list[Json]:
    """Returns states of a foundry as items."""
    return [foundry_item(*each) for each in await foundries(network, page.rows, page.as_of)]


async def foundries(
    network: NetworkMount, rows: Sequence[Row], as_of: int | None
) -> list[tuple[Row, Row, FoundryOutput]]:
    """Returns rows of `foundry_outputs`, each with its row of `outputs` and the output."""
    found = []
    for row, output in zip(
        rows, await outputs.find_outputs(network.store, [row["output_id"] for row in rows], as_of), strict=True
    ):
        assert output is not None, "what changed the ledger state has a row in outputs"
        foundry = decode_output(output["data"])
        assert isinstance(foundry, FoundryOutput)
        found.append((row, output, foundry))
    return found


def foundry_item(row: Row, output: Row, foundry: FoundryOutput) -> Json:
    """Returns a state of a foundry as an item."""
    scheme = foundry.token_scheme
    return {
        "outputId": f"0x{row['output_id']}",
        "transactionId": f"0x{row['output_id'][:64]}",
        "milestoneIndex": row["milestone_index"],
        "milestoneTimestamp": seconds(row),
        "mintedTokens": hex(scheme.minted),
        "meltedTokens": hex(scheme.melted),
        "maximumSupply": hex(scheme.maximum),
        "circulatingSupply": hex(scheme.minted - scheme.melted),
        "isSpent": output["spent_milestone_index"] is not None,
    }


async def all_supply(network: NetworkMount, token_id: str, *, newest: bool, span: Given) -> AsyncGenerator[list[Json]]:
    """Yields the supply in every state of a token's foundry."""
    async for page in pages_of(network, token_id, native_tokens.list_foundry_states, span, newest=newest):
        yield await supply_items(network, page)


EXPLORER_SUPPLY = (
    Operation("/native-tokens/{tokenId}", native_token, NativeTokenAnswer, (404, 501)),
    Operation(
        "/native-tokens/{tokenId}/supply",
        supply_of_token,
        SupplyOfToken,
        (404, 501),
        exports=exports_of(all_supply, tuple(FoundryState.model_fields)),
    ),
)
