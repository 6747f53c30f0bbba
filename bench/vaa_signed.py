"""VAAs with valid signatures of generated guardians, for loads into a store of devnet.

The only guardian of devnet's first set has a published key. It signs a message that names a second set: GUARDIANS
generated ones, of which the first SIGNATURES sign each transfer, as mainnet's quorum does.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from coincurve import PrivateKey

from bench.vaa_store import SINCE, line_of, transfers
from ledger.crypto.hashes import keccak256
from ledger.wormhole.emitters import EMITTERS, GOVERNANCE_CHAIN, GOVERNANCE_EMITTER
from ledger.wormhole.governance import CORE, EVERY_CHAIN, GUARDIAN_SET_UPDATE
from ledger.wormhole.vaa import Signature, Vaa, digest

NETWORK = "wormhole-devnet"

GUARDIANS, SIGNATURES = 19, 13

FIRST = PrivateKey(bytes.fromhex("cfb12303a19cde580bb4dd771639b0d26bc68353645571a8cff516ab2ee113a0"))
"""The key of devnet's guardian, as all of Wormhole's test programs contain it."""

KEYS = tuple(PrivateKey(bytes([number]) * 32) for number in range(1, GUARDIANS + 1))


def write_signed(count: int, file: Path) -> list[tuple[bytes, tuple[bytes, ...]]]:
    """Writes the message that names the set, then that many transfers, as lines for a load. Returns the digests and
    signatures of the transfers.
    """
    signed = []
    model = Vaa(1, (), SINCE, 0, GOVERNANCE_CHAIN, GOVERNANCE_EMITTER, 0, 0, _naming())
    with file.open("w") as lines:
        lines.write(line_of(_signed(replace(model, guardian_set_index=0), [FIRST]), "0x00"))
        for unsigned, transaction in transfers(model, count, _bridges()):
            vaa = _signed(unsigned, KEYS[:SIGNATURES])
            signed.append((digest(vaa), tuple(each.signature for each in vaa.signatures)))
            lines.write(line_of(vaa, transaction))
    return signed


def _bridges() -> dict[int, str]:
    return {chain: address.zfill(64) for chain, address in EMITTERS["devnet"]["token_bridge"]}


def _naming() -> bytes:
    addresses = [keccak256(key.public_key.format(compressed=False)[1:])[12:] for key in KEYS]
    head = CORE.encode().rjust(32, b"\0") + bytes([GUARDIAN_SET_UPDATE]) + EVERY_CHAIN.to_bytes(2)
    return head + (1).to_bytes(4) + bytes([len(addresses)]) + b"".join(addresses)


def _signed(vaa: Vaa, keys: Sequence[PrivateKey]) -> Vaa:
    message = digest(vaa)
    signatures = [Signature(place, key.sign_recoverable(message, hasher=None)) for place, key in enumerate(keys)]
    return replace(vaa, signatures=tuple(signatures))
