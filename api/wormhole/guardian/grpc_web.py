"""The public gRPC service of guardians as gRPC-web, for browsers: signed VAAs, and the current guardian set.

connectrpc reads and writes the frames. Every response has the HTTP status 200; the gRPC status and its message are in
the trailers, which are the last frame of the body. Messages of errors are the guardian's.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from connectrpc.code import Code
from connectrpc.codec import proto_binary_codec
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from protobuf import Message
from starlette.routing import Route
from starlette.types import Message as Event
from starlette.types import Receive, Scope, Send

from api.http.errors import BadBody, grpc_error_body, guardian_message, status_of
from api.network import NetworkMount
from api.wormhole.guardian.publicrpc_pb import (
    GetCurrentGuardianSetRequest,
    GetCurrentGuardianSetResponse,
    GetSignedVAARequest,
    GetSignedVAAResponse,
    GuardianSet,
)
from api.wormhole.guardian.routes import find_current_set, find_signed_vaa
from api.wormhole.params import CHAIN_MAX

log = logging.getLogger("permanode.api")

SERVICE = "publicrpc.v1.PublicRPCService"
CONTENT_TYPE = b"application/grpc-web"

BODY_MAX_BYTES = 4_096
"""Maximum bytes of a request. The largest valid one has about 100."""

ADDRESS = re.compile("([0-9a-fA-F]{2})*")
ADDRESS_DIGITS = 64

CODES = {400: Code.INVALID_ARGUMENT, 404: Code.NOT_FOUND, 501: Code.UNIMPLEMENTED, 503: Code.UNAVAILABLE}
"""HTTP status of an error → gRPC status. Others are internal errors."""

READABLE = (b"access-control-expose-headers", b"Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin")
"""Lets web pages read the status of a response without body."""

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Context = Callable[[Mapping[str, str]], NetworkMount]


def invalid(message: str) -> ConnectError:
    """Returns the error for an invalid request."""
    return ConnectError(Code.INVALID_ARGUMENT, message)


async def get_signed_vaa(network: NetworkMount, request: GetSignedVAARequest) -> GetSignedVAAResponse:
    """Returns a message with the signatures of a quorum. Raises ConnectError for an invalid id."""
    message = request.message_id
    if message is None:
        raise invalid("no message ID specified")
    if not 0 <= message.emitter_chain <= CHAIN_MAX:
        raise invalid(f"chain must be from 0 to {CHAIN_MAX}")
    address = message.emitter_address
    if not ADDRESS.fullmatch(address):
        raise invalid("failed to decode address: expected hex")
    if len(address) != ADDRESS_DIGITS:
        raise invalid("address must be 32 bytes")
    found = await find_signed_vaa(network, message.emitter_chain, address.lower(), message.sequence)
    return GetSignedVAAResponse(vaa_bytes=found)


async def get_current_guardian_set(
    network: NetworkMount,
    request: GetCurrentGuardianSetRequest,  # noqa: ARG001 (it has no fields)
) -> GetCurrentGuardianSetResponse:
    """Returns the latest guardian set that a loaded message named or that is published."""
    index, addresses = await find_current_set(network)
    return GetCurrentGuardianSetResponse(guardian_set=GuardianSet(index=index, addresses=addresses))


def method(name: str, request: type[Request], response: type[Response]) -> MethodInfo[Request, Response]:
    """Returns the description of a method."""
    return MethodInfo(
        name=name,
        service_name=SERVICE,
        input=request,
        output=response,
        idempotency_level=IdempotencyLevel.NO_SIDE_EFFECTS,
        stream_type=StreamType.UNARY,
    )


SIGNED_VAA = method("GetSignedVAA", GetSignedVAARequest, GetSignedVAAResponse)
CURRENT_SET = method("GetCurrentGuardianSet", GetCurrentGuardianSetRequest, GetCurrentGuardianSetResponse)
METHODS = (SIGNED_VAA.name, CURRENT_SET.name)


def answered(
    network: NetworkMount, answer: Callable[[NetworkMount, Request], Awaitable[Response]]
) -> Callable[[Request, RequestContext[Request, Response]], Awaitable[Response]]:
    """Returns the function that answers a method for a network. It raises ConnectError only."""

    async def call(request: Request, context: RequestContext[Request, Response]) -> Response:
        try:
            return await answer(network, request)
        except ConnectError:
            raise
        except Exception as error:
            status = status_of(error)
            if status not in CODES:
                log.exception("gRPC method %s failed", context.method.name)
            raise ConnectError(CODES.get(status, Code.INTERNAL), guardian_message(error)) from error

    return call


class GuardianService(ConnectASGIApplication[NetworkMount]):
    """The service of one network as an ASGI application."""

    path = f"/{SERVICE}"

    def __init__(self, network: NetworkMount) -> None:
        super().__init__(
            service=network,
            endpoints=lambda network: {
                self.path_of(SIGNED_VAA.name): Endpoint.unary(SIGNED_VAA, answered(network, get_signed_vaa)),
                self.path_of(CURRENT_SET.name): Endpoint.unary(
                    CURRENT_SET, answered(network, get_current_guardian_set)
                ),
            },
            read_max_bytes=BODY_MAX_BYTES,
            compressions=(),
            codecs=(proto_binary_codec(),),
        )

    def path_of(self, name: str) -> str:
        """Returns the path of a method."""
        return f"{self.path}/{name}"


class GrpcWebMethod:
    """A method below a prefix as an ASGI application. `context` finds the network from the parameters of the path."""

    def __init__(self, name: str, context: Context, services: dict[int, GuardianService]) -> None:
        self.name, self.context, self.services = name, context, services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request. Raises BadBody for other protocols than gRPC-web, and the errors of `context`."""
        scope["operation"], scope["error_body"] = f"grpc_{self.name}", grpc_error_body
        network = self.context(scope["path_params"])
        given = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        if given not in (CONTENT_TYPE, CONTENT_TYPE + b"+proto"):
            raise BadBody("", "the Content-Type application/grpc-web+proto")
        service = self.services.setdefault(id(network), GuardianService(network))

        async def answer(event: Event) -> None:
            if event["type"] == "http.response.start":
                event["headers"] = [*event["headers"], READABLE]
            await send(event)

        await service({**scope, "path": service.path_of(self.name), "root_path": ""}, receive, answer)


def grpc_web_routes(prefix: str, context: Context) -> list[Route]:
    """Returns the routes of the service below a prefix."""
    services: dict[int, GuardianService] = {}
    return [
        Route(f"{prefix}/{SERVICE}/{name}", GrpcWebMethod(name, context, services), methods=["POST"])
        for name in METHODS
    ]
