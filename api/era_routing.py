"""A network's two eras, which one store may hold, and the family that answers each.

Rules of this file: a row tells its era itself: a message by its version, an output by its kind, a milestone and a
receipt by their payload's type.
"""

from enum import IntEnum

from api.http.errors import OtherEra
from api.network import NetworkMount
from db.queries import messages
from db.roles import LEGACY
from db.store import Row


class Era(IntEnum):
    """Protocol versions, as `messages.version` has them."""

    CHRYSALIS = 1
    STARDUST = 2


ANSWERED_BY = {Era.CHRYSALIS: "node REST v1", Era.STARDUST: "core API v2"}

MESSAGE = {Era.CHRYSALIS: "message", Era.STARDUST: "block"}
"""What each calls it."""

MESSAGE_ERAS = {int(era): era for era in Era}
"""By the version of a message."""

MILESTONE_ERAS = {1: Era.CHRYSALIS, 7: Era.STARDUST}
"""By the payload type of a milestone."""

RECEIPT_ERAS = {3: Era.CHRYSALIS, 0: Era.STARDUST}
"""By the first byte of a receipt: of the payload's type, of the option's."""


def of_message(row: Row) -> Era:
    """The era of a row of `messages` or `pending_messages`."""
    return MESSAGE_ERAS[row["version"]]


def of_output(row: Row) -> Era:
    """The era of a row of `outputs`."""
    return Era.CHRYSALIS if row["output_kind"] == LEGACY else Era.STARDUST


def of_milestone(row: Row) -> Era:
    """The era of a row of `milestones`."""
    return MILESTONE_ERAS[int.from_bytes(row["payload"][:4], "little")]


def of_receipt(row: Row) -> Era:
    """The era of a row of `receipts`."""
    return RECEIPT_ERAS[row["payload"][0]]


def other(found: Era, what: str) -> OtherEra:
    """The error that says which family answers `what`, which is of that era."""
    return OtherEra(f"{what} is of the {found.name.capitalize()} era: {ANSWERED_BY[found]} answers it")


def expect(wanted: Era, found: Era, what: str) -> None:
    """Returns where both are the same; OtherEra otherwise."""
    if wanted is not found:
        raise other(found, what)


async def get_message(network: NetworkMount, message_id: str, wanted: Era) -> Row:
    """The row of a message of that era; NotFound when it is unknown, OtherEra for one of the other."""
    row = await messages.get_message(network.store, message_id)
    found = of_message(row)
    if wanted is not found:
        raise other(found, f"{MESSAGE[found]} {message_id}")
    return row
