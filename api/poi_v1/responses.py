"""Responses and request bodies of proof of inclusion (inx-poi and inx-chronicle, and the same for Chrysalis).

Chrysalis hex has no 0x, in the audit path too.
"""

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, RootModel

from api.fields.chrysalis_payloads import Message, MilestonePayload
from api.fields.stardust_payloads import Block, MilestonePayloadV2
from api.http.responses import omitted, whole_example

HashOfEither: TypeAlias = Annotated[str, Field(pattern="^(0x)?[0-9a-fA-F]{64}$")]


class ProofHash(BaseModel):
    """A sibling on the path to the root."""

    model_config = ConfigDict(extra="forbid")
    h: HashOfEither


class ProofValue(BaseModel):
    """The id that the proof is about."""

    model_config = ConfigDict(extra="forbid")
    value: HashOfEither


class ProofNode(BaseModel):
    """A node of the Merkle tree. One side is a hash, the other leads to the value. A tree of one leaf has only `l`."""

    model_config = ConfigDict(extra="forbid")
    l: "ProofNode | ProofHash | ProofValue"
    r: "ProofNode | ProofHash | ProofValue" = omitted()


class BlockProof(BaseModel):
    """The proof that a Stardust milestone references or applied a block."""

    milestone: MilestonePayloadV2
    block: Block
    proof: ProofNode


class MessageProof(BaseModel):
    """The proof that a Chrysalis milestone applied a message."""

    milestone: MilestonePayload
    message: Message
    proof: ProofNode


class ParentsProof(BaseModel):
    """The proof that a Chrysalis milestone references a message without an effect, by the messages between them."""

    milestone: MilestonePayload
    message: Message
    parents: list[Message]


PROOF = whole_example(
    milestone={
        "type": 7,
        "index": 18,
        "timestamp": 1664553780,
        "protocolVersion": 2,
        "previousMilestoneId": "0x3f987bb043a305e011c61f4b72640d063a75448de30ba0476bcd9fcc940801aa",
        "parents": ["0x32686a2a28bfca0b2d03b0c88c770f3ee1d7aeb88dcb70ff0590e5471d99de4c"],
        "inclusionMerkleRoot": "0x6b3b71260f9b7e602a11ec32b4c43ab367f5b6ab8fce5968d722102ccd389c6a",
        "appliedMerkleRoot": "0xcf5d72be0aa2eac96ff7fca44ff02c77d7b8cf0cc2c81ceafebd528c9b45b392",
        "signatures": [
            {
                "type": 0,
                "publicKey": "0xd53d6c3d9498944ce40ddee81065e86f1e74d48365714bf02b4e96f01e1315e9",
                "signature": "0xf5c1af46a2e1240f4eac3b45006358e905252a932e0eabc6f278a91532308922"
                "b10c9c33f30a511dc10022d00461f4bd2ce3a90ebdeff28add796fb7d3a9560b",
            },
            {
                "type": 0,
                "publicKey": "0xe127419fc5ee44a7bdbfa31f3dc92663c2a4c00f69d4026e886d974c0e1df44c",
                "signature": "0x57aa061aa6defa35b59dad8d25bc548f312b6c99f14e50e2bc405ac4d4a203c8"
                "fb8d4e890e33f2b77ade742adecdb0140be2f09dee8d889d29cbf23001db8d03",
            },
        ],
    },
    block={
        "protocolVersion": 2,
        "parents": [
            "0xa91f81b98abf49ac514ba4bff330a47190960995331b56ea7e25c5d5a5cba9a9",
            "0xed869163ca6363a58831a8fed5d69c0acc379e9dfdb3fb46c5a8fa2e7f1ee29e",
        ],
        "nonce": "28",
    },
    proof={
        "l": {"h": "0xd54e3ecf40d3eda112c447e4c3eb12668bc0327df4126d5a3cafae6015e58819"},
        "r": {
            "l": {
                "l": {
                    "l": {"h": "0x74ee4b54b8e59b29fb3de65904f5b1d3157afe27685fde70b00f473a03a3d75c"},
                    "r": {"value": "0xdf9c0fc3677974cebd6dc552efff102bdc39aa342765362bb674ca0fbe2a4fc3"},
                },
                "r": {"h": "0x88870657fe9d5dc5b8dfe5ee69a1e7de17a076c8cdc399a8f6c26357f819b075"},
            },
            "r": {"h": "0x47625f77518c096498b49b27d15927b17bb9c50300abb752e81510b11c148939"},
        },
    },
)
"""Of a block in the Stardust sample."""


class InclusionProof(RootModel[BlockProof | MessageProof | ParentsProof]):
    """A proof of inclusion, of either era."""

    model_config = PROOF


class PostedBlockProof(BaseModel):
    """A proof in a request: milestone and block as the core API v2 writes them. Numbers may be text."""

    milestone: dict[str, Any]
    block: dict[str, Any]
    proof: ProofNode


class PostedMessageProof(BaseModel):
    """A Chrysalis proof in a request: milestone and message as node REST v1 writes them."""

    milestone: dict[str, Any]
    message: dict[str, Any]
    proof: ProofNode


class PostedParentsProof(BaseModel):
    """A path of parents in a request: milestone and messages as node REST v1 writes them."""

    milestone: dict[str, Any]
    message: dict[str, Any]
    parents: list[dict[str, Any]]


class PostedProof(RootModel[PostedBlockProof | PostedMessageProof | PostedParentsProof]):
    """A proof of inclusion in a request, for either era."""

    model_config = PROOF


class Validity(BaseModel):
    """Whether a proof is valid."""

    model_config = whole_example(valid=True)
    valid: bool
