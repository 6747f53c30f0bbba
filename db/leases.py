"""What the leases of all stores share: the name, the errors, and when a holder is known to be dead.

The module accesses no store, and looks only at processes of this machine.
"""

import math
import os
import socket
from datetime import UTC, datetime

from db.store import Lease, LeaseHeld

NAME = "writer"
"""`lease.name` of the single row."""


def held_by(lease: Lease) -> LeaseHeld:
    """The error that names the holder, and when its lease ends unless it is renewed."""
    # Rounds up: a run that begins then gets the lease.
    end = f"{datetime.fromtimestamp(math.ceil(lease.expires_at / 1000), UTC):%Y-%m-%d %H:%M:%S} UTC"
    return LeaseHeld(f"another run writes to this store: {_named(lease)}; if it was killed, its lease ends at {end}")


def lost(lease: Lease, held: Lease | None) -> LeaseHeld:
    """The error for a lease that another run holds now, or nobody."""
    holder = _named(held) if held else "nobody"
    return LeaseHeld(f"the lease of run {lease.run} was lost; it is held by {holder}")


def _named(lease: Lease) -> str:
    host, _, process = lease.owner.rpartition(":")
    return f"process {process} on {host}, run {lease.run}"


def is_same(lease: Lease, held: Lease | None) -> bool:
    """Whether this run is the holder."""
    return held is not None and (held.owner, held.run) == (lease.owner, lease.run)


def is_dead(lease: Lease) -> bool:
    """Whether the holder was a process of this machine that no longer runs. Other machines' leases only expire."""
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
