"""Compressed responses: which clients get one, in which coding, and that the content is the same."""

import asyncio
import gzip
import random
from typing import Any

import brotli
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.app import ApiSettings, create_app
from api.http import compression
from api.http.compression import CODINGS, choose, compress
from api.network import NetworkMount
from tests.api.oracle import Oracle

DECODERS = {b"gzip": gzip.decompress, b"br": brotli.decompress, None: bytes}
LEAST = 2048


async def ask(app: Any, path: str, *accepted: bytes, method: str = "GET") -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body as they leave the application."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()  # the client sends no other preference

    path, _, query = path.partition("?")
    headers = [(b"accept-encoding", value) for value in accepted]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers}
    await app(scope | {"root_path": ""}, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(each.get("body", b"") for each in sent[1:])


def long_paths(oracle: Oracle) -> list[str]:
    """Listings of more than LEAST bytes."""
    tags = [tag for tag, ids in oracle.tagged.items() if 64 * len(ids) > LEAST]
    return [f"/api/{mount}/messages?index={tag}" for tag in tags for mount in ("v1", "testing")]


def long_message(oracle: Oracle) -> str:
    """Id of a message whose JSON has more than LEAST bytes."""
    longest = max(oracle.entries, key=lambda entry: len(entry["bytes_hex"]))
    assert len(longest["bytes_hex"]) > LEAST
    return str(longest["id"])


@pytest.mark.thorough
@pytest.mark.parametrize("coding", [b"gzip", b"br"])
async def test_a_compressed_answer_is_the_plain_one(app: Any, oracle: Oracle, coding: bytes) -> None:
    for path in (*long_paths(oracle), f"/api/v1/messages/{long_message(oracle)}", "/openapi.json"):
        _, headers, plain = await ask(app, path)
        assert b"content-encoding" not in headers
        status, found, body = await ask(app, path, coding)
        assert (status, found[b"content-encoding"], found[b"content-length"]) == (200, coding, b"%d" % len(body))
        assert len(body) < len(plain)
        assert DECODERS[coding](body) == plain
        assert headers[b"vary"] == found[b"vary"] == b"accept-encoding"
        assert found[b"content-type"] == headers[b"content-type"]


async def test_a_range_stays_plain(app: Any) -> None:
    transport = httpx.ASGITransport(app)
    path, headers = "/docs/swagger-ui-bundle.js", {"accept-encoding": "gzip", "range": f"bytes=10-{9 + 2 * LEAST}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        whole = (await client.get(path)).content
        part = await client.get(path, headers=headers)
    assert (part.status_code, part.content) == (206, whole[10 : 10 + 2 * LEAST])
    assert "content-encoding" not in part.headers


async def test_small_answers_and_errors_stay_plain_and_say_that_they_vary(app: Any, oracle: Oracle) -> None:
    small = min(oracle.entries, key=lambda entry: len(entry["bytes_hex"]))["id"]
    for path in (f"/api/v1/messages/{small}", "/api/v1/info", "/api/v1/messages/abc", "/nothing"):
        _, headers, body = await ask(app, path, b"gzip, br")
        assert body == (await ask(app, path))[2]
        assert b"content-encoding" not in headers
        assert headers[b"vary"] == b"accept-encoding"


@pytest.mark.thorough
async def test_the_least_size_is_a_setting_and_nought_is_never(mount: NetworkMount, oracle: Oracle) -> None:
    path = long_paths(oracle)[0]
    size = len((await ask(create_app({"a": mount}, "a", ApiSettings()), path))[2])
    for compress_from, is_compressed in ((0, False), (size, True), (size + 1, False)):
        app = create_app({"a": mount}, "a", ApiSettings(compress_from=compress_from))
        assert (b"content-encoding" in (await ask(app, path, b"gzip"))[1]) == is_compressed


async def test_what_is_sent_in_parts_is_not_touched(app: Any) -> None:
    _, headers, body = await ask(app, "/docs/swagger-ui-bundle.js", b"gzip")
    assert b"content-encoding" not in headers
    assert int(headers[b"content-length"]) == len(body) > 100_000


async def test_a_compressed_answer_has_a_weak_etag_by_which_it_is_known_again(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    message_id = long_message(oracle)
    path = f"/api/v1/messages/{message_id}"
    plain = await client.get(path, headers={"Accept-Encoding": "identity"})
    assert plain.headers["etag"] == f'"{message_id}"'
    compressed = await client.get(path, headers={"Accept-Encoding": "gzip"})
    assert (compressed.headers["etag"], compressed.json()) == (f'W/"{message_id}"', plain.json())
    for etag in (plain.headers["etag"], compressed.headers["etag"]):
        for coding in ("identity", "gzip"):
            again = await client.get(path, headers={"Accept-Encoding": coding, "If-None-Match": etag})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
            assert "content-encoding" not in again.headers
            assert again.headers["vary"] == "accept-encoding"


async def test_head_of_a_compressed_answer_has_its_headers(client: httpx.AsyncClient, oracle: Oracle) -> None:
    for path in long_paths(oracle):
        get = await client.get(path, headers={"Accept-Encoding": "br"})
        head = await client.head(path, headers={"Accept-Encoding": "br"})
        assert head.headers["content-encoding"] == "br"
        assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("br", "br"),
        ("gzip, deflate, br", "br"),
        ("deflate", None),
        ("zstd, deflate", None),
        ("*", "br"),
        ("*;q=0", None),
        ("identity", None),
        ("identity, gzip", "gzip"),
        ("identity;q=0", None),
        ("identity;q=1, gzip;q=0.5", None),
        ("identity;q=0.2, gzip;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("gzip;q=0.000", None),
        ("br;q=0, *", "gzip"),
        ("gzip;q=0, br;q=0, *", None),
        ("br;q=0.5, gzip;q=0.8", "gzip"),
        ("br;q=0.8,gzip;q=0.8", "br"),
        ("gzip ; q = 0.3", "gzip"),
        ("gzip;q=high", None),
        ("gzip;q=nan", None),
        (";;,,", None),
    ],
)
def test_weights_decide_which_coding(header: str, coding: str | None) -> None:
    assert choose(header) == coding


async def test_several_header_lines_are_one_list(app: Any, oracle: Oracle) -> None:
    path = long_paths(oracle)[0]
    assert (await ask(app, path, b"deflate", b"gzip"))[1][b"content-encoding"] == b"gzip"
    assert b"content-encoding" not in (await ask(app, path, b"gzip;q=0", b"br;q=0"))[1]


@given(st.text(alphabet="gzipbr*identy;=q.01, \t", max_size=60) | st.text(max_size=40))
def test_any_header_has_an_answer(header: str) -> None:
    assert choose(header) in {None, *CODINGS}


@given(st.binary(max_size=5000))
def test_every_coding_is_undone_by_another_implementation(body: bytes) -> None:
    assert gzip.decompress(asyncio.run(compress(CODINGS["gzip"], body))) == body
    assert brotli.decompress(asyncio.run(compress(CODINGS["br"], body))) == body


def test_large_bodies_are_compressed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    body = random.Random(1).randbytes(3_000) * 100
    monkeypatch.setattr(compression, "PART_BYTES", 1_000)
    ways = 0

    async def give_way() -> None:
        nonlocal ways
        ways += 1

    monkeypatch.setattr(compression, "give_way", give_way)
    for coding, decompress in (("gzip", gzip.decompress), ("br", brotli.decompress)):
        assert decompress(asyncio.run(compress(CODINGS[coding], body))) == body
    assert ways == 2 * 299
