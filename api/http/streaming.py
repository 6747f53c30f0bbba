"""Complete listings as CSV or NDJSON, and events as they come, streamed in parts; the parameter `format` or Accept
chooses.

The first part is ready before the response starts, so a request that fails in it gets an error status. Each later part
is read after the previous one is sent, within a new deadline, and only while the client is connected. An error in a
later part closes the connection, so that a client can see that the listing is incomplete.
"""

import asyncio
import csv
import io
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache, wraps
from operator import itemgetter
from typing import Any, TypeAlias

import orjson
from starlette.types import Receive, Scope, Send

from api.http.content_negotiation import JSON, accepted, weights
from api.http.params import Param, words
from db.listing.deadline import DEADLINE

CSV = "text/csv"
NDJSON = "application/x-ndjson"
EVENT_STREAM = "text/event-stream"
"""Server-sent events (WHATWG HTML, 9.2)."""

CONTENT_TYPES = {CSV: "text/csv; charset=utf-8"}

FORMATS = {"json": JSON, "csv": CSV, "ndjson": NDJSON, "sse": EVENT_STREAM}
"""Values of the parameter `format`."""

Page: TypeAlias = Sequence[Mapping[str, Any]]
"""Items of a listing. All have the same fields."""

Items: TypeAlias = Callable[..., AsyncGenerator[Page]]
"""Yields a listing page by page."""

Columns: TypeAlias = Sequence[str] | Callable[..., Sequence[str]]
"""The fields of the items, or a function that returns them for the parameters."""


@dataclass(frozen=True, slots=True)
class Export:
    """`parts` yields a listing as text. `example` renders a JSON response as text, for openapi.yaml."""

    parts: Callable[..., AsyncGenerator[str]]
    example: Callable[[dict[str, Any]], str]


def format_param(media_types: Collection[str]) -> Param:
    """Returns the parameter that chooses between JSON and these media types."""
    return _format_param(frozenset(media_types))


@cache
def _format_param(media_types: frozenset[str]) -> Param:
    formats = {name: each for name, each in FORMATS.items() if each == JSON or each in media_types}
    meaning = "The whole listing in this format, or a page of it as JSON. Takes precedence over Accept"
    return Param("format", words(formats), meaning, "csv" if CSV in media_types else "json")


def choose_export(scope: Scope, media_types: Collection[str]) -> str | None:
    """Returns the media type that Accept prefers, or None if it prefers JSON or names none (RFC 9110 12.5.1)."""
    wanted = weights(accepted(scope))
    best = max(media_types, key=lambda each: wanted.get(each, 0.0))
    return best if wanted.get(best, 0.0) > 0 and wanted[best] >= wanted.get(JSON, 0.0) else None


def exports_of(
    items: Items, columns: Columns, listed: Callable[[dict[str, Any]], Page] = itemgetter("items")
) -> Mapping[str, Export]:
    """Returns the writers of a listing as CSV with these columns, and as NDJSON. They take the parameters of `items`.

    `listed` returns the items of a JSON response.
    """

    @wraps(items)
    async def as_csv(*arguments: Any, **values: Any) -> AsyncGenerator[str]:
        names = columns(**values) if callable(columns) else columns
        lines: list[Sequence[object]] = [names]
        async for page in items(*arguments, **values):
            yield csv_text([*lines, *cells(page, names)])
            lines = []
        if lines:
            yield csv_text(lines)

    @wraps(items)
    async def as_ndjson(*arguments: Any, **values: Any) -> AsyncGenerator[str]:
        async for page in items(*arguments, **values):
            yield ndjson_text(page)

    def csv_example(answer: dict[str, Any]) -> str:
        page = listed(answer)
        names = list(page[0]) if callable(columns) else columns
        return csv_text([names, *cells(page, names)])

    return {CSV: Export(as_csv, csv_example), NDJSON: Export(as_ndjson, lambda answer: ndjson_text(listed(answer)))}


def ndjson_text(page: Page) -> str:
    """Returns items as lines of JSON."""
    return "".join(orjson.dumps(item).decode() + "\n" for item in page)


def cells(page: Page, names: Sequence[str]) -> Iterable[Sequence[object]]:
    """Returns items as lines of a table with these columns."""
    return ([cell(item[name]) for name in names] for item in page)


def cell(value: object) -> object:
    """Returns a JSON value as CSV: lists separated by spaces, booleans as in JSON."""
    if isinstance(value, list):
        return " ".join(value)
    return str(value).lower() if isinstance(value, bool) else value


def csv_text(lines: Iterable[Sequence[object]]) -> str:
    """Returns lines as CSV. Text is quoted, numbers are not."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerows(lines)
    return text.getvalue()


async def send_export(parts: AsyncGenerator[str], media_type: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends the parts as they come."""
    allowed_s = DEADLINE.get() - time.monotonic()
    async with aclosing(parts):
        part = await anext(parts, None)
        headers = [(b"content-type", CONTENT_TYPES.get(media_type, media_type).encode()), (b"vary", b"accept")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            while part is not None and scope["method"] != "HEAD" and not gone.done():
                if part:
                    await send({"type": "http.response.body", "body": part.encode(), "more_body": True})
                DEADLINE.set(time.monotonic() + allowed_s)
                part = await anext(parts, None)
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
