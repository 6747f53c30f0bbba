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


NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
"""The characters of a token in RFC 9110, section 5.6.2."""


@pytest.mark.parametrize("path", ["/api/v1/messages", "/api/core/v2/info", "/api/testing/sync", "/docs"])
@pytest.mark.parametrize(
    "requested",
    [
        "x-requested-with",
        "cache-control,if-none-match,sentry-trace,x-requested-with",
        "Authorization, Baggage",
        NAMES[:40],
        NAMES[40:],
        ",".join(f"x-{number}" for number in range(32)),
        ",".join(["x" * 63] * 16),
    ],
)
async def test_preflight_allows_the_headers_that_the_browser_names(
    client: httpx.AsyncClient, path: str, requested: str
) -> None:
    answer = await client.options(path, headers=[(b"origin", b"https://dapp.test"), *preflight(requested).items()])
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-headers"].replace(" ", "") == requested.replace(" ", "")
    assert "access-control-request-headers" in answer.headers["vary"].lower().split(", ")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "requested",
    [
        *("", ",", "x-a,", ",x-a", "x-a,,x-b", "x-a;x-b", "x a", "x-a:", '"x"', "(x)", "x-a\tx-b", "é", "x\x00y"),
        *("x" * 65, ",".join(f"x-{number}" for number in range(33)), ",".join(["x" * 64] * 16), "x," * 5000),
    ],
)
async def test_preflight_returns_nothing_but_names_of_headers(client: httpx.AsyncClient, requested: str) -> None:
    bare = await client.options("/api/v1/info", headers={"Origin": "https://dapp.test"})
    answer = await client.options("/api/v1/info", headers=[*preflight(requested).items()])
    assert (answer.status_code, answer.content) == (bare.status_code, bare.content) == (204, b"")
    for name in ("access-control-allow-headers", "access-control-allow-methods", "vary"):
        assert answer.headers[name] == bare.headers[name]


async def test_preflight_reads_names_from_several_lines(client: httpx.AsyncClient) -> None:
    lines = [("Access-Control-Request-Headers", name) for name in ("x-a", "x-b")]
    assert (await client.options("/api/v1/info", headers=lines)).headers["access-control-allow-headers"] == "x-a, x-b"


def preflight(requested: str) -> dict[bytes, bytes]:
    """The header of a preflight request, with any bytes."""
    return {b"access-control-request-headers": requested.encode()}


@pytest.mark.parametrize(
    ("path", "methods"), [("/api/v1/info", "GET, HEAD, OPTIONS"), ("/api/poi/v1/validate", "POST, OPTIONS")]
)
async def test_preflight_names_the_methods_of_the_path(client: httpx.AsyncClient, path: str, methods: str) -> None:
    assert (await client.options(path)).headers["access-control-allow-methods"] == methods


async def test_preflight_of_an_unknown_route_is_a_404(client: httpx.AsyncClient) -> None:
    assert (await client.options("/api/v1/nothing")).status_code == 404


@pytest.mark.thorough
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
