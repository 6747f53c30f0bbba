"""Loads of these tests run on the embedded engine: they change what its adapter returns."""

from tests.etl.both_engines.conftest import everywhere, stores

__all__ = ["everywhere", "stores"]
