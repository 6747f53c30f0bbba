"""All errors have one body, wherever they arise: in a parameter, a cursor, the router, a query, the store, a bug.

The contract: status ≥ 400; `{"error": {"code": "<status>", "message": "<text>"}}` and nothing else, in explorer and
analytics v2 `{"code": <status>, "message": "<text>"}`, as JSON, with the request's id and cross-origin headers. The
message explains an error of the client, and hides an error of the server.
"""

from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.http.responses import ErrorResponse, FlatErrorResponse
from api.network import NetworkMount
from db.store import StoreUnavailable
from tests.api.oracle import Oracle

ID = "ab" * 32


def assert_shape(answer: httpx.Response, status: int) -> str:
    """The message, after checking the rest of the response."""
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["x-request-id"]
    if any(each in answer.request.url.path for each in ("/explorer/v2/", "/analytics/v2/")):
        flat = FlatErrorResponse.model_validate(answer.json(), strict=True, extra="forbid")
        assert flat.code == status
        return flat.message
    body = ErrorResponse.model_validate(answer.json(), strict=True, extra="forbid")
    assert body.error.code == str(status)
    return body.error.message


class BrokenStore:
    """A store in which every request ends in the same error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def fail(self, *args: Any, **kwargs: Any) -> Any:
        raise self.error

    get = get_many = slice = ping = describe = fail

    def damage(self) -> None:
        """No damage was found."""


def client_of(mount: NetworkMount, **transport: Any) -> httpx.AsyncClient:
    app = create_app({"testing": mount}, "testing", ApiSettings())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app, **transport), base_url="http://permanode")


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("messages/abc", "messageId", "64 hex characters"),
        (f"messages/{ID}00", "messageId", "64 hex characters"),
        (f"messages/{'g' * 64}", "messageId", "64 hex characters"),
        (f"messages/{'ab%20' * 20}abcd", "messageId", "64 hex characters"),
        ("messages/abc/metadata", "messageId", "64 hex characters"),
        ("messages/abc/raw", "messageId", "64 hex characters"),
        ("messages/abc/children", "messageId", "64 hex characters"),
        ("messages", "index", "hex of 1 to 64 bytes"),
        ("messages?index=", "index", "hex of 1 to 64 bytes"),
        ("messages?index=abc", "index", "hex of 1 to 64 bytes"),
        ("messages?index=xy", "index", "hex of 1 to 64 bytes"),
        (f"messages?index={'00' * 65}", "index", "hex of 1 to 64 bytes"),
        ("messages?index=00&index=01", "index", "one value"),
        (f"outputs/{ID}", "outputId", "68 hex characters"),
        ("milestones/abc", "index", "an integer from 0 to 4294967295"),
        ("milestones/-1", "index", "an integer from 0 to 4294967295"),
        ("milestones/4294967296", "index", "an integer from 0 to 4294967295"),
        ("milestones/%D9%A1", "index", "an integer from 0 to 4294967295"),
        ("milestones/1/messages?page_size=0", "page_size", "an integer from 1 to 1000"),
        ("milestones/1/messages?page_size=1001", "page_size", "an integer from 1 to 1000"),
        ("milestones/1/messages?page_size=-1", "page_size", "an integer from 1 to 1000"),
        ("milestones/1/messages?page_size=ten", "page_size", "an integer from 1 to 1000"),
        ("milestones/1/messages?page_size=1&page_size=1", "page_size", "one value"),
        ("milestones/1/messages?sort=up", "sort", "newest or oldest"),
        ("milestones/1/messages?state=x", "state", ""),
        (f"messages/{ID}/children?state=%00", "state", ""),
        ("messages?index=00&state=%20", "state", ""),
        ("addresses/x/outputs", "address", "a bech32 address"),
        ("addresses/ATOI1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqx/outputs", "address", "a bech32 address"),
        (
            "addresses/iota1qrhacyfwlcnzkvzteumekfkrrwks98mpdm37cj4xx3drvmjvnep6xqgyzyx/outputs",
            "address",
            "an address of this network, atoi1…",
        ),
    ],
)
async def test_a_bad_parameter_is_a_400_that_names_it(
    client: httpx.AsyncClient, path: str, name: str, expected: str
) -> None:
    message = assert_shape(await client.get(f"/api/v1/{path}"), 400)
    assert message.startswith(f"parameter {name}: ")
    assert expected in message


@pytest.mark.parametrize("what", ["type=2", "type=x", "include-spent=maybe", "page_size=1e3"])
async def test_a_bad_filter_of_an_address_is_a_400(client: httpx.AsyncClient, oracle: Oracle, what: str) -> None:
    bech32 = oracle.expected["addresses"][0]["bech32"]
    message = assert_shape(await client.get(f"/api/v1/addresses/{bech32}/outputs?{what}"), 400)
    assert message.startswith(f"parameter {what.partition('=')[0]}: ")


async def test_a_long_bad_value_is_not_shown_whole(client: httpx.AsyncClient) -> None:
    message = assert_shape(await client.get(f"/api/v1/messages/{'x' * 5000}"), 400)
    assert len(message) < 200


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/api/v1/", "/api/v1/messages/", "/api/v1/nothing", "/x"])
async def test_an_unknown_route_is_a_404(client: httpx.AsyncClient, path: str) -> None:
    assert path in assert_shape(await client.get(path), 404)


async def test_an_unknown_network_is_a_404_that_names_it(client: httpx.AsyncClient) -> None:
    assert "elsewhere" in assert_shape(await client.get("/api/elsewhere/info"), 404)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "BREW"])
async def test_another_method_is_a_405_that_says_which_are_allowed(client: httpx.AsyncClient, method: str) -> None:
    answer = await client.request(method, "/api/v1/milestones/1")
    assert method in assert_shape(answer, 405)
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/info",
        f"/api/v1/messages/{ID}",
        f"/api/v1/messages/{ID}/children",
        "/health",
        "/api/explorer/v2/milestones",
        "/api/analytics/v2/series/day",
    ],
)
async def test_a_store_that_is_away_is_a_503(mount: NetworkMount, path: str) -> None:
    broken = NetworkMount(BrokenStore(StoreUnavailable("10.0.0.7 refused")), mount.name, mount.bech32_hrp)
    async with client_of(broken) as client:
        assert "10.0.0.7" not in assert_shape(await client.get(path), 503)


async def test_a_bug_is_a_500_that_reveals_nothing_and_is_logged_by_its_id(
    mount: NetworkMount, caplog: pytest.LogCaptureFixture
) -> None:
    broken = NetworkMount(BrokenStore(RuntimeError("secret")), mount.name, mount.bech32_hrp)
    async with client_of(broken) as client:
        answer = await client.get(f"/api/v1/messages/{ID}")
    assert assert_shape(answer, 500) == "internal server error"
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"] in caplog.text
    assert "secret" in caplog.text


async def test_head_of_an_error_has_its_headers_and_no_body(client: httpx.AsyncClient) -> None:
    answer = await client.head("/api/v1/messages/abc")
    assert answer.status_code == 400
    assert int(answer.headers["content-length"]) > 0
    assert answer.content == b""


async def test_a_request_keeps_its_own_id_if_it_is_one(client: httpx.AsyncClient) -> None:
    kept = await client.get("/health", headers={"X-Request-Id": "trace-1.a_B"})
    assert kept.headers["x-request-id"] == "trace-1.a_B"
    for strange in (b"a b", b"x" * 65, "é".encode()):
        replaced = await client.get("/health", headers={b"X-Request-Id": strange})
        assert replaced.headers["x-request-id"].encode("latin-1") != strange
    ids = [(await client.get("/health")).headers["x-request-id"] for _ in range(3)]
    assert len(set(ids)) == 3
