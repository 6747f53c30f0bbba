"""Publishes new milestones of a network on the topics of an era, for all clients of this process together.

Invariants:
1. While there are subscriptions, one task follows the newest milestone; without any, nothing is read.
2. Each milestone is published once and whole, in the order of its milestones; within it, messages are in white-flag
   order. If a read fails, all clients are disconnected instead, so that none misses something without knowing it.
3. A client whose packets are not sent within SLOW_S while more than BACKLOG_MAX_BYTES wait is disconnected. Nothing
   else is kept for it.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Protocol

from api.era_routing import of_milestone
from api.events import routes as events
from api.http.errors import status_of
from api.mqtt.packets import publish
from api.mqtt.topics import Dialect, Need, Publication, Wanted
from api.network import NetworkMount
from db.listing.deadline import DEADLINE
from db.queries import messages, milestones
from db.queries.events import Place, Subscription, list_events
from db.store import Row
from db.sync import find_newest_milestone

log = logging.getLogger("permanode.api")

MESSAGES_AT_ONCE = 50
"""Messages that are published before slow clients are waited for."""

BACKLOG_MAX_BYTES = 1 << 20
"""Bytes that may wait for a client when more are added."""

SLOW_S = 2.0
"""Seconds that all clients wait for one with a larger backlog."""


class Subscriber(Protocol):
    """A client, as the hub sees it."""

    def put(self, packet: bytes) -> None:
        """Adds a packet to those that wait for the client."""

    async def drained(self) -> None:
        """Waits until at most BACKLOG_MAX_BYTES wait for the client."""

    def cut(self, reason: str) -> None:
        """Disconnects the client."""


class Hub:
    """The subscriptions to a network's topics of an era.

    Attributes:
        newest: the newest milestone that was published, or was there when following began.
    """

    def __init__(self, network: NetworkMount, dialect: Dialect, deadline_s: float) -> None:
        self.network, self.dialect, self.deadline_s = network, dialect, deadline_s
        self.newest = 0
        self._subscribers: dict[str, set[Subscriber]] = {}
        self._wanted = Wanted()
        self._following: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()

    async def subscribe(self, client: Subscriber, topic: str, need: Need) -> None:
        """Adds a subscription. When it returns, all later milestones will be published to the client."""
        subscribers = self._subscribers.setdefault(topic, set())
        if client not in subscribers:
            subscribers.add(client)
            self._wanted.add(topic, need)
        if self._following is None:
            self._begun = asyncio.Event()
            self._following = asyncio.create_task(self._follow())
        await self._begun.wait()

    def unsubscribe(self, client: Subscriber, topic: str, need: Need) -> None:
        """Removes a subscription."""
        subscribers = self._subscribers.get(topic, set())
        if client in subscribers:
            subscribers.remove(client)
            self._wanted.remove(topic, need)
            if not subscribers:
                del self._subscribers[topic]
        if not self._wanted and self._following is not None:
            self._following.cancel()
            self._following = None
            # Who waits for the task that has just ended would wait forever.
            self._begun.set()

    async def _follow(self) -> None:
        try:
            self._begin_read()
            self.newest = await find_newest_milestone(self.network.store, self.network.name) or 0
            self._begun.set()
            while True:
                while await events.newest_milestone(self.network) <= self.newest:
                    await asyncio.sleep(events.POLL_S)
                    self._begin_read()
                await self._publish_new()
        except Exception as error:
            if status_of(error) == 503:
                log.warning("mqtt %s: %s", self.network.name, error)
            else:
                log.exception("mqtt %s failed", self.network.name)
            self._following = None
            self._begun.set()
            for client in {client for clients in self._subscribers.values() for client in clients}:
                client.cut("the store cannot be read")

    def _begin_read(self) -> None:
        DEADLINE.set(time.monotonic() + self.deadline_s)

    async def _publish_new(self) -> None:
        store, name = self.network.store, self.network.name
        async for batch in list_events(store, name, Subscription(milestones=True), Place(self.newest)):
            for event in batch.events:
                if event.gap is None and event.row is not None and of_milestone(event.row) is self.dialect.era:
                    await self._publish(self.dialect.of_milestone(self.network, event.row, self._wanted))
                    await self._publish_messages(event.place.milestone_index)
                self.newest = event.place.milestone_index
            self._begin_read()

    async def _publish_messages(self, milestone_index: int) -> None:
        cursor: str | None = None
        while self._wanted.needs(*(need for need in Need if need is not Need.MILESTONE)):
            page = await milestones.list_milestone_messages(
                self.network.store,
                milestone_index,
                with_kinds=True,
                with_inclusion=True,
                newest=False,
                page_size=MESSAGES_AT_ONCE,
                cursor=cursor,
            )
            read = [row["message_id"] for row in page.rows if self.dialect.is_read(row, self._wanted)]
            rows = await messages.find_messages(self.network.store, read) if read else []
            await self._publish(self._of_messages(rows))
            self._begin_read()
            cursor = page.cursor
            if cursor is None:
                return

    async def _of_messages(self, rows: list[Row]) -> AsyncIterator[Publication]:
        for row in rows:
            async for each in self.dialect.of_message(self.network, row, self._wanted):
                yield each

    async def _publish(self, publications: AsyncIterator[Publication]) -> None:
        """Adds publications to the backlog of their subscribers, and waits for those that are slow."""
        reached: set[Subscriber] = set()
        async for topic, payload in publications:
            packet = publish(topic, payload)
            for client in self._subscribers.get(topic, ()):
                client.put(packet)
                reached.add(client)
        if reached:
            waiting = {asyncio.create_task(client.drained()): client for client in reached}
            try:
                _, late = await asyncio.wait(waiting, timeout=SLOW_S)
                for task in late:
                    waiting[task].cut("it reads too slowly")
            finally:
                for task in waiting:
                    task.cancel()
            self._begin_read()
