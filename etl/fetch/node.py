"""A node's REST API as a fetch asks it: milestones, bytes, metadata, tips; both protocols.

Rules of this file: one question, one request; what does not come as it should is a Fault of one of FAULTS, and nobody
here asks twice. Of all that a node says its bytes alone can be verified; that is done by whoever asks.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import orjson

from etl.sources.cone import Milestone
from etl.sources.fields import read_conflict_reason, read_inclusion_state, read_message_id, read_milestone_index
from ledger import stardust, stardust_values
from ledger.eras import CHRYSALIS, STARDUST, Codec
from ledger.json_reader import U64, JsonError, uint
from ledger.reader import CodecError

T = TypeVar("T")

RAW = "application/vnd.iota.serializer-v1"

TIMEOUT = "timeout"
BROKEN = "broken connection"
REFUSED = "status"
UNREADABLE = "unreadable body"
WRONG_ID = "wrong id"
UNPROVED = "not proved"
NOT_THERE = "not there"
FAULTS = (TIMEOUT, BROKEN, REFUSED, UNREADABLE, WRONG_ID, UNPROVED, NOT_THERE)
"""What can be wrong with an answer. The last two are said of a milestone: it was fetched whole and is not what its
Merkle root says, or the node does not have it, or no longer.
"""

NOT_OFFERED = frozenset({400, 403, 405, 410, 501})
"""Statuses, beside 404, of routes that a node does not have."""

RETRY_AFTER_MOST_S = 60.0


class Fault(Exception):
    """A question was not answered as it should be. `kind` is one of FAULTS; `status`: of an answer that was refused,
    `wait_s`: how long the node asks to wait.
    """

    def __init__(self, kind: str, message: str, *, status: int = 0, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.wait_s = wait_s

    @property
    def is_for_good(self) -> bool:
        """Whether the node does not offer what was asked, now or later."""
        return self.kind == NOT_THERE or self.status in NOT_OFFERED


@dataclass(frozen=True, slots=True)
class Told:
    """What a node says of a message; `referenced_by` None: no milestone references it."""

    referenced_by: int | None
    inclusion_state: int | None
    conflict_reason: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """Where a cone begins: in Chrysalis at the message that carries the milestone, in Stardust at its parents; and when
    the milestone was issued, in seconds.
    """

    milestone: Milestone | None
    timestamp: int
    roots: tuple[bytes, ...]


class Node:
    """One node, by the URL before its `/api`, or a permanode's network by the URL `…/api/NETWORK`."""

    def __init__(self, url: str, *, at_once: int, timeout_s: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"--node: a URL as http://HOST:14265 expected, found {url!r}")
        self.url = url.rstrip("/").removesuffix("/api")
        mounted = "/api/" in parts.path.rstrip("/")
        self._v1 = self.url if mounted else f"{self.url}/api/v1"
        self._v2 = f"{self.url}/core/v2" if mounted else f"{self.url}/api/core/v2"
        self._asking = asyncio.Semaphore(at_once)
        limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        self._client = httpx.AsyncClient(timeout=timeout_s, limits=limits)

    async def __aenter__(self) -> "Node":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def network_name(self, codec: Codec) -> str | None:
        """The name of the network that the node speaks of in that protocol; None where it does not speak it."""
        try:
            info = await self._info(codec)
        except Fault as fault:
            if fault.is_for_good:
                return None
            raise
        name = info.get("networkId") if codec is CHRYSALIS else _object(info, "protocol").get("networkName")
        if not isinstance(name, str):
            raise Fault(UNREADABLE, f"{self.url}: info names no network")
        return name

    async def newest(self, codec: Codec) -> int:
        """The newest milestone that the node has confirmed."""
        info = await self._info(codec)
        if codec is CHRYSALIS:
            found = info.get("confirmedMilestoneIndex")
        else:
            found = _object(_object(info, "status"), "confirmedMilestone").get("index")
        return self._read(lambda: read_milestone_index(found, "confirmed milestone"))

    async def head(self, codec: Codec, index: int) -> Head:
        """The milestone of that index; a Fault of NOT_THERE where the node lacks it."""
        if codec is CHRYSALIS:
            found = await self._json(f"{self._v1}/milestones/{index}")
            root = self._read(lambda: read_message_id(found.get("messageId"), "messageId"))
            return Head(None, self._read(lambda: uint(found, "timestamp", U64)), (root,))
        data = await self._bytes(f"{self._v2}/milestones/by-index/{index}")
        payload = self._read(lambda: stardust.decode_payload(data))
        if not isinstance(payload, stardust_values.Milestone) or payload.index != index:
            raise Fault(WRONG_ID, f"{self.url}: not the payload of milestone {index}")
        return Head(payload, payload.timestamp, payload.parents)

    async def raw(self, codec: Codec, message_id: bytes) -> bytes:
        """The bytes of a message, unverified."""
        if codec is CHRYSALIS:
            return await self._bytes(f"{self._v1}/messages/{message_id.hex()}/raw")
        return await self._bytes(f"{self._v2}/blocks/0x{message_id.hex()}")

    async def told(self, codec: Codec, message_id: bytes) -> Told:
        """What the node says of a message."""
        if codec is CHRYSALIS:
            found = await self._json(f"{self._v1}/messages/{message_id.hex()}/metadata")
        else:
            found = await self._json(f"{self._v2}/blocks/0x{message_id.hex()}/metadata")

        def read() -> Told:
            index = found.get("referencedByMilestoneIndex")
            return Told(
                None if index is None else read_milestone_index(index, "referencedByMilestoneIndex"),
                read_inclusion_state(found.get("ledgerInclusionState"), "ledgerInclusionState"),
                read_conflict_reason(found.get("conflictReason"), "conflictReason"),
            )

        return self._read(read)

    async def tips(self, codec: Codec) -> tuple[bytes, ...]:
        """Messages that nothing approves yet; none where the node, as a permanode, has no tips."""
        try:
            found = await self._json(f"{self._v1 if codec is CHRYSALIS else self._v2}/tips")
        except Fault as fault:
            if fault.is_for_good:
                return ()
            raise
        listed = found.get("tipMessageIds" if codec is CHRYSALIS else "tips")
        if not isinstance(listed, list):
            raise Fault(UNREADABLE, f"{self.url}: tips is no list")
        return self._read(lambda: tuple(read_message_id(str(each).removeprefix("0x"), "tips") for each in listed))

    async def _info(self, codec: Codec) -> dict[str, Any]:
        return await self._json(f"{self._v1 if codec is CHRYSALIS else self._v2}/info")

    async def _json(self, url: str) -> dict[str, Any]:
        """An answer in JSON, without the `data` that API v1 puts around it."""
        data = await self._get(url, "application/json")
        try:
            found = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise Fault(UNREADABLE, f"{url}: {error}") from None
        if isinstance(found, dict) and url.startswith(self._v1) and not url.startswith(self._v2):
            found = found.get("data")
        if not isinstance(found, dict):
            raise Fault(UNREADABLE, f"{url}: a JSON object expected")
        return found

    async def _bytes(self, url: str) -> bytes:
        return await self._get(url, "application/octet-stream" if url.endswith("/raw") else RAW)

    async def _get(self, url: str, accept: str) -> bytes:
        async with self._asking:
            try:
                answer = await self._client.get(url, headers={"accept": accept})
            except httpx.TimeoutException as error:
                raise Fault(TIMEOUT, f"{url}: {type(error).__name__}") from error
            except (httpx.TransportError, httpx.DecodingError) as error:
                raise Fault(BROKEN, f"{url}: {str(error) or type(error).__name__}") from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise Fault(NOT_THERE, f"{url}: 404")
        if answer.status_code != httpx.codes.OK:
            status = answer.status_code
            raise Fault(REFUSED, f"{url}: {status}", status=status, wait_s=_retry_after(answer))
        return answer.content

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (JsonError, CodecError) as error:
            raise Fault(UNREADABLE, f"{self.url}: {error}") from error


def codec_name(codec: Codec) -> str:
    """The protocol, as people call it."""
    return "core API v2" if codec is STARDUST else "API v1"


def _object(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _retry_after(answer: httpx.Response) -> float:
    """The seconds that a node asks to wait; 0 where it asks nothing, or names a date."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), RETRY_AFTER_MOST_S) if text.isascii() and text.isdecimal() else 0.0
