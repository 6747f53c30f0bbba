"""A message of Wormhole: its signed bytes and signatures, and the operation that it is part of."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from api.web import formats, operations
from api.web.page import Answer, Page, View
from api.web.visit import Visit, segment
from db.schema.protocols import WORMHOLE
from db.together import together
from ledger.wormhole.chains import find_chain


@dataclass(frozen=True, slots=True)
class Guardian:
    """A guardian of a set. `signed`: IN_VAA, APART from it, or None without a signature."""

    index: int
    address: str
    signed: str | None


IN_VAA, APART = "signed", "signed, not in the VAA"


async def vaa(visit: Visit) -> Answer:
    """The bodies of a message with their verdicts, the payload, and who of the guardian set signed."""
    path = path_of(visit)
    verification, found, signatures, sets = await together(
        visit.json(f"wormhole/v1/vaas/{path}/verification"),
        visit.find(f"wormhole/v1/vaas/{path}", parsedPayload="true"),
        visit.find(f"wormhole/v1/vaas/{path}/signatures"),
        visit.json("wormhole/v1/guardian-sets"),
    )
    document = found["data"] if found else None
    served = next((each for each in verification["bodies"] if each["served"]), None)
    grid = guardians(signatures, sets) if signatures else []
    data = base64.b64decode(document["vaa"]) if document else b""
    payload = document.get("payload") if document else None
    return Page(
        "vaa",
        f"VAA {visit.params['sequence']} of {find_chain(int(visit.params['chain'])).name}",
        {
            "id": verification["id"],
            "row_key": verification["rowKey"],
            "is_published": verification["published"],
            "bodies": verification["bodies"],
            "served": served,
            "document": document,
            "kind": operations.kind_of(payload, [document["appId"]] if document and "appId" in document else []),
            "facts": facts(payload) if payload else [],
            "payload_json": pretty(payload) if payload else None,
            "guardians": grid,
            "signed": sum(each.signed is not None for each in grid),
            "set": signatures["guardianSetIndex"] if signatures else None,
            "size": len(data),
            "dump": formats.hex_lines(data),
        },
    )


def path_of(visit: Visit) -> str:
    """Returns the id of a message as a path."""
    return "/".join(segment(visit.params[name]) for name in ("chain", "emitter", "sequence"))


def guardians(signatures: Mapping[str, Any], sets: Mapping[str, Any]) -> list[Guardian]:
    """Returns all guardians of the set that a VAA names, by index, and whether they signed the body: also with a VAA
    that names another set, because a signature is of the body alone.
    """
    index = signatures["guardianSetIndex"]
    members: list[str] = next((each["addresses"] for each in sets["guardianSets"] if each["index"] == index), [])
    signed = {each["address"]: IN_VAA if each["inVaa"] else APART for each in signatures["signatures"]}
    return [Guardian(number, address, signed.get(address)) for number, address in enumerate(members)]


def facts(payload: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the fields of a payload as names and texts. Numbers of chains have their names."""
    return [
        (
            name,
            operations.chain_name(value)
            if name.lower().endswith("chain") and isinstance(value, int)
            else value
            if isinstance(value, str)
            else orjson.dumps(value).decode(),
        )
        for name, value in payload.items()
    ]


def pretty(value: object) -> str:
    """Writes JSON with one field a line."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


async def operation(visit: Visit) -> Answer:
    """Both sides of an operation: what its source chain sent, and what its target chain is to receive."""
    path = path_of(visit)
    found, verification = await together(
        visit.json(f"wormhole/v1/operations/{path}"), visit.json(f"wormhole/v1/vaas/{path}/verification")
    )
    content, source = found["content"], found.get("sourceChain")
    properties = content["standarizedProperties"]
    row = operations.operation_of(found)
    return Page(
        "operation",
        title_of(row),
        {
            "id": found["id"],
            "row": row,
            "source_chain": operations.chain_name(found["emitterChain"]),
            "target_chain": operations.chain_name(properties["toChain"]) if properties["toChain"] else None,
            "token_chain": operations.chain_name(properties["tokenChain"]) if properties["tokenChain"] else None,
            "sender": source["from"] if source else properties["fromAddress"],
            "tx_hash": source["transaction"]["txHash"] if source else "",
            "emitter": found["emitterAddress"],
            "emitter_chain": found["emitterChain"],
            "properties": properties,
            "moved": found.get("data"),
            "body": next((each for each in verification["bodies"] if each["served"]), None),
            "facts": facts(content.get("payload", {})),
        },
    )


def title_of(row: operations.Operation) -> str:
    """Returns the heading of an operation."""
    what = f"{row.kind[0].upper()}{row.kind[1:]}"
    return f"{what} from {row.source} to {row.target}" if row.target else f"{what} of {row.source}"


VIEWS: Sequence[View] = (
    View("/{network}/vaa/{chain}/{emitter}/{sequence}", vaa, WORMHOLE),
    View("/{network}/operation/{chain}/{emitter}/{sequence}", operation, WORMHOLE),
)
