"""Search: results for a text, and suggestions while it is typed."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from api.handlers.search import QUERY_MAX
from api.http.responses import Json
from api.web.page import Answer, Page, Redirect, View
from api.web.visit import Visit

SUGGESTED = 8
"""The most suggestions that are shown."""


async def search(visit: Visit) -> Answer:
    """Everything that a text names. A single result is shown at once."""
    text = visit.query.get("q", "").strip()[:QUERY_MAX]
    found: Json = await visit.json("/api/search", q=text) if text else {"results": [], "more": False}
    results = [{**each, "page": page_of(each)} for each in found["results"]]
    if len(results) == 1:
        return Redirect(results[0]["page"])
    return Page("search", "Search", {"text": text, "results": results, "has_more": found["more"]})


async def suggestions(visit: Visit) -> Answer:
    """The first results for a text, as a part of a page."""
    text = visit.query.get("q", "").strip()[:QUERY_MAX]
    found: Json = await visit.json("/api/search", q=text) if text else {"results": []}
    results = [{**each, "page": page_of(each)} for each in found["results"][:SUGGESTED]]
    return Page("suggestions", "Suggestions", {"results": results})


def page_of(result: Mapping[str, Any]) -> str:
    """Returns the path of the page that shows a search result."""
    kind, id_ = result["kind"], result["id"]
    # The id of a VAA or an emitter has several segments.
    return f"/{result['network']}/{kind}/{quote(id_, safe='/' if kind in {'vaa', 'emitter'} else '')}"


VIEWS = (View("/search", search), View("/search/suggestions", suggestions))
