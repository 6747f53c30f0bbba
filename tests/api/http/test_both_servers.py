"""Both HTTP servers over the same stores: the same requests get the same responses, except for what names the server.

Requests are written to a socket, and all bytes until the end of the connection are compared, so framing counts as well.
"""

import socket
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.api.networks import fill_networks
from tests.api.oracle import Oracle
from tests.api.processes import SERVERS, permanode_of
from tests.api.stardust import StardustLedger
from tests.api.wormhole.test_grpc_web import HEADERS, SERVICE, frame, message_id
from tests.api.wormhole_network import NETWORK as WORMHOLE
from tests.api.wormhole_network import World

pytestmark = pytest.mark.thorough

DIFFERENT = {"date", "server", "x-request-id", "transfer-encoding", "connection"}


class Response(NamedTuple):
    """A response without what may differ. How its length is sent may differ, too."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


@pytest.fixture(scope="module")
def bases(
    tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, stardust: StardustLedger, world: World
) -> Iterator[list[str]]:
    folder = tmp_path_factory.mktemp("both")
    config = fill_networks(folder, oracle, stardust, world)
    first, second = (
        permanode_of(folder / name, PERMANODE_CONFIG=str(config), PERMANODE_API_SERVER=name) for name in SERVERS
    )
    with first as uvicorn, second as granian:
        yield [uvicorn, granian]


def sent(base: str, request: bytes) -> bytes:
    host, port = base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def parsed(data: bytes, *, is_stream_of_http_1_0: bool) -> Response:
    """Reads a response. Fails if its body does not have the length that it reports, or is not ended.

    That of a stream to a client of HTTP/1.0 has no length and no chunks: it ends with the connection.
    """
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = sorted((name.lower(), value) for name, value in (line.split(": ", 1) for line in lines))
    named = dict(headers)
    if is_stream_of_http_1_0:
        assert body
        assert {"content-length", "transfer-encoding"}.isdisjoint(named)
    elif body and named.get("transfer-encoding") == "chunked":
        body = joined(body)
    elif body:
        assert len(body) == int(named["content-length"])
    different = DIFFERENT | {"content-length"} if body else DIFFERENT
    return Response(int(first.split(" ")[1]), [each for each in headers if each[0] not in different], body)


def joined(chunks: bytes) -> bytes:
    found = b""
    while True:
        size, _, chunks = chunks.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            assert chunks == b"\r\n"
            return found
        found, chunks = found + chunks[:length], chunks[length + 2 :]


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: x", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def requests(oracle: Oracle, stardust: StardustLedger, world: World) -> dict[str, bytes]:
    network, message = oracle.expected["network"], oracle.entries[0]["id"]
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    place = world.verified[0].served
    vaa = message_id(place["emitter_chain"], place["emitter_address"], place["sequence"])
    grpc = {name.replace("-", "_"): value for name, value in HEADERS.items()}
    chunked = request("POST", "/api/poi/v1/validate", content_type="application/json", transfer_encoding="chunked")
    return {
        "message": request("GET", f"/api/v1/messages/{message}"),
        "raw": request("GET", f"/api/v1/messages/{message}/raw"),
        "head": request("HEAD", f"/api/v1/messages/{message}"),
        "page": request("GET", f"/api/v1/messages?index={tag}&page_size=3"),
        "compressed": request("GET", f"/api/v1/messages?index={tag}", accept_encoding="gzip"),
        "escaped": request("GET", f"/api/{network}/%65vents?format=ndjson&follow=false&x=%20"),
        "not found": request("GET", "/nothing"),
        "invalid": request("GET", "/api/v1/messages/abc"),
        "not modified": request("GET", f"/api/v1/messages/{message}", if_none_match="*"),
        "openapi": request("GET", "/openapi.json"),
        "csv": request("GET", "/api/analytics/v2/series/milestone", accept="text/csv"),
        "ndjson": request("GET", "/api/analytics/v2/series/milestone", accept="application/x-ndjson"),
        "head of a stream": request("HEAD", "/api/analytics/v2/series/milestone", accept="text/csv"),
        "events": request("GET", f"/api/{network}/events?follow=false&format=ndjson"),
        "server-sent events": request("GET", f"/api/{network}/events?follow=false&format=sse"),
        "explorer": request("GET", "/"),
        "options": request(
            "OPTIONS", f"/api/v1/messages/{message}", origin="https://x", access_control_request_method="GET"
        ),
        "block": request("GET", f"/api/core/v2/blocks/0x{stardust.entries[0]['id'].removeprefix('0x')}"),
        "gRPC-web": request("POST", f"{SERVICE}/GetSignedVAA", frame(vaa), **grpc),
        "gRPC-web, not found": request("POST", f"{SERVICE}/GetSignedVAA", frame(message_id(2, "ab" * 32, 1)), **grpc),
        "of a network": request("GET", f"/api/{WORMHOLE}/wormhole/v1/vaas?pageSize=2"),
        "body": request("POST", "/api/poi/v1/validate", b"{}", content_type="application/json"),
        "body in chunks": chunked + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        "HTTP/1.0": f"GET /api/v1/messages/{message} HTTP/1.0\r\n\r\n".encode(),
        "HTTP/1.0, stream": b"GET /api/analytics/v2/series/milestone HTTP/1.0\r\naccept: text/csv\r\n\r\n",
    }


def test_responses_are_the_same(bases: list[str], oracle: Oracle, stardust: StardustLedger, world: World) -> None:
    statuses = set()
    for name, each in requests(oracle, stardust, world).items():
        is_stream = name == "HTTP/1.0, stream"
        ours, granians = (parsed(sent(base, each), is_stream_of_http_1_0=is_stream) for base in bases)
        assert granians == ours, name
        statuses.add(ours.status)
    assert {200, 204, 304, 400, 404} <= statuses
