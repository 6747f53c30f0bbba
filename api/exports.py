"""A whole listing as CSV or NDJSON: chosen by Accept, made and sent a part at a time.

Rules of this file: the first part is there before the answer begins, so what is refused is refused with its status;
each further one is made when the one before is sent, in the time that a request has, and none for a client that is
gone; whoever fails in between breaks the connection off, so that no piece of a listing passes for all of it.
"""

import asyncio
import csv
import io
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import wraps
from typing import Any, TypeAlias

import orjson
from starlette.types import Receive, Scope, Send

from api.accept import JSON, accepted, weights
from db.deadline import DEADLINE

CSV = "text/csv"
NDJSON = "application/x-ndjson"

CONTENT_TYPES = {CSV: "text/csv; charset=utf-8"}

Export: TypeAlias = Callable[..., AsyncGenerator[str]]
"""Writes a listing, a part at a time."""

Items: TypeAlias = Callable[..., AsyncGenerator[Sequence[Mapping[str, Any]]]]
"""Gives a listing, a page at a time; all items have the same fields."""

Columns: TypeAlias = Sequence[str] | Callable[..., Sequence[str]]
"""The fields of its items, or what tells them from the parameters."""


def choose_export(scope: Scope, media_types: Collection[str]) -> str | None:
    """The one of these that Accept names with most weight, and JSON with no more (RFC 9110 12.5.1); None: none."""
    wanted = weights(accepted(scope))
    best = max(media_types, key=lambda each: wanted.get(each, 0.0))
    return best if wanted.get(best, 0.0) > 0 and wanted[best] >= wanted.get(JSON, 0.0) else None


def exports_of(items: Items, columns: Columns) -> Mapping[str, Export]:
    """A listing as a table with these columns, and as lines of JSON; both take the parameters that `items` takes."""

    @wraps(items)
    async def as_csv(*arguments: Any, **values: Any) -> AsyncGenerator[str]:
        names = columns(**values) if callable(columns) else columns
        lines: list[Sequence[object]] = [names]
        async for page in items(*arguments, **values):
            yield csv_text([*lines, *([cell(item[name]) for name in names] for item in page)])
            lines = []
        if lines:
            yield csv_text(lines)

    @wraps(items)
    async def as_ndjson(*arguments: Any, **values: Any) -> AsyncGenerator[str]:
        async for page in items(*arguments, **values):
            yield "".join(orjson.dumps(item).decode() + "\n" for item in page)

    return {CSV: as_csv, NDJSON: as_ndjson}


def cell(value: object) -> object:
    """A value of JSON as CSV has it: words behind each other, truth in JSON's words."""
    if isinstance(value, list):
        return " ".join(value)
    return str(value).lower() if isinstance(value, bool) else value


def csv_text(lines: Iterable[Sequence[object]]) -> str:
    """Lines as CSV, texts quoted, numbers not."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerows(lines)
    return text.getvalue()


async def send_export(parts: AsyncGenerator[str], media_type: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends all of the text, its parts as they come."""
    allowed_s = DEADLINE.get() - time.monotonic()
    async with aclosing(parts):
        part = await anext(parts, None)
        headers = [(b"content-type", CONTENT_TYPES.get(media_type, media_type).encode()), (b"vary", b"accept")]
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
