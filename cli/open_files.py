"""How many connections the open files of a process suffice for."""

import logging
import resource

log = logging.getLogger("permanode.connections")

OTHER_FILES = 64
"""File descriptors of a server process beside its connections: stores, logs, the event loop."""

BACKLOG_MIN, BACKLOG_MAX = 128, 2048
"""Connections that wait in the kernel to be accepted. They may all be accepted before the first one is counted."""


def fit_files(connections: int) -> tuple[int, int]:
    """Raises the limit of open files of this process and its children as far as needed and allowed.

    Returns the connections that it suffices for, and the backlog of the listening socket.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + BACKLOG_MAX + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections, BACKLOG_MAX
    possible = max(1, soft - OTHER_FILES - BACKLOG_MIN)
    if possible < connections:
        log.warning("%d open files are allowed, so at most %d connections are accepted", soft, possible)
    return min(connections, possible), BACKLOG_MIN
