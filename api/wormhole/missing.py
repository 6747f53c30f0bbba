"""Operations of guardians and of wormholescan that an archive cannot answer. Each returns 501 with the reason."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from api.http.errors import NotKept
from api.http.operations import Operation
from api.http.params import path
from api.http.responses import GrpcErrorResponse, Json
from api.network import NetworkMount
from api.wormhole.params import SIGNER, Chain, Emitter, SequenceNumber

GOVERNOR = "the governor delays messages that guardians have not signed yet; an archive has signed ones"
TARGET = "a VAA contains nothing about its transaction on the target chain; operations have the one that sent it"
RELAYS = "a VAA contains nothing about its delivery by a relayer"
HEARTBEATS = "an archive does not listen to guardians, so it has no heartbeats"

GuardianAddress = Annotated[str, path("guardian_address", SIGNER.type, SIGNER.meaning, SIGNER.example)]

ALWAYS = "The status is always 501."


def of_network(reason: str) -> Callable[..., Awaitable[Json]]:
    """Returns a handler without parameters that raises NotKept."""

    async def handle(network: NetworkMount) -> Json:  # noqa: ARG001 (every handler takes its network)
        raise NotKept(reason)

    return handle


def of_chain(reason: str) -> Callable[..., Awaitable[Json]]:
    """Returns a handler of a chain that raises NotKept."""

    async def handle(network: NetworkMount, chain: Chain) -> Json:  # noqa: ARG001
        raise NotKept(reason)

    return handle


def of_guardian(reason: str) -> Callable[..., Awaitable[Json]]:
    """Returns a handler of a guardian that raises NotKept."""

    async def handle(network: NetworkMount, address: GuardianAddress) -> Json:  # noqa: ARG001
        raise NotKept(reason)

    return handle


def of_message(reason: str) -> Callable[..., Awaitable[Json]]:
    """Returns a handler of a message that raises NotKept."""

    async def handle(network: NetworkMount, chain: Chain, emitter: Emitter, sequence: SequenceNumber) -> Json:  # noqa: ARG001
        raise NotKept(reason)

    return handle


def missing(where: str, name: str, handle: Callable[..., Awaitable[Json]], meaning: str) -> Operation:
    """Returns an operation that always returns 501."""
    handle.__name__, handle.__doc__ = name, f"{meaning}\n\n{ALWAYS}"
    return Operation(where, handle, GrpcErrorResponse, (501,), status=501)


_MESSAGE = "{chain}/{emitter}/{sequence}"
_GOVERNOR = "An archive has no governor."

_OF_NETWORK = ("limit", "config", "status", "notional/limit", "notional/available", "enqueued_vaas", "vaas")
_OF_CHAIN = ("notional/limit", "notional/available", "notional/max_available", "enqueued_vaas")


def governor(where: str, parameter: str, handle: Callable[..., Awaitable[Json]]) -> Operation:
    """Returns an operation of wormholescan's governor, with a parameter at its end if given."""
    name = f"governor_{where.replace('/', '_')}" + (f"_of_{parameter}" if parameter else "")
    return missing(f"/governor/{where}" + (f"/{{{parameter}}}" if parameter else ""), name, handle, _GOVERNOR)


MISSING_IN_SCAN = (
    missing(f"/global-tx/{_MESSAGE}", "global_tx", of_message(TARGET), "An archive does not know who redeemed a VAA."),
    missing(f"/relays/{_MESSAGE}", "relays", of_message(RELAYS), "An archive does not know what relayers did."),
    *(governor(where, "", of_network(GOVERNOR)) for where in _OF_NETWORK),
    *(governor(where, "chain", of_chain(GOVERNOR)) for where in _OF_CHAIN),
    *(governor(where, "guardian_address", of_guardian(GOVERNOR)) for where in ("config", "status")),
)
"""wormholescan's operations."""

MISSING_IN_GUARDIAN = (
    missing("/heartbeats", "heartbeats", of_network(HEARTBEATS), "An archive is not a guardian."),
    *(
        missing(f"/governor/{where}", f"guardian_governor_{where}", of_network(GOVERNOR), _GOVERNOR)
        for where in ("available_notional_by_chain", "enqueued_vaas", "token_list")
    ),
    missing(
        f"/governor/is_vaa_enqueued/{_MESSAGE}", "guardian_governor_is_vaa_enqueued", of_message(GOVERNOR), _GOVERNOR
    ),
)
"""The guardian's operations."""
