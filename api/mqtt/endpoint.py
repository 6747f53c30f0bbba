"""The WebSockets of the application: which path serves which network's topics, credentials, limits of connections.

Credentials come with the handshake, as in any request, or as the password of CONNECT, because browsers cannot set
headers of a WebSocket. Each handshake, SUBSCRIBE and UNSUBSCRIBE counts as a request against the rate limit, as does
every tenth PINGREQ.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Mapping

from starlette.types import Receive, Scope, Send

from api.http.auth import Credentials
from api.http.errors import TooManyRequests
from api.http.rate_limit import RateLimit
from api.mqtt.chrysalis import CHRYSALIS
from api.mqtt.client import CLOSE_S, Client
from api.mqtt.hub import Hub
from api.mqtt.packets import Rejected
from api.mqtt.stardust import STARDUST
from api.mqtt.topics import Dialect
from api.network import NetworkMount
from db.schema.protocols import IOTA

SUBPROTOCOLS = ("mqtt", "mqttv3.1")
"""The name of the standard, and an older one that clients of Eclipse Paho for C send, also for MQTT 3.1.1."""

OF_NETWORK = re.compile(r"/api/([^/]+)/mqtt(/v1)?")

DEFAULT_PATHS: Mapping[str, Dialect] = {"/mqtt": CHRYSALIS, "/api/mqtt/v1": STARDUST}
"""Paths without a network, where the nodes have them."""


class MqttEndpoint:
    """An ASGI application for WebSockets.

    Args:
        networks: the served networks by name.
        chrysalis, stardust: the networks of paths without a network, or empty.
        credentials, rate_limit: None without a key or a limit.
        connections: maximum of connections of this process.
        deadline_s: timeout of a read in seconds.
    """

    def __init__(
        self,
        networks: Mapping[str, NetworkMount],
        chrysalis: str,
        stardust: str,
        credentials: Credentials | None,
        rate_limit: RateLimit | None,
        connections: int,
        deadline_s: float,
    ) -> None:
        self._networks = {name: mount for name, mount in networks.items() if mount.protocol == IOTA}
        self._defaults = {"/mqtt": chrysalis, "/api/mqtt/v1": stardust}
        self._credentials, self._rate_limit = credentials, rate_limit
        self._free, self._deadline_s = connections, deadline_s
        self._hubs: dict[tuple[str, str], Hub] = {}

    def _hub_of(self, path: str) -> Hub | None:
        found = OF_NETWORK.fullmatch(path)
        if path in DEFAULT_PATHS:
            name, dialect = self._defaults[path], DEFAULT_PATHS[path]
        elif found:
            name, dialect = found[1], STARDUST if found[2] else CHRYSALIS
        else:
            return None
        if name not in self._networks:
            return None
        key = name, dialect.era.name
        if key not in self._hubs:
            self._hubs[key] = Hub(self._networks[name], dialect, self._deadline_s)
        return self._hubs[key]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one WebSocket."""
        await receive()
        hub = self._hub_of(scope["path"].removeprefix(scope.get("root_path", "")))
        offered = scope["subprotocols"]
        subprotocol = next((each for each in offered if each in SUBPROTOCOLS), None)
        if hub is None:
            await reject(receive, send, 404, f"no WebSocket here; there are {', '.join(DEFAULT_PATHS)}")
        elif offered and subprotocol is None:
            await reject(receive, send, 400, "the subprotocol of this WebSocket is mqtt")
        elif not self._free:
            await reject(receive, send, 503, "there are no more connections now; retry later")
        else:
            try:
                self._count(scope)
            except Rejected as error:
                await reject(receive, send, 429, str(error))
                return
            self._free -= 1
            try:
                await send({"type": "websocket.accept", "subprotocol": subprotocol})
                await Client(hub, receive, send, self._is_allowed(scope), lambda: self._count(scope)).run()
            finally:
                self._free += 1

    def _count(self, scope: Scope) -> None:
        """Counts a request of the client. Raises Rejected at the rate limit."""
        if self._rate_limit is not None:
            try:
                self._rate_limit.count(scope)
            except TooManyRequests as error:
                raise Rejected(str(error)) from error

    def _is_allowed(self, scope: Scope) -> Callable[[str | None], bool]:
        """Returns whether a password, together with the headers of the handshake, gives access."""
        credentials = self._credentials
        if credentials is None:
            return lambda _: True
        return lambda password: (
            credentials.has_credentials(scope) or (password is not None and credentials.is_known(password))
        )


async def reject(receive: Receive, send: Send, status: int, reason: str) -> None:
    """Rejects a handshake with an HTTP response."""
    body = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
    # uvicorn reports the response, then the end of the connection. Before the second one it would log an error.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            for _ in range(2):
                await receive()
