"""Explorer v2, the history of an address: outputs that it received and spent, and outputs that name it in any role.

Both lists are also available as CSV and NDJSON, complete, in the requested order, streamed page by page. A parameter
sets where they begin; `pageSize` and `cursor` then have no effect.
"""

from collections.abc import AsyncGenerator, Sequence

from api.explorer_v2.responses import OutputOfAddress, OutputsOfAddress, UpdateOfAddress, UpdatesOfAddress
from api.fields.inx_chronicle_params import (
    ROLES,
    After,
    ExplorerNewestFirst,
    ExplorerPageSize,
    OwnCursor,
    Role,
    StartMilestone,
    UpdateCursor,
)
from api.fields.params import Address, Proof, StateIndex
from api.fields.span_params import Given, Span, edges_of
from api.handlers.ledger_state import listed_index
from api.handlers.listing_proofs import expect_whole, under_roles, with_proof, with_proofs
from api.http.operations import Operation
from api.http.page_sizes import MAXIMUM
from api.http.responses import Json
from api.http.streaming import exports_of
from api.network import NetworkMount
from db.listing.page import Page
from db.queries import ledger, lookups, milestones, outputs, updates
from db.queries.lookups import By
from db.queries.spans import find_span
from db.roles import ADDRESS, ALIAS, KINDS
from db.store import Bound, Row
from db.times import Window

FEATURES = ("sender", "issuer", "governor", "storage_deposit_return", "expiration_return")
"""Roles that have columns of their own. The row in `outputs` has the owner of an output."""

WIRE = {variant: role for role, variant in ROLES.items()}
"""Variant in the tables → role in the API."""


async def updates_by_address(
    network: NetworkMount,
    address: Address,
    newest: ExplorerNewestFirst,
    start_milestone: StartMilestone,
    page_size: ExplorerPageSize,
    after: UpdateCursor,
    span: Span,
    proof: Proof,
) -> Json:
    """Returns the outputs that an address received and those of them that were spent.

    With Accept CSV or NDJSON, the response contains all of them. Genesis outputs come first. An expired output is spent
    by its return address. The list is empty for an address without history.
    """
    at = after or After(page_size, start=first_update(start_milestone))
    expect_whole(proof, {"no startMilestoneIndex": start_milestone is None})
    serialized, window = network.address(address), await find_span(network.store, network.name, *edges_of(span))
    page = await updates_page(network, serialized, at, window, newest=newest)
    answer = {
        "address": network.bech32(serialized),
        "items": await update_items(network, serialized, page.rows),
        "cursor": at.next(page),
    }
    return await with_proof(network, proof, answer, page, ("ledger_updates_by_address", serialized), window)


def first_update(start: int | None) -> Bound | None:
    """Returns the position of the first row after a milestone."""
    return None if start is None else Bound((start,), inclusive=False)


async def updates_page(network: NetworkMount, address: str, at: After, window: Window | None, *, newest: bool) -> Page:
    """Returns a page of the outputs that an address received and spent."""
    return await updates.list_updates_by_address(
        network.store,
        address,
        await ledger.get_applied(network.store, network.name),
        window=window,
        newest=newest,
        page_size=at.page_size,
        cursor=at.cursor,
        start=at.start,
    )


async def update_items(network: NetworkMount, address: str, rows: Sequence[Row]) -> list[Json]:
    """Returns rows of `ledger_updates_by_address` as items."""
    found = await outputs.find_outputs(network.store, [row["output_id"] for row in rows])
    return [
        {
            "outputId": f"0x{row['output_id']}",
            "isSpent": row["is_spent"],
            "milestoneIndex": row["milestone_index"],
            "milestoneTimestamp": (row["ms_timestamp"] or 0) // 1000,
            "amount": str(row["amount"]),
            "transactionId": f"0x{row['transaction_id']}",
            "role": update_role(address, output),
        }
        for row, output in zip(rows, found, strict=True)
    ]


def update_role(address: str, output: Row | None) -> str:
    """Returns in which role the address had an output: owner, or return address after expiry."""
    assert output is not None, "what changed the ledger state has a row in outputs"
    return WIRE[owner_variant(output) if output["address"] == address else "expiration_return"]


def owner_variant(output: Row) -> str:
    """Returns the variant of the owner of an output."""
    return "state_controller" if output["output_kind"] == ALIAS else ADDRESS


async def all_updates(
    network: NetworkMount,
    address: tuple[str, bytes],
    *,
    newest: bool,
    start_milestone: int | None,
    span: Given,
) -> AsyncGenerator[list[Json]]:
    """Yields all outputs that an address received and spent."""
    at: After | None = After(MAXIMUM, start=first_update(start_milestone))
    serialized, window = network.address(address), await find_span(network.store, network.name, *edges_of(span))
    while at is not None:
        page = await updates_page(network, serialized, at, window, newest=newest)
        yield await update_items(network, serialized, page.rows)
        at = None if page.cursor is None else After(MAXIMUM, page.cursor)


async def outputs_by_address(
    network: NetworkMount,
    address: Address,
    role: Role,
    newest: ExplorerNewestFirst,
    page_size: ExplorerPageSize,
    after: OwnCursor,
    span: Span,
    state: StateIndex,
    proof: Proof,
) -> Json:
    """Returns every output that ever named an address, each once, by the milestone that created it.

    With Accept CSV or NDJSON, the response contains all of them. The list is empty for an address without history.
    """
    at = after or After(page_size)
    expect_whole(proof, {"role": role is not None})
    serialized, window = network.address(address), await find_span(network.store, network.name, *edges_of(span))
    named = [By(variant, serialized) for variant in ((role,) if role else ROLES.values())]
    page = await outputs_page(network, named, at, window, state, newest=newest)
    answer = {
        "address": network.bech32(serialized),
        "items": await output_items(network, serialized, page),
        "cursor": at.next(page),
        "ledgerIndex": page.as_of,
    }
    if proof is None:
        return answer
    under = under_roles([(each, by.key) for each, by in lookups.roles_under(named, KINDS)])
    return await with_proofs(network, proof, answer, page, under, window)


async def outputs_page(
    network: NetworkMount,
    named: Sequence[By],
    at: After,
    window: Window | None,
    state: int | None,
    *,
    newest: bool,
) -> Page:
    """Returns a page of the outputs that name an address in one of these roles."""
    return await lookups.list_created(
        network.store,
        named,
        columns=("ms_timestamp", "output_type", "amount", *FEATURES),
        window=window,
        as_of=await listed_index(network, state),
        is_fixed=state is not None,
        newest=newest,
        page_size=at.page_size,
        cursor=at.cursor,
    )


async def output_items(network: NetworkMount, address: str, page: Page) -> list[Json]:
    """Returns rows of `outputs_by_address` as items, with the spending of each output."""
    found = await outputs.find_outputs(network.store, [row["output_id"] for row in page.rows], page.as_of)
    spent_in = sorted({each["spent_milestone_index"] for each in found if each and each["spent_transaction_id"]})
    times = dict(zip(spent_in, await milestones.find_timestamps(network.store, spent_in), strict=True))
    items = []
    for row, output in zip(page.rows, found, strict=True):
        assert output is not None, "what is included has a row in outputs"
        owner = (owner_variant(output),) if output["address"] == address else ()
        parts = {*owner, *(name for name in FEATURES if row[name] == address)}
        spent = output["spent_milestone_index"]
        items.append(
            {
                "outputId": f"0x{row['output_id']}",
                "outputType": row["output_type"],
                "roles": [name for name, variant in ROLES.items() if variant in parts],
                "amount": str(row["amount"]),
                "transactionId": f"0x{row['output_id'][:64]}",
                "milestoneIndex": row["milestone_index"],
                "milestoneTimestamp": (row["ms_timestamp"] or 0) // 1000,
                "isSpent": spent is not None,
                "transactionIdSpent": None if spent is None else f"0x{output['spent_transaction_id']}",
                "milestoneIndexSpent": spent,
                "milestoneTimestampSpent": None if spent is None else times[spent] or 0,
            }
        )
    return items


async def all_outputs(
    network: NetworkMount,
    address: tuple[str, bytes],
    role: str | None,
    *,
    newest: bool,
    span: Given,
    state: int | None,
) -> AsyncGenerator[list[Json]]:
    """Yields every output that names an address in that role."""
    at: After | None = After(MAXIMUM)
    serialized, window = network.address(address), await find_span(network.store, network.name, *edges_of(span))
    named = [By(variant, serialized) for variant in ((role,) if role else ROLES.values())]
    while at is not None:
        page = await outputs_page(network, named, at, window, state, newest=newest)
        yield await output_items(network, serialized, page)
        at = None if page.cursor is None else After(MAXIMUM, page.cursor)


EXPLORER_HISTORY = (
    Operation(
        "/ledger/updates/by-address/{address}",
        updates_by_address,
        UpdatesOfAddress,
        (404, 501),
        exports=exports_of(all_updates, tuple(UpdateOfAddress.model_fields)),
    ),
    Operation(
        "/ledger/outputs/by-address/{address}",
        outputs_by_address,
        OutputsOfAddress,
        (404, 501),
        exports=exports_of(all_outputs, tuple(OutputOfAddress.model_fields)),
    ),
)
