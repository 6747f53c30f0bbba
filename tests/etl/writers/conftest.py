"""Stores that these tests compare with are loaded by the embedded engine."""

from tests.etl.embedded import stores

__all__ = ["stores"]
