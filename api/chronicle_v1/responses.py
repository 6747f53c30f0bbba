"""Responses that only Chronicle v1 has.

Field names are Chronicle's. Every field is always present, and null if there is no value.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.fields.chrysalis_payloads import U32, Hex32, SigLockedOutput, UtxoInput
from api.fields.examples import ADDRESS, MESSAGE_ID, TRANSACTION_ID
from api.fields.listing_proof_responses import ProvedPage
from api.fields.stardust_payloads import StardustOutput, UtxoInputV2
from api.http.responses import example

ATTACHED: dict[str, object] = {
    "messageId": MESSAGE_ID,
    "milestoneIndex": 5,
    "outputs": [
        {
            "output": {"type": 0, "address": {"type": 0, "address": ADDRESS}, "amount": 1000000},
            "spendingMessageId": None,
        }
    ],
    "inputs": [{"type": 0, "transactionId": TRANSACTION_ID, "transactionOutputIndex": 0}],
    "ledgerInclusionState": "included",
}


class SpendableOutput(BaseModel):
    """An output of a transaction, and the included message that spends it."""

    output: SigLockedOutput | StardustOutput
    spendingMessageId: Hex32 | None


class AttachedTransaction(BaseModel):
    """One attachment of a transaction. A pending one has neither milestone nor inclusion state."""

    messageId: Hex32
    milestoneIndex: U32 | None
    outputs: list[SpendableOutput]
    inputs: list[UtxoInput | UtxoInputV2]
    ledgerInclusionState: Literal["included", "conflicting"] | None


class TransactionResponse(BaseModel):
    """The transaction in a message."""

    model_config = example(**ATTACHED)
    data: AttachedTransaction


class AttachedTransactions(ProvedPage):
    """Transactions of an address. `state` is null on the last page."""

    transactions: list[AttachedTransaction]
    state: str | None


class TransactionsResponse(BaseModel):
    """A page of the transactions of an address."""

    model_config = example(transactions=[ATTACHED], state=None)
    data: AttachedTransactions


class AnalyticsRange(BaseModel):
    """Consecutive milestones from `start` to before `end`, and their sums."""

    start: U32
    end: U32
    message_count: Annotated[int, Field(ge=0)]
    transaction_count: Annotated[int, Field(ge=0)]
    transferred_tokens: Annotated[int, Field(ge=0)]


class AnalyticsRanges(BaseModel):
    """Ranges of consecutive milestones, newest first."""

    ranges: list[AnalyticsRange]


class AnalyticsResponse(BaseModel):
    """Sums over milestones."""

    model_config = example(
        ranges=[{"start": 5, "end": 9, "message_count": 40, "transaction_count": 3, "transferred_tokens": 77}]
    )
    data: AnalyticsRanges


class SystemTime(BaseModel):
    """A time since 1970."""

    secs_since_epoch: int
    nanos_since_epoch: Annotated[int, Field(ge=0, lt=10**9)]


class Service(BaseModel):
    """A service and the services below it."""

    status: Literal["Running", "Degraded"]
    name: str
    up_since: SystemTime
    downtime_ms: int
    microservices: dict[str, "Service"]
    log_path: str | None


class ServiceResponse(Service):
    """The service of this server."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "status": "Running",
                    "name": "Permanode",
                    "up_since": {"secs_since_epoch": 1640995200, "nanos_since_epoch": 0},
                    "downtime_ms": 0,
                    "microservices": {},
                    "log_path": None,
                }
            ]
        }
    )
