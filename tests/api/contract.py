"""Every route in the OpenAPI document: operations, and their aliases as operations of their own.

It reads only the document, as any client would, and nothing from which the document is generated.
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
    """A parameter's example. /docs prefills only required parameters. None: the parameter has no example."""
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
    """Responses with shared ones resolved."""
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
    """The query parameters as a JSON object of strings or integers. Only a mandatory parameter requires a body."""
    needed = [each["name"] for each in query if each["required"]]
    properties = {each["name"]: {"type": ["string", "integer"]} for each in query}
    schema = {"type": "object", "properties": properties} | ({"required": needed} if needed else {})
    return {"required": bool(needed), "content": {"application/json": {"schema": schema}}}


def spelled_out() -> Json:
    """The document with every alias as an operation of its own."""
    paths: Json = {}
    for each in described():
        paths.setdefault(each.path, {})[each.method] = each.operation
    return openapi.document() | {"paths": paths}


class Request(NamedTuple):
    """A request built from examples only."""

    method: str
    path: str
    query: Json
    body: Any

    @property
    def name(self) -> str:
        return " ".join([self.method, self.path, *self.query])


OF_CONTRACT = ("emitterChain", "emitterAddress")
TOGETHER = {
    "forAddress": ("forChain",),
    "emitterAddress": OF_CONTRACT,
    "fromSequence": OF_CONTRACT,
    "toSequence": OF_CONTRACT,
}
"""Parameters that have no meaning without others."""


OF_LONGER_LEDGERS = "/proofs/listing"
"""The end of a path that needs an interval of 100 milestones. The samples have 50."""


def prefilled() -> list[Request]:
    """The request that /docs sends when a visitor presses its buttons: the examples of required parameters and the
    body.

    Only for operations that document a 200: an archive returns 501 for the others.
    """
    return [filled_in(each, {}) for each in described() if is_answered(each)]


def is_answered(each: Described) -> bool:
    """Whether the operation, which is not an alias, returns 200 for the samples."""
    return not each.is_alias and "200" in each.operation["responses"] and not each.path.endswith(OF_LONGER_LEDGERS)


def with_each_option() -> list[Request]:
    """The same requests with one more optional parameter. Not `proof`: the ledgers of the demo are shorter than an
    interval, so the status is 404.
    """
    found = []
    for each in described():
        if not is_answered(each):
            continue
        optional = {
            parameter["name"]: sent(example(parameter))
            for parameter in each.operation.get("parameters", ())
            if not parameter["required"]
            and parameter["in"] == "query"
            and example(parameter) is not None
            and parameter["name"] != "proof"
        }
        for name, value in optional.items():
            beside = {other: optional[other] for other in TOGETHER.get(name, ()) if other in optional}
            found.append(filled_in(each, {name: value} | beside))
    return found


def sent(value: Any) -> Any:
    """A value in the form that a query string has."""
    return str(value).lower() if isinstance(value, bool) else value


def filled_in(each: Described, query: Json) -> Request:
    required = [parameter for parameter in each.operation.get("parameters", ()) if parameter["required"]]
    values = {(parameter["in"], parameter["name"]): sent(parameter["example"]) for parameter in required}
    path = each.path.format(**{name: value for (where, name), value in values.items() if where == "path"})
    query = {name: value for (where, name), value in values.items() if where == "query"} | query
    body = None
    if "requestBody" in each.operation:
        (body,) = each.operation["requestBody"]["content"]["application/json"]["schema"]["examples"]
    return Request(each.method, path, query, body)
