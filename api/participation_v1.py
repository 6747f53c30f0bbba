"""The API of inx-participation, which an archive answers with 501: no table has votes.

Its operations exist so that clients read the reason. Their error body is that of nodes.
"""

from typing import Annotated

from api.http.errors import NotKept
from api.http.operations import Family, Handler, Operation
from api.http.params import path, text
from api.http.responses import ErrorResponse, Json
from api.network import NetworkMount

ID_MAX = 128

_ID = text(f"text of at most {ID_MAX} characters", max_length=ID_MAX)
_EVENT = "0x" + "5a" * 32

EventId = Annotated[str, path("eventId", _ID, "ID of a participation event", _EVENT)]
OutputId = Annotated[str, path("outputId", _ID, "ID of an output", _EVENT + "0000")]
Address = Annotated[
    str, path("address", _ID, "A bech32 address", "tst1qruscrv5l22f7daxl3dha90m005sl9tmc6eta5zzlgmquvdem3j92xx7de2")
]


def not_counted() -> NotKept:
    """Returns the error of every operation."""
    return NotKept("an archive does not count votes: query a node with inx-participation")


async def participation_events(network: NetworkMount) -> Json:  # noqa: ARG001 (every handler takes its network)
    """An archive has no participation events.

    The status is always 501.
    """
    raise not_counted()


async def participation_event(network: NetworkMount, event_id: EventId) -> Json:  # noqa: ARG001
    """An archive has no participation events.

    The status is always 501.
    """
    raise not_counted()


async def participation_event_status(network: NetworkMount, event_id: EventId) -> Json:  # noqa: ARG001
    """An archive has no results of participation events.

    The status is always 501.
    """
    raise not_counted()


async def participation_of_output(network: NetworkMount, output_id: OutputId) -> Json:  # noqa: ARG001
    """An archive has no votes of outputs.

    The status is always 501.
    """
    raise not_counted()


async def participation_of_address(network: NetworkMount, address: Address) -> Json:  # noqa: ARG001
    """An archive has no rewards of addresses.

    The status is always 501.
    """
    raise not_counted()


async def participating_outputs(network: NetworkMount, address: Address) -> Json:  # noqa: ARG001
    """An archive has no votes of addresses.

    The status is always 501.
    """
    raise not_counted()


def rejected(route: str, handler: Handler) -> Operation:
    """Returns an operation that always responds with the error."""
    return Operation(route, handler, ErrorResponse, (501,), status=501)


PARTICIPATION_V1 = Family(
    "participation",
    (
        rejected("/events", participation_events),
        rejected("/events/{eventId}", participation_event),
        rejected("/events/{eventId}/status", participation_event_status),
        rejected("/outputs/{outputId}", participation_of_output),
        rejected("/addresses/{address}", participation_of_address),
        rejected("/addresses/{address}/outputs", participating_outputs),
    ),
    wrap=lambda value: value,
)
