"""The eras of a network, Chrysalis and Stardust, and the API family that serves each. One store may hold both.

A row determines its era: a message by its version, an output by its kind, a milestone and a receipt by the type of
their payload.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any
from weakref import WeakKeyDictionary

from api.http.errors import OtherEra
from api.http.responses import Json
from api.network import NetworkMount
from db.queries import messages, milestones
from db.roles import LEGACY, STARDUST_KINDS
from db.store import Row, Store
from db.sync import find_newest_milestone
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

ERA_KINDS = {Era.CHRYSALIS: (LEGACY,), Era.STARDUST: STARDUST_KINDS}
"""Era → kinds of its outputs."""

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


_KINDS: WeakKeyDictionary[Store, tuple[str, ...]] = WeakKeyDictionary()


async def listed_kinds(network: NetworkMount) -> tuple[str, ...]:
    """Returns the kinds of outputs that a listing must look for, as few as are known to suffice: each costs a read."""
    if not network.is_of_one_era:
        return network.kinds
    kinds = _KINDS.get(network.store)
    if kinds is None:
        index = await find_newest_milestone(network.store, network.name)
        row = None if index is None else await milestones.find_milestone(network.store, index)
        if row is None:
            return network.kinds
        kinds = _KINDS[network.store] = ERA_KINDS[of_milestone(row)]
    return kinds


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
