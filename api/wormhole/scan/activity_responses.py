"""Responses of wormholescan's operations, transactions and activity."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from api.http.responses import omitted, whole_example
from api.wormhole.responses import (
    MESSAGE_ID,
    PAYLOAD,
    PROPERTIES,
    U16,
    U32,
    VAA,
    VAA_BASE64,
    VAA_DOC,
    Base64,
    Hex32,
    Pagination,
    Properties,
    VaaDoc,
)

AMOUNTS: dict[str, Any] = {"symbol": "USDT", "tokenAmount": "10", "usdAmount": "10"}
OPERATION: dict[str, Any] = {
    "id": MESSAGE_ID,
    "emitterChain": VAA.emitter_chain,
    "emitterAddress": {"hex": VAA.emitter_address.hex(), "native": VAA_DOC["emitterNativeAddr"]},
    "sequence": str(VAA.sequence),
    "vaa": {"raw": VAA_BASE64, "guardianSetIndex": VAA.guardian_set_index, "isDuplicated": False},
    "content": {"payload": PAYLOAD, "standarizedProperties": PROPERTIES},
    "sourceChain": {
        "chainId": VAA.emitter_chain,
        "timestamp": "2021-09-21T01:52:26Z",
        "transaction": {"txHash": "ab" * 32},
        "from": "",
        "status": "confirmed",
    },
    "data": AMOUNTS,
}
TRANSACTION: dict[str, Any] = {
    "id": MESSAGE_ID,
    "timestamp": "2021-09-21T01:52:26Z",
    "txHash": "ab" * 32,
    "emitterChain": VAA.emitter_chain,
    "emitterAddress": VAA.emitter_address.hex(),
    "emitterNativeAddress": VAA_DOC["emitterNativeAddr"],
    **AMOUNTS,
    "payload": PAYLOAD,
    "standardizedProperties": PROPERTIES,
}


class NativeAddress(BaseModel):
    """An emitter in both formats."""

    hex: Hex32
    native: str


class RawVaa(BaseModel):
    """The bytes of an operation."""

    raw: Base64
    guardianSetIndex: U32
    isDuplicated: bool


class Content(BaseModel):
    """The content of an operation. `payload` is present if it can be decoded. The spelling is wormholescan's."""

    payload: dict[str, Any] = omitted()
    standarizedProperties: Properties


class SourceTransaction(BaseModel):
    """A transaction. `txHash` is empty if no source has it."""

    txHash: str


class SourceChain(BaseModel):
    """The start of an operation. `from` is empty if it is unknown."""

    model_config = ConfigDict(populate_by_name=True)
    chainId: U16
    timestamp: str
    transaction: SourceTransaction
    sender: str = Field(alias="from")
    status: str


class Moved(BaseModel):
    """What a transfer moved, as decimal text, empty if it is unknown."""

    symbol: str
    tokenAmount: str
    usdAmount: str


class OperationBody(BaseModel):
    """A message with what it moved. `sourceChain` is present if a source has the transaction or its sender, `data` if
    the transfer's token is known.
    """

    id: str
    emitterChain: U16
    emitterAddress: NativeAddress
    sequence: str
    vaa: RawVaa
    content: Content
    sourceChain: SourceChain = omitted()
    data: Moved = omitted()


class OperationItem(OperationBody):
    """One operation."""

    model_config = whole_example(**OPERATION)


class OperationList(BaseModel):
    """A page of operations. `pagination` is an extension."""

    model_config = whole_example(operations=[OPERATION], pagination={"next": ""})
    operations: list[OperationBody]
    pagination: Pagination


class TransactionBody(BaseModel):
    """A message with what it moved, as a transaction. Unknown fields are absent."""

    id: str
    timestamp: str
    txHash: str = omitted()
    emitterChain: U16
    emitterAddress: Hex32
    emitterNativeAddress: str
    symbol: str = omitted()
    tokenAmount: str = omitted()
    usdAmount: str = omitted()
    payload: dict[str, Any] = omitted()
    standardizedProperties: Properties


class TransactionItem(TransactionBody):
    """One transaction."""

    model_config = whole_example(**TRANSACTION)


class TransactionList(BaseModel):
    """A page of transactions. `pagination` is an extension."""

    model_config = whole_example(transactions=[TRANSACTION], pagination={"next": ""})
    transactions: list[TransactionBody]
    pagination: Pagination


class VaasOfAddress(BaseModel):
    """Messages."""

    vaas: list[VaaDoc]


class AddressVaas(BaseModel):
    """A page of an address's messages. `pagination` is an extension."""

    model_config = whole_example(data={"vaas": [VAA_DOC]}, pagination={"next": ""})
    data: VaasOfAddress
    pagination: Pagination


class TxCount(BaseModel):
    """The number of messages in an hour or day that starts at `time`."""

    time: str
    count: int


class LastTxs(RootModel[list[TxCount]]):
    """Counts, as a list without envelope."""

    model_config = ConfigDict(json_schema_extra={"examples": [[{"time": "2021-10-11T00:00:00Z", "count": 1}]]})


class ChainVolume(BaseModel):
    """Volume that arrived on a chain, and its percentage."""

    chain: U16
    volume: str
    percentage: float


class LeavingVolume(ChainVolume):
    """Volume that left a chain, and its destinations."""

    destinations: list[ChainVolume]


class ChainActivity(BaseModel):
    """Volume between chains."""

    model_config = whole_example(
        txs=[
            {
                "chain": 1,
                "volume": "250.5",
                "percentage": 100.0,
                "destinations": [{"chain": 2, "volume": "250.5", "percentage": 100.0}],
            }
        ]
    )
    txs: list[LeavingVolume]


class Asset(BaseModel):
    """The USD volume of a token that left a chain. `symbol` is present if a message contains it."""

    emitterChain: U16
    symbol: str = omitted()
    tokenChain: U16
    tokenAddress: Hex32
    volume: str


class TopAssets(BaseModel):
    """The tokens with the highest volume."""

    model_config = whole_example(
        assets=[{"emitterChain": 1, "symbol": "USDT", "tokenChain": 1, "tokenAddress": "ab" * 32, "volume": "250.5"}]
    )
    assets: list[Asset]


class ChainPair(BaseModel):
    """Transfers from one chain to another."""

    emitterChain: U16
    destinationChain: U16
    numberOfTransfers: str


class TopPairs(BaseModel):
    """The pairs of chains with most transfers."""

    model_config = whole_example(chainPairs=[{"emitterChain": 1, "destinationChain": 2, "numberOfTransfers": "12"}])
    chainPairs: list[ChainPair]


CARDS = {
    "24h_messages": "12",
    "total_messages": "170",
    "total_tx_count": "26",
    "total_volume": "250.5",
    "tvl": "100",
    "24h_volume": "0",
    "7d_volume": "10.5",
    "30d_volume": "250.5",
}


class Scorecards(BaseModel):
    """The network in a few numbers, as text."""

    model_config = whole_example(**CARDS)
    messages_of_a_day: str = Field(alias="24h_messages")
    total_messages: str
    total_tx_count: str
    total_volume: str
    tvl: str
    volume_of_a_day: str = Field(alias="24h_volume")
    volume_of_a_week: str = Field(alias="7d_volume")
    volume_of_a_month: str = Field(alias="30d_volume")
