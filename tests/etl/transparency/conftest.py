"""Stores that the embedded engine loads."""

from tests.cassandra_rows import filled_together
from tests.etl.embedded import everywhere, session, stores

__all__ = ["everywhere", "filled_together", "session", "stores"]
