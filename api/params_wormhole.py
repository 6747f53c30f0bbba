"""The parameters of Wormhole's families.

Rules of this file: as in params.py. A chain is Wormhole's number of it; addresses are hex of 32 bytes, and where
wormholescan takes more, with 0x, without leading zeros, or as their chain writes them.
"""

from typing import Annotated, TypeAlias

from api.params import Param, hex_param, parse_int

CHAIN_MAX = 2**16 - 1
SEQUENCE_MAX = 2**64 - 1

CHAIN = Param(
    "chain",
    "path",
    "Wormhole's number of the chain that emitted the message",
    f"an integer from 0 to {CHAIN_MAX}",
    {"type": "integer", "minimum": 0, "maximum": CHAIN_MAX},
    lambda text: parse_int(text, 0, CHAIN_MAX),
    1,
    required=True,
)
EMITTER_HEX = hex_param(
    "emitter",
    "The contract that emitted the message",
    32,
    f"{4:064d}",
)
SEQUENCE = Param(
    "sequence",
    "path",
    "The emitter's number of the message",
    f"an integer from 0 to {SEQUENCE_MAX}",
    {"type": "integer", "minimum": 0, "maximum": SEQUENCE_MAX},
    lambda text: parse_int(text, 0, SEQUENCE_MAX),
    1337,
    required=True,
)

Chain: TypeAlias = Annotated[int, CHAIN]
EmitterHex: TypeAlias = Annotated[str, EMITTER_HEX]
Sequence: TypeAlias = Annotated[int, SEQUENCE]
