"""The REST API of a guardian: signed VAAs by id, and the current guardian set.

Bodies and errors are the guardian's. As there, a message without a quorum of signatures is not found. Chains have also
the names that grpc-gateway accepts, emitters the forms of wormholescan, which serves the same paths.
"""

import base64

from api.http.errors import NotReady, guardian_error_body
from api.http.operations import Family, Operation
from api.http.responses import GRPC_ERRORS, Json
from api.network import NetworkMount
from api.wormhole.guardian.params import GuardianChain
from api.wormhole.missing import MISSING_IN_GUARDIAN
from api.wormhole.params import Emitter, SequenceNumber, emitter_of
from api.wormhole.responses import CurrentGuardianSet, SignedVaa
from db.queries.wormhole.vaas import get_verified, list_guardian_sets
from ledger.wormhole.addresses import format_checksummed

SIGNED = ("digest", "canonical", "verified", "signed_vaa")
"""Columns that are read for the VAA of a message."""


async def find_signed_vaa(network: NetworkMount, chain: int, emitter: str, sequence: int) -> bytes:
    """Returns the VAA of a message with the signatures of a quorum. Raises NotFound."""
    row, _ = await get_verified(network.store, chain, emitter, sequence, SIGNED)
    found: bytes = row["signed_vaa"]
    return found


async def find_current_set(network: NetworkMount) -> tuple[int, list[str]]:
    """Returns index and addresses of the latest guardian set. Raises NotReady if the store has none."""
    sets = await list_guardian_sets(network.store, network.name)
    if not sets:
        raise NotReady("guardian set not fetched from chain yet")
    current = sets[0]
    return current["guardian_set_index"], [format_checksummed(bytes.fromhex(each)) for each in current["addresses"]]


async def signed_vaa(network: NetworkMount, chain: GuardianChain, emitter: Emitter, sequence: SequenceNumber) -> Json:
    """Returns a message with the signatures of a quorum."""
    found = await find_signed_vaa(network, chain, emitter_of(network, chain, emitter), sequence)
    return {"vaaBytes": base64.b64encode(found).decode()}


async def current_guardian_set(network: NetworkMount) -> Json:
    """Returns the latest guardian set that a loaded message named or that is published."""
    index, addresses = await find_current_set(network)
    return {"guardianSet": {"index": index, "addresses": addresses}}


GUARDIAN_V1 = Family(
    "guardian gateway",
    (
        Operation("/signed_vaa/{chain}/{emitter}/{sequence}", signed_vaa, SignedVaa, (404,)),
        Operation("/guardianset/current", current_guardian_set, CurrentGuardianSet),
        *MISSING_IN_GUARDIAN,
    ),
    wrap=lambda value: value,
    error_body=guardian_error_body,
    errors=GRPC_ERRORS,
    takes_slash=True,
)
