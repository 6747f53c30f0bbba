"""Reads whole lists from the indexer and counts the work of each page."""

from typing import Any, TypeAlias

from tests.api.asgi import ask
from tests.api.http.test_work import CountingStore, bound

Json: TypeAlias = dict[str, Any]

BASE = "/api/indexer/v1"


def path_of(route: str) -> str:
    """The path of a route's list."""
    return f"{BASE}/outputs" if route == "all" else f"{BASE}/outputs/{route}"


def sent(filters: Json) -> Json:
    """Values in the form of a query string."""
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in filters.items()}


async def walk(app: Any, store: CountingStore, path: str, query: Json, page_size: int) -> tuple[list[Json], list[str]]:
    """The bodies of all pages, and their items in order; no page reads more rows than its limit."""
    bodies: list[Json] = []
    items: list[str] = []
    sent_query = sent(query) | {"pageSize": page_size}
    while True:
        store.rows = 0
        status, body = await ask(app, path, sent_query)
        assert status == 200, (path, sent_query, body)
        assert store.rows <= bound(page_size), (path, sent_query, store.rows)
        assert len(body["items"]) <= page_size
        bodies.append(body)
        items += body["items"]
        if "cursor" not in body:
            return bodies, items
        assert len(bodies) <= 10_000, "the list does not end"
        sent_query["cursor"] = body["cursor"]
