"""Stores that the embedded engine loads."""

from tests.etl.embedded import session, stores

__all__ = ["session", "stores"]
