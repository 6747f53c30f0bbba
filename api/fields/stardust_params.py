"""Parameters of Stardust objects, for the families that share them. IDs are hex with or without 0x."""

from typing import Annotated

from api.http.params import hexadecimal, path

ID = hexadecimal(32, may_have_0x=True)
OUTPUT_ID_TYPE = hexadecimal(34, may_have_0x=True)

BLOCK_ID = path("blockId", ID, "ID of a block", "0x25b48990cf7a6819664f5a7f35f4d9e9fa96f649c3bd34e01b9a5133c20f2a3a")
TRANSACTION_ID = path(
    "transactionId", ID, "ID of a transaction", "0x071809521dc7eb42c3a3c267a32e81e152dc1d8dde0b5b8389e466f676ef011d"
)
OUTPUT_ID = path(
    "outputId",
    OUTPUT_ID_TYPE,
    "ID of an output: the transaction ID, then the output index (two bytes, little-endian)",
    "0x071809521dc7eb42c3a3c267a32e81e152dc1d8dde0b5b8389e466f676ef011d0000",
)
MILESTONE_ID = path(
    "milestoneId", ID, "ID of a milestone", "0x5db09e1666cdd1ec1896763fc56c3bdc9abcb15f323fa3d18bd83d871da633bc"
)

BlockId = Annotated[str, BLOCK_ID]
TransactionId = Annotated[str, TRANSACTION_ID]
OutputId = Annotated[str, OUTPUT_ID]
MilestoneId = Annotated[str, MILESTONE_ID]
