"""The API of a network: its operations by family, with real ids of this archive, as commands of curl."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from api.web import examples
from api.web.page import Answer, Page, View
from api.web.visit import Visit, segment
from db.schema.protocols import IOTA

OF_CHRYSALIS = frozenset({"node REST v1", "Chronicle v1"})
"""Families that serve Chrysalis only."""

OF_STARDUST = frozenset({"core API v2", "indexer"})
"""Families that serve Stardust only."""

STARDUST_ONLY = "/api/{network}/analytics/v2/ledger/storage-deposit"
"""An operation of a family of both eras that Chrysalis has no data for."""

OF_WORMHOLE = frozenset({"guardian gateway", "wormholescan", "event database"})

PREFIX = "/api/{network}"


@dataclass(frozen=True, slots=True)
class Request:
    """An operation: what it does, its path with the names of parameters, and an example if this archive has its ids."""

    summary: str
    path: str
    example: str | None


async def requests(visit: Visit) -> Answer:
    """The operations that answer for this network."""
    document = await visit.json("/openapi.json")
    chrysalis, others = await examples.of_network(visit)
    is_iota = visit.mount.protocol == IOTA
    left_out = OF_WORMHOLE | (frozenset() if chrysalis else OF_CHRYSALIS) | (frozenset() if others else OF_STARDUST)
    families: dict[str, list[Request]] = {}
    for tag, path, operation in operations(document):
        if tag in left_out if is_iota else tag not in OF_WORMHOLE:
            continue
        if is_iota and not others and path == STARDUST_ONLY:
            continue
        values = chrysalis if tag in OF_CHRYSALIS or not others else others
        families.setdefault(tag, []).append(
            Request(operation["summary"], path.removeprefix(PREFIX), example(visit, path, operation, values))
        )
    meanings = {each["name"]: each["description"] for each in document["tags"]}
    # Only the operations whose data the page shows are of interest, not those that searched for ids.
    visit.sources[:] = ["/openapi.json"]
    return Page("requests", "API", {"families": families, "meanings": meanings})


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yields family, path and description of each GET operation of a network that can return data."""
    for path, item in document["paths"].items():
        operation = item.get("get")
        if operation and path.startswith(f"{PREFIX}/") and "200" in operation["responses"]:
            yield operation["tags"][0], path, operation


def example(visit: Visit, path: str, operation: Mapping[str, Any], values: examples.Values) -> str | None:
    """Returns path and query of a request with real ids; None if this archive has none for a required parameter."""
    filled, query = path.replace("{network}", segment(visit.network)), {}
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        if name == "network" or not parameter["required"]:
            continue
        key = examples.HOME_CHAIN if name == "chain" and "{token_address}" in path else name
        value = fitting(parameter["schema"], [*values.get(key, ()), *examples.OF_PROTOCOL.get(key, ())])
        if value is None:
            return None
        if parameter["in"] == "path":
            filled = filled.replace(f"{{{name}}}", quote(value, safe=""))
        else:
            query[name] = value
    return f"{filled}?{urlencode(query)}" if query else filled


def fitting(schema: Mapping[str, Any], values: Sequence[str]) -> str | None:
    """Returns the first value that a parameter accepts, with or without 0x."""
    forms = [form for each in values for form in (each, each.removeprefix("0x"))]
    pattern = schema.get("pattern", "[0-9]+" if schema.get("type") == "integer" else ".+")
    return next((each for each in forms if re.search(f"^(?:{pattern})$", each)), None)


VIEWS = (View("/{network}/api", requests),)
