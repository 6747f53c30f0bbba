"""A guardian's REST API on loopback. It serves the real signed messages and some generated ones.

The server always answers correctly; tests/etl/archive/proxy.py injects the faults.
"""

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from etl.fetch.guardian import Emitter
from ledger.wormhole.vaa import encode_vaa
from tests.etl.vaas import records
from tests.ledger.wormhole.cases import PRIVATE, published, signed, vaa_of

MADE = Emitter(2, bytes(31) + b"\x42")
"""An emitter of 40 messages without a gap. No message names its guardian set."""

FIRST, END = 2**63 - 20, 2**63 + 20


@cache
def served() -> dict[tuple[Emitter, int], bytes]:
    """What a guardian returns: every verified mainnet message in its latest signed form, and the messages of MADE."""
    found = sorted(records("mainnet"), key=lambda each: each["guardian_set"])
    real = {
        (Emitter(each["emitter_chain"], bytes.fromhex(each["emitter_address"])), each["sequence"]): each["hex"]
        for each in found
        if each["quorum"]
    }
    body = replace(vaa_of(found[0]), guardian_set_index=99, emitter_chain=MADE.chain, emitter_address=MADE.address)
    made = {(MADE, at): encode_vaa(signed(replace(body, sequence=at), PRIVATE[:1])) for at in range(FIRST, END)}
    return {key: bytes.fromhex(data) for key, data in real.items()} | made


def expected(emitter: Emitter, first: int, end: int) -> dict[int, bytes]:
    return {at: data for (of, at), data in served().items() if of == emitter and first <= at < end}


def real_span() -> tuple[Emitter, int, int]:
    """An emitter and 40 of its sequences. They contain as many of its real messages as possible and start with one."""
    counted = {(of, at): len(expected(of, at, at + 40)) for of, at in served() if of != MADE}
    emitter, first = max(counted, key=lambda key: counted[key])
    assert counted[emitter, first] > 1
    return emitter, first, first + 40


class Answering(BaseHTTPRequestHandler):
    """A guardian's REST API over those records."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        status, body = self._answer()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self) -> tuple[int, bytes]:
        if self.path == "/v1/guardianset/current":
            newest = published("mainnet")[7]
            reported = {"index": 7, "addresses": [f"0x{each.hex()}" for each in newest.addresses]}
            return 200, json.dumps({"guardianSet": reported}).encode()
        found = re.fullmatch(r"/v1/signed_vaa/(\d+)/([0-9a-f]{64})/(\d+)", self.path)
        data = served().get((Emitter(int(found[1]), bytes.fromhex(found[2])), int(found[3]))) if found else None
        if data is None:
            return 404, b'{"code":5,"message":"requested VAA not found in store","details":[]}'
        return 200, json.dumps({"vaaBytes": base64.b64encode(data).decode()}).encode()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Does nothing: tests report what went wrong."""


@contextmanager
def answering() -> Iterator[str]:
    """The URL of a server that runs in its own threads."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()
