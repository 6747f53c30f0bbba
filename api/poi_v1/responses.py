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


class InclusionProof(RootModel[BlockProof | MessageProof]):
    """A proof of inclusion, of either era."""

    model_config = whole_example(
        milestone={
            "type": 7,
            "index": 13,
            "timestamp": 1664553730,
            "protocolVersion": 2,
            "previousMilestoneId": "0x" + "00" * 32,
            "parents": ["0x10f09a664458b003b6af91a9f441eb887820f75f6f237fda0d5672d102fb480d"],
            "inclusionMerkleRoot": "0x7b839f1194041e0f2b237a199b79edeeea0cf56b7a6229ec2ac5300582ad9849",
            "appliedMerkleRoot": "0xd820d31bc743d25658c9f9e00d6056766737c29aa65002d542c30d40a6b8d67f",
            "signatures": [
                {
                    "type": 0,
                    "publicKey": "0xd53d6c3d9498944ce40ddee81065e86f1e74d48365714bf02b4e96f01e1315e9",
                    "signature": "0x8205963e8495e45011aad2d73f74f8ca0fc45acc4ac63a9214ed62e43774733e"
                    "1459118e7ac5be842e3c61fb0ea9812cf847fde11a9a860975c93fe4a40b0600",
                }
            ],
        },
        block={
            "protocolVersion": 2,
            "parents": ["0x10f09a664458b003b6af91a9f441eb887820f75f6f237fda0d5672d102fb480d"],
            "payload": {"type": 5, "tag": "0x484f524e4554205370616d6d6572", "data": "0x5370616d"},
            "nonce": "62",
        },
        proof={
            "l": {"h": "0x9f9be742aab1eeeb033d39f2f55c421ad08bc0c7508e26c3fd116d78c1500abc"},
            "r": {"value": "0xd6cce11fb9025dc8725594b6c8157035131078c4bf3e01ee4244e10431028aff"},
        },
    )


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


class PostedProof(RootModel[PostedBlockProof | PostedMessageProof]):
    """A proof of inclusion in a request, for either era."""


class Validity(BaseModel):
    """Whether a proof is valid."""

    model_config = whole_example(valid=True)
    valid: bool
