"""The page of a milestone, and the page of a milestone that the archive does not have."""

from collections.abc import Mapping, Sequence
from typing import Any

from api.http.errors import NoSuchRoute
from api.network import NetworkMount
from api.web import coverage, payloads
from api.web.page import Answer, Page, Redirect, View
from api.web.visit import Visit
from db.schema.protocols import IOTA
from db.store import NotFound
from db.together import together

ROWS = 25
"""Messages and ledger changes in a part of a list."""

INDEX_DIGITS = 10
"""The most digits of a milestone index."""

RECEIPT, PARAMETERS = 0, 1
"""Types of the options in a Stardust milestone."""

IN_FORCE: Mapping[str, str] = {
    "protocolVersion": "protocol version",
    "minPowScore": "least proof of work score",
    "belowMaxDepth": "most milestones between a block and its parents",
    "vByteCost": "storage deposit for a virtual byte",
    "vByteFactorKey": "virtual bytes for a byte of a key",
    "vByteFactorData": "virtual bytes for a byte of data",
    "tokenSupply": "token supply",
}
"""Measures of a milestone that are protocol parameters, and their names."""


async def milestone(visit: Visit) -> Answer:
    """A milestone by its index. An id leads to the index."""
    text = visit.params["index"]
    if not (text.isascii() and text.isdigit() and len(text) <= INDEX_DIGITS):
        return await milestone_of_id(visit, text)
    index = int(text)
    if str(index) != text:
        return Redirect(f"/{visit.network}/milestone/{index}")
    near, found = await together(visit.json("sync", start=max(index - 1, 0), end=index + 2), find_payload(visit, index))
    before, after = neighbours(coverage.ranges(near), index)
    if found is None or before is None or after is None:
        before, after = neighbours(coverage.ranges(await visit.json("sync")), index)
    if found is None:
        return missing(index, before, after)
    payload, message_id = found
    is_stardust = message_id is None
    milestone_id = await id_of(visit, index, payload)
    blocks, activity, series, changes = await together(
        visit.json(f"explorer/v2/milestones/by-index/{index}/blocks", pageSize=ROWS, cursor=visit.query.get("blocks")),
        visit.find(f"analytics/v2/activity/milestones/by-index/{index}"),
        visit.find(
            "analytics/v2/series/milestone", start=index, end=index, measures=",".join(("transferredTokens", *IN_FORCE))
        ),
        visit.kept(
            f"explorer/v2/ledger/updates/by-milestone/{milestone_id}",
            pageSize=ROWS,
            cursor=visit.query.get("changes"),
        ),
    )
    measured = series["items"][0] if series and series["items"] else {}
    values = {
        "index": index,
        "payload": payload,
        "is_stardust": is_stardust,
        "milestone_id": milestone_id if is_stardust else milestone_id.removeprefix("0x"),
        "message_id": message_id,
        "kind": "block" if is_stardust else "message",
        "level": coverage.level_of(near, index),
        "before": before,
        "after": after,
        "signers": [(key, may_sign(visit.mount, index, key)) for key in keys_of(payload)],
        "threshold": visit.mount.coordinator.threshold if visit.mount.coordinator else None,
        "activity": activity,
        "transferred": measured.get("transferredTokens"),
        "rows": [
            {
                "id": each["blockId"] if is_stardust else each["blockId"][2:],
                "name": payloads.name_of(each["payloadType"]),
            }
            for each in blocks["blocks"]
        ],
        "next_rows": visit.here(blocks=blocks["cursor"]) if blocks.get("cursor") else None,
        "changes": changes and [shown_change(each, is_stardust=is_stardust) for each in changes["items"]],
        "next_changes": visit.here(changes=changes["cursor"]) if changes and changes.get("cursor") else None,
        "receipts": receipts_of(payload),
        "announced": announced_by(payload),
        "in_force": in_force(measured),
        "metadata": payloads.data_of(payload["metadata"]) if payload.get("metadata") else None,
    }
    return Page("milestone", f"Milestone {index:,}", values)


async def milestone_of_id(visit: Visit, text: str) -> Answer:
    """The milestone that has this id. Raises NotFound."""
    found = await visit.json("search", q=text)
    for each in found["results"]:
        if each["kind"] == "milestone" and len(text) > INDEX_DIGITS:
            return Redirect(f"/{visit.network}/milestone/{each['id']}")
    if not text.removeprefix("0x").isalnum():
        raise NoSuchRoute(visit.path)
    raise NotFound(f"milestone {text}")


async def find_payload(visit: Visit, index: int) -> tuple[Mapping[str, Any], str | None] | None:
    """Returns the payload of a milestone, and the id of the Chrysalis message that contains it; None if the archive
    does not have the milestone.
    """
    payload = await visit.find(f"core/v2/milestones/by-index/{index}")
    if payload is not None:
        return payload, None
    found = await visit.find(f"milestones/{index}")
    if found is None:
        return None
    message_id = found["data"]["messageId"]
    message = await visit.json(f"messages/{message_id}")
    return message["data"]["payload"], message_id


async def id_of(visit: Visit, index: int, payload: Mapping[str, Any]) -> str:
    """Returns the id of a milestone, with 0x. Raises NotFound."""
    start = payload["timestamp"]
    found = await visit.json("explorer/v2/milestones", startTimestamp=start, endTimestamp=start + 1)
    for each in found["items"]:
        if each["index"] == index:
            return str(each["milestoneId"])
    raise NotFound(f"milestone {index}")


def neighbours(ranges: Sequence[tuple[int, int, str]], index: int) -> tuple[int | None, int | None]:
    """Returns the nearest milestones before and after one that are in the archive.

    Args:
        ranges: of `coverage.ranges`.
        index: the milestone; it need not be in the archive.
    """
    before = max((min(end, index - 1) for start, end, _ in ranges if start < index), default=None)
    after = min((max(start, index + 1) for start, end, _ in ranges if end > index), default=None)
    return before, after


def missing(index: int, before: int | None, after: int | None) -> Page:
    """The page of a milestone that is not in the archive. `before`, `after`: the nearest ones that are."""
    return Page("milestone_missing", f"Milestone {index:,}", {"index": index, "before": before, "after": after}, 404)


def keys_of(payload: Mapping[str, Any]) -> list[str]:
    """Returns the public keys that signed a milestone, in hex without 0x."""
    if "publicKeys" in payload:
        return list(payload["publicKeys"])
    return [each["publicKey"].removeprefix("0x") for each in payload["signatures"]]


def may_sign(network: NetworkMount, index: int, key: str) -> bool | None:
    """Returns whether a key in hex is one of the coordinator's for a milestone; None if this server has no keys."""
    return None if network.coordinator is None else bytes.fromhex(key) in network.coordinator.keys_at(index)


def receipts_of(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the receipts of a milestone."""
    if "options" in payload:
        return [each for each in payload["options"] if each["type"] == RECEIPT]
    return [payload["receipt"]] if payload.get("receipt") else []


def announced_by(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the protocol parameters that a milestone announces."""
    return [each for each in payload.get("options", ()) if each["type"] == PARAMETERS]


def in_force(measured: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns name and value of the protocol parameters at a milestone that are known."""
    return [(name, f"{int(measured[key]):,}") for key, name in IN_FORCE.items() if measured.get(key) is not None]


def shown_change(change: Mapping[str, Any], *, is_stardust: bool) -> Mapping[str, Any]:
    """Returns a ledger change with the output id as its era writes it."""
    return {**change, "outputId": change["outputId"] if is_stardust else change["outputId"].removeprefix("0x")}


VIEWS = (View("/{network}/milestone/{index}", milestone, IOTA),)
