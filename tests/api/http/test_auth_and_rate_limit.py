"""Optional protection: API keys, rate limits, and the routes that stay open."""

import time
from typing import Any

import httpx
import jwt
import pytest

from api.app import ApiSettings, create_app
from api.http import openapi, rate_limit
from api.http.moving_window import MovingWindow
from api.network import NetworkMount
from tests.api.conftest import STORES, fill, new_store
from tests.api.http.test_error_shape import assert_shape
from tests.api.oracle import Oracle


@pytest.fixture(scope="session", params=STORES[:1])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, oracle: Oracle) -> Any:
    """One is enough: rejected requests do not reach the store."""
    filled = fill(new_store(request, tmp_path_factory, "guarded", oracle.expected["network"]), oracle)
    yield filled
    filled.close()


KEYS = ("first-key", "second-key")
SECRET = "s" * 32
DAY_S = 86_400
PATHS = ("/api/v1/info", "/api/testing/messages/abc", "/metrics", "/docs", "/openapi.json", "/nothing", "/api/routes")


def client_of(mount: NetworkMount, address: str = "10.0.0.1", **settings: Any) -> httpx.AsyncClient:
    app = create_app({"testing": mount}, "testing", ApiSettings(**settings))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app, client=(address, 1)), base_url="http://permanode")


def token(secret: str = SECRET, algorithm: str = "HS256", **claims: Any) -> str:
    return jwt.encode({"exp": time.time() + DAY_S} | claims, secret, algorithm=algorithm)


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


@pytest.mark.thorough
@pytest.mark.parametrize("path", PATHS)
async def test_without_credentials_everything_is_a_401_that_says_how(mount: NetworkMount, path: str) -> None:
    async with client_of(mount, keys=KEYS) as client:
        answer = await client.get(path)
    assert "Authorization" in assert_shape(answer, 401)
    assert answer.headers["www-authenticate"].startswith("Bearer ")


@pytest.mark.parametrize("name", ["bearer", "apiKey"])
async def test_the_document_says_how_to_send_a_key(mount: NetworkMount, name: str) -> None:
    document = openapi.document()
    assert document["security"] == [{}, *({each: []} for each in document["components"]["securitySchemes"])]
    scheme = document["components"]["securitySchemes"][name]
    sent = (
        {scheme["name"]: KEYS[1]} if scheme["type"] == "apiKey" else {"Authorization": f"{scheme['scheme']} {KEYS[1]}"}
    )
    async with client_of(mount, keys=KEYS) as client:
        assert (await client.get("/api/v1/info", headers=sent)).status_code == 200


async def test_the_document_says_what_needs_no_key() -> None:
    operations = [each for item in openapi.document()["paths"].values() for each in item.values()]
    is_open = {each["operationId"] for each in operations if each.get("security") == []}
    assert is_open == {each["operationId"] for each in operations if "401" not in each["responses"]} == {"health"}


async def test_health_and_preflight_stay_open(mount: NetworkMount) -> None:
    async with client_of(mount, keys=KEYS, jwt_secret=SECRET, rate_limit="1/day") as client:
        for _ in range(3):
            assert (await client.get("/health")).status_code == 200
            preflight = await client.options("/api/v1/messages")
            assert preflight.status_code == 204
            assert {"Authorization", "X-API-Key"} <= set(preflight.headers["access-control-allow-headers"].split(", "))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "shown",
    [bearer(KEYS[0]), {"Authorization": f"bearer  {KEYS[0]}"}, {"X-API-Key": KEYS[1]}, bearer(token())],
)
async def test_a_key_or_a_token_lets_in(mount: NetworkMount, shown: dict[str, str]) -> None:
    async with client_of(mount, keys=KEYS, jwt_secret=SECRET) as client, client_of(mount) as unprotected:
        answer = await client.get("/api/v1/info", headers=shown)
        assert (answer.status_code, answer.json()) == (200, (await unprotected.get("/api/v1/info")).json())


@pytest.mark.thorough
@pytest.mark.parametrize(
    "shown",
    [
        {},
        bearer(""),
        bearer("first-ke"),
        bearer("first-key2"),
        {"Authorization": KEYS[0]},
        {"Authorization": f"Basic {KEYS[0]}"},
        {"X-API-Key": ""},
        {"X-API-Key": token()},
        bearer(token(secret="t" * 32)),
        bearer(token(exp=time.time() - 1)),
        bearer(token(nbf=time.time() + DAY_S / 2)),
        bearer(jwt.encode({"sub": "for ever"}, SECRET)),
        bearer(token(secret="", algorithm="none")),
        bearer(token(secret=SECRET * 2, algorithm="HS512")),
        bearer("a.b.c"),
    ],
)
async def test_what_does_not_hold_is_rejected(mount: NetworkMount, shown: dict[str, str]) -> None:
    async with client_of(mount, keys=KEYS, jwt_secret=SECRET) as client:
        assert_shape(await client.get("/api/v1/info", headers=shown), 401)


@pytest.mark.parametrize("shown", [bearer(KEYS[0]), {"X-API-Key": KEYS[1]}, bearer(token())])
async def test_no_shared_cache_keeps_what_needs_credentials(
    mount: NetworkMount, oracle: Oracle, shown: dict[str, str]
) -> None:
    path = f"/api/v1/messages/{next(iter(oracle.by_id))}"
    async with client_of(mount, keys=KEYS, jwt_secret=SECRET) as client, client_of(mount) as unprotected:
        kept = [(await each.get(path, headers=shown)).headers["cache-control"] for each in (client, unprotected)]
    assert kept == ["private, max-age=31536000, immutable", "public, max-age=31536000, immutable"]


async def test_keys_alone_and_a_secret_alone_protect(mount: NetworkMount) -> None:
    async with client_of(mount, keys=KEYS) as by_key, client_of(mount, jwt_secret=SECRET) as by_token:
        assert (await by_key.get("/api/v1/info", headers=bearer(token()))).status_code == 401
        assert (await by_token.get("/api/v1/info", headers=bearer(KEYS[0]))).status_code == 401
        assert (await by_token.get("/api/v1/info", headers=bearer(token()))).status_code == 200


async def test_the_rate_is_limited_by_client_and_says_when_to_come_again(
    mount: NetworkMount, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app({"testing": mount}, "testing", ApiSettings(rate_limit="3/minute"))

    def client(address: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app=app, client=(address, 1))
        return httpx.AsyncClient(transport=transport, base_url="http://permanode")

    for _ in range(3):
        assert (await client("10.0.0.1").get("/api/v1/info")).status_code == 200
    rejected = await client("10.0.0.1").get("/api/v1/info")
    assert "3 per 1 minute" in assert_shape(rejected, 429)
    assert 1 <= int(rejected.headers["retry-after"]) <= 60
    assert (await client("10.0.0.2").get("/api/v1/info")).status_code == 200
    later = time.monotonic() + 61
    monkeypatch.setattr(rate_limit, "monotonic", lambda: later)
    assert (await client("10.0.0.1").get("/api/v1/info")).status_code == 200


async def test_addresses_of_one_ipv6_network_share_a_limit(mount: NetworkMount) -> None:
    app = create_app({"testing": mount}, "testing", ApiSettings(rate_limit="2/hour"))
    statuses = []
    for address in ("2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:0:9::", "2001:db8:0:1::1"):
        transport = httpx.ASGITransport(app=app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
            statuses.append((await client.get("/api/v1/info")).status_code)
    assert statuses == [200, 200, 429, 200]


async def test_wrong_credentials_count_against_the_rate(mount: NetworkMount) -> None:
    async with client_of(mount, keys=KEYS, rate_limit="2/hour") as client:
        statuses = [(await client.get("/api/v1/info", headers=bearer("guess"))).status_code for _ in range(3)]
    assert statuses == [401, 401, 429]


async def test_an_open_server_needs_no_credentials_and_counts_nobody(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(MovingWindow, "hit")
    assert (await client.get("/api/v1/info", headers=bearer("whatever"))).status_code == 200


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"jwt_secret": "short"}, "jwt_secret must have 32 bytes"),
        ({"rate_limit": "often"}, "rate_limit must have the form 100/minute, not 'often'"),
        ({"workers": 0}, "workers must be 1 or more, not 0"),
        ({"deadline_s": 0.0}, "deadline_s must be 0.001 or more, not 0.0"),
        ({"compress_from": -1}, "compress_from must be 0 or more, not -1"),
    ],
)
def test_settings_that_protect_nothing_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ApiSettings(**settings)
