"""Operations that Chronicle v1 adds to node REST v1: a transaction by its message, analytics, sync, service.

Keys have Chronicle's order and are always present, null if there is no value. `sync` and `service` have no `data`
envelope, as in Chronicle. Error bodies are the node's (docs/supported.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from api import era_routing as eras
from api.chronicle_v1.responses import AnalyticsResponse, ServiceResponse, TransactionResponse, TransactionsResponse
from api.fields.chrysalis_params import (
    Ed25519Address,
    EndMilestone,
    LedgerConflicting,
    LedgerIncluded,
    LedgerNone,
    MessageId,
    PageSizeOf100,
    StartMilestone,
)
from api.fields.inclusion_state import inclusion
from api.fields.params import NewestFirst, Proof, State
from api.fields.span_params import Span, edges_of
from api.fields.sync_responses import SyncResponse
from api.handlers.listing_proofs import expect_whole, with_proof
from api.handlers.sync_status import sync
from api.http.operations import Family, Operation
from api.http.responses import Json
from api.network import NetworkMount
from db.coverage import note_part
from db.queries import messages, outputs, transactions
from db.queries.analytics import SUMMED, list_runs
from db.queries.spans import find_span
from db.store import NotFound, Row, StoreDamaged, StoreUnavailable
from ledger.chrysalis.transaction import ED25519
from ledger.ids import output_id, transaction_id


@dataclass(frozen=True, slots=True)
class Service:
    """The running server: its networks, and its start in nanoseconds since 1970."""

    networks: Mapping[str, NetworkMount]
    up_since_ns: int


async def transaction_of_message(network: NetworkMount, message_id: MessageId) -> Json:
    """Returns the transaction in a message, and the inclusion state of this attachment.

    `spendingMessageId` is the included message that spends the output, or null if it is unspent.
    """
    found = await attached_transactions(network, [await messages.get_message(network.store, message_id)])
    await note_part(network.store, "spending of the outputs")
    if not found:
        raise NotFound(f"a transaction in message {message_id}")
    return found[0]


async def transactions_of_address(
    network: NetworkMount,
    address: Ed25519Address,
    none: LedgerNone,
    included: LedgerIncluded,
    conflicting: LedgerConflicting,
    page_size: PageSizeOf100,
    state: State,
    newest: NewestFirst,
    span: Span,
    proof: Proof,
) -> Json:
    """Returns the transactions that pay an Ed25519 address or that it signed.

    Every attachment is one item. The list has only messages that a milestone references, so each transaction is
    included or conflicting.
    """
    if not (none or included or conflicting):
        raise NotFound("a transaction without any inclusion state")
    expect_whole(proof, {"ledger_included=true": included})
    serialized = f"{ED25519:02x}{address}"
    window = await find_span(network.store, network.name, *edges_of(span))
    page = await transactions.list_by_address(
        network.store,
        serialized,
        included=[each for each, wanted in ((True, included), (False, conflicting)) if wanted],
        window=window,
        newest=newest,
        page_size=page_size,
        cursor=state,
    )
    rows = await messages.find_messages(network.store, [row["message_id"] for row in page.rows])
    answer = {"transactions": await attached_transactions(network, rows), "state": page.cursor}
    return await with_proof(network, proof, answer, page, ("transactions_by_address", serialized), window)


async def attached_transactions(network: NetworkMount, rows: Sequence[Row]) -> list[Json]:
    """Returns the transactions in these messages as Chronicle writes them, with inputs and outputs in the JSON of their
    era. One query finds the spenders of all outputs.
    """
    found = []
    for row in rows:
        attached = eras.transaction_of(row)
        if attached is not None:
            data, essence = attached[0], attached[1]["essence"]
            ids = [output_id(transaction_id(data), index).hex() for index in range(len(essence["outputs"]))]
            found.append((row, essence, ids))
    output_ids = [each for _, _, ids in found for each in ids]
    spenders = dict(zip(output_ids, await outputs.find_spending_message_ids(network.store, output_ids), strict=True))
    return [
        {
            "messageId": row["message_id"],
            "milestoneIndex": row.get("milestone_index"),
            "outputs": [
                {"output": output, "spendingMessageId": spenders[each]}
                for output, each in zip(essence["outputs"], ids, strict=True)
            ],
            "inputs": essence["inputs"],
            "ledgerInclusionState": inclusion(row),
        }
        for row, essence, ids in found
    ]


async def analytics(network: NetworkMount, start: StartMilestone, end: EndMilestone) -> Json:
    """Returns the sums over milestones from `start` to before `end`, one range per run of consecutive milestones,
    newest first.

    `message_count` counts whole cones, including the milestone's own message. `transaction_count` counts transactions
    that took effect. `transferred_tokens` sums the base tokens of all their outputs, including change.
    """
    found = list_runs(network.store, network.name, start, end - 1)
    return {
        "ranges": [
            {"start": run.first, "end": run.last + 1} | {name: wide(getattr(run, name)) for name in SUMMED}
            async for run in found
        ]
    }


def wide(value: int) -> int | orjson.Fragment:
    """Returns a number as JSON. Chronicle's sums have 128 bits, and orjson writes at most 64."""
    return value if value < 2**64 else orjson.Fragment(str(value))


async def service(running: Service) -> Json:
    """Returns the state of this server: one service.

    It is degraded while the store of a network does not respond.
    """
    seconds, nanoseconds = divmod(running.up_since_ns, 10**9)
    return {
        "status": await status(running.networks),
        "name": "Permanode",
        "up_since": {"secs_since_epoch": seconds, "nanos_since_epoch": nanoseconds},
        "downtime_ms": 0,
        "microservices": {},
        "log_path": None,
    }


async def status(networks: Mapping[str, NetworkMount]) -> str:
    """Returns "Running" or "Degraded"."""
    try:
        for network in networks.values():
            await network.store.ping()
    except (StoreUnavailable, StoreDamaged):
        return "Degraded"
    return "Running"


TAG = "Chronicle v1"

CHRONICLE_V1 = Family(
    TAG,
    (
        Operation("/transactions/{messageId}", transaction_of_message, TransactionResponse, (404,)),
        Operation("/transactions/ed25519/{address}", transactions_of_address, TransactionsResponse, (404,)),
        Operation("/analytics", analytics, AnalyticsResponse, (404,)),
    ),
    wrap=lambda value: {"data": value},
    empty_is_none=True,
)
CHRONICLE_SYNC = Family(TAG, (Operation("/sync", sync, SyncResponse),), wrap=lambda value: value, empty_is_none=True)
CHRONICLE_SERVICE = Family(TAG, (Operation("/service", service, ServiceResponse),), wrap=lambda value: value)
