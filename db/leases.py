"""What every store's lease has alike: its one name, and when its holder is known to be gone.

Rules of this file: no store; only this machine's processes are looked at.
"""

import os
import socket

from db.store import Lease, LeaseHeld

NAME = "writer"
"""lease.name of the one row."""


def held_by(lease: Lease) -> LeaseHeld:
    """The refusal that names the holder."""
    return LeaseHeld(f"another run writes to this store: {lease.owner}, run {lease.run}")


def lost(lease: Lease, held: Lease | None) -> LeaseHeld:
    """The news that the lease is another's now, or nobody's."""
    holder = f"{held.owner}, run {held.run}" if held else "nobody"
    return LeaseHeld(f"the lease of run {lease.run} was lost; it is held by {holder}")


def is_same(lease: Lease, held: Lease | None) -> bool:
    """Whether the holder is this run."""
    return held is not None and (held.owner, held.run) == (lease.owner, lease.run)


def is_dead(lease: Lease) -> bool:
    """Whether the holder is a process of this machine that no longer runs; elsewhere only expiry tells."""
    host, _, process = lease.owner.rpartition(":")
    if host != socket.gethostname() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
