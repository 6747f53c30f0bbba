"""A request for a page: its parameters, its network, and the JSON operations that have its data.

Operations are called in the process, without HTTP. A page therefore shows what the API returns, and names the requests
that return it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from starlette.types import ASGIApp, Message, Scope

from api.http.errors import NoSuchNetwork, NotKept, OtherEra
from api.network import NetworkMount
from db.listing.statement import LISTED
from db.store import LedgerUnknown, NotFound

MISSING = (NotFound, OtherEra, LedgerUnknown)
"""Errors of what an archive does not have: the object, the object in the requested era, the ledger state."""


def segment(text: str) -> str:
    """Writes a text as one segment of a path."""
    return quote(text, safe="")


async def call(operations: ASGIApp, url: str, media_type: str = "") -> bytes:
    """Returns the body of an operation of this server. Raises the errors of its handler.

    Args:
        operations: the server's operations.
        url: path and query.
        media_type: the requested form. Default: JSON.
    """
    path, _, query = url.partition("?")
    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"accept", media_type.encode())] if media_type else [],
        "root_path": "",
    }
    body = b""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal body
        body += message.get("body", b"")

    await operations(scope, receive, send)
    return body


@dataclass(slots=True)
class Visit:
    """A request for a page.

    Attributes:
        operations: the JSON operations of this server.
        networks: the served networks by name.
        path: the requested path.
        params: parameters of the path. `network` is among them on pages of one network.
        query: parameters of the query; of a repeated one, the last.
        origin: scheme and host by which the browser reached this server.
        sources: the operations called until now, as path and query.
        covers: what their responses cover, in a selective archive.
    """

    operations: ASGIApp
    networks: Mapping[str, NetworkMount]
    path: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    origin: str = ""
    sources: list[str] = field(default_factory=list)
    covers: list[str] = field(default_factory=list)

    @property
    def network(self) -> str:
        """The name of the page's network in paths. Empty on pages of all networks."""
        return self.params.get("network", "")

    @property
    def mount(self) -> NetworkMount:
        """The page's network. Raises NoSuchNetwork on pages of all networks."""
        found = self.networks.get(self.network)
        if found is None:
            raise NoSuchNetwork(self.network)
        return found

    def api(self, path: str, **query: object) -> str:
        """Returns the URL of an operation.

        Args:
            path: its path below /api/{network}, or from the root if it starts with a slash. Texts of a request in it
                were written by `segment`.
            query: parameters of the query. Those that are None are left out.
        """
        whole = path if path.startswith("/") else f"/api/{self.network}/{path}"
        given = {name: value for name, value in query.items() if value is not None}
        return f"{whole}{'&' if '?' in whole else '?'}{urlencode(given)}" if given else whole

    async def json(self, path: str, **query: object) -> Any:
        """Returns the JSON of an operation. For the arguments see `api`. Raises the errors of its handler."""
        url = self.api(path, **query)
        return orjson.loads(await self._call(url))

    async def find(self, path: str, **query: object) -> Any | None:
        """Like `json`; None if the archive does not have it, or if it belongs to the other era of its network."""
        try:
            return await self.json(path, **query)
        except MISSING:
            self._leave_out(self.api(path, **query))
            return None

    async def kept(self, path: str, **query: object) -> Any | None:
        """Like `find`; None also if it needs a ledger state that the store does not have, or has another limit."""
        try:
            return await self.find(path, **query)
        except (LedgerUnknown, NotKept):
            self._leave_out(self.api(path, **query))
            return None

    async def _call(self, url: str, media_type: str = "") -> bytes:
        """Returns the body of an operation. Notes the operation, and what its response covers."""
        if url not in self.sources:
            self.sources.append(url)
        LISTED.set(None)
        body = await call(self.operations, url, media_type)
        covered = LISTED.get()
        if covered is not None and covered not in self.covers:
            self.covers.append(covered)
        LISTED.set(None)
        return body

    def _leave_out(self, url: str) -> None:
        """Removes an operation without data from the sources. Two parts of a page may have called it."""
        if url in self.sources:
            self.sources.remove(url)

    async def body(self, path: str, media_type: str = "") -> bytes:
        """Returns the body of an operation that returns bytes.

        Args:
            path: as in `api`.
            media_type: the requested form, for an operation that also returns JSON.
        """
        return await self._call(self.api(path), media_type)

    def here(self, **query: object) -> str:
        """Returns this page's URL with other parameters of the query. Those that are None are left out."""
        given = {name: value for name, value in {**self.query, **query}.items() if value is not None}
        return f"{self.path}?{urlencode(given)}" if given else self.path

    def elsewhere(self, path: str) -> str:
        """Returns the URL of another page with the parameters of this page's query."""
        return replace(self, path=path).here()
