"""ASGI middleware that serves pages, in front of the JSON operations.

A path belongs to the explorer if it is /, /search or a static file, or starts with a network's name. `/` is a page for
clients that prefer HTML, otherwise the JSON index. A browser gets a page as well for an unknown path that is not of an
API. All other requests pass through.
"""

from collections.abc import Awaitable, Mapping, Sequence
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.content_negotiation import JSON, accepted, choose_form
from api.http.errors import MethodNotAllowed, NoSuchNetwork, NoSuchRoute, OtherProtocol, message_of, status_of
from api.network import NetworkMount
from api.version import VERSION
from api.web import formats, operations, payloads
from api.web.page import Download, Page, Redirect, View
from api.web.static_files import StaticFiles
from api.web.views import VIEWS
from api.web.visit import Visit
from db.listing.turns import give_way, must_give_way
from db.schema.protocols import IOTA
from db.store import NotKeptHere

HTML = "text/html"

HEADERS = (
    (b"content-type", b"text/html; charset=utf-8"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-cache"),
    (b"vary", b"accept"),
)
"""Headers of every page. Scripts, styles and images come from this server, as files."""

KEPT = {"cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff"}
"""Headers of static files."""

TITLES: Mapping[int, str] = {
    400: "This request is not valid",
    401: "A key is required",
    404: "Not found",
    405: "This request is not valid",
    501: "Not kept",
    503: "The archive is not available",
}
"""Titles of error pages."""

IOTA_MENU = (
    ("", "Overview"),
    ("/coverage", "Coverage"),
    ("/statistics", "Statistics"),
    ("/richest", "Rich list"),
    ("/api", "API"),
)
WORMHOLE_MENU = (
    ("", "Overview"),
    ("/operations", "Operations"),
    ("/coverage", "Coverage"),
    ("/guardians", "Guardians"),
    ("/api", "API"),
)


def menu(network: NetworkMount) -> Sequence[tuple[str, str]]:
    """Returns path and name of the pages of a network, as its menu shows them."""
    return IOTA_MENU if network.protocol == IOTA else WORMHOLE_MENU


NOT_PAGES = frozenset({"api", "docs", "health", "metrics", "openapi.json", "v1"})
"""First segments of paths whose errors are never pages."""


def environment(static: StaticFiles) -> Environment:
    """Returns the templates' environment. Every value is escaped, and an unknown variable is an error."""
    made = Environment(
        loader=PackageLoader("api.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "number": formats.number,
        "quantity": formats.quantity,
        "token_amount": formats.token_amount,
        "decimal": formats.decimal,
        "amount": formats.amount,
        "amount_and_raw": formats.amount_and_raw,
        "age": formats.age,
        "bech32": formats.bech32,
        "counted": formats.counted,
        "chart_rows": formats.chart_rows,
        "day": formats.day,
        "iso": formats.iso,
        "moment": formats.moment,
        "payload_name": payloads.name_of,
        "short": formats.short,
        "seconds": operations.seconds,
        "usd": operations.usd,
    }
    made.globals |= {"static": static.prefix, "version": VERSION, "menu": menu}
    return made


def origin_of(scope: Scope) -> str:
    """Returns scheme and host by which a browser reached this server."""
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    return f"{scope['scheme']}://{host.decode('latin-1')}"


class Explorer:
    """Pages in front of the JSON operations of the same networks."""

    def __init__(self, operations: ASGIApp, networks: Mapping[str, NetworkMount]) -> None:
        """`operations`: the JSON operations, which get all other requests."""
        self.operations, self.networks = operations, networks
        self.static = StaticFiles()
        self.environment = environment(self.static)
        self.views: dict[tuple[int, str], list[tuple[list[str], View]]] = {}
        for view in VIEWS:
            pattern = view.path[1:].split("/")
            kind = pattern[1] if pattern[0] == "{network}" and len(pattern) > 1 else pattern[0]
            self.views.setdefault((len(pattern), kind), []).append((pattern, view))

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serves one request. Errors of pages are raised with a function in the scope that renders them."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        # Not a coroutine of its own: most requests are for an API, and should take no longer than without pages.
        return (self.operations if path.startswith("/api/") else self.answer)(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request that is not below /api."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        parts = path[1:].split("/")
        if parts[0] in NOT_PAGES:
            await self.operations(scope, receive, send)
        elif path in self.static.files:
            body, media_type = self.static.files[path]
            scope["operation"] = "static_file"
            await Response(body, headers=KEPT, media_type=media_type)(scope, receive, send)
        elif parts[0] in self.networks or parts[0] == "search" or choose_form(accepted(scope), (JSON, HTML)) == HTML:
            await self.show(parts, scope, receive, send)
        else:
            await self.operations(scope, receive, send)

    async def show(self, parts: Sequence[str], scope: Scope, receive: Receive, send: Send) -> None:
        """Renders the page of a path."""
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), errors="replace"))
        named = {"network": parts[0]} if parts[0] in self.networks else {}
        visit = Visit(self.operations, self.networks, "/" + "/".join(parts), named, query, origin_of(scope))
        root = scope.get("root_path", "")
        scope["operation"] = "page"
        scope["error_body"] = lambda error: self.error_page(visit, error, root)
        scope["error_headers"] = HEADERS
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed(scope["method"], "GET, HEAD")
        view, params = self.find(parts)
        visit.params = params
        scope["operation"] = f"page_{view.show.__name__}"
        answer = await view.show(visit)
        if isinstance(answer, Redirect):
            await RedirectResponse(root + answer.path, 302)(scope, receive, send)
            return
        if isinstance(answer, Download):
            headers = {"content-disposition": f'attachment; filename="{answer.name}"'}
            await Response(answer.body, media_type=answer.media_type, headers=headers)(scope, receive, send)
            return
        if must_give_way():
            await give_way()
        body = self.render(visit, answer, root)
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": answer.status, "headers": [*HEADERS, length]})
        await send({"type": "http.response.body", "body": body})

    def find(self, parts: Sequence[str]) -> tuple[View, dict[str, str]]:
        """Returns the view of a path and the parameters in it. Raises NoSuchRoute, NoSuchNetwork or OtherProtocol."""
        is_of_network = parts[0] in self.networks
        is_of_other = False
        kind = parts[1] if is_of_network and len(parts) > 1 else "{network}" if is_of_network else parts[0]
        for pattern, view in self.views.get((len(parts), kind), ()):
            pairs = list(zip(pattern, parts, strict=True))
            if all(name.startswith("{") or name == part for name, part in pairs) and all(parts[1:]):
                params = {name[1:-1]: part for name, part in pairs if name.startswith("{")}
                if not is_of_network or view.protocol in {None, self.networks[parts[0]].protocol}:
                    return view, params
                is_of_other = True
        if is_of_other:
            raise OtherProtocol(parts[0], self.networks[parts[0]].protocol)
        if not is_of_network and len(parts) > 1 and (len(parts), parts[1]) in self.views:
            raise NoSuchNetwork(parts[0])
        raise NoSuchRoute("/" + "/".join(parts))

    def render(self, visit: Visit, page: Page, root: str) -> bytes:
        """Returns a page as HTML. `root`: the path at which a proxy serves this server."""
        template = self.environment.get_template(f"{page.template}.html")
        return template.render(
            {
                "visit": visit,
                "page": page,
                "root": root,
                "networks": self.networks,
                "network": visit.network,
                "token": visit.networks[visit.network].base_token if visit.network in visit.networks else None,
                **page.values,
            }
        ).encode()

    def error_page(self, visit: Visit, error: Exception, root: str) -> bytes:
        """Returns the page for an error."""
        status = status_of(error)
        values = {"status": status, "message": message_of(error), "is_selected": isinstance(error, NotKeptHere)}
        return self.render(visit, Page("error", TITLES.get(status, "This request failed"), values, status), root)
