"""The connections that this process accepted on a port, found among its open files (Linux).

An HTTP server with an event loop of its own, such as granian, has no list of its connections and cannot end one. The
kernel has that list: the sockets of this process whose local port is the listener's. A connection is named by the
address of its client, which the scope of a request contains.

Invariants:
1. The server may close a file descriptor at any time, and another file may get its number. So a connection is ended
   through a copy of the descriptor, after the copy has been found to have the right client.
2. Everything works without a free file descriptor, then without the copy, because it is what frees some.
3. `shutdown` ends a connection for every copy, so the server's own reads and writes fail at once.
"""

import contextlib
import os
import resource
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

Client: TypeAlias = tuple[str, str]
"""Address and port of a client as text, as in granian's scopes."""

OPEN_FILES = "/dev/fd"

STATE_AT, UNACKED_AT, LAST_DATA_RECV_AT, BYTES_RECEIVED_AT, NOTSENT_BYTES_AT = 0, 24, 52, 128, 144
"""Places in the kernel's `struct tcp_info`. They are part of its interface and never change."""

INFO_BYTES = 148
ESTABLISHED = 1


class Accepted(NamedTuple):
    """A connection when it was found: the number of its file descriptor, its client, whether the client still sends,
    seconds since its last bytes (at first: since it connected), their number so far, and the bytes that wait for it.
    """

    number: int
    client: Client
    is_open: bool
    quiet_s: float
    received: int
    unsent: int

    def end(self, last: bytes = b"") -> None:
        """Ends the connection without sending what the server has buffered. Sends `last`, if it fits."""
        with self._copy() as copy, contextlib.suppress(OSError):
            if copy is not None:
                if last:
                    copy.send(last, socket.MSG_DONTWAIT)
                copy.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _copy(self) -> Iterator[socket.socket | None]:
        number = self.number
        with contextlib.suppress(OSError):
            number = os.dup(number)
        try:
            found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=number)
        except OSError:
            yield None
            return
        try:
            yield found if _client_of(found) == self.client else None
        finally:
            if number == self.number:
                found.detach()
            else:
                found.close()


def accepted(port: int) -> Iterator[Accepted]:
    """Yields the connections to a local port."""
    for number in _open_files():
        try:
            # Borrowed: the family does not matter for what is read here, and nothing is closed.
            each = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=number)
        except OSError:
            continue
        try:
            local = each.getsockname()
            if not isinstance(local, tuple) or local[1] != port or (client := _client_of(each)) is None:
                continue
            info = each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
        except OSError:
            # Not a socket, or a connection that has just ended.
            continue
        finally:
            each.detach()
        received: int = struct.unpack_from("=Q", info, BYTES_RECEIVED_AT)[0]
        quiet_s, unsent = _number(info, LAST_DATA_RECV_AT) / 1000, _number(info, NOTSENT_BYTES_AT)
        yield Accepted(number, client, info[STATE_AT] == ESTABLISHED, quiet_s, received, unsent)


def _open_files() -> Iterable[int]:
    try:
        return [*map(int, os.listdir(OPEN_FILES))]  # noqa: PTH208  (paths would take longer than the rest)
    except OSError:
        # No file descriptor is left for the directory.
        return range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def queued(listener: socket.socket) -> int:
    """The number of connections that the kernel has established and that nobody has accepted yet."""
    return _number(listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES), UNACKED_AT)


def _client_of(connection: socket.socket) -> Client | None:
    try:
        host, port, *_ = connection.getpeername()
    except (OSError, ValueError):
        return None
    return host, str(port)


def _number(info: bytes, place: int) -> int:
    found: int = struct.unpack_from("=I", info, place)[0]
    return found
