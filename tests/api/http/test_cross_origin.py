"""CORS headers for browsers, and HEAD requests."""

import httpx
import pytest

from tests.api.oracle import Oracle


async def test_preflight_allows_what_old_clients_send(client: httpx.AsyncClient) -> None:
    headers = {"Origin": "https://explorer.test", "Access-Control-Request-Headers": "content-type,authorization"}
    answer = await client.options("/api/v1/messages", headers=headers | {"Access-Control-Request-Method": "GET"})
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-methods"] == "GET, POST, HEAD, OPTIONS"
    allowed = answer.headers["access-control-allow-headers"].lower()
    assert {"content-type", "authorization"} <= {name.strip() for name in allowed.split(",")}


@pytest.mark.parametrize(
    ("path", "methods"), [("/api/v1/info", "GET, HEAD, OPTIONS"), ("/api/poi/v1/validate", "POST, OPTIONS")]
)
async def test_preflight_names_the_methods_of_the_path(client: httpx.AsyncClient, path: str, methods: str) -> None:
    assert (await client.options(path)).headers["access-control-allow-methods"] == methods


async def test_preflight_of_an_unknown_route_is_a_404(client: httpx.AsyncClient) -> None:
    assert (await client.options("/api/v1/nothing")).status_code == 404


async def test_every_answer_may_be_read_from_any_page(client: httpx.AsyncClient) -> None:
    for path in ("/health", "/api/v1/info", "/api/v1/nothing", "/openapi.json", "/docs"):
        answer = await client.get(path, headers={"Origin": "https://explorer.test"})
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "x-request-id" in answer.headers["access-control-expose-headers"].lower()


async def test_a_page_may_read_the_etag(client: httpx.AsyncClient, oracle: Oracle) -> None:
    answer = await client.get(
        f"/api/v1/messages/{oracle.entries[0]['id']}", headers={"Origin": "https://explorer.test"}
    )
    assert answer.headers["etag"]
    assert "etag" in answer.headers["access-control-expose-headers"].lower().split(", ")


async def test_head_answers_as_get_without_the_body(client: httpx.AsyncClient, oracle: Oracle) -> None:
    message_id = oracle.entries[0]["id"]
    for path in (f"messages/{message_id}", f"messages/{message_id}/raw", "info", "milestones/1/messages"):
        get, head = await client.get(f"/api/v1/{path}"), await client.head(f"/api/v1/{path}")
        assert head.status_code == get.status_code == 200
        assert head.content == b""
        assert head.headers["content-length"] == str(len(get.content))
        assert head.headers["content-type"] == get.headers["content-type"]
