"""The connections that this process accepted on a port, found among its open files (Linux).

An HTTP server with an event loop of its own, such as granian, has no list of its connections and cannot end one. The
kernel has that list: the sockets of this process whose local port is the listener's. A connection is named by the
address of its client, which the scope of a request contains.

Invariants:
1. A socket is used through a copy of its file descriptor. The server may close its own at any time, and another file
   may get that number; the copy stays the same connection.
2. `shutdown` ends a connection for every copy, so the server's own reads and writes fail at once.
"""

import contextlib
import os
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

Client: TypeAlias = tuple[str, str]
"""Address and port of a client as text, as in granian's scopes."""

OPEN_FILES = Path("/dev/fd")

UNACKED_AT, LAST_DATA_RECV_AT, BYTES_RECEIVED_AT = 24, 52, 128
"""Places in the kernel's `struct tcp_info`. They are part of its interface and never change."""

INFO_BYTES = 136


class Accepted(NamedTuple):
    """A connection: its client, the seconds since its last bytes came, the bytes that came, a copy of its socket."""

    client: Client
    quiet_s: float
    received: int
    copy: socket.socket

    def end(self) -> None:
        """Ends the connection without sending what the server has buffered."""
        with contextlib.suppress(OSError):
            self.copy.shutdown(socket.SHUT_RDWR)


def accepted(family: int, port: int) -> Iterator[Accepted]:
    """Yields the connections to a local port. Each one's copy is closed when the next one is requested."""
    for file in [*OPEN_FILES.iterdir()]:
        try:
            number = int(file.name)
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            copy = socket.socket(family, socket.SOCK_STREAM, 0, fileno=os.dup(number))
        except OSError:
            continue
        with copy:
            try:
                local, peer = copy.getsockname(), copy.getpeername()
                if not isinstance(local, tuple) or local[1] != port:
                    continue
                info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
            except OSError:
                # A listener, a socket of another kind, or a connection that has just ended.
                continue
            quiet_ms, received = _number(info, LAST_DATA_RECV_AT), struct.unpack_from("=Q", info, BYTES_RECEIVED_AT)[0]
            yield Accepted((peer[0], str(peer[1])), quiet_ms / 1000, received, copy)


def queued(listener: socket.socket) -> int:
    """The number of connections that the kernel has established and that nobody has accepted yet."""
    return _number(listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES), UNACKED_AT)


def _number(info: bytes, place: int) -> int:
    found: int = struct.unpack_from("=I", info, place)[0]
    return found
