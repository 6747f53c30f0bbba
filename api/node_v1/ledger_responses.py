"""Responses of node REST v1 about the ledger state."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from api.fields.chrysalis_payloads import U32, AddressType, Amount, Hex32, Hex34, ReceiptPayload
from api.fields.examples import MESSAGE_ID
from api.fields.listing_proof_responses import ProvedPage
from api.http.responses import example, omitted

ADDRESS = "f90c0d94fa949f37a6fc5b7e95fb7be90f957bc6b2bed042fa360e31b9dc6455"
MILESTONE_ID = "268307369ad947ef448c5bb942f2e2e052aec67e7f1c3c955ff31328860af389"
GENESIS_ID = "00" * 32
OUTPUT_ID = "62a447e7d255090f5c83bc317f462325b10515688b16cded044b0e31a77844e90000"
TAIL_HASH = "485e451c7055ab403c5cf321e80d58441948489e5700099de8fb8f1fa03da80f68a3b1a76d8cd9d9cc02656ec2cb042702"


class Balance(BaseModel):
    """The balance of an address."""

    addressType: AddressType
    address: Hex32
    balance: Amount
    dustAllowed: bool
    ledgerIndex: U32


class BalanceResponse(BaseModel):
    """The balance of an address."""

    model_config = example(addressType=0, address=ADDRESS, balance=2182481474245638, dustAllowed=False, ledgerIndex=50)
    data: Balance


class HistoryItem(BaseModel):
    """A transaction or a migration that concerns an address."""

    messageId: Hex32
    transactionId: Hex32
    referencedByMilestoneIndex: U32
    milestoneTimestampReferenced: int
    ledgerInclusionState: Literal["included", "conflicting", "migrated"]
    conflictReason: int = omitted()
    inputsCount: Annotated[int, Field(ge=1, le=127)]
    outputsCount: Annotated[int, Field(ge=1, le=127)]
    addressBalanceChange: int


class History(ProvedPage):
    """What an address received and sent. `state` is null on the last page."""

    addressType: AddressType
    address: Hex32
    maxResults: int
    count: int
    history: list[HistoryItem]
    ledgerIndex: U32
    state: str | None


class HistoryResponse(BaseModel):
    """A page of the history of an address."""

    model_config = example(
        addressType=0,
        address=ADDRESS,
        maxResults=1000,
        count=1,
        history=[
            {
                "messageId": MESSAGE_ID,
                "transactionId": OUTPUT_ID[:64],
                "referencedByMilestoneIndex": 10,
                "milestoneTimestampReferenced": 1640995300,
                "ledgerInclusionState": "included",
                "inputsCount": 1,
                "outputsCount": 2,
                "addressBalanceChange": -1000000,
            }
        ],
        ledgerIndex=50,
        state=None,
    )
    data: History


class UtxoChanges(BaseModel):
    """The outputs that a milestone created and spent."""

    index: U32
    createdOutputs: list[Hex34]
    consumedOutputs: list[Hex34]


class UtxoChangesResponse(BaseModel):
    """The outputs that a milestone created and spent."""

    model_config = example(index=10, createdOutputs=[OUTPUT_ID], consumedOutputs=[])
    data: UtxoChanges


class Treasury(BaseModel):
    """The treasury output."""

    milestoneId: Hex32
    amount: Amount


class TreasuryResponse(BaseModel):
    """The funds left for migration."""

    model_config = example(milestoneId=MILESTONE_ID, amount=999956000000)
    data: Treasury


class ReceiptTuple(BaseModel):
    """A receipt and the milestone that contains it."""

    receipt: ReceiptPayload
    milestoneIndex: U32


class Receipts(BaseModel):
    """Receipts. `state` is null on the last page."""

    receipts: list[ReceiptTuple]
    state: str | None


class ReceiptsResponse(BaseModel):
    """A page of receipts."""

    model_config = example(
        receipts=[
            {
                "receipt": {
                    "type": 3,
                    "migratedAt": 100,
                    "funds": [
                        {
                            "tailTransactionHash": TAIL_HASH,
                            "address": {"type": 0, "address": ADDRESS},
                            "deposit": 44000000,
                        }
                    ],
                    "transaction": {
                        "type": 4,
                        "input": {"type": 1, "milestoneId": GENESIS_ID},
                        "output": {"type": 2, "amount": 999956000000},
                    },
                    "final": True,
                },
                "milestoneIndex": 10,
            }
        ],
        state=None,
    )
    data: Receipts
