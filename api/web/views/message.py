"""The page of a Chrysalis message or a Stardust block, and its bytes as a file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.web import coverage, formats, payloads
from api.web.graph import graph_of
from api.web.inclusion import reason_of
from api.web.listing_proofs import proof_of as proof_of_listing
from api.web.page import Answer, Download, Page, Redirect, View
from api.web.views.search import page_of
from api.web.visit import Visit, segment
from db.coverage import missing
from db.schema.protocols import IOTA
from db.together import together
from ledger.eras import CHRYSALIS, STARDUST, Codec
from ledger.ids import transaction_id

RAW = "application/vnd.iota.serializer-v1"
"""The media type of an object's bytes."""

TRANSACTIONS = (0, 6)
"""Payload types of transactions."""

MILESTONES = (1, 7)
"""Payload types of milestones."""


@dataclass(frozen=True, slots=True)
class Form:
    """How an era names messages in paths, and where the API has them.

    Attributes:
        kind: the name of a message in paths of pages.
        prefix: the prefix of ids.
        path: the operation for a message, with `{}` for its id.
        metadata, children: further operations.
        codec: the layout of the bytes.
    """

    kind: str
    prefix: str
    path: str
    metadata: str
    children: str
    codec: Codec


MESSAGE = Form("message", "", "messages/{}", "messages/{}/metadata", "messages/{}/children", CHRYSALIS)
BLOCK = Form(
    "block", "0x", "core/v2/blocks/{}", "core/v2/blocks/{}/metadata", "explorer/v2/blocks/{}/children", STARDUST
)


async def message(visit: Visit) -> Answer:
    """A Chrysalis message. The id of another object leads to that object's page."""
    return await show(visit, MESSAGE, BLOCK)


async def block(visit: Visit) -> Answer:
    """A Stardust block. The id of another object leads to that object's page."""
    return await show(visit, BLOCK, MESSAGE)


async def message_raw(visit: Visit) -> Answer:
    """The bytes of a Chrysalis message."""
    return await raw_file(visit, MESSAGE)


async def block_raw(visit: Visit) -> Answer:
    """The bytes of a Stardust block."""
    return await raw_file(visit, BLOCK)


async def raw_file(visit: Visit, form: Form) -> Answer:
    """The bytes of a message as a file."""
    id_ = form.prefix + visit.params["id"].removeprefix("0x").lower()
    return Download(f"{id_}.bin", "application/octet-stream", await raw_of(visit, form, id_))


async def raw_of(visit: Visit, form: Form, id_: str) -> bytes:
    """Returns the bytes of a message. Raises NotFound or OtherEra."""
    if form is MESSAGE:
        return await visit.body(f"messages/{segment(id_)}/raw")
    return await visit.body(form.path.format(segment(id_)), RAW)


async def show(visit: Visit, form: Form, other: Form) -> Answer:
    """The page of a message of either era."""
    digits = visit.params["id"].removeprefix("0x").lower()
    id_ = form.prefix + digits
    found = await visit.find(form.path.format(segment(id_)))
    if found is None:
        return await elsewhere(visit, form, other, digits)
    if id_ != visit.params["id"]:
        return Redirect(f"/{visit.network}/{form.kind}/{id_}")
    value = found["data"] if form is MESSAGE else found
    metadata, children, raw = await together(
        visit.json(form.metadata.format(id_)),
        visit.json(form.children.format(id_)),
        raw_of(visit, form, id_),
    )
    if form is MESSAGE:
        metadata, children = metadata["data"], children["data"]
    parents = value["parentMessageIds" if form is MESSAGE else "parents"]
    followers = children["childrenMessageIds" if form is MESSAGE else "children"]
    has_more = bool(children.get("state") or children.get("cursor"))
    children_at = form.children.format(id_)
    children_proof = await proof_of_listing(visit, ["messages_by_parent"], digits, children_at, is_last=not has_more)
    payload = value.get("payload")
    milestone = metadata.get("referencedByMilestoneIndex")
    values = {
        "id": id_,
        "kind": form.kind,
        "is_stardust": form is BLOCK,
        "value": value,
        "payload": payload,
        "payload_name": payloads.name_of(payload["type"] if payload else None),
        "transaction": transaction_of(form, payload, raw),
        "milestone_index": payload["index"] if payload and payload["type"] in MILESTONES else None,
        "tag": payloads.tag_of(payload),
        "data": payloads.tagged_data_of(payload),
        "payload_json": json.dumps(payload, indent=2),
        "metadata": metadata,
        "reason": reason_of(metadata, is_stardust=form is BLOCK),
        "level": await coverage.level_at(visit, milestone),
        "graph": graph_of(id_, parents, followers),
        "parents": parents,
        "children": followers,
        "has_more_children": has_more,
        "raw": payloads.data_of(raw.hex()),
        "proof": proof_of(form, metadata, id_),
        "coordinator": visit.mount.coordinator,
        "children_proof": children_proof,
    }
    title = f"{form.kind.capitalize()} {formats.short(id_)}"
    return Page("message", title, values, verifies=bool(values["proof"]), proves_listing=bool(children_proof))


async def elsewhere(visit: Visit, form: Form, other: Form, digits: str) -> Answer:
    """Leads to the page of the object that has this id. Raises NotFound if the archive does not have it."""
    if await visit.find(other.path.format(segment(digits))) is not None:
        return Redirect(f"/{visit.network}/{other.kind}/{other.prefix}{digits}")
    found = await visit.json("search", q=digits)
    if len(found["results"]) == 1:
        return Redirect(page_of(found["results"][0]))
    raise await missing(visit.mount.store, f"{form.kind} {form.prefix}{digits}")


def transaction_of(form: Form, payload: Mapping[str, Any] | None, raw: bytes) -> str | None:
    """Returns the id of the transaction in a message; None if it contains no transaction."""
    if payload is None or payload["type"] not in TRANSACTIONS:
        return None
    return form.prefix + transaction_id(form.codec.payload_bytes(raw)).hex()


def proof_of(form: Form, metadata: Mapping[str, Any], id_: str) -> str | None:
    """Returns the operation that creates the proof of a message; None if none can exist.

    A Chrysalis milestone proves only the messages that it applied.
    """
    state = metadata.get("ledgerInclusionState")
    if state is None or (form is MESSAGE and state != "included"):
        return None
    return f"poi/v1/{'applied-block/create' if state == 'included' else 'create'}/{id_}"


VIEWS = (
    View("/{network}/message/{id}", message, IOTA),
    View("/{network}/block/{id}", block, IOTA),
    View("/{network}/message/{id}/raw", message_raw, IOTA),
    View("/{network}/block/{id}/raw", block_raw, IOTA),
)
