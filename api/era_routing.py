"""The eras of a network, Chrysalis and Stardust, and the API family that serves each. One store may hold both.

A row determines its era: a message by its version, an output by its kind, a milestone and a receipt by the type of
their payload.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from api.http.errors import OtherEra
from api.http.responses import Json
from api.network import NetworkMount
from db.queries import messages
from db.roles import LEGACY
from db.store import Row
from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis import json as chrysalis_json
from ledger.chrysalis.values import Transaction
from ledger.stardust import codec as stardust
from ledger.stardust import json as stardust_json
from ledger.stardust.values import Transaction as StardustTransaction


class Era(IntEnum):
    """Protocol versions, as stored in `messages.version`."""

    CHRYSALIS = 1
    STARDUST = 2


SERVED_BY = {Era.CHRYSALIS: "node REST v1", Era.STARDUST: "core API v2"}

MESSAGE = {Era.CHRYSALIS: "message", Era.STARDUST: "block"}
"""What each era calls a message."""

MESSAGE_ERAS = {int(era): era for era in Era}
"""Version of a message → era."""

MILESTONE_ERAS = {1: Era.CHRYSALIS, 7: Era.STARDUST}
"""Payload type of a milestone → era."""

TRANSACTIONS: Mapping[Era, tuple[Any, Callable[[Any], Json], type]] = {
    Era.CHRYSALIS: (chrysalis, chrysalis_json.payload_json, Transaction),
    Era.STARDUST: (stardust, stardust_json.payload_json, StardustTransaction),
}
"""Era → codec, JSON of a payload, class of a transaction."""

RECEIPT_TYPES = {Era.CHRYSALIS: 3, Era.STARDUST: 0}
"""Era → first byte of its receipts. In Chrysalis it is the payload type, in Stardust the option type."""


def of_message(row: Row) -> Era:
    """Returns the era of a row of `messages` or `pending_messages`."""
    return MESSAGE_ERAS[row["version"]]


def of_output(row: Row) -> Era:
    """Returns the era of a row of `outputs`."""
    return Era.CHRYSALIS if row["output_kind"] == LEGACY else Era.STARDUST


def of_milestone(row: Row) -> Era:
    """Returns the era of a row of `milestones`."""
    return MILESTONE_ERAS[int.from_bytes(row["payload"][:4], "little")]


def other(found: Era, what: str) -> OtherEra:
    """Returns the error that names the family that serves `what`, an object of era `found`."""
    return OtherEra(f"{what} belongs to the {found.name.capitalize()} era: use {SERVED_BY[found]}")


def expect(wanted: Era, found: Era, what: str) -> None:
    """Raises OtherEra if the eras differ."""
    if wanted is not found:
        raise other(found, what)


def output_json(row: Row) -> Json:
    """Returns the output in a row of `outputs` in the JSON of its era."""
    if of_output(row) is Era.CHRYSALIS:
        return chrysalis_json.output_json(chrysalis.decode_output(row["data"]))
    return stardust_json.output_json(stardust.decode_output(row["data"]))


def transaction_of(row: Row) -> tuple[bytes, Json] | None:
    """Returns the transaction in a row of `messages` or `pending_messages`: its bytes, and its JSON in its
    era. None if the message contains no transaction.
    """
    codec, render, kind = TRANSACTIONS[of_message(row)]
    data = codec.payload_bytes(row["message"])
    payload = codec.decode_payload(data) if data else None
    return (data, render(payload)) if isinstance(payload, kind) else None


async def get_message(network: NetworkMount, message_id: str, wanted: Era) -> Row:
    """Returns the row of a message of that era. Raises NotFound if it is unknown, OtherEra if it has the other era."""
    row = await messages.get_message(network.store, message_id)
    found = of_message(row)
    if wanted is not found:
        raise other(found, f"{MESSAGE[found]} {message_id}")
    return row
