"""Operations of guardians and of wormholescan that an archive cannot answer. Each returns 501 with the reason."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from api.http.errors import NotKept
from api.http.operations import Operation
from api.http.params import path
from api.http.responses import GrpcErrorResponse, Json
from api.network import NetworkMount
from api.wormhole.guardian.params import BatchNonce, BatchTransaction, GuardianChain
from api.wormhole.params import SIGNER, Chain, Digest, Emitter, SequenceNumber

GOVERNOR = "the governor delays messages that guardians have not signed yet; an archive has signed ones"
TARGET = "a VAA contains nothing about its transaction on the target chain; operations have the one that sent it"
RELAYS = "a VAA contains nothing about its delivery by a relayer"
HEARTBEATS = "an archive does not listen to guardians, so it has no heartbeats"
BATCHES = "guardians publish no batches; signed_vaa returns each message of a transaction"
MANAGER = "the manager of a guardian signs transactions for other chains; an archive has messages"
PROTOCOLS = "wormholescan reads these numbers from servers of other protocols; an archive has messages"
SUPPLY = "the supply of W follows from its unlocking schedule; an archive has messages"
NATIVE_TRANSFERS = "anyone can send messages of native token transfers; an archive does not know which moved tokens"

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


def of_guardians_message(reason: str) -> Callable[..., Awaitable[Json]]:
    """Returns a handler of a message, with the guardians' chain names, that raises NotKept."""

    async def handle(network: NetworkMount, chain: GuardianChain, emitter: Emitter, sequence: SequenceNumber) -> Json:  # noqa: ARG001
        raise NotKept(reason)

    return handle


def of_body(reason: str) -> Callable[..., Awaitable[Json]]:
    """Returns a handler of a body by its digest that raises NotKept."""

    async def handle(network: NetworkMount, digest: Digest) -> Json:  # noqa: ARG001
        raise NotKept(reason)

    return handle


def of_batch(reason: str) -> Callable[..., Awaitable[Json]]:
    """Returns a handler of a batch of messages that raises NotKept."""

    async def handle(network: NetworkMount, chain: GuardianChain, tx_id: BatchTransaction, nonce: BatchNonce) -> Json:  # noqa: ARG001
        raise NotKept(reason)

    return handle


def missing(where: str, name: str, handle: Callable[..., Awaitable[Json]], meaning: str) -> Operation:
    """Returns an operation that always returns 501."""
    handle.__name__, handle.__doc__ = name, f"{meaning}\n\n{ALWAYS}"
    return Operation(where, handle, GrpcErrorResponse, (501,), status=501)


_MESSAGE = "{chain}/{emitter}/{sequence}"
_GOVERNOR = "An archive has no governor."
_SUPPLY = "An archive does not know the supply of the token W."
_MANAGER = "An archive has no manager."

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
    missing("/protocols/stats", "protocols_stats", of_network(PROTOCOLS), "An archive does not know other protocols."),
    *(
        missing(f"/supply{part}", f"supply{part.replace('/', '_')}", of_network(SUPPLY), _SUPPLY)
        for part in ("", "/circulating", "/total")
    ),
    *(
        missing(
            f"/native-token-transfer/{part}",
            f"native_token_transfer_{part.replace('-', '_')}",
            of_network(NATIVE_TRANSFERS),
            "An archive does not sum native token transfers.",
        )
        for part in ("summary", "activity", "transfer-by-time", "top-address", "top-holder")
    ),
)
"""wormholescan's operations."""

MISSING_IN_GUARDIAN = (
    missing("/heartbeats", "heartbeats", of_network(HEARTBEATS), "An archive is not a guardian."),
    *(
        missing(f"/governor/{where}", f"guardian_governor_{where}", of_network(GOVERNOR), _GOVERNOR)
        for where in ("available_notional_by_chain", "enqueued_vaas", "token_list")
    ),
    missing(
        f"/governor/is_vaa_enqueued/{_MESSAGE}",
        "guardian_governor_is_vaa_enqueued",
        of_guardians_message(GOVERNOR),
        _GOVERNOR,
    ),
    missing(f"/manager/signed_vaa/{_MESSAGE}", "guardian_manager_of_message", of_guardians_message(MANAGER), _MANAGER),
    missing("/manager/signed_vaa/{hash}", "guardian_manager_of_body", of_body(MANAGER), _MANAGER),
    missing(
        "/signed_batch_vaa/{chain}/{trxID}/{nonce}", "guardian_signed_batch_vaa", of_batch(BATCHES), "Not in guardians."
    ),
)
"""The guardian's operations."""
