"""Parameters of the guardian gateway."""

from dataclasses import replace
from typing import Annotated

from api.http.params import converted, integer, path, reader
from api.wormhole.params import CHAIN, CHAIN_MAX, CHAIN_NUMBER, NATIVE_TEXT, TX_HASH
from ledger.wormhole.chains import CHAIN_IDS, find_chain

_SPELLED_APART = {0: "UNSPECIFIED", 47: "HYPER_EVM", 72: "ROBINHOOD_CHAIN", 10009: "MONAD_TESTNET"}
CHAIN_OF_NAME = {
    f"CHAIN_ID_{_SPELLED_APART.get(chain) or find_chain(chain).name.upper().replace('-', '_')}": chain
    for chain in CHAIN_IDS
}
"""Names of the enum ChainID of the guardians' publicrpc.proto, including those that guardians have removed."""

_chain_number = reader(CHAIN_NUMBER)


def parse_chain(given: str) -> int:
    """Reads the number or the enum name of a chain, as grpc-gateway does. Raises ValueError."""
    named = CHAIN_OF_NAME.get(given)
    return int(_chain_number(given)) if named is None else named


_NUMBER_OR_NAME = {
    "type": "integer",
    "minimum": 0,
    "maximum": CHAIN_MAX,
    "description": f"an integer from 0 to {CHAIN_MAX}, or a name such as CHAIN_ID_SEI",
}
GuardianChain = Annotated[int, replace(CHAIN, type=converted(str, parse_chain, _NUMBER_OR_NAME))]
BatchTransaction = Annotated[str, path("trxID", NATIVE_TEXT, "Transaction of the batch", TX_HASH.example)]
BatchNonce = Annotated[int, path("nonce", integer(0, 2**32 - 1), "Nonce of the batch", 1)]
