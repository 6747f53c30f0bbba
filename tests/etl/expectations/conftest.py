"""Loads of these tests run on the embedded engine."""

from tests.etl.embedded import everywhere, stores

__all__ = ["everywhere", "stores"]
