"""Stores that the embedded engine loads."""

from tests.etl.embedded import everywhere, session, stores

__all__ = ["everywhere", "session", "stores"]
