"""A relay between the driver and a server that answers in place of the server where a test says so.

It reads unencrypted frames of protocol 4. It keeps only EXECUTE frames from the server; all others pass unchanged.
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HEADER = struct.Struct(">BBhBi")
"""Version and direction, flags, stream, kind, length of the body."""

ERROR, EXECUTE, ANSWER = 0x00, 0x0A, 0x84
LOCAL_QUORUM = 6


def rejection(code: int, more: bytes = b"") -> bytes:
    """The body of an ERROR frame."""
    text = b"made by a test"
    return struct.pack(">iH", code, len(text)) + text + more


ANSWERS: dict[str, bytes | None] = {
    "ill": rejection(0x0000),
    "unavailable": rejection(0x1000, struct.pack(">Hii", LOCAL_QUORUM, 2, 1)),
    "overloaded": rejection(0x1001),
    "starting": rejection(0x1002),
    "read timeout": rejection(0x1200, struct.pack(">HiiB", LOCAL_QUORUM, 1, 2, 1)),
    "read failure": rejection(0x1300, struct.pack(">HiiiB", LOCAL_QUORUM, 1, 2, 1, 1)),
    "silent": None,
}
"""The error body of a coordinator that cannot answer a read (section 9 of the protocol's specification), or None."""


class Relay:
    """Listens on loopback. The `fails_at`-th execution since it was set, counted from 0, gets `answer`."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._left: int | None = None
        self._answer: bytes | None = None
        self.failed = 0
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def contact(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    @contextmanager
    def failing(self, answer: str, *, at: int) -> Iterator[None]:
        """The next execution gets that response; `failed` says whether there was one."""
        self.failed, self._left, self._answer = 0, at, ANSWERS[answer]
        try:
            yield
        finally:
            self._left = None

    def close(self) -> None:
        """Closes every connection."""
        for each in [self._listener, *self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                server = socket.create_connection(self._server)
                self._open += [client, server]
                threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answer_all, args=(server, client), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), client.makefile("rb") as frames:
            while head := frames.read(HEADER.size):
                _, _, stream, kind, length = HEADER.unpack(head)
                body = frames.read(length)
                if kind != EXECUTE or not self._is_to_fail():
                    server.sendall(head + body)
                elif self._answer is not None:
                    self._send(client, HEADER.pack(ANSWER, 0, stream, ERROR, len(self._answer)) + self._answer)
        self._end(client, server)

    def _answer_all(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError), server.makefile("rb") as frames:
            while head := frames.read(HEADER.size):
                self._send(client, head + frames.read(HEADER.unpack(head)[4]))
        self._end(server, client)

    def _send(self, client: socket.socket, frame: bytes) -> None:
        # Two threads write to one client.
        with self._lock:
            client.sendall(frame)

    def _is_to_fail(self) -> bool:
        with self._lock:
            if self._left is None:
                return False
            self._left -= 1
            if self._left == -1:
                self.failed += 1
                return True
            return False

    @staticmethod
    def _end(*ends: socket.socket) -> None:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
