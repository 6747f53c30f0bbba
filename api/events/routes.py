"""Events: pages as JSON, and server-sent events (WHATWG HTML, 9.2) for clients that accept text/event-stream.

A stream begins after a place that the client names, with any milestone from genesis on, and continues live without a
seam: both parts are the same listing. The place of an event is its id, so a browser continues after a disconnect where
it was, at any server of the same archive. A client that does not read holds one batch and its buffers, no more.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from weakref import WeakKeyDictionary

import orjson

from api.events.params import (
    CURSOR,
    Addresses,
    After,
    EventsPageSize,
    Follow,
    LastEventId,
    Milestones,
    Outputs,
    Tags,
    format_place,
)
from api.events.responses import EventsResponse
from api.fields.inclusion_state import INCLUSION
from api.http.errors import BadParameter
from api.http.operations import Family, Operation
from api.http.responses import Json
from api.http.streaming import EVENT_STREAM, Export
from api.network import NetworkMount
from db.listing.deadline import DEADLINE
from db.queries.events import CREATED, MESSAGE, SPENT, Event, Place, Subscription, check_kept, list_events
from db.store import Store
from db.sync import find_newest_milestone

POLL_S = 0.5
"""Seconds between two looks at the newest milestone, for all streams of a process together."""

QUIET_S = 15.0
"""Seconds after which a stream without events sends a line, so that proxies keep it and a lost client is noticed."""

RETRY_MS = 2_000
"""After how many milliseconds a browser connects again."""

NAMES = {CREATED: "created", SPENT: "spent"}


async def events(
    network: NetworkMount,
    milestones: Milestones,
    tags: Tags,
    addresses: Addresses,
    outputs: Outputs,
    after: After,
    last_event_id: LastEventId,
    page_size: EventsPageSize,
    follow: Follow,  # noqa: ARG001  only streams follow
) -> Json:
    """Returns events: milestones, messages by tag, messages by address, the creation and spending of outputs.

    With Accept text/event-stream, or `format=sse`, the response is a stream that continues with each new milestone;
    `pageSize` then has no effect. Events are in the order of their milestones, and within a milestone by kind and id.
    Milestones that the archive does not have are an event, too.
    """
    subscription = subscribed(network, milestones, tags, addresses, outputs)
    await check_kept(network.store, subscription)
    place = last_event_id or after or Place(0)
    items: list[Json] = []
    async for batch in list_events(network.store, network.name, subscription, place):
        shown = batch.events[: page_size - len(items)]
        items += [render(network, event) for event in shown]
        if len(shown) < len(batch.events) or len(items) == page_size:
            place = shown[-1].place if shown else place
            break
        place = batch.until
    return {"items": items, "cursor": format_place(place)}


async def stream(
    network: NetworkMount,
    milestones: bool | None,  # noqa: FBT001
    tags: tuple[str, ...] | None,
    addresses: tuple[tuple[str, bytes], ...] | None,
    outputs: tuple[str, ...] | None,
    after: Place | None,
    last_event_id: Place | None,
    follow: bool,  # noqa: FBT001
) -> AsyncGenerator[str]:
    """Yields events as they come, as the text of a stream."""
    subscription = subscribed(network, milestones, tags, addresses, outputs)
    await check_kept(network.store, subscription)
    allowed_s = DEADLINE.get() - time.monotonic()
    place = last_event_id or after or Place(await newest_milestone(network))
    yield f"retry: {RETRY_MS}\n{moved(place)}"
    while True:
        begin = place
        async for batch in list_events(network.store, network.name, subscription, place):
            place = batch.until
            if batch.events:
                begin = place
                yield "".join(server_sent(render(network, event)) for event in batch.events)
            DEADLINE.set(time.monotonic() + allowed_s)
        if place != begin:
            # Without it, a client that connects again would wait for all that is not for it.
            yield moved(place)
        if not follow:
            return
        quiet = time.monotonic() + QUIET_S
        while await newest_milestone(network) <= place.milestone_index:
            await asyncio.sleep(POLL_S)
            DEADLINE.set(time.monotonic() + allowed_s)
            is_quiet = time.monotonic() > quiet
            # After each part, also an empty one, the stream ends if its client has gone.
            yield ":\n\n" if is_quiet else ""
            if is_quiet:
                quiet = time.monotonic() + QUIET_S


def subscribed(
    network: NetworkMount,
    milestones: bool | None,  # noqa: FBT001
    tags: tuple[str, ...] | None,
    addresses: tuple[tuple[str, bytes], ...] | None,
    outputs: tuple[str, ...] | None,
) -> Subscription:
    """Returns the subscription, with each key once. Raises BadParameter for an address of another network, and if there
    is nothing to list.
    """
    has_keys = bool(tags or addresses or outputs)
    if milestones is False and not has_keys:
        raise BadParameter("milestones", "true, or a tag, an address or an output", "false")
    in_hex = [network.address(each) for each in addresses or ()]
    shows_milestones = not has_keys if milestones is None else milestones
    return Subscription(shows_milestones, *(tuple(dict.fromkeys(each or ())) for each in (tags, in_hex, outputs)))


_NEWEST: WeakKeyDictionary[Store, tuple[float, int]] = WeakKeyDictionary()


async def newest_milestone(network: NetworkMount) -> int:
    """Returns the newest complete milestone, at most POLL_S old; 0 without any."""
    known = _NEWEST.get(network.store)
    if known is not None:
        read_at, found = known
        if time.monotonic() - read_at < POLL_S:
            return found
        # Set first, so that other streams do not read it as well.
        _NEWEST[network.store] = (time.monotonic(), found)
    found = await find_newest_milestone(network.store, network.name) or 0
    _NEWEST[network.store] = (time.monotonic(), found)
    return found


def render(network: NetworkMount, event: Event) -> Json:
    """Returns an event as JSON."""
    place = event.place
    cursor = format_place(place)
    if event.gap is not None:
        return {
            "event": "gap",
            CURSOR: cursor,
            "firstMilestone": event.gap,
            "lastMilestone": place.milestone_index,
        }
    common = {
        CURSOR: cursor,
        "milestoneIndex": place.milestone_index,
        "milestoneTimestamp": None if event.ms_timestamp is None else event.ms_timestamp // 1000,
    }
    row = event.row
    if place.kind == MESSAGE:
        assert event.inclusion_state is not None, "messages of a complete milestone have a state"
        return {
            "event": "message",
            **common,
            "messageId": f"0x{place.id}",
            "inclusionState": INCLUSION[event.inclusion_state],
            "tags": [f"0x{tag}" for tag in event.tags],
            "addresses": [network.bech32(address) for address in event.addresses],
        }
    if place.kind in NAMES:
        assert row is not None, "an output has a row"
        is_spent = place.kind == SPENT
        message_id = row["spent_message_id" if is_spent else "created_message_id"]
        return {
            "event": NAMES[place.kind],
            **common,
            "outputId": f"0x{place.id}",
            "transactionId": f"0x{row['spent_transaction_id'] if is_spent else place.id[:64]}",
            "messageId": None if message_id is None else f"0x{message_id}",
            "amount": str(row["amount"]),
        }
    return {"event": "milestone", **common, "milestoneId": None if row is None else f"0x{row['milestone_id']}"}


def server_sent(item: Json) -> str:
    """Returns an event of a stream."""
    return f"id: {item[CURSOR]}\nevent: {item['event']}\ndata: {orjson.dumps(item).decode()}\n\n"


def moved(place: Place) -> str:
    """Returns a line that sets the id of the last event without an event."""
    return f"id: {format_place(place)}\n\n"


def example_of_stream(answer: Json) -> str:
    """Returns the items of a page as a stream."""
    return f"retry: {RETRY_MS}\nid: 9\n\n" + "".join(server_sent(item) for item in answer["items"])


EVENTS_OF_LEDGER = Family(
    "events",
    (
        Operation(
            "/events",
            events,
            EventsResponse,
            (404,),
            exports={EVENT_STREAM: Export(stream, example_of_stream)},
            is_extension=True,
        ),
    ),
    wrap=lambda value: value,
)
