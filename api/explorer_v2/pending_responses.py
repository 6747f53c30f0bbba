"""Responses of explorer v2 about pending transactions, an extension.

`cursor` is null on the last page.
"""

from pydantic import BaseModel

from api.explorer_v2.responses import Role
from api.fields.chrysalis_payloads import SigLockedOutput, TransactionPayload
from api.fields.examples import BECH32, BLOCK_ID, KEY_HASH, OUTPUT_ID
from api.fields.stardust_payloads import HexId, HexOutputId, StardustOutput, TransactionPayloadV2
from api.http.responses import Json, whole_example

OUTPUT: Json = {
    "type": 3,
    "amount": "1000000",
    "unlockConditions": [{"type": 0, "address": {"type": 0, "pubKeyHash": KEY_HASH}}],
}


class PendingAttachment(BaseModel):
    """A pending block, and its transaction in the JSON of its era."""

    blockId: HexId
    payload: TransactionPayload | TransactionPayloadV2


class PendingTransaction(BaseModel):
    """The pending attachments of a transaction. `cursor` is null on the last page."""

    model_config = whole_example(
        transactionId=OUTPUT_ID[:66],
        items=[
            {
                "blockId": BLOCK_ID,
                "payload": {
                    "type": 6,
                    "essence": {
                        "type": 1,
                        "networkId": "8342982141227064571",
                        "inputs": [{"type": 0, "transactionId": "0x" + "00" * 32, "transactionOutputIndex": 0}],
                        "inputsCommitment": KEY_HASH,
                        "outputs": [OUTPUT],
                    },
                    "unlocks": [
                        {
                            "type": 0,
                            "signature": {"type": 0, "publicKey": KEY_HASH, "signature": "0x" + "00" * 64},
                        }
                    ],
                },
            }
        ],
        cursor=None,
    )
    transactionId: HexId
    items: list[PendingAttachment]
    cursor: str | None


class PendingOutput(BaseModel):
    """An output of a pending transaction, in the JSON of its era."""

    outputId: HexOutputId
    blockId: HexId
    output: SigLockedOutput | StardustOutput


class PendingOutputsOfAddress(BaseModel):
    """Outputs of pending transactions that name an address, in all roles or in `role`."""

    model_config = whole_example(
        address=BECH32,
        role=None,
        items=[{"outputId": OUTPUT_ID, "blockId": BLOCK_ID, "output": OUTPUT}],
        cursor=None,
    )
    address: str
    role: Role | None
    items: list[PendingOutput]
    cursor: str | None


class PendingOutputs(BaseModel):
    """Outputs of pending transactions under a tag, or states of a chain object."""

    model_config = whole_example(items=[{"outputId": OUTPUT_ID, "blockId": BLOCK_ID, "output": OUTPUT}], cursor=None)
    items: list[PendingOutput]
    cursor: str | None
