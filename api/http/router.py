"""Finds the route of a path in one walk over its segments. The time does not depend on the number of routes.

Starlette tries one regular expression after the other, about a microsecond per route: with forty routes an application
serves half as many requests as with one (docs/decisions/0003-hot-path.md).

A literal segment takes precedence over a parameter, without backtracking. A parameter is one segment and never empty;
only `{name:path}` takes all that follow. A trailing slash makes another path, unless the family takes it. Errors for
unknown paths have the body of the first family at the longest known prefix.
"""

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from starlette.convertors import PathConvertor
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from api.http.errors import MethodNotAllowed, NoSuchRoute, error_body
from api.http.operation_route import OperationRoute

PREFLIGHT = {"access-control-max-age": "86400", "vary": "Access-Control-Request-Headers"}
ALLOWED_HEADERS = "Content-Type, Authorization, X-API-Key, Last-Event-ID, X-Grpc-Web, X-User-Agent, Grpc-Timeout"
"""For preflight requests that name no headers."""

REQUESTED_MAX_BYTES = 1024
FIELD_NAMES = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}( ?, ?[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}){0,31}")
"""Up to 32 names of headers (RFC 9110, section 5.6.2), as browsers list them."""


@dataclass(slots=True)
class Node:
    """A position in the tree: the next segments, and the routes by method, with the names of the parameters on the way.

    `error_body` belongs to the family whose prefix ends here. `takes_rest`: the parameter before it also has all later
    segments.
    """

    literal: dict[str, "Node"] = field(default_factory=dict)
    parameter: "Node | None" = None
    names: tuple[str, ...] = ()
    methods: dict[str, Route] = field(default_factory=dict)
    error_body: Callable[[Exception], bytes] | None = None
    takes_rest: bool = False


def allowed(node: Node) -> list[str]:
    """Returns the methods that this node serves."""
    return [*node.methods, *(["HEAD"] if "GET" in node.methods else []), "OPTIONS"]


def allowed_headers(scope: Scope) -> str:
    """Returns the request headers that a preflight response allows: those that the request names, as the originals do.

    Only a list of at most 32 names of headers is returned. Allowing any header gives websites no rights, because this
    server has no cookies and other programs can send every header anyway.
    """
    requested = b",".join(value for name, value in scope["headers"] if name == b"access-control-request-headers")
    if len(requested) > REQUESTED_MAX_BYTES or not FIELD_NAMES.fullmatch(requested):
        return ALLOWED_HEADERS
    return ", ".join(name.strip() for name in requested.decode("ascii").split(","))


class OperationRouter:
    """An ASGI application (HTTP only) over routes whose paths have plain segments and `{parameters}`."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        """Raises TypeError for a route that is not a plain Route, ValueError for two routes with the same path and
        method.
        """
        self.root = Node()
        for route in routes:
            if not isinstance(route, Route):
                raise TypeError(f"{route!r} has no single path")
            self.add(route)

    def add(self, route: Route) -> None:
        """Adds one route to the tree."""
        node, names = self.root, []
        for depth, segment in enumerate(route.path_format[1:].split("/")):
            if isinstance(route, OperationRoute) and depth == route.prefix.count("/"):
                node.error_body = node.error_body or route.error_body
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.parameter = node = node.parameter or Node()
                node.takes_rest = isinstance(route.param_convertors.get(names[-1]), PathConvertor)
            else:
                node = node.literal.setdefault(segment, Node())
        for method in route.methods or ():
            if method in node.methods:
                raise ValueError(f"{method} {route.path_format} is there twice")
            node.methods[method] = route
        node.names = tuple(names)
        if isinstance(route, OperationRoute) and route.takes_slash:
            node.literal[""] = Node(names=node.names, methods=node.methods)

    def error_body_of(self, path: str) -> Callable[[Exception], bytes]:
        """Returns the function that writes errors below a path: that of the longest known prefix."""
        node = self.root
        found: Callable[[Exception], bytes] = error_body
        for segment in path[1:].split("/"):
            following = node.literal.get(segment) or (node.parameter if segment else None)
            if following is None:
                break
            node = following
            found = node.error_body or found
        return found

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Calls the route's application with `path_params` in the scope. Raises NoSuchRoute or MethodNotAllowed, before
        anything is awaited.
        """
        node = self.root
        values: list[str] = []
        for segment in scope["path"].removeprefix(scope.get("root_path", ""))[1:].split("/"):
            if node.takes_rest:
                values[-1] += f"/{segment}"
                continue
            following = node.literal.get(segment)
            if following is None:
                if node.parameter is None or not segment:
                    raise NoSuchRoute(scope["path"])
                following = node.parameter
                values.append(segment)
            node = following
        method = scope["method"]
        route = node.methods.get("GET" if method == "HEAD" else method)
        if route is not None:
            scope["path_params"] = dict(zip(node.names, values, strict=True))
            return route.app(scope, receive, send)
        if not node.methods:
            raise NoSuchRoute(scope["path"])
        if method != "OPTIONS":
            raise MethodNotAllowed(method, ", ".join(allowed(node)))
        headers = {
            "access-control-allow-methods": ", ".join(allowed(node)),
            "access-control-allow-headers": allowed_headers(scope),
            **PREFLIGHT,
        }
        return Response(status_code=204, headers=headers)(scope, receive, send)
