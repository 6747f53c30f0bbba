"""Responses of explorer v2 about statements of accounts, an extension."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from api.fields.chrysalis_payloads import U32, U64Text
from api.fields.examples import BECH32, SPENT_BY
from api.fields.stardust_payloads import Bech32, HexId
from api.http.responses import whole_example


class Movement(BaseModel):
    """What a transaction, a migration or a genesis output changed. `balance` is the combined balance after it.

    `transactionId` is the milestone id for a migration. `valueUsd` is the value of `amount` by the price of that day,
    null if no price is loaded. `milestoneTimestamp` is null for a genesis output. `cursor` leads to the movements after
    this one.
    """

    kind: Literal["genesis", "migration", "transaction"]
    milestoneIndex: U32
    milestoneTimestamp: U32 | None
    transactionId: HexId
    amount: Annotated[str, Field(pattern="^-?[1-9][0-9]{0,19}$")]
    balance: U64Text
    valueUsd: Annotated[str, Field(pattern="^-?[0-9]+(\\.[0-9]+)?$")] | None
    counterparties: list[Bech32]
    cursor: str


class StatementOfAccount(BaseModel):
    """The movements of some addresses, combined by transaction, and the balances before and after all of them.

    `firstMilestoneIndex` is one greater than `lastMilestoneIndex` if no milestone is in the period. `cursor` is null on
    the last page.
    """

    model_config = whole_example(
        addresses=[BECH32],
        firstMilestoneIndex=0,
        lastMilestoneIndex=50,
        openingBalance="0",
        closingBalance="1000000",
        items=[
            {
                "kind": "transaction",
                "milestoneIndex": 2,
                "milestoneTimestamp": 1664553620,
                "transactionId": SPENT_BY,
                "amount": "1000000",
                "balance": "1000000",
                "valueUsd": "0.2345",
                "counterparties": [BECH32],
                "cursor": "2-0-50-8d3e5d0a1b7c2f46.100",
            }
        ],
        cursor=None,
    )
    addresses: list[Bech32]
    firstMilestoneIndex: U32
    lastMilestoneIndex: U32
    openingBalance: U64Text
    closingBalance: U64Text
    items: list[Movement]
    cursor: str | None
