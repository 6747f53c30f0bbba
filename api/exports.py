"""An answer as CSV: chosen by Accept, made and sent a part at a time.

Rules of this file: the first part is there before the answer begins, so what is refused is refused with its status;
each further one is made when the one before is sent, in the time that a request has, and none for a client that is
gone; whoever fails in between breaks the connection off, so that no piece of a table passes for all of it.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.types import Receive, Scope, Send

from api.compression import weights
from db.deadline import DEADLINE

CSV = "text/csv"


def prefers_csv(scope: Scope) -> bool:
    """Whether Accept names text/csv, and JSON not more (RFC 9110 12.5.1)."""
    accepted = ",".join([value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"])
    wanted = weights(accepted)
    return wanted.get(CSV, 0.0) > 0 and wanted[CSV] >= wanted.get("application/json", 0.0)


async def send_csv(parts: AsyncGenerator[str], scope: Scope, receive: Receive, send: Send) -> None:
    """Sends all of the text, its parts as they come."""
    allowed_s = DEADLINE.get() - time.monotonic()
    async with aclosing(parts):
        part = await anext(parts, None)
        headers = [(b"content-type", b"text/csv; charset=utf-8"), (b"vary", b"accept")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            while part is not None and scope["method"] != "HEAD" and not gone.done():
                await send({"type": "http.response.body", "body": part.encode(), "more_body": True})
                DEADLINE.set(time.monotonic() + allowed_s)
                part = await anext(parts, None)
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
