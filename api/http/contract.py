"""The OpenAPI document: each operation once, at its path with `{network}`; the other routes that serve it are aliases.

Invariants: the extension `x-aliases` of an operation lists its other routes as `METHOD /path`. Where an alias reads a
parameter differently, the parameter has `x-alias-schemas`: prefix of the alias → schema. So every route is described.
FastAPI only turns models into schemas here; it serves no request.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute

from api.http.auth import OPEN_PATH
from api.http.operation_route import OperationRoute
from api.http.operations import SERIALIZED, Handler, Operation, body_of, params_of
from api.http.params import Param
from api.http.responses import example_of

ALIASES = "x-aliases"

ALIAS_SCHEMAS = "x-alias-schemas"

OF_NETWORK = "_of_network"
"""Ends the operation ids of routes with `{network}`; left out of the document, where no other route has its own id."""

BINARY = {"schema": {"type": "string", "format": "binary"}}

TEXT = {"schema": {"type": "string"}}

FIRST_ERROR = 400

ERRORS_OF_ALL = (500, 503)

ERRORS_OF_CLIENTS = (401, 429)
"""Statuses of clients without valid credentials, or beyond their rate limit."""

CREDENTIALS = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, or a JWT (HS256)."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key."},
}
"""The security schemes: what api/http/auth.py accepts."""


def described(routes: Iterable[OperationRoute]) -> list[APIRoute]:
    """One FastAPI route for each operation, in the order of the routes, for `get_openapi`."""
    groups: dict[Handler, list[OperationRoute]] = {}
    for route in routes:
        groups.setdefault(route.operation.alias_of or route.operation.handler, []).append(route)
    return [describe(*canonical_first(group)) for group in groups.values()]


def canonical_first(group: Sequence[OperationRoute]) -> list[OperationRoute]:
    """The route to document, then its aliases: the shortest path with `{network}` comes first, if there is one, except
    at a mount of aliases.
    """

    def order(each: OperationRoute) -> tuple[bool, bool, bool, int]:
        return each.operation.alias_of is not None, each.mount.is_alias, not each.mount.params, len(each.path)

    return sorted(group, key=order)


def describe(route: OperationRoute, *aliases: OperationRoute) -> APIRoute:
    """The operation for FastAPI, at the path of `route`."""
    operation, family, mount = route.operation, route.family, route.mount
    params = [
        *(param.documented() for param in mount.params),
        *(describe_param(param, route, aliases) for param in params_of(operation)),
    ]
    body = body_of(operation.handler)
    summary, _, text = (inspect.getdoc(operation.handler) or "").partition("\n")
    paths = [f"{method} {alias.path}" for alias in aliases for method in alias.methods or ()]

    async def nothing() -> None:  # replaces the handler, whose arguments FastAPI does not understand
        raise NotImplementedError

    return APIRoute(
        route.path,
        nothing,
        methods=[operation.method],
        status_code=operation.status,
        name=route.name,
        operation_id=route.operation_id.removesuffix(OF_NETWORK),
        summary=summary.rstrip("."),
        description="\n\n".join(filter(None, (text.strip(), sentence_of(paths)))),
        tags=[family.tag],
        response_model=operation.answer,
        response_class=Response if operation.answer is None else JSONResponse,
        response_description="The answer",
        responses=responses(
            operation,
            family.errors,
            [
                *ERRORS_OF_ALL,
                *(ERRORS_OF_CLIENTS if route.path != OPEN_PATH else []),
                *([400] if params or body else []),
                *([413] if body else []),
                *([404] if mount.params else []),
            ],
        ),
        openapi_extra={
            **({ALIASES: paths} if paths else {}),
            **({"parameters": params} if params else {}),
            **({"requestBody": body[1].documented()} if body else {}),
        },
    )


def sentence_of(paths: Sequence[str]) -> str:
    """The aliases for a reader, and what a POST among them takes."""
    if not paths:
        return ""
    posted = any(path.startswith("POST ") for path in paths) and any(path.startswith("GET ") for path in paths)
    takes = " A POST takes the query parameters as a JSON object of strings or integers." if posted else ""
    return f"Also served at {', '.join(f'`{path}`' for path in paths)}.{takes}"


def describe_param(param: Param, route: OperationRoute, aliases: Iterable[OperationRoute]) -> dict[str, Any]:
    """The OpenAPI parameter object, with what differs under an alias.

    /docs prefills `example`, so only required parameters have one; the others have `examples` in their schemas.
    """
    own: dict[str, Any] = param.at(route.mount.dialect, empty_is_none=route.family.empty_is_none).documented()
    example = route.mount.examples.get(own["schema"].get("format"), own.pop("example"))
    if param.required:
        own["example"] = example
    elif example is not None:
        own["schema"]["examples"] = [example]
    differing: dict[str, Any] = {}
    for alias in aliases:
        schema = param.at(alias.mount.dialect).documented()["schema"]
        if schema != {name: value for name, value in own["schema"].items() if name != "examples"}:
            differing[alias.prefix] = schema
    if not differing:
        return own
    return own | {
        "description": f"{own['description']}. {' '.join(f'{difference(*each)}.' for each in differing.items())}",
        ALIAS_SCHEMAS: differing,
    }


def difference(prefix: str, schema: Mapping[str, Any]) -> str:
    """What an alias accepts, in words."""
    default = str(schema["default"]).lower()
    if "maximum" in schema:
        return f"Under `{prefix}`: an integer from {schema['minimum']} to {schema['maximum']}, default {default}"
    return f"Under `{prefix}`: default {default}"


def responses(
    operation: Operation, errors: Mapping[int, dict[str, Any]], shared: Sequence[int]
) -> dict[int | str, dict[str, Any]]:
    """The responses beside the JSON body: bytes, exports, 304, and errors in the order of their statuses."""
    own: dict[str, Any] = {}
    if operation.answer is None or operation.raw is not None:
        media_type = operation.media_type if operation.answer is None else SERIALIZED
        own = {"content": {media_type: TEXT if media_type.startswith("text/") else BINARY}}
    elif operation.exports:
        answer = example_of(operation.answer)
        own = {
            "content": {
                media_type: {"schema": {"type": "string"}, "example": export.example(answer)}
                for media_type, export in operation.exports.items()
            }
        }
    return {
        **({200: own} if own else {}),
        **(
            {304: {"description": "The ETag in If-None-Match is current"}}
            if operation.immutable or operation.is_cached
            else {}
        ),
        **{status: errors[status] for status in sorted({*operation.errors, *shared})},
    }


def share_errors(document: dict[str, Any]) -> None:
    """Replaces equal error responses by references to one component, named by its model and status."""
    shared: dict[str, Any] = {}
    for item in document["paths"].values():
        for operation in item.values():
            for status, response in operation["responses"].items():
                if int(status) < FIRST_ERROR:
                    continue
                schema = response["content"]["application/json"]["schema"]["$ref"]
                name = f"{schema.rpartition('/')[2]}{status}"
                if shared.setdefault(name, response) == response:
                    operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    document["components"]["responses"] = dict(sorted(shared.items()))


def describe_credentials(document: dict[str, Any]) -> None:
    """Adds the credentials that a server accepts. It may require none, and /health never does."""
    document["components"]["securitySchemes"] = CREDENTIALS
    document["security"] = [{}, *({name: []} for name in CREDENTIALS)]
    document["paths"][OPEN_PATH]["get"]["security"] = []
