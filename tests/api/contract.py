"""Every route that the OpenAPI document describes: its operations, and their aliases as operations of their own.

It reads the document only, as a program would, and nothing of what the document is built from.
"""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

from api.http import openapi
from tests.api.oracle import Json


class Described(NamedTuple):
    """A route as the document describes it; `is_alias`: another path or method of an operation."""

    path: str
    method: str
    operation: Json
    is_alias: bool

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def example(parameter: Json) -> Any:
    """A parameter's example: /docs prefills that of a required one only. None: it has none."""
    (found,) = parameter["schema"].get("examples", [None])
    return parameter.get("example", found)


@cache
def described() -> tuple[Described, ...]:
    """Every route of the document, each operation before its aliases."""
    return tuple(read(openapi.document()))


def read(document: Json) -> Iterator[Described]:
    for path, item in document["paths"].items():
        for method, written in item.items():
            operation = written | {"responses": resolved(written["responses"], document["components"]["responses"])}
            yield Described(path, method, operation, is_alias=False)
            for number, alias in enumerate(operation.get("x-aliases", ())):
                alias_method, alias_path = alias.split(" ")
                spelled = aliased(operation, alias_path, method, alias_method.lower(), number)
                yield Described(alias_path, alias_method.lower(), spelled, is_alias=True)


def resolved(responses: Json, shared: Json) -> Json:
    """Responses with the shared ones in place of references."""
    names = {status: response.get("$ref", "").rpartition("/")[2] for status, response in responses.items()}
    return {status: shared[names[status]] if names[status] else each for status, each in responses.items()}


def aliased(operation: Json, path: str, method: str, alias_method: str, number: int) -> Json:
    """The operation as an alias serves it."""
    found = deepcopy(operation)
    del found["x-aliases"]
    found["operationId"] += f"_alias_{number}"
    parameters = [each for each in found.pop("parameters", ()) if each["in"] != "path" or f"{{{each['name']}}}" in path]
    for parameter in parameters:
        for prefix, schema in parameter.pop("x-alias-schemas", {}).items():
            if path.startswith(f"{prefix}/"):
                parameter["schema"] = schema | {"examples": parameter["schema"]["examples"]}
    if (method, alias_method) == ("get", "post"):
        query = [each for each in parameters if each["in"] == "query"]
        parameters = [each for each in parameters if each["in"] == "path"]
        found["requestBody"] = posted(query)
        found["responses"]["413"] = found["responses"]["400"]
    if not parameters and "requestBody" not in found:
        found["responses"].pop("400", None)
    return found | ({"parameters": parameters} if parameters else {})


def posted(query: list[Json]) -> Json:
    """The query parameters as a JSON object of strings; without a mandatory one no body is needed."""
    needed = [each["name"] for each in query if each["required"]]
    properties = {each["name"]: {"type": "string"} for each in query}
    schema = {"type": "object", "properties": properties} | ({"required": needed} if needed else {})
    return {"required": bool(needed), "content": {"application/json": {"schema": schema}}}


def spelled_out() -> Json:
    """The document with every alias as an operation of its own."""
    paths: Json = {}
    for each in described():
        paths.setdefault(each.path, {})[each.method] = each.operation
    return openapi.document() | {"paths": paths}
