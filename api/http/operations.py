"""An operation: one path, one handler, one answer, served as plain ASGI.

A handler takes a context (a network; for /health all networks) and parsed values. It returns a plain value or raises
an exception that `api.http.errors.STATUS` maps to a status. It sees no request and builds no response. Each argument is
Annotated with the Param, Params or Body that reads it. The docstring is the description, the name the operationId.

A route calls its handler directly, because FastAPI's own request handling (dependency solving, validation of responses,
two exit stacks) costs more than the work itself (decision 0003). `api.http.contract` documents the routes.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias, get_type_hints

import orjson
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.body import Body
from api.http.content_negotiation import JSON, accepted, choose_form
from api.http.errors import BadParameter, error_body
from api.http.etags import IMMUTABLE, Cached, known_etag
from api.http.params import Param, Params
from api.http.query import Query, keep_one_name, query, read_once
from api.http.rendered import PartlyRendered
from api.http.responses import ERRORS
from api.http.streaming import Export, choose_export, format_param, send_export
from db.listing.turns import give_way, must_give_way

OCTETS = "application/octet-stream"

SERIALIZED = "application/vnd.iota.serializer-v1"
"""The media type of an object's own bytes (TIP-25)."""

Handler: TypeAlias = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One path of a family.

    Attributes:
        path: path below the mount.
        handler: the function that answers.
        answer: model of the whole JSON body. None: the body is bytes.
        media_type: of bytes.
        is_cached: the handler returns Cached.
        errors: statuses in addition to those that all operations share.
        immutable: the parameter with the id of an object that never changes. The id is the ETag.
        method: the HTTP method.
        status: status of a response. Not 200 for an operation that only rejects.
        exports: media type → export of the whole listing, with the parameters that it takes.
        raw: handler with the same parameters that returns the object's bytes, for clients that accept SERIALIZED.
        is_extension: an extension of this server. Unknown query parameters are rejected.
        no_span: why a listing has no `start` and `end`, for the error of a request with one of them.
        alias_of: handler of the operation that this one repeats with another method. Only that one is documented.
    """

    path: str
    handler: Handler
    answer: type[BaseModel] | None
    errors: tuple[int, ...] = ()
    immutable: Param | None = None
    method: str = "GET"
    status: int = 200
    media_type: str = OCTETS
    is_cached: bool = False
    exports: Mapping[str, Export] = field(default_factory=dict)
    raw: Handler | None = None
    is_extension: bool = False
    no_span: str = ""
    alias_of: Handler | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """The operations of one API.

    Attributes:
        tag: name of the family in the OpenAPI document.
        operations: its operations.
        wrap: puts the API's envelope around a value before it becomes JSON.
        error_body: renders the body of an error.
        errors: OpenAPI response of each error status.
        is_strict: unknown query parameters are rejected in all operations.
        takes_slash: paths may end with a slash, as in the original API.
        empty_is_none: a query parameter with an empty value counts as missing, as in the original API. Otherwise it is
            parsed like any other text. A parameter can override this.
    """

    tag: str
    operations: tuple[Operation, ...]
    wrap: Callable[[object], object]
    error_body: Callable[[Exception], bytes] = error_body
    errors: Mapping[int, dict[str, Any]] = field(default_factory=lambda: ERRORS)
    is_strict: bool = False
    takes_slash: bool = False
    empty_is_none: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a response: the handler, what renders its value, all responses' headers, the end of the ETag."""

    handler: Handler
    render: Callable[[Any], bytes]
    headers: tuple[tuple[bytes, bytes], ...]
    etag_suffix: bytes = b""


@dataclass(frozen=True, slots=True)
class Mount:
    """A prefix at which a family is served.

    Attributes:
        prefix: start of the paths.
        context: finds the first argument of the handlers from the parameters of the path.
        suffix: end of the operationIds, which differ between mounts.
        params: parameters in the prefix.
        dialect: chooses the defaults of the parameters.
        examples: format of a parameter → example.
        is_alias: its paths are documented as aliases only, even if they are the shortest.
    """

    prefix: str
    context: Callable[[Mapping[str, str]], object]
    suffix: str = ""
    params: tuple[Param, ...] = ()
    dialect: str = ""
    examples: Mapping[str, object] = field(default_factory=dict)
    is_alias: bool = False


def arguments(handler: Handler) -> dict[str, Param]:
    """Returns the parameters of a handler by argument name, including the members of Params, without context and body.

    Raises TypeError for an argument without a Param, Params or Body.
    """
    found: dict[str, Param] = {}
    for name, reader in _readers(handler).items():
        if isinstance(reader, Param):
            found[name] = reader
        elif isinstance(reader, Params):
            found |= {member.name: member for member in reader.members}
    return found


def groups(handler: Handler) -> dict[str, tuple[str, ...]]:
    """Returns the member names of each argument that is a Params."""
    readers = _readers(handler).items()
    return {name: tuple(each.name for each in group.members) for name, group in readers if isinstance(group, Params)}


def body_of(handler: Handler) -> tuple[str, Body] | None:
    """Returns the name and reader of the argument that takes the request's body, or None."""
    return next(((name, reader) for name, reader in _readers(handler).items() if isinstance(reader, Body)), None)


@cache
def _readers(handler: Handler) -> Mapping[str, Param | Params | Body]:
    hints = get_type_hints(handler, include_extras=True)
    found = {}
    for name in list(inspect.signature(handler).parameters)[1:]:
        extras = getattr(hints[name], "__metadata__", ())
        readers = [extra for extra in extras if isinstance(extra, (Param, Params, Body))]
        if len(readers) != 1:
            raise TypeError(f"{handler.__name__}: argument {name} needs one Param, Params or Body")
        found[name] = readers[0]
    return found


def query_names(families: Iterable[Family]) -> frozenset[str]:
    """Returns the names of all query parameters of these families."""
    operations = [operation for family in families for operation in family.operations]
    return frozenset(param.name for each in operations for param in params_of(each) if param.where == "query")


def params_of(operation: Operation) -> list[Param]:
    """Returns the parameters of an operation: those of its handler, and the format of an export."""
    chosen = [format_param(operation.exports)] if operation.exports else []
    declared = arguments(operation.handler).values()
    return [*declared, *(each.also for each in declared if each.also is not None), *chosen]


def forms(operation: Operation, family: Family) -> Mapping[str, Form]:
    """Returns the forms of an operation's responses by media type. The first one is the default."""
    varying = ((b"vary", b"accept"),) if operation.exports or operation.raw else ()
    of_type = {each: ((b"content-type", each.encode()), *varying) for each in (operation.media_type, JSON, SERIALIZED)}
    if operation.answer is None:
        return {operation.media_type: Form(operation.handler, bytes, of_type[operation.media_type])}
    wrap = family.wrap
    found = {JSON: Form(operation.handler, lambda value: orjson.dumps(wrap(value)), of_type[JSON])}
    if operation.raw is not None:
        found[SERIALIZED] = Form(operation.raw, bytes, of_type[SERIALIZED], b".raw")
    return found


def application(operation: Operation, family: Family, mount: Mount, elsewhere: frozenset[str] = frozenset()) -> ASGIApp:
    """Returns the operation as an ASGI application. It reads `path_params` from the scope and sets `operation`.

    `elsewhere`: query parameters of other operations, which are rejected if this one does not have them.
    """
    handler, context = operation.handler, mount.context
    declared = arguments(handler).items()
    params = {name: param.at(mount.dialect, empty_is_none=family.empty_is_none) for name, param in declared}
    body_argument = body_of(handler)
    from_path = [(name, param) for name, param in params.items() if param.where == "path"]
    from_header = [
        (name, param, param.name.lower().encode()) for name, param in params.items() if param.where == "header"
    ]
    from_query = {param.name: (name, param) for name, param in params.items() if param.where == "query"}
    twins = [(name, param, param.also) for name, param in params.items() if param.also is not None]
    chooser = format_param(operation.exports).at(mount.dialect, empty_is_none=family.empty_is_none)
    known = frozenset((*from_query, *(also.name for _, _, also in twins))) | (
        {chooser.name} if operation.exports else set()
    )
    required = tuple(name for name, (_, param) in from_query.items() if param.required)
    defaults = {name: param.read(None) for name, param in from_query.values() if not param.required}
    grouped = {
        argument: {name: defaults.pop(name, None) for name in members} for argument, members in groups(handler).items()
    }
    group_of = {name: argument for argument, members in grouped.items() for name in members}
    from_query |= {also.name: (name, also) for name, _, also in twins}
    identity = next((name for name, param in params.items() if param is operation.immutable), None)
    operation_id = handler.__name__ + mount.suffix
    by_type = forms(operation, family)
    media_types = tuple(by_type)
    first = by_type[media_types[0]]
    is_strict = operation.is_extension or family.is_strict

    def read_query(text: bytes) -> Query:
        given = query(text, known, is_strict=is_strict, elsewhere=elsewhere, no_span=operation.no_span) if text else {}
        media_type = chooser.read(given.pop(chooser.name, None)) if operation.exports else None
        for _, param, also in twins:
            keep_one_name(param, also, given)
        values: dict[str, Any] = defaults.copy()
        for argument, members in grouped.items():
            values[argument] = members.copy()
        for param_name in (*given, *(each for each in required if each not in given)):
            name, param = from_query[param_name]
            into = values[group_of[name]] if name in group_of else values
            into[name] = param.read(given.get(param_name))
        return values, media_type

    def read(scope: Scope) -> dict[str, Any]:
        scope["operation"], scope["error_body"] = operation_id, family.error_body
        path = scope["path_params"]
        values: dict[str, Any] = {name: param.read(path[param.name]) for name, param in from_path}
        text = scope["query_string"]
        if from_query or text:
            found, scope["format"] = read_once(read_query, text)
            values |= found
        for name, param, header in from_header:
            values[name] = param.read(
                next((text.decode("latin-1") for key, text in scope["headers"] if key == header), None)
            )
        return values

    def serve(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return respond(read(scope), scope, receive, send)

    async def respond(values: dict[str, Any], scope: Scope, receive: Receive, send: Send) -> None:
        if body_argument is not None:
            name, expected = body_argument
            values[name] = await expected.read(scope, receive, is_strict=is_strict, elsewhere=elsewhere)
        form = by_type[choose_form(accepted(scope), media_types)] if len(media_types) > 1 else first
        value = await form.handler(context(scope["path_params"]), **values)
        if must_give_way():
            await give_way()
        etag, cache_control = None, b""
        if identity is not None:
            etag, cache_control = b'"%s%s"' % (str(values[identity]).encode(), form.etag_suffix), IMMUTABLE
        elif type(value) is Cached:
            etag, cache_control, value = value.etag, value.cache_control, value.value
        body = await value.body(form.render) if type(value) is PartlyRendered else form.render(value)
        status = 200
        headers = [(b"content-length", b"%d" % len(body)), *form.headers]
        if etag is not None:
            named = known_etag(scope, etag)
            if named is not None:
                status, body, headers = 304, b"", [*form.headers[1:]]
            headers += [(b"etag", named or etag), (b"cache-control", cache_control)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    if not operation.exports:
        return serve
    exported = {
        media_type: (export.parts, [*inspect.signature(export.parts).parameters][1:])
        for media_type, export in operation.exports.items()
    }

    of_json = [(name, param) for name, param in params.items() if param.is_json_only]

    async def serve_either(scope: Scope, receive: Receive, send: Send) -> None:
        values = read(scope)
        media_type = scope.get("format") or choose_export(scope, operation.exports)
        if media_type not in exported:
            await respond(values, scope, receive, send)
            return
        for name, param in of_json:
            if values[name] is not None:
                raise BadParameter(param.name, f"a response in JSON, not {media_type}", str(values[name]))
        write, names = exported[media_type]
        parts = write(context(scope["path_params"]), **{name: values[name] for name in names})
        await send_export(parts, media_type, scope, receive, send)

    return serve_either
