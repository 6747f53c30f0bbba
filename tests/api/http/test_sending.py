"""Large responses: in parts, within a bound of memory, and not for clients that take nothing."""

import asyncio
from typing import Any

import pytest

from api.http import sending
from api.http.sending import ABORT, PART_BYTES, ClientTooSlow, Sending

BODY = bytes(range(256)) * 2_000
"""Eight parts."""


class Client:
    """Takes parts only while it may."""

    def __init__(self, *, reads: bool = True) -> None:
        self.parts: list[dict[str, Any]] = []
        self.may_read = asyncio.Event()
        if reads:
            self.may_read.set()
        self.is_aborted = False
        self.scope = {"extensions": {ABORT: {"call": self.abort}}}

    def abort(self) -> None:
        self.is_aborted = True

    async def send(self, message: Any) -> None:
        await self.may_read.wait()
        self.parts.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(each["body"] for each in self.parts)


class OneByOne(Client):
    """Takes one part whenever it may read."""

    async def send(self, message: Any) -> None:
        await super().send(message)
        self.may_read.clear()


class Clock:
    """The time of an event loop, which passes only when a test says so, however long the machine takes."""

    def __init__(self, now: float) -> None:
        self._now = now

    def __call__(self) -> float:
        return self._now

    async def advance(self, seconds: float) -> None:
        """Returns when everything that is due then has happened."""
        self._now += seconds
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    loop = asyncio.get_running_loop()
    found = Clock(loop.time())
    monkeypatch.setattr(loop, "time", found)
    return found


def response(body: bytes = BODY, *, more_body: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more_body}


@pytest.mark.parametrize("more_body", [True, False])
async def test_parts_are_the_body(more_body: bool) -> None:
    client = Client()
    await Sending(5, 10**9).send(client.scope, client.send, response(more_body=more_body))
    assert client.body == BODY
    assert max(len(each["body"]) for each in client.parts) <= PART_BYTES
    assert [each["more_body"] for each in client.parts] == [True] * (len(client.parts) - 1) + [more_body]


async def test_a_client_that_takes_nothing_is_disconnected() -> None:
    client = Client(reads=False)
    await Sending(0.05, 10**9).send(client.scope, client.send, response())
    assert (client.is_aborted, client.parts) == (True, [])
    with pytest.raises(ClientTooSlow):
        await Sending(0.05, 10**9).send({}, client.send, response())


async def test_a_client_that_takes_a_part_now_and_then_is_not(clock: Clock) -> None:
    client = OneByOne(reads=False)
    sent = asyncio.create_task(Sending(5, 10**9).send(client.scope, client.send, response()))
    while not sent.done():
        await clock.advance(4)
        client.may_read.set()
    await sent
    assert (client.is_aborted, client.body) == (False, BODY)


async def test_beyond_the_bound_the_slowest_gives_room(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "RECENT_S", 0.0)
    responses = Sending(60, 3 * len(BODY))
    slow = [Client(reads=False) for _ in range(5)]
    tasks = []
    for each in slow:
        tasks.append(asyncio.create_task(responses.send(each.scope, each.send, response())))
        await clock.advance(0.01)
    assert [each.is_aborted for each in slow] == [True, True, False, False, False]
    reader = Client()
    await responses.send(reader.scope, reader.send, response())
    assert reader.body == BODY
    for each in slow:
        each.may_read.set()
    await asyncio.gather(*tasks)
    assert sum(each.body == BODY for each in slow) == 2


async def test_within_the_bound_a_client_that_just_took_something_stays(clock: Clock) -> None:
    responses = Sending(60, len(BODY))
    clients = [Client(reads=False) for _ in range(3)]
    tasks = []
    for each in clients:
        tasks.append(asyncio.create_task(responses.send(each.scope, each.send, response())))
        await clock.advance(0.01)
    # Two may wait for a moment, three may not.
    assert [each.is_aborted for each in clients] == [True, False, False]
    for each in clients:
        each.may_read.set()
    await asyncio.gather(*tasks)
