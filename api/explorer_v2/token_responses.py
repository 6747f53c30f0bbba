"""Responses of explorer v2 about native tokens and NFTs, an extension.

Amounts of tokens are u256 in hex, as nodes write them. A milestone that is not loaded, such as that of genesis, has
timestamp 0. `cursor` is null on the last page.
"""

from pydantic import BaseModel

from api.explorer_v2.responses import FOUNDRY_ID as FOUNDRY_ID
from api.fields.chrysalis_payloads import U32
from api.fields.examples import BECH32, BLOCK_ID, OUTPUT_ID, SPENT_BY
from api.fields.listing_proof_responses import ProvedPage
from api.fields.stardust_payloads import Bech32, HexBytes, HexId, HexOutputId, HexTokenId, HexU256
from api.http.responses import Json, whole_example

NFT_ID = "0xc64d11fafb56d3d9667d1c55fafdd87c6ad7ede0e30f7b3d2aed786478e9e510"

STATE: Json = {
    "outputId": OUTPUT_ID,
    "transactionId": OUTPUT_ID[:66],
    "milestoneIndex": 2,
    "milestoneTimestamp": 1664553620,
    "mintedTokens": "0x3e8",
    "meltedTokens": "0x0",
    "maximumSupply": "0x2710",
    "circulatingSupply": "0x3e8",
    "isSpent": False,
}
NFT_STATE: Json = {
    "outputId": OUTPUT_ID,
    "milestoneIndex": 2,
    "milestoneTimestamp": 1664553620,
    "transactionId": OUTPUT_ID[:66],
    "blockId": BLOCK_ID,
    "isMint": False,
    "owner": BECH32,
    "previousOwner": BECH32,
    "isSpent": True,
    "transactionIdSpent": SPENT_BY,
    "milestoneIndexSpent": 3,
}


class FoundryState(BaseModel):
    """A state of a foundry: the tokens that it has minted and melted so far, the most that it may mint, and minted
    minus melted. `isSpent`: whether a later state follows, or the foundry was destroyed.
    """

    outputId: HexOutputId
    transactionId: HexId
    milestoneIndex: U32
    milestoneTimestamp: U32
    mintedTokens: HexU256
    meltedTokens: HexU256
    maximumSupply: HexU256
    circulatingSupply: HexU256
    isSpent: bool


class NativeTokenAnswer(BaseModel):
    """A native token: the alias and the serial number of its foundry, the immutable metadata (IRC-30) in hex, and the
    foundry's newest state, null if none is known.
    """

    model_config = whole_example(
        tokenId=FOUNDRY_ID,
        aliasId=f"0x{FOUNDRY_ID[4:68]}",
        serialNumber=1,
        metadata="0x746f6b656e",
        foundry=STATE,
        ledgerIndex=50,
    )
    tokenId: HexTokenId
    aliasId: HexId
    serialNumber: U32
    metadata: HexBytes | None
    foundry: FoundryState | None
    ledgerIndex: U32


class OutputOfToken(BaseModel):
    """An output with a native token: its owner, the amount of the token, and its spending, null while it is unspent."""

    outputId: HexOutputId
    address: Bech32
    amount: HexU256
    milestoneIndex: U32
    milestoneTimestamp: U32
    isSpent: bool
    transactionIdSpent: HexId | None
    milestoneIndexSpent: U32 | None


class OutputsOfToken(BaseModel):
    """Outputs with a native token."""

    model_config = whole_example(
        tokenId=FOUNDRY_ID,
        items=[
            {
                "outputId": OUTPUT_ID,
                "address": BECH32,
                "amount": "0x2bc",
                "milestoneIndex": 2,
                "milestoneTimestamp": 1664553620,
                "isSpent": True,
                "transactionIdSpent": SPENT_BY,
                "milestoneIndexSpent": 3,
            }
        ],
        cursor=None,
        ledgerIndex=50,
    )
    tokenId: HexTokenId
    items: list[OutputOfToken]
    cursor: str | None
    ledgerIndex: U32


class HolderOfToken(BaseModel):
    """An address, the amount of a native token that it owns, and the number of unspent outputs with it."""

    address: Bech32
    amount: HexU256
    outputCount: int


class HoldersOfToken(BaseModel):
    """Holders of a native token. `totalAmount` is what all of them own."""

    model_config = whole_example(
        tokenId=FOUNDRY_ID,
        holderCount=1,
        totalAmount="0x2bc",
        items=[{"address": BECH32, "amount": "0x2bc", "outputCount": 1}],
        cursor=None,
        ledgerIndex=50,
    )
    tokenId: HexTokenId
    holderCount: int
    totalAmount: HexU256
    items: list[HolderOfToken]
    cursor: str | None
    ledgerIndex: U32


class SupplyOfToken(ProvedPage):
    """The supply of a native token in the states of its foundry."""

    model_config = whole_example(tokenId=FOUNDRY_ID, items=[STATE], cursor=None, ledgerIndex=50)
    tokenId: HexTokenId
    items: list[FoundryState]
    cursor: str | None
    ledgerIndex: U32


class TransferOfToken(BaseModel):
    """An output with a native token that a transaction created or spent, and its owner at that time. Genesis outputs
    have a block id of zeros.
    """

    outputId: HexOutputId
    isSpent: bool
    address: Bech32
    amount: HexU256
    milestoneIndex: U32
    milestoneTimestamp: U32
    transactionId: HexId
    blockId: HexId


class TransfersOfToken(BaseModel):
    """Outputs with a native token that transactions created or spent."""

    model_config = whole_example(
        tokenId=FOUNDRY_ID,
        items=[
            {
                "outputId": OUTPUT_ID,
                "isSpent": True,
                "address": BECH32,
                "amount": "0x2bc",
                "milestoneIndex": 3,
                "milestoneTimestamp": 1664553630,
                "transactionId": SPENT_BY,
                "blockId": BLOCK_ID,
            }
        ],
        cursor=None,
        ledgerIndex=50,
    )
    tokenId: HexTokenId
    items: list[TransferOfToken]
    cursor: str | None
    ledgerIndex: U32


class NftState(BaseModel):
    """A state of an NFT: its owner, the owner of the state before, and its spending, null while it is unspent.

    `previousOwner` is null for the first known state, and `isMint` says whether that one created the NFT. The last
    state of an NFT that was burned is spent.
    """

    outputId: HexOutputId
    milestoneIndex: U32
    milestoneTimestamp: U32
    transactionId: HexId
    blockId: HexId
    isMint: bool
    owner: Bech32
    previousOwner: Bech32 | None
    isSpent: bool
    transactionIdSpent: HexId | None
    milestoneIndexSpent: U32 | None


class TransfersOfNft(ProvedPage):
    """The states of an NFT."""

    model_config = whole_example(nftId=NFT_ID, items=[NFT_STATE], cursor=None, ledgerIndex=50)
    nftId: HexId
    items: list[NftState]
    cursor: str | None
    ledgerIndex: U32


class NftAnswer(BaseModel):
    """An NFT and its newest state. `issuer` and `metadata` (immutable, in hex, IRC-27) are null without any, `owner` if
    the NFT was burned.
    """

    model_config = whole_example(
        nftId=NFT_ID, issuer=BECH32, metadata="0x7b7d", owner=None, isBurned=True, state=NFT_STATE, ledgerIndex=50
    )
    nftId: HexId
    issuer: Bech32 | None
    metadata: HexBytes | None
    owner: Bech32 | None
    isBurned: bool
    state: NftState
    ledgerIndex: U32
