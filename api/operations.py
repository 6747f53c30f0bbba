"""An operation: one path, one handler, one answer; served as plain ASGI, documented by FastAPI.

Rules of this file: a handler takes a context (a network; for /health all of them) and parsed values, returns a plain
value and raises what STATUS knows; it sees no request and makes no response. Its arguments are Annotated with the
Param that reads them, its docstring is the description, its name the operationId. FastAPI's own request handling
(dependency solving, validation of our answers, two exit stacks) would cost more than the work (decision 0003), so a
route here is documented as any APIRoute and calls its handler directly.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_type_hints
from urllib.parse import parse_qsl

import orjson
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import BadParameter
from api.exports import CSV, prefers_csv, send_csv
from api.params import Param
from api.responses import ERRORS

BYTES = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}

AS_CSV = {"content": {CSV: {"schema": {"type": "string"}}}}

ERRORS_OF_ALL = (401, 429, 500, 503)

Handler: TypeAlias = Callable[..., Awaitable[Any]]
Export: TypeAlias = Callable[..., AsyncGenerator[str]]


@dataclass(frozen=True, slots=True)
class Operation:
    """`answer` is the model of the whole JSON body; None: bytes. `errors`: statuses beside those all share.

    `immutable`: the answer of that id never changes; the id is its ETag. `status`: of the answer; not 200 where an
    operation is there to say no. `csv`: a handler of the path's parameters alone, for clients that ask for CSV.
    `is_ours`: no other system has it, so what it does not know is refused.
    """

    path: str
    handler: Handler
    answer: type[BaseModel] | None
    errors: tuple[int, ...] = ()
    immutable: Param | None = None
    method: str = "GET"
    status: int = 200
    csv: Export | None = None
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """Operations that one kind of client speaks. `wrap` puts the enveloping around a value, before it becomes JSON."""

    tag: str
    operations: tuple[Operation, ...]
    wrap: Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a family stands. `context` finds the handlers' first argument from the path's parameters.

    `suffix` ends the operationIds, as the same operation may stand under several prefixes; `params` are those of the
    prefix; `dialect` chooses the parameters' defaults.
    """

    prefix: str
    context: Callable[[Mapping[str, str]], object]
    suffix: str = ""
    params: tuple[Param, ...] = ()
    dialect: str = ""


def arguments(handler: Handler) -> dict[str, Param]:
    """Argument name → Param, for each argument after the context. TypeError for one that no Param reads."""
    hints = get_type_hints(handler, include_extras=True)
    found = {}
    for name in list(inspect.signature(handler).parameters)[1:]:
        params = [extra for extra in getattr(hints[name], "__metadata__", ()) if isinstance(extra, Param)]
        if len(params) != 1:
            raise TypeError(f"{handler.__name__}: argument {name} needs one Param")
        found[name] = params[0]
    return found


def query(scope: Scope, known: frozenset[str], *, is_ours: bool) -> dict[str, str]:
    """The known query parameters, each at most once; BadParameter for one repeated. Others are ignored, as the systems
    do whose operations these are; in an operation of ours they are a BadParameter.
    """
    values: dict[str, str] = {}
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="surrogateescape")
    for name, text in pairs:
        if name in known:
            if name in values:
                raise BadParameter(name, "one value", f"{values[name]}, {text}")
            values[name] = text
        elif is_ours:
            raise BadParameter(name, f"only {', '.join(sorted(known)) or 'the path'}", text)
    return values


def known_etag(scope: Scope, etag: bytes) -> bytes | None:
    """The answer's ETag as the client names it that has it already (If-None-Match, RFC 9110 13.1.2): weak where it got
    it compressed. None: it has not.
    """
    for name, value in scope["headers"]:
        if name == b"if-none-match":
            for each in value.split(b","):
                validator: bytes = each.strip()
                if validator.removeprefix(b"W/") == etag:
                    return validator
                if validator == b"*":
                    return etag
    return None


def application(operation: Operation, family: Family, mount: Mount) -> ASGIApp:
    """The operation as an ASGI application that reads `path_params` from its scope and leaves its `operation` there."""
    handler, wrap, context = operation.handler, family.wrap, mount.context
    params = {name: param.at(mount.dialect) for name, param in arguments(handler).items()}
    from_path = [(name, param) for name, param in params.items() if param.where == "path"]
    from_query = [(name, param) for name, param in params.items() if param.where == "query"]
    known = frozenset(param.name for _, param in from_query)
    defaults = {name: param.read(None) for name, param in from_query if not param.required}
    identity = next((name for name, param in params.items() if param is operation.immutable), None)
    operation_id = handler.__name__ + mount.suffix
    media_type = b"application/octet-stream" if operation.answer is None else b"application/json"
    varying = [(b"vary", b"accept")] if operation.csv else []

    async def serve(scope: Scope, _: Receive, send: Send) -> None:
        scope["operation"] = operation_id
        path = scope["path_params"]
        values = {name: param.read(path[param.name]) for name, param in from_path}
        if from_query:
            given = query(scope, known, is_ours=operation.is_ours)
            values |= defaults
            for name, param in from_query:
                if param.required or param.name in given:
                    values[name] = param.read(given.get(param.name))
        value = await handler(context(path), **values)
        body: bytes = value if operation.answer is None else orjson.dumps(wrap(value))
        status = 200
        headers = [(b"content-type", media_type), (b"content-length", b"%d" % len(body)), *varying]
        if identity is not None:
            etag = b'"%s"' % str(values[identity]).encode()
            named = known_etag(scope, etag)
            if named is not None:
                status, body, headers = 304, b"", []
            headers += [(b"etag", named or etag), (b"cache-control", b"public, max-age=31536000, immutable")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    if operation.csv is None:
        return serve
    export = operation.csv

    async def serve_either(scope: Scope, receive: Receive, send: Send) -> None:
        if not prefers_csv(scope):
            await serve(scope, receive, send)
            return
        scope["operation"] = operation_id
        path = scope["path_params"]
        values = {name: param.read(path[param.name]) for name, param in from_path}
        await send_csv(export(context(path), **values), scope, receive, send)

    return serve_either


def responses(operation: Operation, shared: Sequence[int]) -> dict[int | str, dict[str, Any]]:
    """What an operation may answer beside its model: bytes, nothing new, errors in the order of their statuses."""
    return {
        **({200: BYTES} if operation.answer is None else {200: AS_CSV} if operation.csv else {}),
        **({304: {"description": "As the ETag in If-None-Match says"}} if operation.immutable else {}),
        **{status: ERRORS[status] for status in sorted({*operation.errors, *shared})},
    }


class OperationRoute(APIRoute):
    """An operation at its place: FastAPI documents it, `app` is ours."""

    def __init__(self, operation: Operation, family: Family, mount: Mount) -> None:
        handler = operation.handler
        params = [*mount.params, *(param.at(mount.dialect) for param in arguments(handler).values())]
        summary, _, description = (inspect.getdoc(handler) or "").partition("\n")

        async def documented() -> None:  # stands in for the handler, whose arguments FastAPI would not understand
            raise NotImplementedError

        super().__init__(
            mount.prefix + operation.path,
            documented,
            methods=[operation.method],
            status_code=operation.status,
            name=handler.__name__,
            operation_id=handler.__name__ + mount.suffix,
            summary=summary.rstrip("."),
            description=description.strip(),
            tags=[family.tag],
            response_model=operation.answer,
            response_class=Response if operation.answer is None else JSONResponse,
            response_description="The answer",
            responses=responses(
                operation, [*ERRORS_OF_ALL, *([400] if params else []), *([404] if mount.params else [])]
            ),
            openapi_extra={"parameters": [param.documented() for param in params]} if params else None,
        )
        self.app = application(operation, family, mount)
