"""Finds the route of a path in one walk over its segments, however many routes there are.

A list of regular expressions, tried one after the other, costs about a microsecond a route: with forty routes a bare
Starlette application answers half as many requests as with one (docs/decisions/0003-hot-path.md). Rules of this file:
it serves the very routes FastAPI documents; a literal segment wins over a parameter and there is no way back, so two
routes may not differ in that alone; a parameter is one segment and never empty; a slash at the end is another path,
but where a family takes it. What no operation answers is refused in the words of the first family that stands there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.errors import MethodNotAllowed, NoSuchRoute, error_body
from api.http.operations import OperationRoute

PREFLIGHT = {
    "access-control-allow-headers": "Content-Type, Authorization, X-API-Key",
    "access-control-max-age": "86400",
}


@dataclass(slots=True)
class Node:
    """What may follow, and what ends here: method → application, with the names of the parameters passed.

    `error_body`: of the family whose prefix ends here.
    """

    literal: dict[str, "Node"] = field(default_factory=dict)
    parameter: "Node | None" = None
    names: tuple[str, ...] = ()
    methods: dict[str, ASGIApp] = field(default_factory=dict)
    error_body: Callable[[Exception], bytes] | None = None


def allowed(node: Node) -> list[str]:
    """The methods that are answered where a path ends."""
    return [*node.methods, *(["HEAD"] if "GET" in node.methods else []), "OPTIONS"]


class OperationRouter:
    """An ASGI application (http only) over routes whose paths hold plain segments and `{parameters}`."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        """TypeError for a route that is no plain Route, ValueError for two that answer the same path and method."""
        self.root = Node()
        for route in routes:
            if not isinstance(route, Route):
                raise TypeError(f"{route!r} has no single path")
            self.add(route)

    def add(self, route: Route) -> None:
        """Hangs one route into the tree."""
        node, names = self.root, []
        for depth, segment in enumerate(route.path_format[1:].split("/")):
            if isinstance(route, OperationRoute) and depth == route.prefix.count("/"):
                node.error_body = node.error_body or route.error_body
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.parameter = node = node.parameter or Node()
            else:
                node = node.literal.setdefault(segment, Node())
        for method in route.methods or ():
            if method in node.methods:
                raise ValueError(f"{method} {route.path_format} is there twice")
            node.methods[method] = route.app
        node.names = tuple(names)
        if isinstance(route, OperationRoute) and route.takes_slash:
            node.literal[""] = Node(names=node.names, methods=node.methods)

    def error_body_of(self, path: str) -> Callable[[Exception], bytes]:
        """How errors are written where nobody else says, below the longest prefix that the path begins with."""
        node = self.root
        found: Callable[[Exception], bytes] = error_body
        for segment in path[1:].split("/"):
            following = node.literal.get(segment) or (node.parameter if segment else None)
            if following is None:
                break
            node = following
            found = node.error_body or found
        return found

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Calls the route's application with `path_params` in the scope; NoSuchRoute, MethodNotAllowed otherwise."""
        node = self.root
        values = []
        for segment in scope["path"].removeprefix(scope.get("root_path", ""))[1:].split("/"):
            following = node.literal.get(segment)
            if following is None:
                if node.parameter is None or not segment:
                    raise NoSuchRoute(scope["path"])
                following = node.parameter
                values.append(segment)
            node = following
        method = scope["method"]
        application = node.methods.get("GET" if method == "HEAD" else method)
        if application is not None:
            scope["path_params"] = dict(zip(node.names, values, strict=True))
            await application(scope, receive, send)
        elif not node.methods:
            raise NoSuchRoute(scope["path"])
        elif method == "OPTIONS":
            await Response(
                status_code=204, headers={"access-control-allow-methods": ", ".join(allowed(node)), **PREFLIGHT}
            )(scope, receive, send)
        else:
            raise MethodNotAllowed(method, ", ".join(allowed(node)))
