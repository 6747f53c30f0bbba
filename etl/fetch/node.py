"""The REST API of a node: milestones, bytes, metadata and tips, in both protocols.

Only the bytes in a node's responses can be verified. The caller verifies them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from etl.fetch.http import UNREADABLE, WRONG_ID, Fault, Http
from etl.sources.cone import Milestone
from etl.sources.fields import read_conflict_reason, read_inclusion_state, read_message_id, read_milestone_index
from ledger.eras import CHRYSALIS, STARDUST, Codec
from ledger.json_reader import U64, JsonError, uint
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust import values as stardust_values

T = TypeVar("T")

RAW = "application/vnd.iota.serializer-v1"


@dataclass(frozen=True, slots=True)
class Metadata:
    """A node's metadata of a message. `referenced_by` is None if no milestone references it."""

    referenced_by: int | None
    inclusion_state: int | None
    conflict_reason: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """The start of a cone (in Chrysalis the message with the milestone, in Stardust its parents), and the milestone's
    timestamp in seconds.
    """

    milestone: Milestone | None
    timestamp: int
    roots: tuple[bytes, ...]


class Node:
    """A node, identified by the URL before `/api`, or a network of a permanode, identified by `…/api/NETWORK`."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.url = http.url.removesuffix("/api")
        mounted = "/api/" in http.path
        self._v1 = self.url if mounted else f"{self.url}/api/v1"
        self._v2 = f"{self.url}/core/v2" if mounted else f"{self.url}/api/core/v2"

    async def network_name(self, codec: Codec) -> str | None:
        """The node's network name in a protocol; None if the node does not support the protocol."""
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
        """The milestone with that index. Raises a Fault of kind NOT_THERE if the node does not have it."""
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

    async def metadata(self, codec: Codec, message_id: bytes) -> Metadata:
        """The node's metadata of a message."""
        if codec is CHRYSALIS:
            found = await self._json(f"{self._v1}/messages/{message_id.hex()}/metadata")
        else:
            found = await self._json(f"{self._v2}/blocks/0x{message_id.hex()}/metadata")

        def read() -> Metadata:
            index = found.get("referencedByMilestoneIndex")
            return Metadata(
                None if index is None else read_milestone_index(index, "referencedByMilestoneIndex"),
                read_inclusion_state(found.get("ledgerInclusionState"), "ledgerInclusionState"),
                read_conflict_reason(found.get("conflictReason"), "conflictReason"),
            )

        return self._read(read)

    async def tips(self, codec: Codec) -> tuple[bytes, ...]:
        """Messages without children; empty if the server has no tips, e.g. a permanode."""
        try:
            found = await self._json(f"{self._v1 if codec is CHRYSALIS else self._v2}/tips")
        except Fault as fault:
            if fault.is_for_good:
                return ()
            raise
        listed = found.get("tipMessageIds" if codec is CHRYSALIS else "tips")
        if not isinstance(listed, list):
            raise Fault(UNREADABLE, f"{self.url}: tips is not a list")
        return self._read(lambda: tuple(read_message_id(str(each).removeprefix("0x"), "tips") for each in listed))

    async def _info(self, codec: Codec) -> dict[str, Any]:
        return await self._json(f"{self._v1 if codec is CHRYSALIS else self._v2}/info")

    async def _json(self, url: str) -> dict[str, Any]:
        """A JSON response without the `data` that API v1 adds."""
        is_v1 = url.startswith(self._v1) and not url.startswith(self._v2)
        return await self._http.json(url, "data" if is_v1 else None)

    async def _bytes(self, url: str) -> bytes:
        return await self._http.get(url, "application/octet-stream" if url.endswith("/raw") else RAW)

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (JsonError, CodecError) as error:
            raise Fault(UNREADABLE, f"{self.url}: {error}") from error


def codec_name(codec: Codec) -> str:
    """The name of the protocol for output."""
    return "core API v2" if codec is STARDUST else "API v1"


def _object(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
