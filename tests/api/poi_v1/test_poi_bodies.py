"""Request bodies that are not proofs, are too long, or never arrive."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from api.poi_v1 import routes as poi_v1
from api.poi_v1.responses import Validity
from tests.api.asgi import ask
from tests.api.poi import BASE, VALID, provable, proving, rejection, validate
from tests.api.stardust import StardustLedger
from tests.inclusion import Json, keys


@pytest.fixture(scope="module")
def chrysalis(mount: NetworkMount) -> Any:
    return proving(mount, keys("chrysalis"))


@pytest.fixture(scope="module")
def shimmering(stardust: StardustLedger, stardust_store: Any) -> Any:
    return proving(stardust.mount(stardust_store), keys("stardust"))


def proof_of(era: str) -> Json:
    each = next(each for each in provable(era) if each.is_applied)
    return each.proof(each.applied)


BAD = [
    (b"", "body: expected JSON ("),
    (b"{", "body: expected JSON ("),
    (b"\xff", "body: expected JSON ("),
    (b"[" * 5000, "body: expected JSON ("),
    (b"null", "body: expected an object with key 'milestone'"),
    (b"[]", "body: expected an object with key 'milestone'"),
    (b"{}", "body, field milestone: expected a value, found none"),
    (b'{"milestone": {"type": 8}}', "body, field milestone.type: expected 1 (Chrysalis) or 7 (Stardust)"),
]


@pytest.mark.parametrize("route", ["/referenced-block", "/applied-block", ""])
async def test_an_invalid_proof_is_rejected_by_field(shimmering: Any, route: str) -> None:
    for body, message in BAD:
        status, answer = await ask(shimmering, f"{BASE}{route}/validate", posted=body)
        assert (status, answer["error"]["code"]) == (400, "400")
        assert answer["error"]["message"].startswith(message)
    proof = proof_of("stardust")
    for key in ("milestone", "block", "proof"):
        without = {name: value for name, value in proof.items() if name != key}
        expected = rejection(400, f"body, field {key}: expected a value, found none")
        assert await validate(shimmering, route, without) == expected
    strange = proof | {"proof": {"l": {"h": "0x12"}, "r": proof["proof"]}}
    expected = rejection(400, "body, field proof.l.h: expected 0x and 64 hex digits")
    assert await validate(shimmering, route, strange) == expected


async def test_a_body_is_read_no_further_than_its_bound(chrysalis: Any) -> None:
    transport = httpx.ASGITransport(app=chrysalis)
    async with httpx.AsyncClient(transport=transport, base_url="http://permanode") as client:
        padded = json.dumps(proof_of("chrysalis")).encode().ljust(poi_v1.BODY_MAX_BYTES)
        good = await client.post(f"{BASE}/validate", content=padded)
        assert (good.status_code, good.json()) == VALID
        Validity.model_validate(good.json(), strict=True, extra="forbid")
        assert (await client.post(f"{BASE}/validate", content=padded + b" ")).status_code == 413

        async def endless() -> Any:
            while True:
                yield b" " * 10_000

        answer = await client.post(f"{BASE}/validate", content=endless())
    assert (answer.status_code, answer.json()) == rejection(413, "body: expected at most 262144 bytes")


async def test_a_body_that_does_not_come_is_waited_for_no_longer_than_the_deadline(
    mount: NetworkMount, chrysalis: Any
) -> None:
    impatient = create_app({"proving": mount}, "proving", ApiSettings(deadline_s=0.2))
    scope: Json = {"type": "http", "method": "POST", "path": f"{BASE}/validate", "query_string": b"", "headers": []}
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    await asyncio.wait_for(impatient(scope, never, send), 30)
    assert sent[0]["status"] == 503
    sent.clear()

    async def gone() -> Any:
        return {"type": "http.disconnect"}

    await chrysalis(scope, gone, send)
    assert sent[0]["status"] == 400
    for length in (b"262145", b"9" * 5000):
        sent.clear()
        await chrysalis(scope | {"headers": [(b"content-length", length)]}, never, send)
        assert sent[0]["status"] == 413
