"""The guardians' gRPC service over gRPC-web. Frames and messages are written and read here byte by byte.

A frame is a flag, the length in four bytes and the data. The flag 0x80 marks the trailers, which are lines of text.
Codes and messages are those of a guardian (node/pkg/publicrpc/publicrpcserver.go).
"""

import re
from typing import NamedTuple
from urllib.parse import unquote

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.store import StoreUnavailable
from tests.api.conftest import ON_ONE_STORE, STORES
from tests.api.http.test_error_shape import BrokenStore
from tests.api.wormhole_network import NETWORK, World
from tests.ledger.wormhole.cases import public_sets

SERVICE = "/publicrpc.v1.PublicRPCService"
HEADERS = {"Content-Type": "application/grpc-web+proto", "X-Grpc-Web": "1", "Origin": "https://portal.test"}
ONE_STORE = pytest.mark.parametrize("wormhole_store", STORES[:1], indirect=True)
OK, INVALID_ARGUMENT, NOT_FOUND, INTERNAL, UNAVAILABLE = 0, 3, 5, 13, 14


def varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(number: int, data: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def message_id(chain: int, emitter: str, sequence: int) -> bytes:
    """A request for a message, with the fields of MessageID."""
    of_id = varint(1 << 3) + varint(chain % 2**64) + field(2, emitter.encode()) + varint(3 << 3) + varint(sequence)
    return field(1, of_id)


def frame(data: bytes, flag: int = 0) -> bytes:
    return bytes([flag]) + len(data).to_bytes(4, "big") + data


class Answer(NamedTuple):
    """The message of a response, None if there is none, and the status in its trailers."""

    message: bytes | None
    status: int
    reason: str


def parse(response: httpx.Response) -> Answer:
    """Checks all frames of a response."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/grpc-web+proto"
    assert "grpc-status" in response.headers["access-control-expose-headers"].lower()
    body, frames = response.content, []
    while body:
        length = int.from_bytes(body[1:5], "big")
        frames.append((body[0], body[5 : 5 + length]))
        body = body[5 + length :]
    assert [flag for flag, _ in frames] in ([0, 0x80], [0x80])
    lines = dict(line.split(": ", 1) for line in frames[-1][1].decode().split("\r\n") if line)
    message = frames[0][1] if len(frames) > 1 else None
    return Answer(message, int(lines["grpc-status"]), unquote(lines.get("grpc-message", "")))


async def call(client: httpx.AsyncClient, method: str, message: bytes, prefix: str = "") -> Answer:
    return parse(await client.post(f"{prefix}{SERVICE}/{method}", content=frame(message), headers=HEADERS))


async def test_every_verified_vaa_is_answered_and_others_are_not_found(signed: httpx.AsyncClient, world: World) -> None:
    found = {True: 0, False: 0}
    for number, message in enumerate(world.canonical.values()):
        record = message.served
        place = record["emitter_chain"], record["emitter_address"], record["sequence"]
        answer = await call(signed, "GetSignedVAA", message_id(*place), f"/api/{NETWORK}" if number % 2 else "")
        if record["quorum"]:
            assert answer == Answer(field(1, bytes.fromhex(record["hex"])), OK, ""), record["message_id"]
        else:
            assert answer == Answer(None, NOT_FOUND, "requested VAA not found in store")
        found[record["quorum"]] += 1
    assert min(found.values()) > 5


async def test_the_current_set_is_the_last_published_one(signed: httpx.AsyncClient) -> None:
    last = max(public_sets("mainnet"), key=int)
    answer = await call(signed, "GetCurrentGuardianSet", b"")
    addresses = [each.lower() for each in public_sets("mainnet")[last]["addresses"]]
    expected = varint(1 << 3) + varint(int(last)) + b"".join(field(2, each.encode()) for each in addresses)
    assert answer.message is not None
    assert answer.message.lower() == field(1, expected)
    assert b"0xfF6CB952589BDE862c25Ef4392132fb9D4A42157" in answer.message
    assert answer.status == OK


@ONE_STORE
@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "no message ID specified"),
        (message_id(2, "xy" * 32, 1), "failed to decode address: expected hex"),
        (message_id(2, "abc", 1), "failed to decode address: expected hex"),
        (message_id(2, "0x" + "ab" * 31, 1), "failed to decode address: expected hex"),
        (message_id(2, "", 1), "address must be 32 bytes"),
        (message_id(2, "ab" * 31, 1), "address must be 32 bytes"),
        (message_id(2, "ab" * 33, 1), "address must be 32 bytes"),
        (message_id(65536, "ab" * 32, 1), "chain must be from 0 to 65535"),
        (message_id(-1, "ab" * 32, 1), "chain must be from 0 to 65535"),
    ],
)
async def test_an_invalid_id_is_an_invalid_argument(signed: httpx.AsyncClient, message: bytes, reason: str) -> None:
    assert await call(signed, "GetSignedVAA", message) == Answer(None, INVALID_ARGUMENT, reason)


async def test_fields_of_later_versions_are_ignored(signed: httpx.AsyncClient, world: World) -> None:
    record = world.verified[0].served
    place = record["emitter_chain"], record["emitter_address"], record["sequence"]
    request = message_id(*place) + field(9, b"later")
    assert (await call(signed, "GetSignedVAA", request)).message == field(1, bytes.fromhex(record["hex"]))


@ONE_STORE
async def test_damaged_requests_are_errors_of_the_client(signed: httpx.AsyncClient) -> None:
    whole = frame(message_id(2, "ab" * 32, 1))
    damaged = (b"", whole[:3], whole[:-1], frame(b"\xff" * 9), frame(b"", 0x80), frame(bytes(5_000)), whole + whole)
    for body in damaged:
        response = await signed.post(f"{SERVICE}/GetSignedVAA", content=body, headers=HEADERS)
        assert parse(response).status not in (OK, INTERNAL, UNAVAILABLE), body[:9]
        assert parse(response).message is None


@ONE_STORE
@pytest.mark.parametrize("content_type", ["application/json", "application/grpc", "application/grpc-web-text", ""])
async def test_another_protocol_is_a_400(signed: httpx.AsyncClient, content_type: str) -> None:
    response = await signed.post(f"{SERVICE}/GetSignedVAA", content=b"", headers={"Content-Type": content_type})
    message = "body: expected the Content-Type application/grpc-web+proto"
    assert (response.status_code, response.json()) == (400, {"code": 3, "message": message, "details": []})


SENT_BY_CLIENTS = ("content-type", "grpc-timeout", "x-grpc-web", "x-user-agent")
"""As browsers name them: in lower case, sorted."""


@ONE_STORE
async def test_browsers_may_call_it(signed: httpx.AsyncClient) -> None:
    requested = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": ",".join(SENT_BY_CLIENTS)}
    answer = await signed.options(f"{SERVICE}/GetSignedVAA", headers={"Origin": HEADERS["Origin"], **requested})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, "*")
    assert answer.headers["access-control-allow-methods"] == "POST, OPTIONS"
    allowed = set(re.split(", *", answer.headers["access-control-allow-headers"].lower()))
    assert allowed == {*SENT_BY_CLIENTS}
    response = await signed.post(f"{SERVICE}/GetSignedVAA", content=frame(b""), headers=HEADERS)
    assert response.headers["access-control-allow-origin"] == "*"


async def test_failures_of_the_server_have_their_codes_and_hide_details(caplog: pytest.LogCaptureFixture) -> None:
    request = message_id(2, "ab" * 32, 1)
    for error, status, reason in (
        (StoreUnavailable("10.0.0.7 refused"), UNAVAILABLE, "the store does not respond; retry later"),
        (RuntimeError("secret"), INTERNAL, "internal server error"),
    ):
        mount = NetworkMount(BrokenStore(error), NETWORK, wormhole="mainnet")
        app = create_app({NETWORK: mount}, NETWORK, ApiSettings())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            assert await call(client, "GetSignedVAA", request) == Answer(None, status, reason)
    assert "secret" in caplog.text
    assert "10.0.0.7" not in caplog.text


@ON_ONE_STORE
async def test_a_network_of_iota_has_no_guardians(client: httpx.AsyncClient) -> None:
    response = await client.post(f"/api/testing{SERVICE}/GetSignedVAA", content=frame(b""), headers=HEADERS)
    message = "network testing has the protocol iota, which this path does not serve"
    assert (response.status_code, response.json()) == (404, {"code": 5, "message": message, "details": []})
