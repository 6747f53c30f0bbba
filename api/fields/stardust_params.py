"""The parameters of the node's core API v2, which spells hex with 0x.

Rules of this file: as in params.py; hex is taken with 0x, as Stardust writes it, and without.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, TypeAlias

from api.http.params import Param, hex_param, parse_hex

PEER_ID_MAX = 128


def parse_prefixed(text: str, size: int) -> str:
    """Lowercase hex of `size` bytes, without the 0x that may stand before it; ValueError otherwise."""
    return parse_hex(text.removeprefix("0x"), size, size)


def prefixed_hex(name: str, meaning: str, size: int, example: str) -> Param:
    """A path parameter that is an id of `size` bytes, as Stardust spells it."""
    pattern = f"^(0x)?[0-9a-fA-F]{{{2 * size}}}$"
    return replace(
        hex_param(name, meaning, size, example),
        expected=f"{2 * size} hex characters, with or without 0x",
        schema={"type": "string", "pattern": pattern, "minLength": 2 * size, "maxLength": 2 * size + 2},
        parse=partial(parse_prefixed, size=size),
    )


def parse_peer_id(text: str) -> str:
    """A text of PEER_ID_MAX characters at most; ValueError otherwise."""
    if len(text) > PEER_ID_MAX:
        raise ValueError("too long")
    return text


BLOCK_ID = prefixed_hex(
    "blockId", "Id of a block", 32, "0x25b48990cf7a6819664f5a7f35f4d9e9fa96f649c3bd34e01b9a5133c20f2a3a"
)
TRANSACTION_ID = prefixed_hex(
    "transactionId", "Id of a transaction", 32, "0x071809521dc7eb42c3a3c267a32e81e152dc1d8dde0b5b8389e466f676ef011d"
)
OUTPUT_ID = prefixed_hex(
    "outputId",
    "Id of an output: transaction id, then output index (two bytes, little-endian)",
    34,
    "0x071809521dc7eb42c3a3c267a32e81e152dc1d8dde0b5b8389e466f676ef011d0000",
)
MILESTONE_ID = prefixed_hex(
    "milestoneId", "Id of a milestone", 32, "0x5db09e1666cdd1ec1896763fc56c3bdc9abcb15f323fa3d18bd83d871da633bc"
)
PEER_ID = Param(
    "peerId",
    "path",
    "Id of a peer",
    f"a text of at most {PEER_ID_MAX} characters",
    {"type": "string", "maxLength": PEER_ID_MAX},
    parse_peer_id,
    "12D3KooWFJ8Nq6gHLLvigTpPSbyMmLk35k1TcpJof8Y4y8yFAB32",
    required=True,
)

BlockId: TypeAlias = Annotated[str, BLOCK_ID]
TransactionId: TypeAlias = Annotated[str, TRANSACTION_ID]
OutputId: TypeAlias = Annotated[str, OUTPUT_ID]
MilestoneId: TypeAlias = Annotated[str, MILESTONE_ID]
PeerId: TypeAlias = Annotated[str, PEER_ID]
