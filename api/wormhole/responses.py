"""Responses that the Wormhole families share.

Field names are the guardians' and wormholescan's; fields of extensions follow them.
"""

import base64
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, RootModel

from api.http.responses import omitted, whole_example
from ledger.wormhole.ids import row_key
from ledger.wormhole.vaa import Vaa, encode_vaa

VAA = Vaa(
    guardian_set_index=1,
    signatures=(),
    timestamp=1632189146,
    nonce=1,
    emitter_chain=1,
    emitter_address=bytes.fromhex("ec7372995d5cc8732397fb0ad35c0121e0eaa90d26f828a534cab54391b3a4f5"),
    sequence=2157,
    consistency_level=32,
    payload=b"\x01" + bytes(31) + b"\x01" + bytes(32) + b"\0\x01" + bytes(32) + b"\0\x02" + bytes(32),
)
VAA_BASE64 = base64.b64encode(encode_vaa(VAA)).decode()
MESSAGE_ID = f"{VAA.emitter_chain}/{VAA.emitter_address.hex()}/{VAA.sequence}"
ROW_KEY = row_key(VAA.emitter_chain, VAA.emitter_address, VAA.sequence)
GUARDIAN = "0x58CC3AE5C097b213cE3c81979e1B9f9570746AA5"

Base64: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9+/]*={0,2}$")]
Guardian: TypeAlias = Annotated[str, Field(pattern="^0x[0-9a-fA-F]{40}$")]
U16: TypeAlias = Annotated[int, Field(ge=0, le=2**16 - 1)]
U32: TypeAlias = Annotated[int, Field(ge=0, le=2**32 - 1)]
U64: TypeAlias = Annotated[int, Field(ge=0, le=2**64 - 1)]
Hex32: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

VAA_DOC: dict[str, Any] = {
    "sequence": VAA.sequence,
    "id": MESSAGE_ID,
    "version": 1,
    "emitterChain": VAA.emitter_chain,
    "emitterAddr": VAA.emitter_address.hex(),
    "emitterNativeAddr": "Gv1KWf8DT1jKv5pKBmGaTmVszqa56Xn8YGx2Pg7i7qAk",
    "guardianSetIndex": VAA.guardian_set_index,
    "vaa": VAA_BASE64,
    "timestamp": "2021-09-21T01:52:26Z",
    "updatedAt": "2021-09-21T01:52:26.038Z",
    "indexedAt": "2021-09-21T01:52:26.038Z",
    "txHash": "ab" * 32,
    "appId": "PORTAL_TOKEN_BRIDGE",
    "digest": "ab" * 32,
    "isDuplicated": False,
}
OBSERVATION: dict[str, Any] = {
    "sequence": VAA.sequence,
    "id": f"{MESSAGE_ID}/{GUARDIAN}/{'ab' * 32}",
    "emitterChain": VAA.emitter_chain,
    "emitterAddr": VAA.emitter_address.hex(),
    "hash": base64.b64encode(bytes(32)).decode(),
    "txHash": None,
    "guardianAddr": GUARDIAN,
    "signature": base64.b64encode(bytes(65)).decode(),
    "updatedAt": None,
    "indexedAt": None,
}
PROPERTIES: dict[str, Any] = {
    "appIds": ["PORTAL_TOKEN_BRIDGE"],
    "fromChain": 1,
    "fromAddress": "",
    "toChain": 2,
    "toAddress": "0xce96a707a4e0b0fe34d28d3c4e580c48634519e5",
    "tokenChain": 1,
    "tokenAddress": "EtALqhHMGSGa1Gpe4VKt8Pn8jyTGpNQZqMvUD4MMh1YU",
    "amount": "10000000",
    "feeAddress": "",
    "feeChain": 2,
    "fee": "0",
}
PAYLOAD: dict[str, Any] = {"payloadType": 1, "amount": "10000000", "tokenChain": 1, "toChain": 2, "fee": "0"}


class SignedVaa(BaseModel):
    """A signed message, as guardians publish it."""

    model_config = whole_example(vaaBytes=VAA_BASE64)
    vaaBytes: Base64


class GuardianSet(BaseModel):
    """Guardians in the order of signature indices."""

    index: U32
    addresses: list[Guardian]


class CurrentGuardianSet(BaseModel):
    """The current guardians."""

    model_config = whole_example(guardianSet={"index": 0, "addresses": [GUARDIAN]})
    guardianSet: GuardianSet


class Pagination(BaseModel):
    """`next` is the cursor of the next page, an extension. It is empty on the last page."""

    next: str


class VaaDoc(BaseModel):
    """A signed message. `payload` is present on request if it can be decoded. Times of observation are null if no
    source has them.
    """

    sequence: U64
    id: str
    version: int
    emitterChain: U16
    emitterAddr: Hex32
    emitterNativeAddr: str
    guardianSetIndex: U32
    vaa: Base64
    timestamp: str
    updatedAt: str | None
    indexedAt: str | None
    txHash: str = omitted()
    appId: str = omitted()
    payload: dict[str, Any] = omitted()
    digest: Hex32
    isDuplicated: bool


class VaaList(BaseModel):
    """A page of messages."""

    model_config = whole_example(data=[VAA_DOC], pagination={"next": ""})
    data: list[VaaDoc]
    pagination: Pagination


class Span(BaseModel):
    """A range of sequences, both ends included."""

    first: str
    last: str


class EmitterSequences(BaseModel):
    """The sequences of an emitter from `first` to `last`, the highest one on the page. `first` follows the last message
    before the page, or is 0. `missing` are those without a verified message. An emitter numbers its messages without
    gaps, so the listing is complete between these ends if nothing is missing: `isComplete`.
    """

    first: str | None
    last: str | None
    missing: list[Span]
    isComplete: bool


class VaaListOfEmitter(VaaList):
    """A page of messages of an emitter. `sequences` is present with `proof=complete`."""

    sequences: EmitterSequences = omitted()


class VaaAnswer(BaseModel):
    """One message."""

    model_config = whole_example(data=VAA_DOC)
    data: VaaDoc


class DuplicatedVaa(BaseModel):
    """Another body under an id. `verified` is an extension."""

    sequence: str
    id: str
    version: int
    emitterChain: U16
    emitterAddr: Hex32
    emitterNativeAddr: str
    guardianSetIndex: U32
    vaa: Base64
    timestamp: str
    updatedAt: str | None
    indexedAt: str | None
    digest: Hex32
    verified: bool


class DuplicatedVaas(BaseModel):
    """Other bodies under an id."""

    model_config = whole_example(data=[])
    data: list[DuplicatedVaa]


class ChainCount(BaseModel):
    """The number of messages of a chain."""

    chainId: U16
    count: int


class ChainCounts(BaseModel):
    """Messages by chain."""

    model_config = whole_example(data=[{"chainId": 1, "count": 170}])
    data: list[ChainCount]


class PostedVaa(BaseModel):
    """A VAA in base64."""

    model_config = whole_example(vaa=VAA_BASE64)
    vaa: str


class Properties(BaseModel):
    """Properties that payloads of all kinds share. Unknown values are empty, unknown chains 0."""

    appIds: list[str]
    fromChain: U16
    fromAddress: str
    toChain: U16
    toAddress: str
    tokenChain: U16
    tokenAddress: str
    amount: str
    feeAddress: str
    feeChain: U16
    fee: str


class ParsedVaa(BaseModel):
    """A decoded VAA."""

    model_config = whole_example(parsedPayload=PAYLOAD, standardizedProperties=PROPERTIES)
    parsedPayload: dict[str, Any]
    standardizedProperties: Properties


class Observation(BaseModel):
    """A guardian's signature of a message. A field is null if no source has it."""

    sequence: U64
    id: str
    emitterChain: U16
    emitterAddr: Hex32
    hash: Base64
    txHash: Base64 | None
    guardianAddr: Guardian
    signature: Base64
    updatedAt: str | None
    indexedAt: str | None


class ObservationAnswer(Observation):
    """One observation."""

    model_config = whole_example(**OBSERVATION)


class Observations(RootModel[list[Observation]]):
    """Observations, as a list without envelope."""

    model_config = ConfigDict(json_schema_extra={"examples": [[OBSERVATION]]})
