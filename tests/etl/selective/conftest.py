"""Loads and frames of these tests run on the embedded engine."""

from tests.etl.embedded import everywhere, session, stores

__all__ = ["everywhere", "session", "stores"]
