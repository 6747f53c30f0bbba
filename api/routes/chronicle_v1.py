"""What Chronicle v1 answers beside the node's routes: a transaction by its message, sync, service.

Rules of this file: as in node_v1.py; keys stand in Chronicle's order and are always there, null where there is nothing;
`sync` and `service` stand without `data` around them, as there. Its errors are ours (docs/supported.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from api.listing import INCLUSION, Json
from api.network import NetworkMount
from api.operations import Family, Operation
from api.params import MessageId
from api.responses_chronicle import ServiceResponse, SyncResponse, TransactionResponse
from db.intervals import Intervals, gaps
from db.queries import messages, outputs
from db.schema import PENDING_RANGE
from db.store import NotFound, StoreUnavailable
from db.sync import complete
from ledger.chrysalis import decode_payload, payload_bytes
from ledger.chrysalis_values import Transaction
from ledger.ids import output_id, transaction_id
from ledger.rest_json import payload_json

FIRST_MILESTONE = 1
"""Where Chronicle's sync begins."""

END_OF_MILESTONES = PENDING_RANGE
"""Where its uppermost gap ends, exclusive: 2147483647."""


@dataclass(frozen=True, slots=True)
class Service:
    """The running server: its networks, and when it began, in nanoseconds since 1970."""

    networks: Mapping[str, NetworkMount]
    up_since_ns: int


async def transaction_of_message(network: NetworkMount, message_id: MessageId) -> Json:
    """The transaction that a message attaches, and what the ledger made of exactly this attachment.

    `spendingMessageId` is the included message that spends the output; null while none does.
    """
    row = await messages.get_message(network.store, message_id)
    data = payload_bytes(row["message"])
    payload = decode_payload(data) if data else None
    if not isinstance(payload, Transaction):
        raise NotFound(f"a transaction in message {message_id}")
    essence = payload_json(payload)["essence"]
    output_ids = [output_id(transaction_id(data), index).hex() for index in range(len(payload.essence.outputs))]
    spenders = await outputs.find_spending_message_ids(network.store, output_ids)
    state = row.get("inclusion_state")
    return {
        "messageId": message_id,
        "milestoneIndex": row.get("milestone_index"),
        "outputs": [
            {"output": output, "spendingMessageId": spender}
            for output, spender in zip(essence["outputs"], spenders, strict=True)
        ],
        "inputs": essence["inputs"],
        "ledgerInclusionState": None if state is None else INCLUSION[state],
    }


async def sync(network: NetworkMount) -> Json:
    """Which milestones are here and which are not, newest first; ends are exclusive.

    What is loaded came out of an archive, so nothing is synced but unlogged. A milestone with rejects counts as a gap.
    """
    held = await complete(network.store, network.name)
    return {
        "completed": half_open(held),
        "synced_but_unlogged": [],
        "gaps": half_open(gaps(held, FIRST_MILESTONE, END_OF_MILESTONES - 1)),
    }


def half_open(value: Intervals) -> list[Json]:
    """Intervals as Chronicle writes them: the highest first, ends exclusive."""
    return [{"start": first, "end": last + 1} for first, last in reversed(value)]


async def service(running: Service) -> Json:
    """The state of this server: one service, degraded while a store of its networks does not answer."""
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
    """Running, or Degraded."""
    try:
        for network in networks.values():
            await network.store.ping()
    except StoreUnavailable:
        return "Degraded"
    return "Running"


TAG = "Chronicle v1"

CHRONICLE_V1 = Family(
    TAG,
    (Operation("/transactions/{messageId}", transaction_of_message, TransactionResponse, (404,)),),
    wrap=lambda value: {"data": value},
)
CHRONICLE_SYNC = Family(TAG, (Operation("/sync", sync, SyncResponse),), wrap=lambda value: value)
CHRONICLE_SERVICE = Family(TAG, (Operation("/service", service, ServiceResponse),), wrap=lambda value: value)
