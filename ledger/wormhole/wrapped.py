"""The address of a wrapped token on a chain where it follows from the token itself.

On Solana the bridge mints a token at an address derived from `wrapped`, the token's home chain and its address there.
On EVM chains, Sui and others the address depends on more than the token, so no message determines it.
Sources: `wrapped_address.rs` (seeds) and the programs' ids of wormhole-foundation/wormhole; find_program_address of the
Solana documentation.
"""

import hashlib
from functools import lru_cache

from ledger.crypto.ed25519 import is_point
from ledger.wormhole.addresses import parse_address

SOLANA = 1

PROGRAMS = {
    ("mainnet", SOLANA): "wormDTUJ6AWPNvk59vGQbDvGJmqbDTdgWgAqcLBCgUb",
    ("testnet", SOLANA): "DZnkkTmCiFWfYTfT41X3Rd1kDgozqzxWaHqsw6W4x2oe",
    ("devnet", SOLANA): "B6RHG3mfcckmrYN1UhmJzyS1XX3fZKbkeUcpJe9Sy3FE",
}
"""The token bridge of a network on Solana."""

_MARKER = b"ProgramDerivedAddress"
_BUMP_MAX = 255


def find_wrapped(network: str, chain: int, token_chain: int, token_address: bytes) -> bytes | None:
    """The 32-byte address of a token on another chain than its home; None if it does not follow from the token."""
    program = PROGRAMS.get((network, chain))
    return None if program is None else _derived(program, token_chain, token_address)


@lru_cache(4_096)
def _derived(program: str, token_chain: int, token_address: bytes) -> bytes | None:
    seeds = b"wrapped" + token_chain.to_bytes(2) + token_address
    end = parse_address(SOLANA, program) + _MARKER
    for bump in range(_BUMP_MAX, -1, -1):
        address = hashlib.sha256(seeds + bytes([bump]) + end).digest()
        if not is_point(address):
            return address
    return None
