"""The path below which a proxy serves this server, as `root_path` of ASGI. The proxy removes it from each request."""

import re

from starlette.types import ASGIApp, Receive, Scope, Send

ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")


class BelowRootPath:
    """An ASGI application that adds the root path to each scope, so that links contain it."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self.app, self.root_path = app, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request or WebSocket."""
        if scope["type"] != "lifespan":
            # In ASGI the path contains the root path.
            scope["path"] = self.root_path + scope["path"]
            scope["root_path"] = self.root_path
        await self.app(scope, receive, send)
