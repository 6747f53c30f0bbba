"""Requests that acsylla's reader passes to the other driver, and the translation of its errors, without a cluster."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from acsylla import errors

from db import schema
from db.cassandra import reader as cassandra_reader
from db.cassandra.address import parse_address
from db.cassandra.errors import OutOfRange
from db.cassandra.reader import TIMES, AcsyllaReader, _Client
from db.listing.deadline import DEADLINE
from db.model import Type
from db.store import DeadlinePassed, StoreError, StoreMismatch, StoreUnavailable
from tests.db.stores import settings_of

URL = "cassandra://127.0.0.1:9/ks"
CQL = "SELECT key FROM ks.t WHERE key = ?"


class Other:
    """The writing driver, connected to that many nodes."""

    def __init__(self, nodes: int) -> None:
        self.nodes, self.requested = nodes, 0

    def known(self) -> list[tuple[str, int]]:
        return [(f"127.0.0.{node}", 9042) for node in range(1, self.nodes + 1)]

    async def query(self, cql: str, values: Sequence[Any], consistency: str) -> list[dict[str, Any]]:
        self.requested += 1
        return [{"key": "the other's"}]


def reader(other: Any) -> AcsyllaReader:
    return AcsyllaReader(parse_address(URL, "n"), settings_of(URL), other)


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    async def prepare(*_: Any) -> str:
        return "prepared"

    async def execute(*_: Any) -> None:
        raise error

    monkeypatch.setattr(_Client, "prepare", prepare)
    monkeypatch.setattr(_Client, "execute", execute)


def test_a_time_s_name_is_a_time_in_every_table() -> None:
    named = [column for table in schema.TABLES for column in table.columns if column.name in TIMES]
    assert {column.type for column in named} == {Type.TIMESTAMP}


def test_an_unknown_reader_is_rejected_by_name() -> None:
    with pytest.raises(ValueError, match="reader must be acsylla or cassandra or empty, not 'fast'"):
        replace(settings_of(URL), reader="fast")


@pytest.mark.parametrize(
    "error",
    [
        errors.CassErrorServerReadTimeout(),
        errors.CassErrorServerUnavailable(),
        errors.CassErrorServerOverloaded(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_a_node_could_not_answer_is_queried_once_more_where_there_is_another(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    failing(monkeypatch, error)
    three, one = Other(3), Other(1)
    assert await reader(three).query(CQL, ("a",), "LOCAL_ONE") == [{"key": "the other's"}]
    with pytest.raises(StoreUnavailable):
        await reader(one).query(CQL, ("a",), "LOCAL_ONE")
    assert (three.requested, one.requested) == (1, 0)


async def test_where_it_has_no_connection_the_other_driver_may_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, errors.CassErrorLibNoHostsAvailable())
    assert await reader(Other(1)).query(CQL, ("a",), "LOCAL_ONE") == [{"key": "the other's"}]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (errors.CassErrorLibRequestTimedOut(), StoreUnavailable),
        (errors.CassErrorServerInvalidQuery("table t does not exist"), StoreMismatch),
        (errors.CassErrorServerInvalidQuery("no such thing"), StoreError),
        (errors.CassErrorServerUnauthorized(), StoreError),
        (OverflowError(), OutOfRange),
    ],
    ids=lambda value: str(value),
)
async def test_what_nobody_would_answer_otherwise_is_not_requested_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception, raised: type[Exception]
) -> None:
    failing(monkeypatch, error)
    other = Other(3)
    with pytest.raises(StoreError) as rejected:
        await reader(other).query(CQL, ("a",), "LOCAL_ONE")
    assert type(rejected.value) is raised
    assert other.requested == 0


async def test_a_query_whose_time_is_over_when_the_driver_gives_up_passed_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def execute(*_: Any) -> None:
        await asyncio.sleep(0.02)
        raise errors.CassErrorLibRequestTimedOut

    failing(monkeypatch, AssertionError())
    monkeypatch.setattr(_Client, "execute", execute)
    token = DEADLINE.set(time.monotonic() + 0.01)
    try:
        with pytest.raises(DeadlinePassed):
            await reader(Other(3)).query(CQL, ("a",), "LOCAL_ONE")
    finally:
        DEADLINE.reset(token)


class Silent:
    """A connection that never responds, not even with a timeout, and a statement for it."""

    def bind(self, *_: Any, **__: Any) -> Any:
        return self

    def set_is_idempotent(self, *_: Any) -> None:
        return None

    async def execute(self, _: Any) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize(("deadline_s", "raised"), [(math.inf, StoreUnavailable), (0.01, DeadlinePassed)])
async def test_a_query_that_the_driver_never_ends_ends_in_time(
    monkeypatch: pytest.MonkeyPatch, deadline_s: float, raised: type[Exception]
) -> None:
    monkeypatch.setattr(cassandra_reader, "GRACE_S", 0.01)
    asking = reader(Other(1))
    client = asking._client()
    client._timeout_s, client._session = 0.01, Silent()
    client.prepared[CQL] = cassandra_reader._Prepared(Silent(), ["key"])
    token = DEADLINE.set(time.monotonic() + deadline_s)
    try:
        async with asyncio.timeout(5):
            with pytest.raises(raised):
                await asking.query(CQL, ("a",), "LOCAL_ONE")
    finally:
        DEADLINE.reset(token)


async def test_while_a_node_is_stopped_the_other_driver_is_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    late = {"127.0.0.2"}

    async def is_late(_: Any, host: str, port: int) -> bool:
        return host in late

    monkeypatch.setattr(_Client, "_is_late", is_late)
    monkeypatch.setattr(cassandra_reader, "LATE_S", 0.02)
    failing(monkeypatch, errors.CassErrorServerInvalidQuery("asked of acsylla"))
    other = Other(3)
    asking = reader(other)
    client = asking._client()
    client._suspect()
    await asyncio.sleep(0.05)
    assert client.is_wary
    assert await asking.query(CQL, ("a",), "LOCAL_ONE") == [{"key": "the other's"}]
    late.clear()
    async with asyncio.timeout(10):
        while client.is_wary:
            await asyncio.sleep(0.01)
    with pytest.raises(StoreError, match="asked of acsylla"):
        await asking.query(CQL, ("a",), "LOCAL_ONE")


async def test_a_look_that_finds_nobody_late_is_not_repeated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    async def is_late(*_: Any) -> bool:
        nonlocal looks
        looks += 1
        return False

    monkeypatch.setattr(_Client, "_is_late", is_late)
    client = reader(Other(3))._client()
    for _ in range(3):
        client._suspect()
        await asyncio.sleep(0.01)
    assert looks == 3, "once each node"
    alone = reader(Other(1))._client()
    alone._suspect()
    assert not alone.is_wary
