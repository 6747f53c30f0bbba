"""Errors of a cluster that its callers distinguish. Those of the port are in db/store.py."""

from db.store import StoreError, StoreUnavailable


class OutOfRange(StoreError):
    """A value does not fit its column."""


class ReplicasFailed(StoreUnavailable):
    """Replicas that are up could not read rows, for example because a file is damaged."""
