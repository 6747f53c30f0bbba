"""A Stardust node of a made ledger on loopback, for `bench.head`: blocks, metadata and milestones up to the newest one
that it shows. It answers several thousand requests per second in a thread.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from ledger.stardust.codec import decode_block, encode_payload

END = b"\r\n\r\n"


@dataclass
class MadeNode:
    """The ledger of a node, up to its newest milestone. `shown` is when each milestone appeared."""

    network: str
    newest: int = 0
    blocks: dict[str, tuple[int, bytes, bytes]] = field(default_factory=dict)
    milestones: dict[int, bytes] = field(default_factory=dict)
    shown: dict[int, float] = field(default_factory=dict)

    def add(self, form: dict[str, Any]) -> None:
        """Takes a milestone that it does not show yet."""
        index = form["milestone"]["index"]
        payload = decode_block(bytes.fromhex(form["milestone"]["bytes_hex"])).payload
        assert payload is not None
        self.milestones[index] = encode_payload(payload)
        for entry in form["blocks"]:
            self.blocks[entry["id"]] = (index, bytes.fromhex(entry["bytes_hex"]), orjson.dumps(entry["metadata"]))

    def show(self, index: int) -> None:
        """Confirms the milestones up to this one."""
        self.shown[index], self.newest = time.monotonic(), index

    def answer(self, path: str) -> bytes | None:
        """The body of a response; None for 404."""
        rest = path.removeprefix("/api/core/v2/")
        if rest == path:
            return None
        if rest == "info":
            status = {"confirmedMilestone": {"index": self.newest}}
            return orjson.dumps({"status": status, "protocol": {"networkName": self.network}})
        if rest == "tips":
            return b'{"tips":[]}'
        kind, _, name = rest.partition("/")
        if kind == "milestones":
            index = int(name.rpartition("/")[2])
            return self.milestones[index] if index <= self.newest else None
        index, data, metadata = self.blocks.get(name.partition("/")[0], (self.newest + 1, b"", b""))
        if index > self.newest:
            return None
        return metadata if name.endswith("/metadata") else data


class _Connection(asyncio.Protocol):
    """GET requests without a body, as the follower sends them."""

    def __init__(self, node: MadeNode) -> None:
        self._node = node
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes the connection."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answers all complete requests."""
        *requests, self._received = (self._received + data).split(END)
        for request in requests:
            body = self._node.answer(request.split(b" ", 2)[1].decode())
            status = "404 Not Found" if body is None else "200 OK"
            head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body or b'')}\r\n\r\n"
            self._transport.write(head.encode() + (body or b""))


@contextmanager
def served(node: MadeNode) -> Iterator[str]:
    """The URL of a server over a node."""
    loop, ports = asyncio.new_event_loop(), list[int]()
    started = threading.Event()

    async def start() -> None:
        server = await loop.create_server(lambda: _Connection(node), "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        started.set()

    def run() -> None:
        loop.run_until_complete(start())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait()
    try:
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
