"""Indexer API v1 (TIP-26, inx-indexer 1.0) over the whole history, and the same under the names of the Stardust schema
plan.

A route names the filters of a kind of output; params.py defines the filters. As in inx-indexer, a cursor ends with its
page size, which overrides the parameter. All results are at ledgerIndex.
"""

from collections.abc import Mapping
from functools import partial

from api.fields.params import PROOF, STATE_INDEX
from api.fields.span_params import edges_of
from api.handlers.ledger_state import state_index
from api.handlers.listing_proofs import expect_whole, under_roles, with_proofs
from api.http.errors import NotKept, error_body
from api.http.operations import Family, Operation
from api.http.page_sizes import INDEXER_V1 as PAGE_SIZES
from api.http.page_sizes import MAXIMUM
from api.http.responses import Json
from api.indexer_v1.params import (
    ALL,
    CREATED_AFTER,
    CREATED_BEFORE,
    CURSOR,
    INDEXER_PAGE_SIZE,
    OLDEST_FIRST,
    SPENT,
    AliasId,
    AliasParams,
    AllParams,
    BasicParams,
    FoundryId,
    FoundryParams,
    Given,
    NftId,
    NftParams,
    OutputFilter,
    Paged,
    SeedAliasParams,
    SeedBasicParams,
    SeedFoundryParams,
    SeedNftParams,
    filters_of,
    query_of,
    seed_filters_of,
)
from api.indexer_v1.responses import IndexedOutputs
from api.network import NetworkMount
from db.listing.cursor import CursorError
from db.listing.page import Page
from db.queries.indexer import OutputQuery, Spent, list_outputs
from db.queries.lookups import list_states, roles_under
from db.queries.spans import Edge, find_span
from db.queries.unspent import find_unspent_state
from db.roles import ALIAS, BASIC, FOUNDRY, NFT
from db.store import NotFound
from db.times import Window

SINGLE = 0
"""The page size in inx-indexer's response for a single output."""


async def all_outputs(network: NetworkMount, given: AllParams) -> Json:
    """Returns the outputs of all kinds that match all filters.

    Chrysalis outputs that Stardust took over are basic outputs.
    """
    return await listed(network, ALL, filters_of(ALL), given)


async def basic_outputs(network: NetworkMount, given: BasicParams) -> Json:
    """Returns the basic outputs that match all filters."""
    return await listed(network, BASIC, filters_of(BASIC), given)


async def alias_outputs(network: NetworkMount, given: AliasParams) -> Json:
    """Returns the alias outputs that match all filters."""
    return await listed(network, ALIAS, filters_of(ALIAS), given)


async def foundry_outputs(network: NetworkMount, given: FoundryParams) -> Json:
    """Returns the foundry outputs that match all filters."""
    return await listed(network, FOUNDRY, filters_of(FOUNDRY), given)


async def nft_outputs(network: NetworkMount, given: NftParams) -> Json:
    """Returns the NFT outputs that match all filters."""
    return await listed(network, NFT, filters_of(NFT), given)


async def alias_output(network: NetworkMount, alias_id: AliasId, given: Paged) -> Json:
    """Returns the unspent output of an alias.

    `spent` adds or selects its earlier states, in ledger order.
    """
    return await of_chain(network, ALIAS, alias_id, given)


async def foundry_output(network: NetworkMount, foundry_id: FoundryId, given: Paged) -> Json:
    """Returns the unspent output of a foundry.

    `spent` adds or selects its earlier states, in ledger order.
    """
    return await of_chain(network, FOUNDRY, foundry_id, given)


async def nft_output(network: NetworkMount, nft_id: NftId, given: Paged) -> Json:
    """Returns the unspent output of an NFT.

    `spent` adds or selects its earlier states, in ledger order.
    """
    return await of_chain(network, NFT, nft_id, given)


async def seed_outputs(network: NetworkMount, given: SeedBasicParams) -> Json:
    """Returns the basic outputs that match all filters, with the names of the Stardust schema plan."""
    return await listed(network, BASIC, seed_filters_of(BASIC), given)


async def seed_aliases(network: NetworkMount, given: SeedAliasParams) -> Json:
    """Returns the alias outputs that match all filters, with the names of the Stardust schema plan."""
    return await listed(network, ALIAS, seed_filters_of(ALIAS), given)


async def seed_foundries(network: NetworkMount, given: SeedFoundryParams) -> Json:
    """Returns the foundry outputs that match all filters, with the names of the Stardust schema plan."""
    return await listed(network, FOUNDRY, seed_filters_of(FOUNDRY), given)


async def seed_nfts(network: NetworkMount, given: SeedNftParams) -> Json:
    """Returns the NFT outputs that match all filters, with the names of the Stardust schema plan."""
    return await listed(network, NFT, seed_filters_of(NFT), given)


async def seed_alias(network: NetworkMount, alias_id: AliasId, given: Paged) -> Json:
    """Returns the same as outputs/alias/{aliasId}."""
    return await of_chain(network, ALIAS, alias_id, given)


async def seed_foundry(network: NetworkMount, foundry_id: FoundryId, given: Paged) -> Json:
    """Returns the same as outputs/foundry/{foundryId}."""
    return await of_chain(network, FOUNDRY, foundry_id, given)


async def seed_nft(network: NetworkMount, nft_id: NftId, given: Paged) -> Json:
    """Returns the same as outputs/nft/{nftId}."""
    return await of_chain(network, NFT, nft_id, given)


async def listed(network: NetworkMount, route: str, filters: Mapping[str, OutputFilter], given: Given) -> Json:
    """Returns a list of outputs. Raises NotKept for spent outputs without any key."""
    query, spent = query_of(network, route, filters, given), given[SPENT.name]
    expect_key(query, spent)
    proof = given[PROOF.name]
    is_one_listing = len(query.keys) == 1 and not query.tests
    expect_whole(proof, {"spent=any": spent is Spent.ANY, "one parameter with an address or a tag": is_one_listing})
    page_size, cursor = paging(given)
    as_of = await state_index(network, given[STATE_INDEX.name])
    window = await window_of(network, given, given[CREATED_AFTER.name], given[CREATED_BEFORE.name])
    page = await list_outputs(
        network.store,
        network.name,
        query,
        spent,
        as_of=as_of,
        window=window,
        is_fixed=given[STATE_INDEX.name] is not None,
        newest=given[OLDEST_FIRST.name],
        page_size=page_size,
        cursor=cursor,
    )
    if proof is None:
        return answer(page, page_size)
    under = under_roles([(role, by.key) for role, by in roles_under(query.keys[0], query.kinds)])
    return await with_proofs(network, proof, answer(page, page_size), page, under, window)


def expect_key(query: OutputQuery, spent: Spent) -> None:
    """Raises NotKept, which names the required keys, if these outputs cannot be listed."""
    if spent is not Spent.UNSPENT and not query.keys:
        raise NotKept(f"parameter {SPENT.name}: {spent.value} also needs a parameter with an address or a tag")


async def of_chain(network: NetworkMount, output_kind: str, chain_id: str, given: Given) -> Json:
    """Returns the unspent output or the states of a chain object. Raises NotFound if there are none."""
    spent = given[SPENT.name]
    proof = given[PROOF.name]
    expect_whole(proof, {"spent=any": spent is Spent.ANY})
    page_size, cursor = paging(given)
    as_of = await state_index(network, given[STATE_INDEX.name])
    if spent is Spent.UNSPENT:
        row = await find_unspent_state(network.store, output_kind, chain_id, as_of)
        window = await window_of(network, given)
        if row is None or (window and not window.includes(row["milestone_index"], row["ms_timestamp"])):
            raise NotFound(f"an unspent output of {output_kind} {chain_id}")
        return answer(Page([row], None, as_of), SINGLE)
    page = await list_states(
        network.store,
        output_kind,
        chain_id,
        spent=spent is Spent.ONLY,
        window=await window_of(network, given),
        as_of=as_of,
        is_fixed=given[STATE_INDEX.name] is not None,
        newest=given[OLDEST_FIRST.name],
        page_size=page_size,
        cursor=cursor,
    )
    if not page.rows and cursor is None and page.cursor is None:
        raise NotFound(f"such an output of {output_kind} {chain_id}")
    if proof is None:
        return answer(page, page_size)
    under = [(f"{output_kind}_outputs_by_chain", chain_id)]
    return await with_proofs(network, proof, answer(page, page_size), page, under, await window_of(network, given))


async def window_of(
    network: NetworkMount, given: Given, after_s: int | None = None, before_s: int | None = None
) -> Window | None:
    """Returns the milestones in the span and after and before these seconds; None if nothing limits them."""
    starts, ends = edges_of(given)
    if after_s is not None:
        starts.append(Edge(first_s=after_s + 1))
    if before_s is not None:
        ends.append(Edge(last_s=before_s - 1))
    return await find_span(network.store, network.name, starts, ends)


def paging(given: Given) -> tuple[int, str | None]:
    """Returns page size and position, those of a cursor if there is one. Raises CursorError for a cursor without a
    page size.
    """
    text: str | None = given[CURSOR.name]
    if text is None:
        return given[INDEXER_PAGE_SIZE.name], None
    cursor, dot, size = text.rpartition(".")
    if not dot or not size.isdecimal():
        raise CursorError("expected the cursor of the previous page unchanged, found no page size at its end")
    return PAGE_SIZES.read(size, MAXIMUM), cursor


def answer(page: Page, page_size: int) -> Json:
    """Returns a page as inx-indexer writes it."""
    head: Json = {"ledgerIndex": page.as_of, "pageSize": page_size}
    if page.cursor is not None:
        head["cursor"] = f"{page.cursor}.{page_size}"
    return head | {"items": [f"0x{row['output_id']}" for row in page.rows]}


ERROR_BODY = partial(error_body, cursor=CURSOR.name)

INDEXER_V1 = Family(
    "indexer",
    (
        Operation("/outputs", all_outputs, IndexedOutputs, (404, 501)),
        Operation("/outputs/basic", basic_outputs, IndexedOutputs, (404, 501)),
        Operation("/outputs/alias", alias_outputs, IndexedOutputs, (404, 501)),
        Operation("/outputs/alias/{aliasId}", alias_output, IndexedOutputs, (404, 501)),
        Operation("/outputs/foundry", foundry_outputs, IndexedOutputs, (404, 501)),
        Operation("/outputs/foundry/{foundryId}", foundry_output, IndexedOutputs, (404, 501)),
        Operation("/outputs/nft", nft_outputs, IndexedOutputs, (404, 501)),
        Operation("/outputs/nft/{nftId}", nft_output, IndexedOutputs, (404, 501)),
    ),
    wrap=lambda value: value,
    error_body=ERROR_BODY,
    empty_is_none=True,
)

SEED_INDEXER = Family(
    "indexer",
    (
        Operation("/outputs", seed_outputs, IndexedOutputs, (404, 501)),
        Operation("/aliases", seed_aliases, IndexedOutputs, (404, 501)),
        Operation("/aliases/{aliasId}", seed_alias, IndexedOutputs, (404, 501)),
        Operation("/foundries", seed_foundries, IndexedOutputs, (404, 501)),
        Operation("/foundries/{foundryId}", seed_foundry, IndexedOutputs, (404, 501)),
        Operation("/nft", seed_nfts, IndexedOutputs, (404, 501)),
        Operation("/nft/{nftId}", seed_nft, IndexedOutputs, (404, 501)),
    ),
    wrap=lambda value: value,
    error_body=ERROR_BODY,
    is_strict=True,
    empty_is_none=True,
)
"""The routes of the Stardust schema plan, beside the other routes of a network."""
