"""Sends one request to an ASGI application without a client, for tests with tens of thousands of requests."""

import json
from typing import Any
from urllib.parse import urlencode


async def ask(
    app: Any, path: str, query: dict[str, Any] | None = None, *, posted: bytes | None = None
) -> tuple[int, Any]:
    """Status and JSON body of GET path?query, or of POST with that body."""
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET" if posted is None else "POST",
        "path": path,
        "query_string": urlencode(query or {}).encode(),
        "headers": [],
        "root_path": "",
    }
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"} if posted is None else {"type": "http.request", "body": posted}

    await app(scope, receive, send)
    start, *bodies = messages
    return start["status"], json.loads(b"".join(body["body"] for body in bodies))
